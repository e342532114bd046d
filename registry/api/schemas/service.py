"""One service in full, one of its capabilities with its call, and a service as a document of another format."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NotRequired, Required

from typing_extensions import TypedDict

from registry.api.schemas import base
from registry.api.schemas.base import Shape, about, answer_of, sample
from registry.api.schemas.ownership import OwnershipFacts
from registry.core.calling.reach import HOW_TO_MAKE_CALLABLE, WHY_NOT_CALLABLE
from registry.core.calling.tools import ToolForm
from registry.core.merging.trust import IDENTITIES
from registry.core.model.listing import IdentityState

_DOCUMENT: Final = "https://api.pigeonpost.example/.well-known/agent"


class Call(Shape, total=False):
    """How a capability is called in its own protocol. Other members depend on `kind`.

    Credentials and other values that only the caller has are placeholders in capitals that begin with `YOUR_`.
    """

    kind: Required[
        Annotated[
            str,
            about(
                "`http`, `mcp_tool`, `mcp_server` (a server whose tools no document lists), `a2a_skill`, "
                "`woa_operation`, or `navigation` (a page to `open`).",
                "http",
            ),
        ]
    ]
    request: Annotated[
        dict[str, Any],
        about(
            "The request as a template: method, URL (RFC 6570), fixed headers, content type, parameters with "
            "their places, and the JSON Schema of the body.",
            {
                "method": "POST",
                "url": "https://api.pigeonpost.example/v2/parcels{?dry_run}",
                "content_type": "application/json",
                "parameters": [
                    {"name": "weight_g", "in": "body", "required": True},
                    {"name": "dry_run", "in": "query", "required": False},
                ],
                "body_schema": {
                    "type": "object",
                    "properties": {"weight_g": {"type": "integer", "minimum": 1}},
                    "required": ["weight_g"],
                },
            },
        ),
    ]
    credentials: Annotated[
        dict[str, Any],
        about(
            "Any one of `alternatives` suffices, and all credentials of it are needed. `required` is null where "
            "no document says it. `issuers` of a credential are the hosts where clients get it: a token that "
            "another party's host issues may give access to more than this service.",
            {
                "required": True,
                "alternatives": [
                    [
                        {
                            "type": "api_key",
                            "in": "header",
                            "name": "X-Key",
                            "placeholder": "YOUR_KEY",
                            "value": "YOUR_KEY",
                        }
                    ]
                ],
            },
        ),
    ]
    example: Annotated[
        dict[str, Any],
        about(
            "One complete request: all required parameters have values that are valid under their schemas, the "
            "document's own where it gives any.",
            {
                "method": "POST",
                "url": "https://api.pigeonpost.example/v2/parcels",
                "headers": {"X-Key": "YOUR_KEY", "Content-Type": "application/json"},
                "body": {"weight_g": 250},
            },
        ),
    ]
    curl: Annotated[
        str,
        about(
            "The example as a line to copy: sh, bash, zsh, ksh, csh, fish and PowerShell 7.3 or newer read the "
            "same words. cmd.exe and Windows PowerShell drop the double quotes of a JSON body but run nothing "
            "else.",
            'curl --globoff --request POST --url https://api.pigeonpost.example/v2/parcels --header "X-Key: '
            'YOUR_KEY" --header "Content-Type: application/json" --data-raw \'{"weight_g":250}\'',
        ),
    ]
    curl_omitted: Annotated[
        str,
        about(
            "Why there is no line: no quoting means the same in every shell, or it would be too long.",
            "a value has characters that shells read differently; send the example instead",
        ),
    ]
    arguments: Annotated[dict[str, Any], about("The values of the example by name.", {"weight_g": 250})]
    derived: Annotated[list[str], about("Values that no document gives and that were made.", [])]
    missing: Annotated[
        list[dict[str, str]],
        about(
            "What the example lacks, because the documents do not say it.",
            [{"what": "parameters", "why": "no document describes the parameters"}],
        ),
    ]
    initialize: Annotated[dict[str, Any], about("MCP: the messages that come first.", {})]
    client_configuration: Annotated[
        dict[str, Any],
        about(
            "MCP: the server's entry for a client, by address or by the package to run.",
            {"mcpServers": {"Pigeonpost": {"url": "https://api.pigeonpost.example/mcp"}}},
        ),
    ]
    packages: Annotated[list[dict[str, Any]], about("MCP: how each package is installed.", [])]
    source: Annotated[
        dict[str, str],
        about(
            "Where a document describes the call.",
            {"document": "https://api.pigeonpost.example/openapi.json", "pointer": "", "format": "openapi"},
        ),
    ]


Fingerprint = Annotated[
    str | None,
    about(
        "SHA-256 over the canonical JSON (RFC 8785) of the capability as this registry stores it; the "
        "change feed names the same. null: not computed yet.",
        "4c1f0e9d2b7a86353f0d1c2e9b8a7766554433221100ffeeddccbbaa99887766",
    ),
]
FirstSeen = Annotated[
    base.Timestamp | None, about("When it was first seen since the service is listed. null: not recorded.")
]
Changed = Annotated[base.Timestamp | None, about("When its fingerprint last changed. null: not recorded.")]


class ManifestCapability(Shape, total=False):
    id: Required[Annotated[str, about("The document's own.", "create_parcel")]]
    name: Required[Annotated[str, about("Unique within the service.", "create_parcel")]]
    title: Annotated[str, about("For people.", "Create a parcel")]
    description: Required[Annotated[str, sample("Creates a parcel and returns its label.")]]
    detail_url: Required[Annotated[str, about("Absolute, or to be appended to `base_url`.", "/caps/create_parcel")]]
    detail: Annotated[dict[str, Any], about("With `include_details=true`.")]
    record: Annotated[
        dict[str, Any], about("With `include_details=true`, instead of `detail` where no HTTP call is known.")
    ]
    resource_group: Annotated[str, sample("parcels")]
    callable: Annotated[
        bool | Literal["unknown"],
        about("Whether its call is known; `unknown` while a document that may describe it has not been read.", True),
    ]
    not_callable: Annotated[
        str | None, about("Why it cannot be called; null: it can.", None, enum=[*WHY_NOT_CALLABLE, None])
    ]
    kind: Annotated[str | None, about("How it is called, as in its record; null: no call.", "http")]
    fingerprint: Fingerprint
    first_seen_at: FirstSeen
    changed_at: Changed


class Manifest(Shape):
    """A manifest of the Agent Discovery Protocol 1.0."""

    spec_version: Literal["1.0"]
    name: Annotated[str, sample("Pigeonpost")]
    description: Annotated[str, sample("Books, prices and tracks parcels with local couriers.")]
    base_url: Annotated[str, sample("https://api.pigeonpost.example/v2")]
    auth: Annotated[dict[str, Any], sample({"type": "api_key", "header": "X-Key"})]
    pricing: NotRequired[Annotated[dict[str, Any], sample({"type": "freemium"})]]
    capabilities: list[ManifestCapability]


class UnreadPart(Shape):
    pointer: Annotated[str, sample("/paths/~1parcels/options")]
    name: Annotated[str, about("Its name or key; of the last of many, how many follow.", "options")]


class Unread(Shape):
    count: Annotated[int, about("Parts of the document that this registry did not understand.", 0, ge=0)]
    parts: Annotated[list[UnreadPart], about("The first 50.")]


class DocumentSeen(Shape):
    url: Annotated[str, sample(_DOCUMENT)]
    format: Annotated[str | None, sample("adp")]
    dialect: Annotated[str | None, sample("1.0")]
    outcome: Annotated[str, sample("found")]
    seen_at: base.Timestamp | None
    unread: Unread


class ScoreLine(Shape):
    reason: Annotated[str, sample("document.content_type")]
    section: Annotated[str, sample("conformance")]
    severity: base.Severity
    points: Annotated[float, about("Points lost; 0 for notes.", 2.0, ge=0)]
    count: Annotated[int, about("Findings that share the line.", 1, ge=1)]
    says: Annotated[str, sample("The file is served with another media type than its format names.")]
    fix: Annotated[str, sample("Configure the web server to send application/json for this path.")]
    spec: Annotated[str, sample("Agent Discovery Protocol 1.0, section 1")]
    document: Annotated[
        str | None, about("Where the first finding is; null: no single document is to blame.", _DOCUMENT)
    ]
    pointer: Annotated[
        str, about("JSON Pointer into `document`; without a document, into the service as shown here.", "")
    ]
    evidence: Annotated[str, sample("text/plain")]


class Grade(Shape):
    value: Annotated[int, sample(97, ge=0, le=100)]
    rubric_version: Annotated[str, sample("1")]
    sections: Annotated[
        dict[str, float],
        sample({"conformance": 28.0, "completeness": 29.0, "safety": 15.0, "operability": 15.0, "identity": 10.0}),
    ]
    lines: list[ScoreLine]


class AsOf(Shape):
    at: base.Timestamp
    read_by: Annotated[str, about("Version of the rules that read the documents again.", "1")]
    score: Annotated[
        Literal["stored", "recomputed"],
        about("Whether `score` is the one computed then, or made by the rules of today."),
    ]
    scored_at: Annotated[base.Timestamp | None, about("When it was computed.")]
    missing: Annotated[list[str], about("Documents of that time without kept bytes.", [])]


class EndpointCheck(Shape):
    """Whether an address for calls answers, as a visit saw it. No call was made. Part of no score, trust or order."""

    address: Annotated[str, sample("https://api.pigeonpost.example/v2/parcels")]
    method: Annotated[Literal["OPTIONS", "HEAD"], about("Of the request.", "OPTIONS")]
    answers: Annotated[
        bool | None,
        about("true: any status except 404, 410 and 5xx; null: unknown, because of `reason`.", True),
    ]
    status: Annotated[int | None, about("null: no answer.", 405)]
    reason: Annotated[str | None, about("Why `answers` is not true.", None)]
    checked_at: base.Timestamp


class ServiceData(Shape):
    domain: base.HostName
    confusable: base.Confusable
    well_known_url: Annotated[str, sample(_DOCUMENT)]
    verified: base.Verified
    trust_level: base.Trust
    trust: base.ExplainedTrust
    crawl_failures: Annotated[int, sample(0)]
    last_crawled_at: base.Timestamp | None
    created_at: Annotated[base.Timestamp, sample("2026-11-02T08:15:30.000Z")]
    updated_at: base.Timestamp
    manifest: Manifest
    format: Annotated[str | None, sample("adp")]
    formats: Annotated[Sequence[str], sample(["adp"])]
    protocols: Annotated[list[dict[str, Any]], sample([{"id": "adp", "version": "1.0"}])]
    score: Grade
    auth: base.Auth
    pricing: base.Pricing
    policies: Annotated[dict[str, Any], about("What the site allows and asks of agents.", {})]
    provider: Annotated[dict[str, Any] | None, about("Who runs the service, as its documents claim.", None)]
    version: Annotated[str | None, sample(None)]
    homepage: Annotated[str | None, sample(None)]
    icon_url: Annotated[str | None, sample(None)]
    repository: Annotated[str | None, about("Source code.", None)]
    license: Annotated[str | None, sample(None)]
    languages: Annotated[list[str], sample([])]
    packages: Annotated[list[Any], about("How its servers are installed and started.", [])]
    docs_url: Annotated[str | None, sample(None)]
    workflows: Annotated[list[Any], about("Sequences of capabilities.", [])]
    relations: Annotated[dict[str, Any], about("Links to other services and documents.", {})]
    claims: Annotated[dict[str, Any], about("What the site says of itself, unchecked.", {})]
    identity: Annotated[dict[str, Any], about("Keys, signatures and identifiers.", {})]
    groups: Annotated[list[Any], about("Groups of capabilities.", [])]
    tags: Annotated[list[str], sample([])]
    examples: Annotated[list[Any], about("Example requests in plain words.", [])]
    native: Annotated[dict[str, Any], about("What the documents say and no other key expresses, by format.", {})]
    synthetic: Annotated[bool, about("The documents were generated, not written by the site.", False)]
    provenance: Annotated[dict[str, Any], about("Which document each part was taken from.", {})]
    freshness: base.Freshness
    endpoint_checks: Annotated[
        list[EndpointCheck], about("Of addresses for calls, on hosts whose owner has proven the ownership.", [])
    ]
    documents: list[DocumentSeen]
    as_of: NotRequired[Annotated[AsOf, about("With the parameter `as_of` only.")]]
    ownership: OwnershipFacts
    owner_note: Annotated[str, about("The owner's own words; empty: none.", "")]
    canonical_host: base.CanonicalHost
    injection_flags: base.InjectionFlags
    untrusted_text: base.UntrustedText


class HostIdentity(Shape):
    """What is known of who serves a host, listed or not."""

    domain: base.HostName
    confusable: base.Confusable
    listed: Annotated[bool, about("false: this is what its name alone says.", True)]
    identity: base.IdentityWord
    means: Annotated[str, about("The identity in one sentence.", IDENTITIES[IdentityState.HOST_CHECKED].means)]
    doubt: base.Doubt
    resembles: base.KnownNameUsed
    owned: Annotated[bool, about("The ownership of the listed host is proven.", False)]


class Parameter(Shape):
    name: Annotated[str, sample("weight_g")]
    type: Annotated[str, sample("number")]
    description: Annotated[str, sample("Weight in grams.")]
    required: Annotated[bool, sample(True)]


class DetailAnswer(Shape):
    """The last answer to the request for the capability's document."""

    outcome: Annotated[str, sample("absent")]
    status: Annotated[int | None, sample(404)]
    seen_at: base.Timestamp


class MissingCall(Shape):
    """Why a capability has no call."""

    reason: Annotated[str, about("The code.", "no_endpoint", enum=list(WHY_NOT_CALLABLE))]
    message: Annotated[str, about("The reason in a sentence.", WHY_NOT_CALLABLE["no_endpoint"])]
    fix: Annotated[str, about("What the operator of the site can do.", HOW_TO_MAKE_CALLABLE["no_endpoint"])]
    detail_url: NotRequired[Annotated[str, about("The document that the manifest names and that was not read.")]]
    detail_answer: NotRequired[Annotated[DetailAnswer | None, about("null: it was not requested.")]]


class CapabilityDetail(Shape, total=False):
    """A capability detail of the Agent Discovery Protocol 1.0, with everything else that the documents say.

    A key that is not required is absent where the documents say nothing. The members of the detail that ADP requires
    (`endpoint`, `method`, `parameters`, the examples) are there wherever an HTTP call is known.
    """

    id: Annotated[str, about("The document's own.", "create_parcel")]
    name: Required[Annotated[str, about("Unique within the service.", "create_parcel")]]
    title: Annotated[str, about("For people.", "Create a parcel")]
    description: Required[Annotated[str, sample("Creates a parcel and returns its label.")]]
    endpoint: Annotated[str, about("Absolute, or to be appended to the manifest's `base_url`.", "/parcels")]
    method: Annotated[str, sample("POST")]
    parameters: Annotated[
        list[Parameter],
        sample(
            [
                {
                    "name": "weight_g",
                    "type": "number",
                    "description": "Weight in grams.",
                    "required": True,
                    "example": 250,
                    "in": "body",
                }
            ]
        ),
    ]
    request_example: Annotated[
        dict[str, Any],
        sample(
            {
                "method": "POST",
                "url": "https://api.pigeonpost.example/v2/parcels",
                "headers": {"X-Key": "..."},
                "body": {"weight_g": 250},
            }
        ),
    ]
    endpoint_check: Required[Annotated[EndpointCheck | None, about("null: its address was not checked.", None)]]
    response_example: Annotated[dict[str, Any], sample({"status": 201, "body": {"id": "p_1"}})]
    derived: Annotated[list[str], about("Examples that the site does not give and that were derived.", [])]
    side_effects: Annotated[bool | None, about("Only what the documents say; null: unknown.", True)]
    side_effects_inferred: Annotated[
        dict[str, Any],
        about(
            "What the method lets a caller expect where `side_effects` is null, and why.",
            {"value": False, "from": "GET is a safe method (RFC 9110 section 9.2.1)"},
        ),
    ]
    input_schema: Annotated[
        dict[str, Any],
        about(
            "JSON Schema of all parameters, as the document gives it.",
            {"type": "object", "properties": {"weight_g": {"type": "integer", "minimum": 1}}},
        ),
    ]
    output_schema: Annotated[dict[str, Any], about("JSON Schema of the result.", {"type": "object"})]
    result_note: Annotated[str, about("What is returned, in words.", "A label.")]
    invocations: Annotated[list[dict[str, Any]], about("Every known way to call it.", [])]
    call: Required[Annotated[Call | None, about("The first of them, ready to be sent; null: see `missing`.")]]
    missing: Annotated[MissingCall, about("Only without a call.")]
    auth: Annotated[
        dict[str, Any],
        about(
            "The credentials of this call; `combinations` are sets of indexes needed at once.",
            {"schemes": [{"type": "api_key", "location": "header", "name": "X-Key"}], "required": True},
        ),
    ]
    native: Annotated[dict[str, Any], about("What the document says and no other key expresses, by format.", {})]
    auth_scopes: Annotated[list[str], sample([])]
    fingerprint: Fingerprint
    first_seen_at: FirstSeen
    changed_at: Changed
    rate_limits: Annotated[dict[str, Any], sample({"requests_per_minute": 30, "daily_limit": 1000})]
    resource_group: Annotated[str, sample("parcels")]
    identity: Required[base.IdentityWord]
    doubt: Required[base.Doubt]
    injection_flags: base.InjectionFlags
    untrusted_text: Annotated[bool, about("The site wrote the texts: data, never instructions.", True)]


_Form = TypedDict("_Form", {"as": Annotated[ToolForm, about("As it was asked for.", "openai-tool")]})


class ToolData(Shape, _Form):
    tool: Annotated[
        dict[str, Any],
        about(
            "The definition. Its description begins with facts of this registry in brackets; the rest is text of the "
            "site.",
            {
                "type": "function",
                "function": {
                    "name": "api_pigeonpost_example__create_parcel",
                    "description": "[api.pigeonpost.example, in its own words; has side effects] Creates a parcel and "
                    "returns its label.",
                    "parameters": {
                        "type": "object",
                        "properties": {"weight_g": {"type": "integer", "minimum": 1}},
                        "required": ["weight_g"],
                        "additionalProperties": False,
                    },
                    "strict": False,
                },
            },
        ),
    ]
    renamed: Annotated[
        dict[str, str], about("Property of the definition -> parameter of the call, where the name had to change.", {})
    ]
    fills: Annotated[
        str | None,
        about(
            "JSON Pointer into `call`: the arguments replace the value there, the only argument a text. At "
            "`/request/parameters` is the place of each argument, at `/open` a URL template. null: no arguments.",
            "/request/parameters",
        ),
    ]
    left_out: Annotated[list[dict[str, str]], about("What the definition lacks of the documents, with the reason.", [])]
    call: Annotated[Call | None, about("Ready to be sent; null: see `missing`.")]
    missing: NotRequired[Annotated[MissingCall, about("Only without a call.")]]
    record_url: Annotated[str, about("The whole record.", f"{base.EXAMPLE_SERVICE_URL}/capabilities/create_parcel")]
    identity: base.IdentityWord
    doubt: base.Doubt
    injection_flags: base.InjectionFlags
    untrusted_text: base.UntrustedText


CapabilityAsTool = answer_of("CapabilityAsTool", ToolData)


class TranslationLoss(Shape):
    what: Annotated[str, about("The member or part that the translation cannot express.", "name")]
    why: Annotated[str, sample("AWP has no place for it")]
    document: Annotated[
        str | None,
        about(
            "The document of the host that the pointers lead into; null: the service as waypost models it "
            "(`manifest` of `/api/services/{domain}`).",
            "https://api.pigeonpost.example/.well-known/agent.json",
        ),
    ]
    count: Annotated[int, about("The number of such losses.", 1)]
    pointers: Annotated[
        list[str],
        about(
            "JSON Pointers into the document; the first of them. Nothing at or below one is expressed, or not "
            "exactly, as `why` says.",
            ["/name"],
        ),
    ]


class Translated(base.Succeeded):
    """A service as a document of another format."""

    format: Annotated[str, sample("awp")]
    media_type: Annotated[str, about("The media type of the document.", "application/json")]
    document: Annotated[
        dict[str, Any],
        about(
            "Marked as synthetic: in its own members (AWP), or in `x-synthetic`. A document of the host itself "
            "has no marks.",
            {
                "awp_version": "0.2",
                "domain": "api.pigeonpost.example",
                "intent": "Books, prices and tracks parcels with local couriers.",
                "auth": {"type": "api_key"},
                "actions": [
                    {
                        "id": "create_parcel",
                        "description": "Creates a parcel and returns its label.",
                        "auth_required": True,
                        "inputs": {"weight_g": {"type": "float", "required": True, "description": "Weight in grams."}},
                        "endpoint": "https://api.pigeonpost.example/v2/parcels",
                        "method": "POST",
                    }
                ],
                "source": "synthetic",
                "generated_by": "waypost",
                "confidence": 0.87,
                "last_verified": base.EXAMPLE_TIME.replace(".000", ""),
            },
        ),
    ]
    losses: list[TranslationLoss]
    compared_with: Annotated[
        Literal["documents", "model"],
        about(
            "What the losses are counted against: the documents of the host, member by member, or the service "
            "as waypost models it, where no document with members is stored."
        ),
    ]
    source_formats: Annotated[Sequence[str], about("Formats of the documents that this one is made from.", ["adp"])]
    native_url: Annotated[str | None, about("Where the host serves this format itself; prefer that document.", None)]
    synthetic: Annotated[bool, about("False for a document that the host serves itself.", True)]
    injection_flags: base.InjectionFlags
    untrusted_text: base.UntrustedText


OneService = answer_of("OneService", ServiceData)
OneIdentity = answer_of("OneIdentity", HostIdentity)
