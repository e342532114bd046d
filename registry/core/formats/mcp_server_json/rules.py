"""Rules for MCP registry records (server.json)."""

from registry.core.model.findings import CONFORMANCE, INFO, WARNING, Rule

# fmt: off

BLANK = Rule(
    "mcp.blank", WARNING, points=2, section=CONFORMANCE, spec="server.json schema ServerDetail",
    says="A required text is blank.",
    fix="Fill in the text that is shown.",
)
OLD_RECORD = Rule(
    "mcp.old_record", INFO, points=0, section=CONFORMANCE, spec="server.json schema",
    says="The record follows the format of May 2025, in snake_case.",
    fix="Rewrite the record for the current schema.",
)
