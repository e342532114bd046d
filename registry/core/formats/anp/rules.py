"""Rules for ANP agent descriptions."""

from registry.core.model.findings import CONFORMANCE, ERROR, Rule

# fmt: off

UNNAMED = Rule(
    "anp.name", ERROR, points=4, section=CONFORMANCE, spec="ANP agent description 1.0",
    says="The agent description has no name.",
    fix="Add a name.",
)
