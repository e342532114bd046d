"""Rules for MCP discovery files that follow no specification."""

from registry.core.model.findings import CONFORMANCE, INFO, Rule

# fmt: off

UNSPECIFIED = Rule(
    "mcp.unspecified", INFO, points=0, section=CONFORMANCE, spec="MCP server card v1 (SEP-2127)",
    says="The document has a shape that no specification describes.",
    fix="Publish a server card beside it.",
)
