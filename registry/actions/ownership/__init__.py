"""Ownership of hosts: claim, proof, renewed checks, the owner's settings, end."""
