"""Rules for the two formats of OAuth metadata."""

from registry.core.model.findings import CONFORMANCE, WARNING, Rule

# fmt: off

ADDRESS = Rule(
    "oauth.address", WARNING, points=2, section=CONFORMANCE, spec="RFC 8414 section 2; RFC 9728 section 2",
    says="An address in the metadata is not an https URL.",
    fix="Use https URLs.",
)
