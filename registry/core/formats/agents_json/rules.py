"""Rules for agents.json."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, WARNING, Rule

# fmt: off

REQUIRED = Rule(
    "agents_json.required", ERROR, points=5, section=CONFORMANCE, spec="agents.json 0.1.0, top level",
    says="A required member is missing.",
    fix="Add the missing member.",
)
MEMBER = Rule(
    "agents_json.member", WARNING, points=1, section=COMPLETENESS, spec="agents.json 0.1.0, flows",
    says="A flow has no title, no description or no fields.",
    fix="Give every flow a title, a description and its fields.",
)
PART = Rule(
    "agents_json.part", ERROR, points=4, section=CONFORMANCE, spec="agents.json 0.1.0, sources, flows",
    says="A flow lacks its id or actions, a source its id or path, or a parameter its name; it was left out.",
    fix="Give sources id and path, flows id and actions, parameters a name.",
)
