"""The cost of a call of `discover_services` over MCP beside `/api/discover`, its memory, and the tokens of results."""
