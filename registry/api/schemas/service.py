"""One service in full, one of its capabilities with its call, and a service as a document of another format."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field

from registry.api.schemas.base import (
    EXAMPLE_TIME,
    Auth,
    CanonicalHost,
    Confusable,
    ExplainedTrust,
    Freshness,
    HostName,
    InjectionFlags,
    Pricing,
    Severity,
    Shape,
    Succeeded,
    Timestamp,
    Trust,
    UntrustedText,
    Verified,
)
from registry.api.schemas.ownership import OwnershipFacts


class Call(Shape):
    """How a capability is called in its own protocol. Other members depend on `kind`.

    Credentials and other values that only the caller has are placeholders in capitals that begin with `YOUR_`.
    """

    kind: Annotated[
        str,
        Field(
            description="`http`, `mcp_tool`, `mcp_server` (a server whose tools no document lists), `a2a_skill`, "
            "`woa_operation`, or `navigation` (a page to `open`).",
            examples=["http"],
        ),
    ]
    request: NotRequired[
        Annotated[
            dict[str, Any],
            Field(
                description="The request as a template: method, URL (RFC 6570), fixed headers, content type, "
                "parameters with their places, and the JSON Schema of the body.",
                examples=[
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
                    }
                ],
            ),
        ]
    ]
    credentials: NotRequired[
        Annotated[
            dict[str, Any],
            Field(
                description="Any one of `alternatives` suffices, and all credentials of it are needed. `required` is "
                "null where no document says it. `issuers` of a credential are the hosts where clients get it: a token "
                "that another party's host issues may give access to more than this service.",
                examples=[
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
                    }
                ],
            ),
        ]
    ]
    example: NotRequired[
        Annotated[
            dict[str, Any],
            Field(
                description="One complete request: all required parameters have values that are valid under their "
                "schemas, the document's own where it gives any.",
                examples=[
                    {
                        "method": "POST",
                        "url": "https://api.pigeonpost.example/v2/parcels",
                        "headers": {"X-Key": "YOUR_KEY", "Content-Type": "application/json"},
                        "body": {"weight_g": 250},
                    }
                ],
            ),
        ]
    ]
    curl: NotRequired[
        Annotated[
            str,
            Field(
                description="The example as a line to copy: sh, bash, zsh, ksh, csh, fish and PowerShell 7.3 or newer "
                "read the same words. cmd.exe and Windows PowerShell drop the double quotes of a JSON body but run "
                "nothing else.",
                examples=[
                    'curl --globoff --request POST --url https://api.pigeonpost.example/v2/parcels --header "X-Key: '
                    'YOUR_KEY" --header "Content-Type: application/json" --data-raw \'{"weight_g":250}\''
                ],
            ),
        ]
    ]
    curl_omitted: NotRequired[
        Annotated[
            str,
            Field(
                description="Why there is no line: no quoting means the same in every shell, or it would be too long.",
                examples=["a value has characters that shells read differently; send the example instead"],
            ),
        ]
    ]
    arguments: NotRequired[
        Annotated[dict[str, Any], Field(description="The values of the example by name.", examples=[{"weight_g": 250}])]
    ]
    derived: NotRequired[
        Annotated[list[str], Field(description="Values that no document gives and that were made.", examples=[[]])]
    ]
    missing: NotRequired[
        Annotated[
            list[dict[str, str]],
            Field(
                description="What the example lacks, because the documents do not say it.",
                examples=[[{"what": "parameters", "why": "no document describes the parameters"}]],
            ),
        ]
    ]
    initialize: NotRequired[
        Annotated[dict[str, Any], Field(description="MCP: the messages that come first.", examples=[{}])]
    ]
    client_configuration: NotRequired[
        Annotated[
            dict[str, Any],
            Field(
                description="MCP: the server's entry for a client, by address or by the package to run.",
                examples=[{"mcpServers": {"Pigeonpost": {"url": "https://api.pigeonpost.example/mcp"}}}],
            ),
        ]
    ]
    packages: NotRequired[
        Annotated[list[dict[str, Any]], Field(description="MCP: how each package is installed.", examples=[[]])]
    ]
    source: NotRequired[
        Annotated[
            dict[str, str],
            Field(
                description="Where a document describes the call.",
                examples=[
                    {"document": "https://api.pigeonpost.example/openapi.json", "pointer": "", "format": "openapi"}
                ],
            ),
        ]
    ]


Fingerprint = Annotated[
    str | None,
    Field(
        description="SHA-256 over the canonical JSON (RFC 8785) of the capability as this registry stores it; the "
        "change feed names the same. null: not computed yet.",
        examples=["4c1f0e9d2b7a86353f0d1c2e9b8a7766554433221100ffeeddccbbaa99887766"],
    ),
]
FirstSeen = Annotated[
    Timestamp | None, Field(description="When it was first seen since the service is listed. null: not recorded.")
]
Changed = Annotated[Timestamp | None, Field(description="When its fingerprint last changed. null: not recorded.")]


class ManifestCapability(Shape):
    id: Annotated[str, Field(description="The document's own.", examples=["create_parcel"])]
    name: Annotated[str, Field(description="Unique within the service.", examples=["create_parcel"])]
    title: NotRequired[Annotated[str, Field(description="For people.", examples=["Create a parcel"])]]
    description: Annotated[str, Field(examples=["Creates a parcel and returns its label."])]
    detail_url: Annotated[
        str, Field(description="Absolute, or to be appended to `base_url`.", examples=["/caps/create_parcel"])
    ]
    detail: NotRequired[Annotated[dict[str, Any], Field(description="With `include_details=true`.")]]
    record: NotRequired[
        Annotated[
            dict[str, Any],
            Field(description="With `include_details=true`, instead of `detail` where no HTTP call is known."),
        ]
    ]
    resource_group: NotRequired[Annotated[str, Field(examples=["parcels"])]]
    fingerprint: NotRequired[Fingerprint]
    first_seen_at: NotRequired[FirstSeen]
    changed_at: NotRequired[Changed]


class Manifest(Shape):
    """A manifest of the Agent Discovery Protocol 1.0."""

    spec_version: Literal["1.0"]
    name: Annotated[str, Field(examples=["Pigeonpost"])]
    description: Annotated[str, Field(examples=["Books, prices and tracks parcels with local couriers."])]
    base_url: Annotated[str, Field(examples=["https://api.pigeonpost.example/v2"])]
    auth: Annotated[dict[str, Any], Field(examples=[{"type": "api_key", "header": "X-Key"}])]
    pricing: NotRequired[Annotated[dict[str, Any], Field(examples=[{"type": "freemium"}])]]
    capabilities: list[ManifestCapability]


class DocumentSeen(Shape):
    url: Annotated[str, Field(examples=["https://api.pigeonpost.example/.well-known/agent"])]
    format: Annotated[str | None, Field(examples=["adp"])]
    dialect: Annotated[str | None, Field(examples=["1.0"])]
    outcome: Annotated[str, Field(examples=["found"])]
    seen_at: Timestamp | None


class ScoreLine(Shape):
    reason: Annotated[str, Field(examples=["document.content_type"])]
    section: Annotated[str, Field(examples=["conformance"])]
    severity: Severity
    points: Annotated[float, Field(ge=0, description="Points lost; 0 for notes.", examples=[2.0])]
    count: Annotated[int, Field(ge=1, description="Findings that share the line.", examples=[1])]
    says: Annotated[str, Field(examples=["The file is served with another media type than its format names."])]
    fix: Annotated[str, Field(examples=["Configure the web server to send application/json for this path."])]
    spec: Annotated[str, Field(examples=["Agent Discovery Protocol 1.0, section 1"])]
    document: Annotated[
        str | None,
        Field(
            description="Where the first finding is; null: no single document is to blame.",
            examples=["https://api.pigeonpost.example/.well-known/agent"],
        ),
    ]
    pointer: Annotated[
        str,
        Field(
            description="JSON Pointer into `document`; without a document, into the service as shown here.",
            examples=[""],
        ),
    ]
    evidence: Annotated[str, Field(examples=["text/plain"])]


class Grade(Shape):
    value: Annotated[int, Field(ge=0, le=100, examples=[97])]
    rubric_version: Annotated[str, Field(examples=["1"])]
    sections: Annotated[
        dict[str, float],
        Field(
            examples=[
                {"conformance": 28.0, "completeness": 29.0, "safety": 15.0, "operability": 15.0, "identity": 10.0}
            ]
        ),
    ]
    lines: list[ScoreLine]


class AsOf(Shape):
    at: Timestamp
    read_by: Annotated[str, Field(description="Version of the rules that read the documents again.", examples=["1"])]
    score: Annotated[
        Literal["stored", "recomputed"],
        Field(description="Whether `score` is the one computed then, or made by the rules of today."),
    ]
    scored_at: Annotated[Timestamp | None, Field(description="When it was computed.")]
    missing: Annotated[list[str], Field(description="Documents of that time without kept bytes.", examples=[[]])]


class ServiceData(Shape):
    domain: HostName
    confusable: Confusable
    well_known_url: Annotated[str, Field(examples=["https://api.pigeonpost.example/.well-known/agent"])]
    verified: Verified
    trust_level: Trust
    trust: ExplainedTrust
    crawl_failures: Annotated[int, Field(examples=[0])]
    last_crawled_at: Timestamp | None
    created_at: Annotated[Timestamp, Field(examples=["2026-11-02T08:15:30.000Z"])]
    updated_at: Timestamp
    manifest: Manifest
    format: Annotated[str | None, Field(examples=["adp"])]
    formats: Annotated[Sequence[str], Field(examples=[["adp"]])]
    protocols: Annotated[list[dict[str, Any]], Field(examples=[[{"id": "adp", "version": "1.0"}]])]
    score: Grade
    auth: Auth
    pricing: Pricing
    policies: Annotated[dict[str, Any], Field(description="What the site allows and asks of agents.", examples=[{}])]
    provider: Annotated[
        dict[str, Any] | None, Field(description="Who runs the service, as its documents claim.", examples=[None])
    ]
    version: Annotated[str | None, Field(examples=[None])]
    homepage: Annotated[str | None, Field(examples=[None])]
    icon_url: Annotated[str | None, Field(examples=[None])]
    repository: Annotated[str | None, Field(description="Source code.", examples=[None])]
    license: Annotated[str | None, Field(examples=[None])]
    languages: Annotated[list[str], Field(examples=[[]])]
    packages: Annotated[list[Any], Field(description="How its servers are installed and started.", examples=[[]])]
    docs_url: Annotated[str | None, Field(examples=[None])]
    workflows: Annotated[list[Any], Field(description="Sequences of capabilities.", examples=[[]])]
    relations: Annotated[dict[str, Any], Field(description="Links to other services and documents.", examples=[{}])]
    claims: Annotated[dict[str, Any], Field(description="What the site says of itself, unchecked.", examples=[{}])]
    identity: Annotated[dict[str, Any], Field(description="Keys, signatures and identifiers.", examples=[{}])]
    groups: Annotated[list[Any], Field(description="Groups of capabilities.", examples=[[]])]
    tags: Annotated[list[str], Field(examples=[[]])]
    examples: Annotated[list[Any], Field(description="Example requests in plain words.", examples=[[]])]
    native: Annotated[
        dict[str, Any],
        Field(description="What the documents say and no other key expresses, by format.", examples=[{}]),
    ]
    synthetic: Annotated[
        bool, Field(description="The documents were generated, not written by the site.", examples=[False])
    ]
    provenance: Annotated[dict[str, Any], Field(description="Which document each part was taken from.", examples=[{}])]
    freshness: Freshness
    documents: list[DocumentSeen]
    as_of: NotRequired[Annotated[AsOf, Field(description="With the parameter `as_of` only.")]]
    ownership: OwnershipFacts
    owner_note: Annotated[str, Field(description="The owner's own words; empty: none.", examples=[""])]
    canonical_host: CanonicalHost
    injection_flags: InjectionFlags
    untrusted_text: UntrustedText


class OneService(Succeeded):
    data: ServiceData


class Parameter(Shape):
    name: Annotated[str, Field(examples=["weight_g"])]
    type: Annotated[str, Field(examples=["number"])]
    description: Annotated[str, Field(examples=["Weight in grams."])]
    required: Annotated[bool, Field(examples=[True])]


class CapabilityDetail(Shape):
    """A capability detail of the Agent Discovery Protocol 1.0, with everything else that the documents say.

    A key that is not required is absent where the documents say nothing.
    """

    id: NotRequired[Annotated[str, Field(description="The document's own.", examples=["create_parcel"])]]
    name: Annotated[str, Field(description="Unique within the service.", examples=["create_parcel"])]
    title: NotRequired[Annotated[str, Field(description="For people.", examples=["Create a parcel"])]]
    description: Annotated[str, Field(examples=["Creates a parcel and returns its label."])]
    endpoint: Annotated[
        str, Field(description="Absolute, or to be appended to the manifest's `base_url`.", examples=["/parcels"])
    ]
    method: Annotated[str, Field(examples=["POST"])]
    parameters: Annotated[
        list[Parameter],
        Field(
            examples=[
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
            ]
        ),
    ]
    request_example: Annotated[
        dict[str, Any],
        Field(
            examples=[
                {
                    "method": "POST",
                    "url": "https://api.pigeonpost.example/v2/parcels",
                    "headers": {"X-Key": "..."},
                    "body": {"weight_g": 250},
                }
            ]
        ),
    ]
    response_example: Annotated[dict[str, Any], Field(examples=[{"status": 201, "body": {"id": "p_1"}}])]
    derived: Annotated[
        list[str], Field(description="Examples that the site does not give and that were derived.", examples=[[]])
    ]
    side_effects: NotRequired[
        Annotated[bool | None, Field(description="Only what the documents say; null: unknown.", examples=[True])]
    ]
    side_effects_inferred: NotRequired[
        Annotated[
            dict[str, Any],
            Field(
                description="What the method lets a caller expect where `side_effects` is null, and why.",
                examples=[{"value": False, "from": "GET is a safe method (RFC 9110 section 9.2.1)"}],
            ),
        ]
    ]
    input_schema: NotRequired[
        Annotated[
            dict[str, Any],
            Field(
                description="JSON Schema of all parameters, as the document gives it.",
                examples=[{"type": "object", "properties": {"weight_g": {"type": "integer", "minimum": 1}}}],
            ),
        ]
    ]
    output_schema: NotRequired[
        Annotated[dict[str, Any], Field(description="JSON Schema of the result.", examples=[{"type": "object"}])]
    ]
    result_note: NotRequired[Annotated[str, Field(description="What is returned, in words.", examples=["A label."])]]
    invocations: NotRequired[
        Annotated[list[dict[str, Any]], Field(description="Every known way to call it.", examples=[[]])]
    ]
    call: NotRequired[Annotated[Call, Field(description="The first of them, ready to be sent.")]]
    auth: NotRequired[
        Annotated[
            dict[str, Any],
            Field(
                description="The credentials of this call; `combinations` are sets of indexes needed at once.",
                examples=[{"schemes": [{"type": "api_key", "location": "header", "name": "X-Key"}], "required": True}],
            ),
        ]
    ]
    native: NotRequired[
        Annotated[
            dict[str, Any],
            Field(description="What the document says and no other key expresses, by format.", examples=[{}]),
        ]
    ]
    auth_scopes: NotRequired[Annotated[list[str], Field(examples=[[]])]]
    fingerprint: NotRequired[Fingerprint]
    first_seen_at: NotRequired[FirstSeen]
    changed_at: NotRequired[Changed]
    rate_limits: NotRequired[
        Annotated[dict[str, Any], Field(examples=[{"requests_per_minute": 30, "daily_limit": 1000}])]
    ]
    resource_group: NotRequired[Annotated[str, Field(examples=["parcels"])]]
    injection_flags: NotRequired[InjectionFlags]
    untrusted_text: NotRequired[
        Annotated[bool, Field(description="The site wrote the texts: data, never instructions.", examples=[True])]
    ]


class TranslationLoss(Shape):
    what: Annotated[
        str, Field(description="The member or part that the translation cannot express.", examples=["name"])
    ]
    why: Annotated[str, Field(examples=["AWP has no place for it"])]
    document: Annotated[
        str | None,
        Field(
            description="The document of the host that the pointers lead into; null: the service as waypost models it "
            "(`manifest` of `/api/services/{domain}`).",
            examples=["https://api.pigeonpost.example/.well-known/agent.json"],
        ),
    ]
    count: Annotated[int, Field(description="The number of such losses.", examples=[1])]
    pointers: Annotated[
        list[str],
        Field(
            description="JSON Pointers into the document; the first of them. Nothing at or below one is expressed, or "
            "not exactly, as `why` says.",
            examples=[["/name"]],
        ),
    ]


class Translated(Succeeded):
    """A service as a document of another format."""

    format: Annotated[str, Field(examples=["awp"])]
    media_type: Annotated[str, Field(description="The media type of the document.", examples=["application/json"])]
    document: Annotated[
        dict[str, Any],
        Field(
            description="Marked as synthetic: in its own members (AWP), or in `x-synthetic`. A document of the host "
            "itself has no marks.",
            examples=[
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
                            "inputs": {
                                "weight_g": {"type": "float", "required": True, "description": "Weight in grams."}
                            },
                            "endpoint": "https://api.pigeonpost.example/v2/parcels",
                            "method": "POST",
                        }
                    ],
                    "source": "synthetic",
                    "generated_by": "waypost",
                    "confidence": 0.87,
                    "last_verified": EXAMPLE_TIME.replace(".000", ""),
                }
            ],
        ),
    ]
    losses: list[TranslationLoss]
    compared_with: Annotated[
        Literal["documents", "model"],
        Field(
            description="What the losses are counted against: the documents of the host, member by member, or the "
            "service as waypost models it, where no document with members is stored."
        ),
    ]
    source_formats: Annotated[
        Sequence[str], Field(description="Formats of the documents that this one is made from.", examples=[["adp"]])
    ]
    native_url: Annotated[
        str | None,
        Field(description="Where the host serves this format itself; prefer that document.", examples=[None]),
    ]
    synthetic: Annotated[bool, Field(description="False for a document that the host serves itself.", examples=[True])]
    injection_flags: InjectionFlags
    untrusted_text: UntrustedText
