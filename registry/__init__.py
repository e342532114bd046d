"""Waypost: the open discovery registry of the agent web. Layout and rules: docs/architecture.md."""
