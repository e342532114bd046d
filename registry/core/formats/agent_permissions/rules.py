"""Rules for agent-permissions."""

from registry.core.model.findings import CONFORMANCE, WARNING, Rule

# fmt: off

RULE = Rule(
    "permissions.rule", WARNING, points=1, section=CONFORMANCE, spec="agent-permissions 1.0.0, resource_rules",
    says="A rule lacks verb, selector or allowed.",
    fix="Give every rule all three members.",
)
