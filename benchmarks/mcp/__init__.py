"""The cost of a call of `discover_services` over MCP beside `/api/discover`, and the memory of many calls."""
