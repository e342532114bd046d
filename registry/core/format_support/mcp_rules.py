"""Rules for the three MCP formats: server cards, server.json and mcp.json."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, WARNING, Rule

# fmt: off

REQUIRED = Rule(
    "mcp.required", ERROR, points=8, section=CONFORMANCE,
    spec="MCP server card v1 (SEP-2127) ServerCard; server.json schema",
    says="A member that the document's format requires is missing.",
    fix="Add the missing member.",
)
NOTHING = Rule(
    "mcp.nothing", ERROR, points=12, section=CONFORMANCE, spec="SEP-1649",
    says="The document names neither an endpoint nor a tool.",
    fix="Name the server's streamable HTTP address.",
)
NO_REMOTE = Rule(
    "mcp.no_remote", WARNING, points=3, section=COMPLETENESS, spec="MCP server card v1 (SEP-2127) ServerCard.remotes",
    says="The document names no address at which the server can be called.",
    fix="Add remotes, or a transport with its URL.",
)
REMOTE = Rule(
    "mcp.remote", WARNING, points=3, section=CONFORMANCE, spec="MCP server card v1 (SEP-2127) Remote",
    says="A remote lacks its type or its URL.",
    fix="Give every remote a type (streamable-http or sse) and a URL.",
)
TOOL = Rule(
    "mcp.tool", WARNING, points=3, section=CONFORMANCE, spec="Model Context Protocol 2025-06-18, Tool",
    says="A tool has no name; it was left out.",
    fix="Give every tool a name.",
)
