"""Rules for AID records."""

from registry.core.model.findings import CONFORMANCE, ERROR, WARNING, Rule

# fmt: off

VERSION = Rule(
    "aid.version", ERROR, points=8, section=CONFORMANCE, spec="AID 2, record format",
    says="The version is neither aid1 nor aid2.",
    fix="Write v=aid2.",
)
REQUIRED = Rule(
    "aid.required", ERROR, points=10, section=CONFORMANCE, spec="AID 2, record format",
    says="The record lacks u or p, has a member under both of its names, or a dropped member.",
    fix="Write each member once, under its letter or its name; aid2 has neither kid nor i.",
)
ADDRESS = Rule(
    "aid.address", ERROR, points=8, section=CONFORMANCE, spec="AID 2, u",
    says="The address does not fit the protocol.",
    fix="Name an https address (wss for websocket).",
)
WORD = Rule(
    "aid.word", WARNING, points=2, section=CONFORMANCE, spec="AID 2, p, a",
    says="The protocol or the authentication hint is not a known one.",
    fix="Use a value from the specification's registry.",
)
SIZE = Rule(
    "aid.size", WARNING, points=1, section=CONFORMANCE, spec="AID 2, fallback",
    says="The record is larger than 64 KB; clients refuse it.",
    fix="Remove members that the specification does not define.",
)
