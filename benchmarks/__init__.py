"""Measurements: each prints figures together with the command that repeats them (see README.md)."""
