"""THE table: what each reason costs, says and asks for. Messages, score lines, docs and /api/rubric read its rows.

Longer than other modules because a second place for any of these sentences would soon disagree with this one.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from types import MappingProxyType

from registry.core.findings import Reason, Severity
from registry.core.scoring.rubric_native import NATIVE_ROWS
from registry.core.scoring.rubric_siblings import SIBLING_ROWS

VERSION = "1"
"""Changes with every change of the table; stored beside each score."""


class Section(StrEnum):
    """What a finding lowers: a score is the sum of what is left of each section."""

    CONFORMANCE = "conformance"  # does the document follow its own specification
    COMPLETENESS = "completeness"  # does an agent learn what it needs
    SAFETY = "safety"  # side effects, confirmation, endpoints that may be called
    OPERABILITY = "operability"  # is it served so that clients can use it
    IDENTITY = "identity"  # does the host speak for itself


SECTION_POINTS: Mapping[Section, int] = MappingProxyType(
    {
        Section.CONFORMANCE: 30,
        Section.COMPLETENESS: 30,
        Section.SAFETY: 15,
        Section.OPERABILITY: 15,
        Section.IDENTITY: 10,
    }
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One row. `points` are lost from `section` when the reason touches the whole service, never more by repetition.

    `says` is one sentence about what was seen, `fix` what the operator should do, `spec` where that is demanded.
    """

    severity: Severity
    points: float
    says: str
    fix: str
    spec: str
    section: Section


_E, _W, _I = Severity.ERROR, Severity.WARNING, Severity.INFO
_CONF, _COMP, _SAFE, _OPER, _IDEN = Section

_SAVE_UTF8 = "Save the file as UTF-8 without a byte order mark."
_FIX_SYNTAX = "Run the file through a JSON validator before publishing it."
_RFC8259 = "RFC 8259"

# --- bytes: why a body was not read ---------------------------------------------------------------------------------

_BYTES = {
    Reason.NOT_UTF8: Rule(_E, 0, "The body is not UTF-8.", _SAVE_UTF8, f"{_RFC8259} section 8.1", _CONF),
    Reason.EMPTY: Rule(
        _E, 0, "The body is empty.", "Publish the manifest, or answer 404.", f"{_RFC8259} section 2", _CONF
    ),
    Reason.NOT_JSON: Rule(_E, 0, "The body is not JSON.", _FIX_SYNTAX, f"{_RFC8259} section 2", _CONF),
    Reason.TRUNCATED: Rule(
        _E, 0, "The JSON ends in the middle.",
        "Publish the whole file; check its length and the generator that writes it.", f"{_RFC8259} section 2", _CONF,
    ),
    Reason.COMMENT: Rule(
        _E, 0, "The JSON holds comments, which JSON does not have.", "Remove the comments.",
        f"{_RFC8259} section 2", _CONF,
    ),
    Reason.TRAILING_COMMA: Rule(
        _E, 0, "A comma stands before a closing bracket.", "Remove the comma.", f"{_RFC8259} section 4", _CONF
    ),
    Reason.DUPLICATE_KEY: Rule(
        _E, 0, "An object names the same key twice; readers disagree about which one counts.",
        "Keep one of the two members.", f"{_RFC8259} section 4", _CONF,
    ),
    Reason.FRONT_MATTER: Rule(
        _E, 0, "The file starts with front matter: the site generator never rendered it.",
        "Let the site generator process the file, or remove the block between the --- lines.",
        f"{_RFC8259} section 2", _CONF,
    ),
    Reason.TOO_LARGE: Rule(
        _E, 0, "The document is larger than any manifest may be.",
        "Split the document; link to details instead of holding them.", f"{_RFC8259} section 9", _OPER,
    ),
    Reason.TOO_DEEP: Rule(
        _E, 0, "Values are nested more than 32 levels deep.", "Flatten the document.", f"{_RFC8259} section 9", _CONF
    ),
    Reason.TOO_MANY: Rule(
        _E, 0, "An object has more than 2,000 members, or an array more than 5,000 items.",
        "Split the document.", f"{_RFC8259} section 9", _CONF,
    ),
    Reason.TEXT_TOO_LONG: Rule(
        _E, 0, "A text is longer than 100,000 characters.", "Link to long texts instead of holding them.",
        f"{_RFC8259} section 9", _CONF,
    ),
    Reason.NUMBER: Rule(
        _E, 0, "A number is beyond what readers agree on.", "Write integers beyond 2^53 as strings.",
        f"{_RFC8259} section 6", _CONF,
    ),
    Reason.NUL: Rule(
        _E, 0, "A text holds the NUL character.", "Remove the character U+0000.", f"{_RFC8259} section 7", _CONF
    ),
    Reason.NOT_YAML: Rule(
        _E, 0, "The body is not YAML that JSON could say.",
        "Run the file through a YAML 1.2 validator; write no tags, and texts as keys.",
        "OpenAPI 3.1 section 4.3; YAML 1.2 section 10.2", _CONF,
    ),
    Reason.YAML_ALIASES: Rule(
        _E, 0, "The YAML has more than 100 aliases, or one that leads to itself or to nothing.",
        "Write out what the aliases stand for.", "YAML 1.2 section 7.1", _CONF,
    ),
}  # fmt: skip

# --- recognition ----------------------------------------------------------------------------------------------------

_RECOGNITION = {
    Reason.BYTE_ORDER_MARK: Rule(
        _I, 0, "The file starts with a byte order mark.", _SAVE_UTF8, f"{_RFC8259} section 8.1", _CONF
    ),
    Reason.HTML: Rule(
        _I, 0, "A web page was served where a manifest was asked for.",
        "Answer 404 for paths that do not exist.", "RFC 9110 section 15.5.5", _OPER,
    ),
    Reason.TEXT: Rule(
        _I, 0, "Plain text was served where a manifest was asked for.",
        "Publish the manifest as JSON, or answer 404.", "RFC 9110 section 15.5.5", _OPER,
    ),
    Reason.NOT_AN_OBJECT: Rule(
        _I, 0, "The JSON is not an object at its top level.",
        "Publish one object; lists of services belong into a catalogue.", "RFC 8615 section 3", _CONF,
    ),
    Reason.UNRECOGNISED: Rule(
        _I, 0, "The JSON is of no format that is known here; its keys are shown.",
        "Name the format as its specification asks, or answer 404 at this path.", "RFC 8615 section 3", _CONF,
    ),
    Reason.FOREIGN: Rule(
        _I, 0, "The JSON belongs to another scheme that shares this path.",
        "Nothing to mend; a manifest of a registered format can be served at its own path.", "RFC 8615 section 3",
        _CONF,
    ),
    Reason.STATED_ABSENCE: Rule(
        _I, 0, "The file says that the protocol is not offered.",
        "Answer 404 instead: absence needs no file.", "RFC 9110 section 15.5.5", _CONF,
    ),
    Reason.CONTENT_TYPE: Rule(
        _W, 1, "The document is served with an unexpected media type.",
        "Send the Content-Type that the format names, usually application/json.", "RFC 9110 section 8.3", _OPER,
    ),
    Reason.HTML_TYPE: Rule(
        _W, 2, "JSON is served as a web page.",
        "Send Content-Type: application/json.", "RFC 9110 section 8.3", _OPER,
    ),
}  # fmt: skip

# --- every format ---------------------------------------------------------------------------------------------------

_MANIFEST = {
    Reason.TEMPLATE: Rule(
        _E, 8, "A placeholder was published instead of its value.",
        "Render the template before publishing it.", "RFC 8615 section 3", _CONF,
    ),
    Reason.DUPLICATE_ID: Rule(
        _E, 5, "Two parts carry the same id; only the first one counts.",
        "Give every part its own id.",
        "AWP 0.2 section 9; ATP 0.1 section 3.5; WoA draft-00 section 4.1; AWAS 1.0 Validation; ADP 1.0 section 7",
        _CONF,
    ),
    Reason.TOO_MANY_CAPABILITIES: Rule(
        _W, 2, "More capabilities are listed than are kept: 2,000, of an API description 5,000.",
        "Describe families of calls, or split the document by host.", "RFC 8259 section 9", _OPER,
    ),
    Reason.CLAIM_ELSEWHERE: Rule(
        _W, 4, "The document names another site than the one that serves it.",
        "Serve the document from the host it speaks for, or correct the name in it.", "RFC 8615 section 4", _IDEN,
    ),
    Reason.DECLARED_INACTIVE: Rule(
        _W, 3, "The document says that it is not in use.", "Remove the document, or the mark.",
        "RFC 9110 section 15.5.5", _OPER,
    ),
    Reason.ENDPOINT_NOT_PUBLIC: Rule(
        _W, 8, "An endpoint is not a public https address; it was removed.",
        "Name the public https address of the endpoint.", "RFC 9110 section 4.2.2", _SAFE,
    ),
    Reason.ENDPOINT_INVALID: Rule(
        _W, 6, "An endpoint is not a URL; it was removed.",
        "Write an absolute https URL, or a path as the format defines it.", "RFC 3986 section 4.1", _CONF,
    ),
    Reason.ENDPOINT_TEMPLATED: Rule(
        _I, 0, "An endpoint holds variables that the caller fills in.",
        "Nothing to mend; describe the variables among the parameters.", "RFC 6570 section 1.2", _COMP,
    ),
}  # fmt: skip

# --- several documents of one host, and what none of them says ------------------------------------------------------

_MERGED = {
    Reason.SIGNATURE_VERIFIED: Rule(
        _I, 0, "The document is signed, and a key that this host publishes made the signature.",
        "Nothing to mend.", "A2A 1.0 section 8.4; RFC 7515 section 5.2", _IDEN,
    ),
    Reason.SIGNATURE_BROKEN: Rule(
        _W, 5, "The document is signed with a key that this host publishes, and the signature does not fit it.",
        "Sign the document again after every change, over its canonical form without the signatures.",
        "A2A 1.0 section 8.4; RFC 8785; RFC 7515 section 5.2", _IDEN,
    ),
    Reason.SIGNATURE_NO_KEY: Rule(
        _I, 0, "The document is signed with a key that is not among the documents of this host.",
        "Publish the key set on the host that serves the document and name it as jku.",
        "A2A 1.0 section 8.4; RFC 7515 section 4.1.2", _IDEN,
    ),
    Reason.SIGNATURE_UNSUPPORTED: Rule(
        _I, 0, "The signature has no readable header, or one that asks for more than is understood here.",
        "Sign with ES256, ES384, EdDSA, RS256 or PS256, without critical extensions.",
        "RFC 7515 section 4.1; RFC 7518 section 3.1", _IDEN,
    ),
    Reason.POINTER_UNANSWERED: Rule(
        _W, 2, "A document names a URL of this host, and there is nothing.",
        "Publish what is named, or remove the entry.", "RFC 9110 section 15.5.5", _COMP,
    ),
    Reason.POINTER_LIVE_ENDPOINT: Rule(
        _I, 0, "Where a document is named, a live server answers: it wants to be called, not read.",
        "Name the server card; it lies beside the server's address.", "MCP server card v1 (SEP-2127); ARD 0.91 entries",
        _CONF,
    ),
    Reason.CONFLICT_NAME: Rule(
        _W, 2, "Documents of this host name the service differently; the most telling one counts.",
        "Give the service one name in all documents.", "ADP 1.0 section 2; A2A 1.0 AgentCard.name", _IDEN,
    ),
    Reason.CONFLICT_AUTH: Rule(
        _W, 4, "Documents of this host contradict each other about authentication.",
        "Describe the same authentication in all documents.",
        "ADP 1.0 section 3; AWP 0.2 section 7; ATP 0.1 section 3.3", _COMP,
    ),
    Reason.CONFLICT_PRICING: Rule(
        _W, 2, "Documents of this host contradict each other about pricing.",
        "State the same pricing model in all documents.", "ADP 1.0 section 4", _COMP,
    ),
    Reason.ENDPOINT_OFF_SITE: Rule(
        _W, 5, "Endpoints are on another site than the one that served the document.",
        "Serve a document on the host of the endpoints too, so that this host need not speak for it.",
        "WoA draft-00 section 8.2", _IDEN,
    ),
    Reason.ADP_DETAIL_UNANSWERED: Rule(
        _W, 6, "The detail_url of a capability did not answer with a capability detail.",
        "Serve valid JSON with endpoint and method at each detail_url.", "ADP 1.0 section 7", _CONF,
    ),
    Reason.SERVICE_UNNAMED: Rule(
        _W, 4, "The service has no name.", "Add a human-readable name.", "ADP 1.0 section 2; ATP 0.1 section 3.1", _COMP
    ),
    Reason.SERVICE_UNDESCRIBED: Rule(
        _W, 6, "The service has no description.", "Say in one or two sentences what the service does.",
        "ADP 1.0 section 2; AWP 0.2 section 5; ATP 0.1 section 3.1", _COMP,
    ),
    Reason.SERVICE_WITHOUT_CAPABILITIES: Rule(
        _W, 18, "No capability of the service is usable.", "Describe at least one thing that an agent can do here.",
        "ADP 1.0 section 7; AWP 0.2 section 9; ATP 0.1 section 3.5", _COMP,
    ),
    Reason.SERVICE_AUTH_UNKNOWN: Rule(
        _W, 5, "Nothing says whether a caller must authenticate.",
        "Declare the authentication, or say that none is needed.",
        "ADP 1.0 section 3; AWP 0.2 section 7; ATP 0.1 section 3.3; AWAS 1.0 Top-Level Properties", _COMP,
    ),
    Reason.SERVICE_PRICING_UNKNOWN: Rule(
        _I, 1, "Nothing says what the service costs.", "Declare the pricing model.", "ADP 1.0 section 4", _COMP
    ),
    Reason.SERVICE_RATE_LIMIT_UNKNOWN: Rule(
        _I, 3, "Nothing says how often the service may be called.", "Declare a rate limit.",
        "ATP 0.1 section 3.4; AWP 0.2 section 9; ADP 1.0 section 5; AWAS 1.0 Top-Level Properties", _OPER,
    ),
    Reason.SERVICE_UNVERSIONED: Rule(
        _I, 1, "Neither the service nor its protocols have a version.", "Add a version and raise it with changes.",
        "ATP 0.1 section 4.3", _OPER,
    ),
    Reason.SERVICE_WITHOUT_TERMS: Rule(
        _I, 2, "Neither terms of use nor a privacy policy are linked.", "Link both from the manifest.",
        "ATP 0.1 section 3.8", _IDEN,
    ),
    Reason.SERVICE_PROVIDER_UNKNOWN: Rule(
        _I, 2, "Nothing says who provides the service.", "Name the provider.",
        "ATP 0.1 section 3.2; A2A 1.0 AgentCard.provider", _IDEN,
    ),
    Reason.SERVICE_WITHOUT_CONTACT: Rule(
        _I, 1, "Neither a contact nor documentation is given.", "Add a contact address or a link to documentation.",
        "ATP 0.1 section 3.2; AWAS 1.0 Top-Level Properties", _IDEN,
    ),
    Reason.SERVICE_SYNTHETIC: Rule(
        _W, 8, "The document was generated by an intermediary, not by the site.",
        "Publish a manifest of your own; it replaces the generated one.", "AWP 0.2 section 14", _IDEN,
    ),
    Reason.CAPABILITY_UNDESCRIBED: Rule(
        _W, 8, "Capabilities have no description.", "Say for each capability what it does, for an agent's planning.",
        "AWP 0.2 section 9; ATP 0.1 section 3.5; WoA draft-00 section 4.1", _COMP,
    ),
    Reason.CAPABILITY_WITHOUT_PARAMS: Rule(
        _W, 6, "Capabilities do not say what they need as input.", "Declare the parameters, or an empty list of them.",
        "ADP 1.0 section 5; AWP 0.2 section 9; ATP 0.1 section 3.5.1; WoA draft-00 section 4.2", _COMP,
    ),
    Reason.CAPABILITY_WITHOUT_RESULT: Rule(
        _I, 2, "Capabilities do not say what they return.", "Declare the result.",
        "AWP 0.2 section 9; ATP 0.1 section 3.5; WoA draft-00 section 4.1", _COMP,
    ),
    Reason.CAPABILITY_UNREACHABLE: Rule(
        _W, 8, "Capabilities name no endpoint that could be called.", "Give each capability an endpoint.",
        "ADP 1.0 section 5; AWP 0.2 section 9; ATP 0.1 section 3.5", _OPER,
    ),
    Reason.CAPABILITY_SIDE_EFFECTS_UNKNOWN: Rule(
        _I, 5, "Nothing says whether calling a capability changes anything.",
        "Declare side effects for each capability.", "ATP 0.1 section 3.5.3; AWP 0.2 section 9", _SAFE,
    ),
    Reason.CAPABILITY_UNCONFIRMED: Rule(
        _W, 5, "Capabilities that delete do not ask for a human's confirmation.",
        "Declare confirmation for calls that cannot be undone.", "ATP 0.1 section 3.5.3; AWP 0.2 section 9", _SAFE,
    ),
}  # fmt: skip


RUBRIC: Mapping[Reason, Rule] = MappingProxyType(
    {
        **_BYTES,
        **_RECOGNITION,
        **_MANIFEST,
        **{
            reason: Rule(severity, points, says, fix, spec, Section(section))
            for reason, severity, points, says, fix, spec, section in (*NATIVE_ROWS, *SIBLING_ROWS)
        },
        **_MERGED,
    }
)


def fingerprint() -> str:
    """sha256 of the whole table: a test pins it, so that no row changes without a new VERSION."""
    rows = {reason.value: asdict(rule) for reason, rule in RUBRIC.items()}
    sections = {section.value: points for section, points in SECTION_POINTS.items()}
    text = json.dumps([sections, rows], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
