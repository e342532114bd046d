"""The API of the MCP registry (v0.1, and its alias v0), read-only: docs/interfaces/mcp-registry.md."""
