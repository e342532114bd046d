"""Rules for MCP server cards."""

from registry.core.model.findings import CONFORMANCE, ERROR, WARNING, Rule

# fmt: off

NAME = Rule(
    "mcp.name", ERROR, points=4, section=CONFORMANCE, spec="MCP server card v1 (SEP-2127) ServerCard.name",
    says="The server's name is not written as namespace/name.",
    fix="Name the server by a reversed domain, a slash and its own name.",
)
SCHEMA = Rule(
    "mcp.schema", WARNING, points=1, section=CONFORMANCE, spec="MCP server card v1 (SEP-2127) ServerCard.$schema",
    says="$schema is not the URL of the final server card schema.",
    fix="Set $schema to the v1 server card schema.",
)
LONG_TEXT = Rule(
    "mcp.long_text", WARNING, points=1, section=CONFORMANCE,
    spec="MCP server card v1 (SEP-2127) ServerCard.description, .title, .version",
    says="A text is longer than its format allows.",
    fix="Shorten the text that is shown.",
)
VERSION_RANGE = Rule(
    "mcp.version_range", WARNING, points=1, section=CONFORMANCE,
    spec="MCP server card v1 (SEP-2127) ServerCard.version",
    says="The version is a range.",
    fix="State one version.",
)
