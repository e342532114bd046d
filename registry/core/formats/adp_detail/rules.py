"""Rules for ADP capability details."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, WARNING, Rule

# fmt: off

REQUIRED = Rule(
    "adp_detail.required", ERROR, points=8, section=CONFORMANCE, spec="ADP 1.0 section 5",
    says="A capability detail lacks endpoint or method.",
    fix="Add the missing member.",
)
MEMBER = Rule(
    "adp_detail.member", WARNING, points=2, section=CONFORMANCE, spec="ADP 1.0 section 5",
    says="A capability detail lacks name, description, parameters, request_example or response_example.",
    fix="Add the missing member.",
)
METHOD = Rule(
    "adp_detail.method", WARNING, points=3, section=CONFORMANCE, spec="ADP 1.0 section 5",
    says="The method of a capability detail is not an HTTP method.",
    fix="Use GET, POST, PUT, PATCH or DELETE.",
)
PARAMETER = Rule(
    "adp_detail.parameter", WARNING, points=1, section=CONFORMANCE, spec="ADP 1.0 section 5",
    says="A parameter lacks name, type, description, required or example.",
    fix="Add the missing member.",
)
EXAMPLE = Rule(
    "adp_detail.example", WARNING, points=1, section=COMPLETENESS, spec="ADP 1.0 section 5",
    says="An example lacks method and url, or status and body.",
    fix="Write the whole request and the whole response.",
)
TYPE = Rule(
    "adp_detail.type", WARNING, points=1, section=CONFORMANCE, spec="ADP 1.0 section 5",
    says="auth_scopes is not a list of texts, or a rate limit is not a number.",
    fix="Write scopes as texts and limits as numbers.",
)
