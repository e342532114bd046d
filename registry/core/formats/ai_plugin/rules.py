"""Rules for ai-plugin manifests."""

from registry.core.model.findings import CONFORMANCE, ERROR, WARNING, Rule

# fmt: off

REQUIRED = Rule(
    "ai_plugin.required", ERROR, points=6, section=CONFORMANCE, spec="ai-plugin v1 manifest fields",
    says="The plugin's api.url or one of its names is missing.",
    fix="Add the missing member.",
)
MEMBER = Rule(
    "ai_plugin.member", WARNING, points=1, section=CONFORMANCE, spec="ai-plugin v1 manifest fields",
    says="A required member is missing.",
    fix="Add the missing member.",
)
