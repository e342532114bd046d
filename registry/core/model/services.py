"""The common model that every format is translated to: one service with its capabilities.

Shapes follow no single format. None means unknown, never "no". All texts are untrusted: they come from the site.
`native` holds members without a field here, by format slug: {"awas": {"selector": "#cart"}}.
The dataclasses hold only JSON-ready values, so that `to_json` and `from_json` are exact inverses.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from pydantic import TypeAdapter

InvocationKind = Literal["http", "rpc", "mcp_tool", "a2a_skill", "instructions", "navigation", "pointer"]
AuthType = Literal[
    "none", "api_key", "http_basic", "bearer", "oauth2", "openid", "mtls", "did", "payment", "session", "custom"
]
PricingModel = Literal["free", "freemium", "paid", "pay_per_call", "unknown"]
ParameterPlace = Literal["path", "query", "header", "cookie", "body", "whole_body"]
"""Where a request carries a parameter. `body`: a member of the body; `whole_body`: the value is the body."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from: the document's URL, a JSON Pointer into it, and the format it was read as."""

    document: str
    pointer: str
    format: str


@dataclass(frozen=True, slots=True)
class Provider:
    """`contacts`: further addresses (mail, telephone, web pages, issue trackers) as the documents write them."""

    name: str | None = None
    url: str | None = None
    contact: str | None = None
    contacts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AuthScheme:
    type: AuthType
    location: str | None = None  # "header", "query", "cookie", "path", "body"
    name: str | None = None  # header or parameter name
    prefix: str | None = None
    authorization_url: str | None = None
    token_url: str | None = None
    scopes: tuple[str, ...] = ()
    setup_url: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Auth:
    """`required` None: not stated. No schemes and required None: nothing is known about authentication. Any one of
    `schemes` suffices, unless `combinations` states sets of schemes that are needed at once: each is a tuple of indexes
    into `schemes`, and any one of the sets suffices."""

    schemes: tuple[AuthScheme, ...] = ()
    required: bool | None = None
    combinations: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class RateLimit:
    requests: int | None = None
    window: str | None = None  # "1m", "1h", "1d" as the document writes it
    note: str | None = None  # parts without a field, as written
    burst: int | None = None  # requests that may come at once


@dataclass(frozen=True, slots=True)
class Confirmation:
    required: bool
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """A value that the caller supplies to start or reach a server: an environment variable, a header, a variable."""

    name: str
    description: str | None = None
    required: bool | None = None
    secret: bool | None = None
    value: str | None = None  # fixed by the document; may contain `{variables}`
    default: str | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Package:
    """How a server is started on the caller's machine: a package of a registry, or a bare command. `registry` is the
    type of registry as the document writes it ("npm", "pypi", "oci", "mcpb"); `command` is named by the document
    ("npx"). Arguments are in order; `runtime_arguments` belong to the command, `arguments` to the program."""

    registry: str | None = None
    identifier: str | None = None
    version: str | None = None
    command: str | None = None
    runtime_arguments: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    environment: tuple[Input, ...] = ()
    transport: str | None = None
    url: str | None = None  # where it can be called once it runs, for transports over HTTP
    registry_url: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Invocation:
    """One way to call a capability. `endpoint` is absolute https/wss, or None if only the client knows it. `places`
    pairs names of the capability's parameters with where the request carries them; empty: the document does not say.
    `names` pairs a parameter with its name in the request, where that differs: two parameters may share a name.
    `media_type`: of the body. `headers` are fixed by the document and carry no credential."""

    kind: InvocationKind
    endpoint: str | None = None
    method: str | None = None
    name: str | None = None  # operation, tool or skill name in that protocol
    auth: Auth | None = None
    scopes: tuple[str, ...] = ()
    rate_limit: RateLimit | None = None
    places: tuple[tuple[str, ParameterPlace], ...] = ()
    names: tuple[tuple[str, str], ...] = ()
    media_type: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    templated: bool = False  # the endpoint holds {variables}
    off_site: bool = False  # another registrable domain than the host that served the document (set by merge)
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    name: str | None = None
    price: str | None = None
    limits: str | None = None


@dataclass(frozen=True, slots=True)
class Payment:
    """One way to pay for a call (x402, Machine Payments Protocol), as the document writes it."""

    amount: str | None = None  # in the unit of the asset, or "10000 base units" where its decimals are not known
    currency: str | None = None  # a code or the address of a token
    network: str | None = None
    pay_to: str | None = None
    scheme: str | None = None
    resource: str | None = None  # the object of the payment, if it is not for one capability


@dataclass(frozen=True, slots=True)
class Pricing:
    model: PricingModel = "unknown"
    plans: tuple[Plan, ...] = ()
    url: str | None = None
    note: str | None = None
    payments: tuple[Payment, ...] = ()


@dataclass(frozen=True, slots=True)
class Capability:
    """One thing a service can do. `params` and `result` are JSON Schemas, as data; some are built by readers. `id` is
    the document's own. `name` is unique within the service, a segment of this registry's URLs; `title` is for people,
    where the document has one beside the identifier. `side_effects` and `idempotent` are only what the document says,
    never inferred from a method."""

    id: str
    name: str
    description: str | None = None
    params: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    title: str | None = None
    side_effects: bool | None = None
    confirmation: Confirmation | None = None
    idempotent: bool | None = None
    idempotency_key: bool | None = None  # accepts one; says nothing about `idempotent`
    reversible: bool | None = None
    sensitivity: str | None = None  # as the document writes it
    polling_url: str | None = None  # where the state of a started call is asked for
    errors: Mapping[str, Any] = field(default_factory=dict)  # by code: a text, or the document's description
    result_note: str | None = None  # the result, in words
    pricing: Pricing | None = None  # of this capability alone
    deprecated: bool | None = None
    tags: tuple[str, ...] = ()  # semantic types among them
    examples: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()  # A2A: media types that the skill accepts and returns
    output_modes: tuple[str, ...] = ()
    whole_server: bool = False  # stands for an MCP server whose tools are not listed; set by readers of MCP documents
    docs_url: str | None = None
    detail_url: str | None = None  # ADP: absolute URL of the capability detail
    detail: Mapping[str, Any] | None = None  # ADP: the detail document as served
    invocations: tuple[Invocation, ...] = ()
    native: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    injection_flags: tuple[str, ...] = ()  # codes of the rules about prompt injection that its texts break
    origin: Origin | None = None  # set by merge: the document that describes it
    provenance: Mapping[str, Origin] = field(default_factory=dict)  # set by merge: fields from another document


@dataclass(frozen=True, slots=True)
class Policies:
    training: str | None = None
    inference: str | None = None
    caching: str | None = None
    attribution: str | None = None
    terms_url: str | None = None
    privacy_url: str | None = None
    rate_limit: RateLimit | None = None
    hints: Mapping[str, str] = field(default_factory=dict)  # AWP agent_hints


@dataclass(frozen=True, slots=True)
class Protocol:
    id: str  # "adp", "mcp", "a2a", "awp", "woa-rest", "x402", ...
    version: str | None = None
    endpoint: str | None = None
    transport: str | None = None
    card_url: str | None = None
    headers: tuple[Input, ...] = ()  # that a client sends with every request


@dataclass(frozen=True, slots=True)
class Pointer:
    """A URL that a document names and the crawler may follow. Inline `payload` is assessed like a fetched body."""

    url: str | None
    rel: str
    pointer: str = ""  # JSON Pointer to the place that names it
    expected: str | None = None  # format slug, where the document promises one
    payload: Any = None  # a JSON value (pydantic cannot hold the recursive alias)


@dataclass(frozen=True, slots=True)
class Signature:
    """A JWS without payload (RFC 7515 appendix F) over the document that carries it: both parts in base64url.
    `verified` is set by merge, with the keys of documents of the same host; None if it could not be checked."""

    protected: str
    signature: str
    pointer: str = ""  # JSON Pointer to it
    verified: bool | None = None


@dataclass(frozen=True, slots=True)
class Identity:
    """`keys` are public JSON Web Keys (RFC 7517), known members only. `signed` is the text that the signatures cover:
    merge needs it, then drops it."""

    dids: tuple[str, ...] = ()
    keys: tuple[Mapping[str, str], ...] = ()
    signatures: tuple[Signature, ...] = ()
    signed: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """One of several APIs that a catalogue lists under one host (RFC 9727); it owns the capabilities of `documents`."""

    url: str  # the anchor
    name: str | None = None
    documents: tuple[str, ...] = ()  # URLs of its descriptions
    docs_url: str | None = None


@dataclass(frozen=True, slots=True)
class Workflow:
    id: str
    name: str | None = None
    description: str | None = None
    steps: tuple[str, ...] = ()
    conditions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Relations:
    workflows: tuple[Workflow, ...] = ()
    dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # capability id -> prerequisites
    errors: Mapping[str, str] = field(default_factory=dict)  # error code -> recovery
    operational: bool | None = None
    degraded: tuple[str, ...] = ()
    status_url: str | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """What one host offers. `claims` are names that the document states for itself (domain, base_url, provider url):
    shown as claims, never used as identity. `provenance` maps a field name of this class to the source of its value.
    After merge it also has paths below a field ("protocols/1", "policies/terms_url") for parts that come from another
    document."""

    name: str | None = None
    description: str | None = None
    provider: Provider | None = None
    version: str | None = None
    base_url: str | None = None
    homepage: str | None = None
    docs_url: str | None = None
    icon_url: str | None = None
    repository: str | None = None
    license: str | None = None
    languages: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # of the service as a whole
    examples: tuple[str, ...] = ()  # requests that its users would make
    capabilities: tuple[Capability, ...] = ()
    auth: Auth = Auth()
    pricing: Pricing = Pricing()
    policies: Policies = Policies()
    protocols: tuple[Protocol, ...] = ()
    packages: tuple[Package, ...] = ()
    pointers: tuple[Pointer, ...] = ()
    relations: Relations = Relations()
    groups: tuple[Group, ...] = ()
    identity: Identity = Identity()
    claims: Mapping[str, str] = field(default_factory=dict)
    native: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    synthetic: bool = False  # AWP section 14: generated by an intermediary, not by the site
    confidence: float | None = None
    provenance: Mapping[str, Origin] = field(default_factory=dict)


_SERVICE: TypeAdapter[Service] = TypeAdapter(Service)
_CAPABILITY: TypeAdapter[Capability] = TypeAdapter(Capability)
SERVER_ID: Final = "mcp:"
"""Prefix of the id of a capability with `whole_server`. Other ids may begin with it too: sites choose them."""
_SERVER_FORMATS: Final = frozenset({"mcp-json", "mcp-server-card", "mcp-server-json"})
SEMANTIC_TYPE: Final = re.compile(r"[a-z]+:[a-z0-9-]+")


def to_json(service: Service) -> dict[str, Any]:
    """Return the service as JSON-ready values, without defaults."""
    dumped: dict[str, Any] = _SERVICE.dump_python(service, mode="json", exclude_defaults=True)
    return dumped


def from_json(value: Mapping[str, Any]) -> Service:
    """Return the service that `to_json` wrote. Raise pydantic.ValidationError on anything else."""
    service = _SERVICE.validate_python(value)
    capabilities = tuple(
        replace(capability, whole_server=True) if _is_older_server(capability) else capability
        for capability in service.capabilities
    )
    return replace(service, capabilities=capabilities)


def capability_from_json(value: Mapping[str, Any]) -> Capability:
    """Return one capability that `to_json` wrote. Raise pydantic.ValidationError on anything else."""
    return _CAPABILITY.validate_python(value)


def _is_older_server(capability: Capability) -> bool:
    """Return whether the capability was stored for a whole server before `whole_server` existed. Its call has no name;
    the calls of tools, resources and prompts do."""
    if capability.whole_server or not capability.id.startswith(SERVER_ID):
        return False
    calls = [call for call in capability.invocations if call.kind in ("rpc", "instructions") and call.name is None]
    return any(call.origin is not None and call.origin.format in _SERVER_FORMATS for call in calls)


def is_semantic_type(tag: str) -> bool:
    """Return whether a tag is a `namespace:type` (ATP 0.1 section 3.5.2), with one meaning for all services."""
    return len(tag) <= 64 and SEMANTIC_TYPE.fullmatch(tag) is not None
