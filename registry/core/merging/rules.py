"""Rules that need several documents of one host."""

from registry.core.model.findings import COMPLETENESS, CONFORMANCE, IDENTITY, INFO, WARNING, Rule

# fmt: off

SIGNATURE_VERIFIED = Rule(
    "signature.verified", INFO, points=0, section=IDENTITY, spec="A2A 1.0 section 8.4; RFC 7515 section 5.2",
    says="The document is signed, and a key that this host publishes made the signature.",
    fix="No change is needed.",
)
SIGNATURE_BROKEN = Rule(
    "signature.broken", WARNING, points=5, section=IDENTITY, spec="A2A 1.0 section 8.4; RFC 8785; RFC 7515 section 5.2",
    says="The document is signed with a key that this host publishes, and the signature does not match it.",
    fix="Sign the document again after every change, over its canonical form without the signatures.",
)
SIGNATURE_NO_KEY = Rule(
    "signature.no_key", INFO, points=0, section=IDENTITY, spec="A2A 1.0 section 8.4; RFC 7515 section 4.1.2",
    says="The document is signed with a key that is not among the documents of this host.",
    fix="Publish the key set on the host that serves the document and name it as jku.",
)
SIGNATURE_UNSUPPORTED = Rule(
    "signature.unsupported", INFO, points=0, section=IDENTITY, spec="RFC 7515 section 4.1; RFC 7518 section 3.1",
    says="The signature has no readable header, or one with requirements that are not supported.",
    fix="Sign with ES256, ES384, EdDSA, RS256 or PS256, without critical extensions.",
)
POINTER_UNANSWERED = Rule(
    "pointer.unanswered", WARNING, points=2, section=COMPLETENESS, spec="RFC 9110 section 15.5.5",
    says="A document names a URL of this host that does not exist.",
    fix="Publish what is named, or remove the entry.",
)
POINTER_LIVE_ENDPOINT = Rule(
    "pointer.live_endpoint", INFO, points=0, section=CONFORMANCE,
    spec="MCP server card v1 (SEP-2127); ARD 0.91 entries",
    says="A live server answers at the URL of a document: it is to be called, not read.",
    fix="Name the server card, which is published next to the server's endpoint.",
)
CONFLICT_NAME = Rule(
    "conflict.name", WARNING, points=2, section=IDENTITY, spec="ADP 1.0 section 2; A2A 1.0 AgentCard.name",
    says="Documents of this host name the service differently; the first by precedence counts.",
    fix="Give the service one name in all documents.",
)
CONFLICT_AUTH = Rule(
    "conflict.auth", WARNING, points=4, section=COMPLETENESS,
    spec="ADP 1.0 section 3; AWP 0.2 section 7; ATP 0.1 section 3.3",
    says="Documents of this host contradict each other about authentication.",
    fix="Describe the same authentication in all documents.",
)
CONFLICT_PRICING = Rule(
    "conflict.pricing", WARNING, points=2, section=COMPLETENESS, spec="ADP 1.0 section 4",
    says="Documents of this host contradict each other about pricing.",
    fix="State the same pricing model in all documents.",
)
ENDPOINT_OFF_SITE = Rule(
    "endpoint.off_site", INFO, points=0, section=IDENTITY, spec="RFC 8615 section 4",
    says="Endpoints are on another site than the one that served the document.",
    fix="No change is needed; a document on the host of the endpoints would show that they belong together.",
)
LOOK_ALIKE_HOST = Rule(
    "listing.look_alike_host", INFO, points=0, section=IDENTITY, spec="UTS 39 sections 4 and 5; RFC 5890 section 4.4",
    says="The host name mixes scripts or consists of look-alike letters: it can be taken for another name.",
    fix="Use a host name in one script that reads like no other name.",
)
KNOWN_NAME = Rule(
    "listing.known_name", INFO, points=0, section=IDENTITY, spec="UTS 39 section 4; RFC 8615 section 4",
    says="The host, the service or its provider has a well-known name as its own, and is not on that name's own site.",
    fix="If the name is yours, serve the documents from your own site; if not, say whose service it is (Invoices for "
    "PayPal, by Acme).",
)
NOTHING_CALLABLE = Rule(
    "listing.nothing_callable", INFO, points=0, section=COMPLETENESS,
    spec="ADP 1.0 section 2; A2A 1.0 AgentCard.supportedInterfaces; MCP server card v1 (SEP-2127)",
    says="Nothing that the documents of this host describe can be called by others, so it is not listed.",
    fix="Name a public https address at which the service answers, or a package to run; fill in templates.",
)
ONLY_TEXTS = Rule(
    "listing.only_texts", INFO, points=0, section=COMPLETENESS, spec="llmstxt.org; ADP 1.0 section 2",
    says="This host has only texts and policies, which describe nothing to call, so it is not listed.",
    fix="Publish a manifest, a card or an API description of what agents can call.",
)
ONLY_ELSEWHERE = Rule(
    "listing.only_elsewhere", INFO, points=0, section=COMPLETENESS, spec="ARD 0.91 entries; RFC 9727 section 4",
    says="The documents of this host only name what other sites offer, so it is not listed.",
    fix="List what this site offers itself, or publish its own manifest.",
)
TEMPLATE = Rule(
    "listing.template", INFO, points=0, section=COMPLETENESS, spec="RFC 2606 section 3; RFC 8615 section 4",
    says="The document is a template: its name is a placeholder, or it is an unchanged sample; it is not listed.",
    fix="Fill in the name, the description and the domain of the service.",
)
NOT_LISTED = frozenset({NOTHING_CALLABLE, ONLY_TEXTS, ONLY_ELSEWHERE, TEMPLATE})
"""Why a host with documents is not listed; exactly one of them is found then."""
