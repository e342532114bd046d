"""Recognise ATP manifests, read them into a service and check what ATP demands (ATP sections 2.2 and 3)."""

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from registry.core.format_support import shapes
from registry.core.format_support.common_rules import PROVIDER_ELSEWHERE
from registry.core.format_support.endpoints import claim, endpoint, link
from registry.core.format_support.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    NAME_CHARS,
    TEXT_CHARS,
    Notes,
    Object,
    clean_json,
    count_of,
    flag_of,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    native,
    own_members,
    required_text,
    short_text_of,
    text_of,
    texts_of,
    with_provenance,
)
from registry.core.format_support.params import Definitions, list_schema
from registry.core.format_support.vocabulary import ACTION_METHODS, SAFE_METHODS, SEMVER, auth_type, http_method
from registry.core.formats.atp import rules
from registry.core.model import services
from registry.core.model.documents import Document, Json
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line, plain

SLUG: Final = "atp"
REQUIRED: Final = ("id", "name", "description", "endpoint", "method")
_CAPABILITY_READ: Final = frozenset({
    *REQUIRED, "semanticType", "parameters", "response", "requiredScopes", "sideEffects", "confirmation", "deprecated",
})  # fmt: skip

_ID = re.compile(r"[a-z0-9-]+")
_MAX_DEPTH: Final = 4  # schemas may refer to each other in a cycle
_PREFIX: Final = "#/schemas/"
LAX: Final = "lax"
TYPE: Final = "AgentManifest"

_READ: Final = frozenset({
    "@context", "@type", "name", "description", "version", "capabilities", "workflows", "policies", "rateLimit",
    "schemas",
})  # fmt: skip
"""Members that the model expresses; schemas stand in the capabilities that refer to them."""
_FLOWS: Final = ("authorizationCode", "clientCredentials")
_POINTERS: Final = {
    **own_members("name", "description", "version", "provider", "capabilities", "auth", "policies"),
    "icon_url": "/provider/logo",
    "pricing": "/rateLimit/tierUrl",
    "relations": "/workflows",
}

MAX_BYTES: Final = 50 * 1024
MAX_SCHEMAS: Final = 200

_PATH = re.compile(r"https?://[^/]+/\.well-known/agent\.json(?:\?.*)?")
_WINDOW = re.compile(r"\d+[smhdw]")

TOP: Final = {
    **dict.fromkeys(("provider", "auth", "rateLimit", "schemas", "policies"), shapes.OBJECT),
    "workflows": shapes.LIST,
}
RATE_LIMIT: Final = {"requests": shapes.INTEGER, "window": shapes.TEXT, "burstLimit": shapes.INTEGER}
CAPABILITY: Final = {
    "parameters": shapes.LIST,
    "response": shapes.OBJECT,
    "requiredScopes": shapes.TEXTS,
    "sideEffects": shapes.FLAG,
    "confirmation": shapes.OBJECT,
    "deprecated": shapes.FLAG,
    "deprecationMessage": shapes.TEXT,
}
CONFIRMATION: Final = {"required": shapes.FLAG, "message": shapes.TEXT}
PARAMETER: Final = {
    "required": shapes.FLAG,
    "enum": shapes.LIST,
    "description": shapes.TEXT,
    "format": shapes.TEXT,
    "minimum": shapes.NUMBER,
    "maximum": shapes.NUMBER,
    "pattern": shapes.TEXT,
}
POLICIES: Final = {
    "training": shapes.one_of("allow", "deny", "conditional"),
    "inference": shapes.one_of("allow", "deny", "conditional"),
    "attribution": shapes.one_of("required", "preferred", "none"),
    "caching": shapes.OBJECT,
}
_PARAMETER_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object")
_TYPE = rules.MEMBER_TYPE


def dialect(document: Document) -> str | None:
    """Return "" for an ATP document, None for any other. `@type` alone is not sufficient, because another project uses
    the same word."""
    value = document.members
    if _names_context(value):
        return ""
    has_type = value.get("@type") == TYPE
    return "" if has_type and any(_has_keys(entry, "endpoint") for entry in list_of(value, "capabilities")) else None


def lax_dialect(document: Document) -> str | None:
    """Return LAX for a document with the shape of ATP but without its context or type, None for any other. The caller
    tries `dialect` first: this test does not look for the context."""
    value = document.members
    if "skills" in value:
        return None
    return LAX if any(_has_keys(entry, "endpoint", "method") for entry in list_of(value, "capabilities")) else None


def _names_context(value: Object) -> bool:
    context = value.get("@context")
    contexts = context if isinstance(context, list) else [context]
    return any(isinstance(url, str) and "atp.dev/schema" in url for url in contexts)


def _has_keys(entry: Json, *keys: str) -> bool:
    return isinstance(entry, dict) and all(key in entry for key in keys)


def read(document: Document, dialect: str, notes: Notes) -> services.Service:
    if document.url.startswith("http://"):
        notes.add(rules.HTTP, "", document.url)
        return services.Service()
    body = document.members
    _check_served(document, notes)
    _check_top(body, dialect, document, notes)
    _check(body, document, notes)
    provider = map_of(body, "provider")
    provider_url = claim(provider.get("url"), document, "/provider/url", notes, PROVIDER_ELSEWHERE)
    usable_capabilities = tuple(capabilities(body, document, notes))
    usable_ids = {capability.id for capability in usable_capabilities}
    service = services.Service(
        name=required_text(body, "name", rules.REQUIRED, notes, NAME_CHARS),
        description=required_text(body, "description", rules.REQUIRED, notes),
        version=required_text(body, "version", rules.REQUIRED, notes, NAME_CHARS),
        provider=_read_provider(provider, document, notes) if provider else None,
        homepage=link(provider.get("url"), document.url),
        icon_url=link(provider.get("logo"), document.url),
        capabilities=usable_capabilities,
        auth=_read_auth(map_of(body, "auth"), document),
        pricing=services.Pricing(url=link(map_of(body, "rateLimit").get("tierUrl"), document.url)),
        policies=_read_policies(body, document),
        relations=services.Relations(workflows=tuple(_read_workflows(body, usable_ids, notes))),
        claims={"provider_url": provider_url} if provider_url else {},
        native=native(SLUG, body, _READ),
    )
    return with_provenance(service, document, SLUG, _POINTERS)


def _check_top(body: Object, dialect: str, document: Document, notes: Notes) -> None:
    if dialect == LAX:
        notes.add(rules.LAX)
    else:
        if not _PATH.fullmatch(document.url):
            notes.add(rules.PATH, "", document.url)
        for key, is_named in (("@context", _names_context(body)), ("@type", body.get("@type") == TYPE)):
            if not is_named:
                notes.add(rules.CONTEXT, at("", key), body.get(key, ""))
    version = body.get("version")
    if isinstance(version, str) and version.strip() and not SEMVER.fullmatch(version):
        notes.add(rules.SEMVER, "/version", version)


def _read_provider(provider: Object, document: Document, notes: Notes) -> services.Provider:
    shapes.missing_texts(provider, ("name", "url"), "/provider", rules.PROVIDER, notes)
    name, contact = short_text_of(provider, "name"), short_text_of(provider, "contact")
    return services.Provider(name, link(provider.get("url"), document.url), contact)


def _read_auth(auth: Object, document: Document) -> services.Auth:
    entries = [entry for entry in list_of(auth, "schemes")[:MAX_TEXTS] if isinstance(entry, dict)]
    schemes = [scheme for entry in entries for scheme in _read_schemes(entry, document)]
    identity = map_of(auth, "agentIdentity")
    needs_identity = flag_of(identity, "required")
    if needs_identity:
        schemes.append(services.AuthScheme("did", "header", "Agent-Identity", note=short_text_of(identity, "format")))
    return services.Auth(tuple(schemes), needs_identity or None)


def _read_schemes(scheme: Object, document: Document) -> Iterator[services.AuthScheme]:
    word = short_text_of(scheme, "type")
    kind = auth_type(word)
    if kind == "oauth2":
        yield from _read_flows(map_of(scheme, "flows"), document)
    elif kind == "api_key":
        setup = link(scheme.get("registration"), document.url)
        place, name = short_text_of(scheme, "in"), short_text_of(scheme, "name")
        yield services.AuthScheme("api_key", place, name, setup_url=setup)
    elif kind == "bearer":
        yield services.AuthScheme("bearer", "header", "Authorization", "Bearer")
    elif kind is not None:
        yield services.AuthScheme(kind, note=word)


def _read_flows(flows: Object, document: Document) -> Iterator[services.AuthScheme]:
    """Yield one scheme per flow, because flows differ in their URLs and scopes; one empty scheme without flows."""
    known_flows: list[tuple[str | None, Object]] = [(name, map_of(flows, name)) for name in _FLOWS if name in flows]
    for name, flow in known_flows or [(None, {})]:
        yield services.AuthScheme(
            "oauth2",
            authorization_url=link(flow.get("authorizationUrl"), document.url),
            token_url=link(flow.get("tokenUrl"), document.url),
            scopes=tuple(line(scope, NAME_CHARS) for scope in list(map_of(flow, "scopes"))[:MAX_TEXTS]),
            note=name,
        )


def _read_policies(body: Object, document: Document) -> services.Policies:
    policies, limit = map_of(body, "policies"), map_of(body, "rateLimit")
    burst = count_of(limit, "burstLimit")
    requests, window = count_of(limit, "requests"), short_text_of(limit, "window")
    has_limit = requests is not None or window is not None or burst is not None
    return services.Policies(
        training=short_text_of(policies, "training"),
        inference=short_text_of(policies, "inference"),
        caching=_read_caching(policies),
        attribution=short_text_of(policies, "attribution"),
        terms_url=link(policies.get("termsUrl"), document.url),
        privacy_url=link(policies.get("privacyUrl"), document.url),
        rate_limit=services.RateLimit(requests, window, burst=burst) if has_limit else None,
    )


def _read_caching(policies: Object) -> str | None:
    caching = map_of(policies, "caching")
    allowed, seconds = flag_of(caching, "allowed"), count_of(caching, "maxAge")
    if allowed is None:
        return short_text_of(policies, "caching")
    if not allowed:
        return "deny"
    return f"allow, {seconds} s" if seconds is not None else "allow"


def _read_workflows(body: Object, usable_ids: set[str], notes: Notes) -> Iterator[services.Workflow]:
    """Yield the workflows. A step may name an entry that was left out: that entry has its own finding."""
    capability_ids = {text_of(entry, "id", ID_CHARS) for entry in list_of(body, "capabilities")} | usable_ids
    for index, workflow in enumerate(list_of(body, "workflows")[:MAX_TEXTS]):
        if not isinstance(workflow, dict):
            notes.add(rules.WORKFLOW, at("/workflows", index), workflow)
            continue
        _check_workflow(workflow, at("/workflows", index), capability_ids, notes)
        steps = texts_of(workflow, "steps", ID_CHARS)
        for step in steps:
            if step not in capability_ids:
                notes.add(rules.WORKFLOW_STEP, at("/workflows", index, "steps"), step)
        conditions = clean_json(map_of(workflow, "conditional"))
        if name := text_of(workflow, "id", ID_CHARS):
            title, description = short_text_of(workflow, "name"), text_of(workflow, "description")
            notes.mark_read(at("/workflows", index))
            yield services.Workflow(name, title, description, steps, conditions)


# --- capabilities (section 3.5) ---------------------------------------------------------------------------------------


def _resolve(value: Json, pointer: str, definitions: Definitions, notes: Notes, depth: int = 0) -> Any:
    """Return a copy of `value` with cleaned texts and with references replaced by their targets (section 3.7).
    References out of the document are dropped: they would make clients of the registry fetch a URL that the site chose.
    """
    if isinstance(value, str):
        return plain(value, TEXT_CHARS)
    if isinstance(value, list):
        return [_resolve(item, at(pointer, index), definitions, notes, depth) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if "$ref" not in value:
        return {
            line(key, NAME_CHARS): _resolve(item, at(pointer, key), definitions, notes, depth)
            for key, item in value.items()
        }
    reference = value["$ref"]
    name = reference.removeprefix(_PREFIX) if isinstance(reference, str) else ""
    if not isinstance(reference, str) or not reference.startswith(_PREFIX) or name not in definitions.named:
        notes.add(rules.REFERENCE, at(pointer, "$ref"), reference)
        return {}
    schema = definitions.taken(name) if depth < _MAX_DEPTH else None
    return (
        {"type": "object"} if schema is None else _resolve(schema, at("/schemas", name), definitions, notes, depth + 1)
    )


def capabilities(body: Object, document: Document, notes: Notes) -> Iterator[services.Capability]:
    """Yield the usable entries of `body["capabilities"]`; unusable ones are left out, with findings."""
    entries = body.get("capabilities")
    if not isinstance(entries, list):
        notes.add(rules.CAPABILITIES, "/capabilities", body.get("capabilities", ""))
        return
    schemas = Definitions(map_of(body, "schemas"))
    seen: set[str] = set()
    for pointer, entry in members(entries, "/capabilities", rules.CAPABILITY, notes):
        missing = shapes.missing_texts(entry, REQUIRED, pointer, rules.CAPABILITY_REQUIRED, notes)
        name = text_of(entry, "id", ID_CHARS)
        if missing or name is None or is_repeated(name, seen, at(pointer, "id"), notes):
            continue
        if not has_template(entry, ("id", "name", "description", "method"), pointer, notes, url="endpoint"):
            _check_capability(entry, name, pointer, notes)
            yield _read_capability(entry, name, pointer, document, schemas, notes)


def _read_capability(
    entry: Object, name: str, pointer: str, document: Document, schemas: Definitions, notes: Notes
) -> services.Capability:
    method = http_method(entry)
    address = endpoint(entry["endpoint"], document.url, document, at(pointer, "endpoint"), notes)
    semantic_type = short_text_of(entry, "semanticType")
    call = services.Invocation(
        "http",
        address.url if address else None,
        method,
        scopes=texts_of(entry, "requiredScopes"),
        templated=address is not None and address.templated,
        origin=services.Origin(document.url, pointer, SLUG),
    )
    has_params = isinstance(entry.get("parameters"), list)
    params = _resolve(list_of(entry, "parameters"), at(pointer, "parameters"), schemas, notes)
    result = _resolve(map_of(entry, "response"), at(pointer, "response"), schemas, notes)
    confirmation = map_of(entry, "confirmation")
    needs_confirmation, message = flag_of(confirmation, "required"), text_of(confirmation, "message")
    return services.Capability(
        id=name,
        name=short_text_of(entry, "name") or name,
        title=short_text_of(entry, "name"),
        description=text_of(entry, "description"),
        params=list_schema(params) if has_params else None,
        result=result if isinstance(result, dict) and result else None,
        side_effects=flag_of(entry, "sideEffects"),
        confirmation=None if needs_confirmation is None else services.Confirmation(needs_confirmation, message),
        deprecated=flag_of(entry, "deprecated"),
        tags=(semantic_type,) if semantic_type else (),
        invocations=(call,),
        native=native(SLUG, entry, _CAPABILITY_READ),
    )


# --- what ATP demands beyond the common model: types, words, addresses, workflow steps --------------------------------


def _check(body: Object, document: Document, notes: Notes) -> None:
    """Check the manifest apart from its capabilities and workflows."""
    shapes.check_types(body, TOP, "", _TYPE, notes)
    provider, rate_limit = map_of(body, "provider"), body.get("rateLimit")
    shapes.check_addresses(provider, ("url", "logo"), document.url, "/provider", rules.ADDRESS, notes)
    if provider.get("contact") is not None and not shapes.is_email(provider["contact"]):
        notes.add(rules.ADDRESS, "/provider/contact", provider["contact"])
    _check_auth(map_of(body, "auth"), document, notes)
    shapes.check_types(rate_limit, RATE_LIMIT, "/rateLimit", _TYPE, notes)
    window = text_of(rate_limit, "window")
    if window is not None and not _WINDOW.fullmatch(window):
        notes.add(rules.WINDOW, "/rateLimit/window", window)
    shapes.check_addresses(rate_limit, ("tierUrl",), document.url, "/rateLimit", rules.ADDRESS, notes)
    for name, schema in list(map_of(body, "schemas").items())[:MAX_SCHEMAS]:
        _check_schema(schema, at("/schemas", name), notes)
    _check_policies(body.get("policies"), document, notes)


def _check_served(document: Document, notes: Notes) -> None:
    """Check how the manifest is served (section 2.2), as far as one GET answer shows it."""
    if len(document.raw) > MAX_BYTES:
        notes.add(rules.SIZE, "", f"{len(document.raw)} bytes")
    headers = document.headers
    if not headers:  # the document was read from a file
        return
    shapes.check_origin(headers, rules.CORS, notes)
    if "cache-control" not in headers:
        notes.add(rules.CACHING)
    elif shapes.max_age(headers) != shapes.HOUR:
        notes.add(rules.MAX_AGE, "", headers["cache-control"])
    if "etag" not in headers:
        notes.add(rules.ETAG)


def _check_capability(entry: Object, name: str, pointer: str, notes: Notes) -> None:
    """Check a usable capability (section 3.5); the reader reports defects that make one unusable."""
    shapes.check_types(entry, CAPABILITY, pointer, _TYPE, notes)
    shapes.check_types(entry.get("confirmation"), CONFIRMATION, at(pointer, "confirmation"), _TYPE, notes)
    if isinstance(entry.get("response"), dict):
        _check_schema(entry["response"], at(pointer, "response"), notes)
    for index, parameter in enumerate(list_of(entry, "parameters")[:MAX_TEXTS]):
        _check_parameter(parameter, at(pointer, "parameters", index), notes)
    if not _ID.fullmatch(name):
        notes.add(rules.ID, at(pointer, "id"), name)
    tag = entry.get("semanticType")
    if tag is not None and not (isinstance(tag, str) and services.SEMANTIC_TYPE.fullmatch(tag)):
        notes.add(rules.SEMANTIC_TYPE, at(pointer, "semanticType"), tag)
    method = http_method(entry)
    if method not in ACTION_METHODS:
        notes.add(rules.METHOD, at(pointer, "method"), entry["method"])
    declared = flag_of(entry, "sideEffects")  # a POST may search, so what its document says of it counts
    if method not in SAFE_METHODS and declared is not True and not (method == "POST" and declared is False):
        notes.add(rules.SIDE_EFFECTS, at(pointer, "sideEffects"), entry.get("sideEffects", ""))
    confirmation = map_of(entry, "confirmation")
    if flag_of(confirmation, "required") and not text_of(confirmation, "message"):
        notes.add(rules.CONFIRMATION, at(pointer, "confirmation"))
    for index, parameter in enumerate(list_of(entry, "parameters")):
        for key in ("name", "type"):
            if not short_text_of(parameter, key):
                notes.add(rules.PARAMETER, at(pointer, "parameters", index, key))


def _check_workflow(workflow: Object, pointer: str, capability_ids: Collection[str | None], notes: Notes) -> None:
    """Check required members and branch targets (section 3.6). `capability_ids`: ids of all capabilities."""
    shapes.missing_texts(workflow, ("id", "name", "description"), pointer, rules.WORKFLOW, notes)
    shapes.check_types(workflow, {"conditional": shapes.OBJECT}, pointer, _TYPE, notes)
    if not list_of(workflow, "steps"):
        notes.add(rules.WORKFLOW, at(pointer, "steps"), workflow.get("steps", ""))
    for step, branch in list(map_of(workflow, "conditional").items())[:MAX_TEXTS]:
        branch_pointer = at(pointer, "conditional", step)
        if step not in capability_ids:
            notes.add(rules.WORKFLOW_BRANCH, branch_pointer, step)
        shapes.missing_texts(branch, ("condition",), branch_pointer, rules.WORKFLOW_BRANCH, notes)
        for key in ("onTrue", "onFalse"):
            target = branch.get(key) if isinstance(branch, dict) else None
            if target is not None and text_of(branch, key, ID_CHARS) not in capability_ids:
                notes.add(rules.WORKFLOW_BRANCH, at(branch_pointer, key), target)


def _check_auth(auth: Object, document: Document, notes: Notes) -> None:
    """Check schemes, OAuth 2.1 flows, keys, and the identity of agents (section 3.3)."""
    shapes.check_types(auth, {"schemes": shapes.LIST, "agentIdentity": shapes.OBJECT}, "/auth", _TYPE, notes)
    schemes = list_of(auth, "schemes")[:MAX_TEXTS]
    for index, scheme in enumerate(schemes):
        _check_scheme(scheme, at("/auth/schemes", index), document, notes)
    if schemes and not any(short_text_of(scheme, "type") == "oauth2" for scheme in schemes):
        notes.add(rules.NO_OAUTH, "/auth/schemes")
    identity = map_of(auth, "agentIdentity")
    shapes.check_types(identity, {"required": shapes.FLAG}, "/auth/agentIdentity", _TYPE, notes)
    words = {"format": ("did:web", "did:key", "custom")}
    shapes.check_words(identity, words, "/auth/agentIdentity", rules.WORD, notes)
    if flag_of(identity, "required") and identity.get("format", "did:web") != "did:web":
        notes.add(rules.IDENTITY, "/auth/agentIdentity/format", identity["format"])


def _check_scheme(scheme: Json, pointer: str, document: Document, notes: Notes) -> None:
    if not isinstance(scheme, dict):
        notes.add(_TYPE, pointer, scheme)
        return
    kind = scheme.get("type")
    if kind not in ("oauth2", "apiKey", "bearer", "delegated"):
        notes.add(rules.WORD, at(pointer, "type"), kind if kind is not None else "")
    if kind == "oauth2":
        _check_flows(scheme, at(pointer, "flows"), document, notes)
    elif kind == "apiKey":
        shapes.missing_texts(scheme, ("in", "name"), pointer, rules.API_KEY, notes)
        shapes.check_words(scheme, {"in": ("header", "query", "cookie")}, pointer, rules.WORD, notes)
        shapes.check_addresses(scheme, ("registration",), document.url, pointer, rules.ADDRESS, notes)


def _check_flows(scheme: Object, pointer: str, document: Document, notes: Notes) -> None:
    """Check the flows (section 3.3.1). A scheme without flows gives clients no address for authorization."""
    flows = map_of(scheme, "flows")
    code, credentials = map_of(flows, "authorizationCode"), map_of(flows, "clientCredentials")
    if not code and not credentials:
        notes.add(rules.OAUTH, pointer, scheme.get("flows", ""))
    if not code:
        notes.add(rules.NO_USER_FLOW, pointer)
    for name, flow, required in (
        ("authorizationCode", code, ("authorizationUrl", "tokenUrl")),
        ("clientCredentials", credentials, ("tokenUrl",)),
    ):
        flow_pointer = at(pointer, name)
        for key in required if flow else ():
            if not shapes.is_address(flow.get(key), document.url):
                notes.add(rules.OAUTH, at(flow_pointer, key), flow.get(key, ""))
        shapes.check_addresses(flow, ("refreshUrl",), document.url, flow_pointer, rules.ADDRESS, notes)
        shapes.check_types(flow, {"scopes": shapes.OBJECT}, flow_pointer, _TYPE, notes)


def _check_parameter(parameter: Json, pointer: str, notes: Notes) -> None:
    """Check a parameter (section 3.5.1), apart from the presence of name and type."""
    if not isinstance(parameter, dict):
        return
    shapes.check_types(parameter, PARAMETER, pointer, _TYPE, notes)
    shapes.check_words(parameter, {"type": _PARAMETER_TYPES}, pointer, rules.WORD, notes)
    if not text_of(parameter, "description"):
        notes.add(rules.PARAMETER_TEXT, at(pointer, "description"))
    if parameter.get("enum") == []:
        notes.add(rules.CONSTRAINT, at(pointer, "enum"), parameter["enum"])
    minimum, maximum = parameter.get("minimum"), parameter.get("maximum")
    if isinstance(minimum, int | float) and isinstance(maximum, int | float) and minimum > maximum:
        notes.add(rules.CONSTRAINT, at(pointer, "minimum"), minimum)


def _check_schema(schema: Json, pointer: str, notes: Notes) -> None:
    if not isinstance(schema, dict) or not shapes.is_schema(schema):
        notes.add(rules.SCHEMA, pointer, schema)


def _check_policies(policies: Json, document: Document, notes: Notes) -> None:
    """Check the policies (section 3.8)."""
    shapes.check_types(policies, POLICIES, "/policies", _TYPE, notes, words=rules.WORD)
    caching = map_of(policies, "caching")
    shapes.check_types(caching, {"allowed": shapes.FLAG, "maxAge": shapes.INTEGER}, "/policies/caching", _TYPE, notes)
    shapes.check_addresses(policies, ("termsUrl", "privacyUrl"), document.url, "/policies", rules.ADDRESS, notes)
    if text_of(policies, "training") == "conditional" and not text_of(policies, "termsUrl"):
        notes.add(rules.TERMS, "/policies/termsUrl")
