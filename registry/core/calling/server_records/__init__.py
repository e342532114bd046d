"""Records of the MCP registry's API (server.json, schema of 2025-12-11): made of services, and checked."""
