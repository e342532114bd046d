"""Rules for AI Catalog and ARD manifests."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, ERROR, IDENTITY, INFO, WARNING, Rule

# fmt: off

ENTRY = Rule(
    "catalog.entry", ERROR, points=4, section=CONFORMANCE, spec="ARD 0.91 section 3, AI Catalog 1.0 entries",
    says="An entry lacks its identifier or type, or does not have exactly one of url and data.",
    fix="Give every entry an identifier, a type, and either url or data.",
)
DISPLAY_NAME = Rule(
    "catalog.display_name", WARNING, points=1, section=COMPLETENESS, spec="ARD 0.91 entries",
    says="An entry has no displayName.",
    fix="Give every entry a displayName.",
)
IDENTIFIER = Rule(
    "catalog.identifier", WARNING, points=1, section=CONFORMANCE, spec="ARD 0.91 identifiers",
    says="An identifier is not written as urn:air:<publisher>:<name>.",
    fix="Write the identifier as urn:air: with the publisher's host name.",
)
QUERIES = Rule(
    "catalog.queries", WARNING, points=1, section=COMPLETENESS, spec="ARD 0.91 representativeQueries",
    says="representativeQueries is not a list of 2 to 5 texts.",
    fix="Give 2 to 5 sentences that a user would say.",
)
TRUST = Rule(
    "catalog.trust", WARNING, points=1, section=IDENTITY, spec="ARD 0.91 trustManifest",
    says="A trustManifest is not an object with an identity.",
    fix="Add the identity, or remove the trustManifest.",
)
REPEATED = Rule(
    "catalog.repeated", WARNING, points=1, section=CONFORMANCE, spec="ARD 0.91 entries",
    says="Two entries have the same identifier and version; only the first one counts.",
    fix="Remove one of them.",
)
DRAFT = Rule(
    "catalog.draft", INFO, points=0, section=CONFORMANCE, spec="ARD 0.91; AI Catalog 1.0",
    says="The catalogue follows an earlier draft.",
    fix="Write type instead of mediaType, data instead of inline, urn:air instead of urn:ai.",
)
TYPE = Rule(
    "catalog.type", INFO, points=0, section=CONFORMANCE, spec="ARD 0.91 type",
    says="The type of an entry is not one that consumers know.",
    fix="Use the registered media type of the document that the entry names.",
)
SHAPE = Rule(
    "catalog.shape", WARNING, points=2, section=CONFORMANCE, spec="ARD 0.91 entries",
    says="The catalogue does not list its resources as entries.",
    fix="List the resources as entries.",
)
