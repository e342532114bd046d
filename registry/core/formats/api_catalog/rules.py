"""Rules for API catalogues (RFC 9727)."""

from registry.core.model.findings import CONFORMANCE, ERROR, WARNING, Rule

# fmt: off

EMPTY = Rule(
    "linkset.empty", ERROR, points=6, section=CONFORMANCE, spec="RFC 9264 section 4.2; RFC 9727 section 4",
    says="No member of the linkset has a usable link.",
    fix="Give each member an anchor and relations that are lists of {href}.",
)
ANCHOR = Rule(
    "linkset.anchor", WARNING, points=1, section=CONFORMANCE, spec="RFC 9264 section 4.2.2",
    says="A member of the linkset has no anchor.",
    fix="Name the API as anchor.",
)
RELATION = Rule(
    "linkset.relation", WARNING, points=1, section=CONFORMANCE, spec="RFC 9264 section 4.2.3",
    says="A relation is not a list of objects with href.",
    fix="Write each relation as a list of {href}.",
)
OTHER_SHAPE = Rule(
    "linkset.other_shape", WARNING, points=1, section=CONFORMANCE, spec="RFC 9264 section 4.2",
    says="Links are not written in the form of a linkset.",
    fix="Write each relation type as a member with a list of {href}.",
)
