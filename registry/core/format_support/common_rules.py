"""Rules that documents of every format can break."""

from registry.core.model import findings
from registry.core.model.findings import CONFORMANCE, ERROR, IDENTITY, INFO, OPERABILITY, SAFETY, WARNING, Rule

# fmt: off

UNREAD = Rule(
    "document.unread", INFO, points=0, section=findings.COMPLETENESS, spec="RFC 8615 section 3",
    says="This part of the document was not read.",
    fix="Write the part as the specification of the document's format defines it.",
)
PARTLY_READ = Rule(
    "document.partly_read", WARNING, points=2, section=findings.COMPLETENESS, spec="RFC 8615 section 3",
    says="Some of what the document offers was not read.",
    fix="Write the parts that were not read as the specification of the document's format defines them.",
)
WRONG_TYPE = Rule(
    "document.wrong_type", WARNING, points=2, section=CONFORMANCE, spec="RFC 8259 section 3",
    says="A part of the document has another type than its format defines.",
    fix="Write the part with the type that the format's specification defines.",
)
REQUIRED_TYPE = Rule(
    "document.required_type", ERROR, points=8, section=CONFORMANCE, spec="RFC 8259 section 3",
    says="A required part of the document has another type than its format defines; it was left out.",
    fix="Write the part with the type that the format's specification defines.",
)
TEMPLATE = Rule(
    "manifest.template", ERROR, points=8, section=CONFORMANCE, spec="RFC 8615 section 3",
    says="A placeholder was published instead of its value.",
    fix="Render the template before publishing it.",
)
DUPLICATE_ID = Rule(
    "manifest.duplicate_id", ERROR, points=5, section=CONFORMANCE,
    spec="AWP 0.2 section 9; ATP 0.1 section 3.5; WoA draft-00 section 4.1; AWAS 1.0 Validation; ADP 1.0 section 7; "
    "A2A 1.0 AgentSkill.id; agent.json 1.3 section 4.2; agents.json 0.1.0, flows; MCP server card v1 (SEP-2127) Tool; "
    "Agent Skills discovery 0.2.0 section 4",
    says="Two parts carry the same id; only the first one counts.",
    fix="Give every part its own id.",
)
TOO_MANY_CAPABILITIES = Rule(
    "manifest.too_many_capabilities", WARNING, points=2, section=OPERABILITY, spec="RFC 8259 section 9",
    says="More capabilities are listed than are kept (2,000; for API descriptions 5,000).",
    fix="Describe families of calls, or split the document by host.",
)
CLAIM_ELSEWHERE = Rule(
    "manifest.claim_elsewhere", WARNING, points=4, section=IDENTITY, spec="RFC 8615 section 4",
    says="The document says that it is about another site than the one that serves it.",
    fix="Serve the document from the host that it names, or correct the name.",
)
CLAIM_OF_SITE = Rule(
    "manifest.claim_of_site", INFO, points=0, section=IDENTITY, spec="RFC 8615 section 4",
    says="The document says that it is about another host of its site than the one that serves it.",
    fix="Serve the document from the host that it names, or correct the name.",
)
PROVIDER_ELSEWHERE = Rule(
    "manifest.provider_elsewhere", INFO, points=0, section=IDENTITY, spec="RFC 8615 section 4",
    says="The document names a provider or publisher on another site; nobody checked that they belong together.",
    fix="No change is needed; a document on the provider's own host would show that they do.",
)
DECLARED_INACTIVE = Rule(
    "manifest.declared_inactive", WARNING, points=3, section=OPERABILITY, spec="RFC 9110 section 15.5.5",
    says="The document says that it is not in use.",
    fix="Remove the document, or the member that marks it as inactive.",
)
ENDPOINT_NOT_PUBLIC = Rule(
    "endpoint.not_public", WARNING, points=8, section=SAFETY, spec="RFC 9110 section 4.2.2",
    says="An endpoint is not a public https address; it was removed.",
    fix="Name the public https address of the endpoint.",
)
ADDRESS_NOT_PUBLIC = Rule(
    "address.not_public", WARNING, points=2, section=SAFETY, spec="RFC 6761 section 6; RFC 6890 section 2.2",
    says="An address leads to a private network or to the caller's own machine, or programs read different hosts in "
    "it; it was left out.",
    fix="Name the public address, or leave out the member.",
)
ENDPOINT_INVALID = Rule(
    "endpoint.invalid", WARNING, points=6, section=CONFORMANCE, spec="RFC 3986 section 4.1",
    says="An endpoint is not a URL; it was removed.",
    fix="Write an absolute https URL, or a path as the format defines it.",
)
ENDPOINT_SAMPLE = Rule(
    "endpoint.sample", INFO, points=0, section=findings.COMPLETENESS, spec="RFC 2606 section 3",
    says="An endpoint is on a host that is reserved for samples, so nobody can call it.",
    fix="Name the host at which the service answers.",
)
ENDPOINT_TEMPLATED = Rule(
    "endpoint.templated", INFO, points=0, section=findings.COMPLETENESS, spec="RFC 6570 section 1.2",
    says="An endpoint contains variables that no parameter describes.",
    fix="Describe each variable among the parameters, under its own name.",
)
