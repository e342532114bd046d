"""Rules for Agent Skills indexes."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, IDENTITY, WARNING, Rule

# fmt: off

REQUIRED = Rule(
    "skills.required", ERROR, points=5, section=CONFORMANCE, spec="Agent Skills discovery 0.2.0 section 4",
    says="A skill has no name or no description; it was left out.",
    fix="Give every skill a name and a description.",
)
SCHEMA = Rule(
    "skills.schema", WARNING, points=1, section=CONFORMANCE, spec="Agent Skills discovery 0.2.0 section 4",
    says="$schema is unknown or missing.",
    fix="Set $schema to the URL of the discovery schema.",
)
TYPE = Rule(
    "skills.type", WARNING, points=1, section=CONFORMANCE, spec="Agent Skills discovery 0.2.0 section 4",
    says="A skill's type is neither skill-md nor archive.",
    fix="Use skill-md or archive.",
)
URL = Rule(
    "skills.url", WARNING, points=2, section=COMPLETENESS, spec="Agent Skills discovery 0.2.0 section 4",
    says="A skill has no usable url.",
    fix="Give every skill the https URL of its file.",
)
DIGEST = Rule(
    "skills.digest", WARNING, points=1, section=IDENTITY, spec="Agent Skills discovery 0.2.0 section 4",
    says="A skill has no digest of the form sha256:<64 hex digits>.",
    fix="Publish the digest of each file.",
)
NAME = Rule(
    "skills.name", WARNING, points=1, section=CONFORMANCE, spec="Agent Skills specification, name",
    says="A skill's name is not lower case words joined by hyphens.",
    fix="Use the name of the skill's folder.",
)
LONG_TEXT = Rule(
    "skills.long_text", WARNING, points=1, section=CONFORMANCE, spec="Agent Skills specification, description",
    says="A description is longer than 1,024 characters.",
    fix="Shorten the description.",
)
