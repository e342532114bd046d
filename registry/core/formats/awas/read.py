"""Recognise AWAS documents and read them into a service (AWAS 1.0, Top-Level Properties, Action Object Structure).

Dialects contradict each other, so one is chosen first and the document is graded by it alone. Bridge manifests only
point to the catalogue of actions (MCP and A2A Integration).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from registry.core.format_support.endpoints import claim, endpoint, link, origin_of, page
from registry.core.format_support.loose import homepage_of, license_of, pricing_of, provider_of, repository_of
from registry.core.format_support.manifest import (
    ID_CHARS,
    MAX_CAPABILITIES,
    MAX_TEXTS,
    NAME_CHARS,
    TEXT_CHARS,
    Notes,
    Object,
    clean_json,
    first_flag,
    first_text,
    flag_of,
    has_placeholder,
    has_template,
    is_repeated,
    list_of,
    map_of,
    members,
    native,
    own_members,
    short_text_of,
    slug,
    text_of,
    texts_of,
    with_provenance,
)
from registry.core.format_support.params import list_schema, object_schema, property_of
from registry.core.format_support.security import NOTHING_NEEDED
from registry.core.format_support.shapes import OBJECT, check_types, missing_texts
from registry.core.format_support.vocabulary import auth_type, http_method, rate_limit_object, rate_limit_text
from registry.core.formats.awas import rules
from registry.core.formats.awas.checks import check, check_action, check_served
from registry.core.model import services
from registry.core.model.documents import Document, Json
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

SLUG: Final = "awas"
BRIDGE: Final = "bridge"
CUSTOMER: Final = "customer_actions"
GRADED: Final = "1.0"
"""The version whose text is the specification for grading."""
MAX_SCHEMES: Final = 10  # a low limit, because every action repeats the schemes that it needs

_ACTION_READ: Final = frozenset({
    "id", "action_id", "name", "label", "title", "description", "path", "endpoint", "url", "method", "http_method",
    "parameters", "inputs", "params", "inputSchema", "request_schema", "outputSchema", "response_schema", "outputs",
    "rateLimit", "rate_limits", "auth_required", "authentication_required", "auth_headers", "authScopes",
    "required_scopes", "side_effect", "reversible", "requires_user_confirmation",
})  # fmt: skip
"""Members that the model expresses. Results, which are selectors of a page, and statuses are kept unchanged."""
_CALLED: Final = frozenset({"", "api", "http", "https", "rest", "endpoint", "webhook", "form"})
"""Types of actions that are HTTP calls, whose method must be named."""
_LISTS: Final = ("parameters", "inputs", "params")
_SCHEMAS: Final = ("inputSchema", "request_schema")
_OUTPUT_SCHEMAS: Final = ("outputSchema", "response_schema")
_ID_1_1 = re.compile(r"[a-z_][a-z0-9_]*")
# the catalogue's own path, or awas.json, the example path in the section about bridges
_PATH = re.compile(r"https?://[^/]+/\.well-known/(?:ai-actions|awas)\.json(?:\?.*)?")
_WINDOW = re.compile(r"\d+[smhd]")
_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)
MAX_POINTERS: Final = 10
_READ: Final = frozenset({
    "version", "specVersion", "schemaVersion", "schema_version", "name", "appName", "description", "siteDescription",
    "baseUrl", "actions", "customer_actions", "workflows", "openapiUrl", "mcpManifestUrl",
})  # fmt: skip
_CATALOGUE: Final = frozenset({"actions", "actions_registry", "discover"})
_BRIDGE_READ: Final = frozenset({"$schema", "name", "description", "version", "protocol"})
_DOCS: Final = ("documentation", "documentationUrl", "docs")
_MAX_BRIDGE_POINTERS: Final = 20
_NEEDED: Final = {"mcp": ("capabilities", "endpoints"), "a2a": ("capabilities", "endpoints", "interoperability")}
_STEP_IDS: Final = ("action", "actionId", "id")
OWN_PATHS: Final = re.compile(r"/(?:ai-actions|awas|mcp-manifest|a2a-manifest|mcp-actions)\.json$")

_POINTERS: Final = {
    **own_members("name", "description"),
    "base_url": "/baseUrl",
    "provider": "/contact",
    "capabilities": "/actions",
    "auth": "/authentication",
    "policies": "/rateLimit",
    "relations": "/workflows",
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The members that a dialect uses. `required` are top-level texts; `published`: the AWAS project describes it."""

    name: str
    required: tuple[str, ...]
    ids: tuple[str, ...]
    targets: tuple[str, ...]
    methods: tuple[str, ...] = ("method",)
    published: bool = False


_PAGE_HINT = re.compile(rb"\sdata-(?:awas|ai)-[a-z]", re.IGNORECASE)
_TEXTS: Final = ("name", "description")
_ANYWHERE: Final = ("endpoint", "url", "path")

DIALECTS: Final = {
    dialect.name: dialect
    for dialect in (
        Dialect(GRADED, ("version", *_TEXTS), ("id",), ("path",), published=True),
        Dialect("1.1", ("specVersion", *_TEXTS), ("id",), ("endpoint", "path", "url"), published=True),
        Dialect("mixed", ("version", *_TEXTS), ("id", "name"), _ANYWHERE),
        Dialect("qontinui", ("schemaVersion", "appName"), ("id", "name"), _ANYWHERE),
        Dialect("schemaVersion", ("schemaVersion",), ("id", "name"), ("url", "endpoint", "path")),
        Dialect("action_id", (), ("action_id", "id", "name"), _ANYWHERE, ("http_method", "method")),
        Dialect(CUSTOMER, (), (), ("url",)),
    )
}
PUBLISHED: Final = frozenset(name for name, dialect in DIALECTS.items() if dialect.published)


def weak_dialect(document: Document) -> str | None:
    """Return the dialect, or None for a document that is not AWAS. No member identifies AWAS, so this is a weak test:
    it counts at the format's own paths, after all strong tests."""
    value = document.members
    if isinstance(value.get("customer_actions"), dict):
        return CUSTOMER
    actions = [action for action in list_of(value, "actions") if isinstance(action, dict)]
    if any(
        any(key in action for key in ("id", "action_id", "name"))
        and any(key in action for key in ("path", "endpoint", "url", "method", "http_method"))
        for action in actions
    ):
        return _dialect_by_members(value, actions)
    if value.get("actions") == [] and all(isinstance(value.get(key), str) for key in DIALECTS[GRADED].required):
        return GRADED  # the example in section File Formats: a site without actions so far
    return BRIDGE if any(isinstance(url, str) and url.strip() for url in _catalogue_urls(value)) else None


def _dialect_by_members(value: Object, actions: list[Object]) -> str:
    if any("action_id" in action or "http_method" in action for action in actions):
        return "action_id"
    if "specVersion" in value:
        return "1.1"
    if "schemaVersion" in value:
        return "qontinui" if "appName" in value or "baseUrl" in value else "schemaVersion"
    return GRADED if any("path" in action for action in actions) else "mixed"


def has_page_hint(body: bytes) -> bool:
    """Return whether the page has attributes `data-awas-*` or `data-ai-*`: only a hint, never a capability."""
    # plain search first, because the pattern would dominate the cost of processing a page
    return b"data-a" in body.lower() and _PAGE_HINT.search(body) is not None


def read(document: Document, dialect: str, notes: Notes) -> services.Service:
    body = document.members
    if dialect == BRIDGE:
        return _read_bridge(body, document, notes)
    check_served(document, notes)
    definition = DIALECTS[dialect]
    if not definition.published:
        notes.add(rules.DIALECT, "", definition.name)
    missing_texts(body, definition.required, "", rules.REQUIRED, notes)
    for key in ("name", "description"):
        has_template(body, (key,), "", notes)
    if definition.published and not _PATH.fullmatch(document.url):
        notes.add(rules.PATH, "", document.url)
    if definition.name == GRADED:
        check(body, notes)
    base = endpoint(body.get("baseUrl"), document.url, document, "/baseUrl", notes)
    base_url = claim(base.url, document, "/baseUrl", notes) if base and not base.templated else None
    auth = auth_of(map_of(body, "authentication") or map_of(body, "auth"), base_url or document.url)
    catalogue = ActionCatalogue(document, definition, base_url or origin_of(document.url), auth, notes)
    limit = body.get("rateLimit", body.get("rate_limits"))
    service = services.Service(
        name=_text(body, NAME_CHARS, "name", "appName"),
        description=_text(body, TEXT_CHARS, "description", "siteDescription"),
        provider=provider_of(body, document.url),
        homepage=homepage_of(body, document.url) or link(body.get("site"), document.url),
        repository=repository_of(body, document.url),
        license=license_of(body),
        pricing=pricing_of(body.get("pricing"), document.url),
        base_url=base_url,
        capabilities=tuple(
            customer_actions(catalogue, map_of(body, "customer_actions"))
            if dialect == CUSTOMER
            else capabilities(catalogue, list_of(body, "actions"))
        ),
        auth=auth,
        policies=services.Policies(rate_limit=rate_limit(limit, "/rateLimit", notes)),
        pointers=tuple(_read_pointers(body, document)),
        relations=services.Relations(workflows=tuple(_read_workflows(body, notes))),
        claims={"base_url": base_url} if base_url else {},
        native=native(SLUG, body, _READ),
    )
    return with_provenance(service, document, SLUG, _POINTERS)


def _text(body: Object, chars: int, *keys: str) -> str | None:
    key = next((key for key in keys if text_of(body, key)), None)
    return None if key is None or has_placeholder(body[key]) else text_of(body, key, chars)


def _read_pointers(body: Object, document: Document) -> Iterator[services.Pointer]:
    """Yield pointers to the same calls in other formats: qontinui's members, `openapi.documentUrl` of 1.1."""
    seen = set()
    for key, rel, expected in (("openapiUrl", "service-desc", "openapi"), ("mcpManifestUrl", "mcp-manifest", None)):
        if (url := link(body.get(key), document.url)) is not None:
            seen.add(url)
            yield services.Pointer(url, rel, at("", key), expected)
    for index, action in enumerate(list_of(body, "actions")):
        url = link(map_of(action, "openapi").get("documentUrl"), document.url)
        if url is not None and url not in seen and len(seen) < MAX_POINTERS:
            seen.add(url)
            yield services.Pointer(url, "service-desc", at("/actions", index, "openapi", "documentUrl"), "openapi")


def _read_workflows(body: Object, notes: Notes) -> Iterator[services.Workflow]:
    for index, workflow in enumerate(list_of(body, "workflows")[:MAX_TEXTS]):
        name = first_text(workflow, "id", "name", chars=ID_CHARS)
        if name is not None:
            steps = (
                line(step, ID_CHARS) if isinstance(step, str) else first_text(step, *_STEP_IDS, chars=ID_CHARS)
                for step in list_of(workflow, "steps")[:MAX_TEXTS]
            )
            kept = tuple(step for step in steps if step)
            notes.mark_read(at("/workflows", index))
            yield services.Workflow(name, short_text_of(workflow, "name"), text_of(workflow, "description"), kept)


# --- actions of all dialects ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ActionCatalogue:
    """The facts that all actions of a document share. Paths are resolved against `base` (RFC 3986)."""

    document: Document
    dialect: Dialect
    base: str
    auth: services.Auth
    notes: Notes


def capabilities(catalogue: ActionCatalogue, actions: list[Json]) -> Iterator[services.Capability]:
    """Yield the usable actions; unusable ones are noted and left out."""
    seen: set[str] = set()
    for pointer, action in members(actions, "/actions", rules.ACTION, catalogue.notes):
        name = _read_name(catalogue, action, pointer, seen)
        call = _read_call(catalogue, action, name, pointer) if name else None
        if name and call:
            yield _read_capability(catalogue, action, name, pointer, call)


def customer_actions(catalogue: ActionCatalogue, actions: Object) -> Iterator[services.Capability]:
    """Yield the pages for people in `{key: {type, url, label}}`."""
    for key, action in list(actions.items())[:MAX_CAPABILITIES]:
        pointer, name = at("/customer_actions", key), line(key, ID_CHARS)
        if not name or not isinstance(action, dict) or not text_of(action, "url"):
            catalogue.notes.add(rules.ACTION_REQUIRED, pointer, name)
            continue
        origin = services.Origin(catalogue.document.url, pointer, SLUG)
        call = _read_navigation(catalogue, action["url"], at(pointer, "url"), origin)
        title = first_text(action, "label", "name", chars=NAME_CHARS)
        yield services.Capability(
            name,
            title or name,
            text_of(action, "description"),
            title=title,
            native=native(SLUG, action, _ACTION_READ),
            tags=(kind,) if (kind := short_text_of(action, "type")) else (),
            invocations=(call,),
        )


def rate_limit(limit: Json, pointer: str, notes: Notes) -> services.RateLimit | None:
    """Return the limit in `{requests, window}` or in a text like 60/minute; note a malformed window."""
    if isinstance(limit, str):
        return rate_limit_text(line(limit, NAME_CHARS))
    window = short_text_of(limit, "window")
    if window is not None and not _WINDOW.fullmatch(window):
        notes.add(rules.WINDOW, at(pointer, "window"), window)
    return rate_limit_object(limit)


def _read_name(catalogue: ActionCatalogue, action: Object, pointer: str, seen: set[str]) -> str | None:
    dialect, notes = catalogue.dialect, catalogue.notes
    key = next((key for key in dialect.ids if text_of(action, key, ID_CHARS)), None)
    if key is None:
        notes.add(rules.ACTION_REQUIRED, at(pointer, dialect.ids[0]), action.get(dialect.ids[0], ""))
        return None
    identifier = text_of(action, key, ID_CHARS) or ""
    name = slug(identifier) if key == "name" else identifier
    if is_repeated(name, seen, at(pointer, key), notes):
        return None
    return None if has_template(action, (key, "name", "description"), pointer, notes) else name


def _read_call(catalogue: ActionCatalogue, action: Object, name: str, pointer: str) -> services.Invocation | None:
    dialect, notes = catalogue.dialect, catalogue.notes
    origin = services.Origin(catalogue.document.url, pointer, SLUG)
    target_key = next((key for key in dialect.targets if text_of(action, key)), None)
    if target_key is None and not dialect.published and short_text_of(action, "type"):
        # the site describes something that a person or a script on its page does
        return services.Invocation("instructions", name=short_text_of(action, "type"), origin=origin)
    if target_key is None:
        notes.add(rules.ACTION_REQUIRED, at(pointer, dialect.targets[0]), name)
        return None
    declared_method = first_text(action, *dialect.methods, chars=20)
    if _is_navigation(action, declared_method, action[target_key], dialect.published):
        if declared_method is not None and dialect.published:
            notes.add(rules.METHOD, at(pointer, dialect.methods[0]), declared_method)
        return _read_navigation(catalogue, action[target_key], at(pointer, target_key), origin)
    if declared_method is None:
        notes.add(rules.ACTION_REQUIRED, at(pointer, dialect.methods[0]), name)
        return None
    method = next(filter(None, (http_method(action, key) for key in dialect.methods)), None)
    if method is None:
        notes.add(rules.METHOD, at(pointer, dialect.methods[0]), declared_method)
    address = endpoint(action[target_key], catalogue.base, catalogue.document, at(pointer, target_key), notes)
    limit = action.get("rateLimit", action.get("rate_limits"))
    return services.Invocation(
        "http",
        address.url if address else None,
        method,
        auth=_read_auth(catalogue, action),
        scopes=texts_of(action, "authScopes") or texts_of(action, "required_scopes"),
        rate_limit=rate_limit(limit, at(pointer, "rateLimit"), notes),
        templated=address is not None and address.templated,
        origin=origin,
    )


def _is_navigation(action: Object, declared_method: str | None, target: Json, is_published: bool) -> bool:
    """Return whether the action opens a page or another scheme (`tel:`) instead of calling an API."""
    kind = (short_text_of(action, "type") or "").lower()
    has_other_scheme = isinstance(target, str) and _SCHEME.match(target.strip()) is not None
    return (
        (declared_method or "").lower() == "navigate"
        or (declared_method is None and kind.startswith("navigat"))
        # undocumented dialects name a function of the page ("client_side_helper") instead of a method
        or (declared_method is None and not is_published and kind not in _CALLED)
        or has_other_scheme
    )


def _read_navigation(
    catalogue: ActionCatalogue, target: Json, pointer: str, origin: services.Origin
) -> services.Invocation:
    """Return the navigation. A URI of another scheme, such as `tel:`, becomes its name: it has no endpoint."""
    uri = line(target, NAME_CHARS) if isinstance(target, str) else ""
    if _SCHEME.match(uri):
        return services.Invocation("navigation", name=uri, origin=origin)
    address = endpoint(target, catalogue.base, catalogue.document, pointer, catalogue.notes)
    templated = address is not None and address.templated
    return services.Invocation("navigation", address.url if address else None, templated=templated, origin=origin)


def _read_auth(catalogue: ActionCatalogue, action: Object) -> services.Auth | None:
    declared = map_of(action, "authentication")
    if declared:
        return auth_of(declared, catalogue.base)
    is_required = first_flag(action, "authentication_required", "auth_required")
    if not is_required:
        return None if is_required is None else NOTHING_NEEDED
    headers = texts_of(action, "auth_headers")
    header_schemes = tuple(services.AuthScheme("api_key", "header", header) for header in headers)
    together = (tuple(range(len(headers))),) if len(headers) > 1 else ()
    return services.Auth(header_schemes or catalogue.auth.schemes, True, together)


def auth_of(auth: Object, base: str) -> services.Auth:
    """Read `{required, methods}` of version 1.0 or `{type, token_endpoint, ...}` of other dialects."""
    words = texts_of(auth, "methods", most=MAX_SCHEMES) or tuple(filter(None, [short_text_of(auth, "type")]))
    kinds = [(word, kind) for word in words if (kind := auth_type(word)) is not None]
    schemes = tuple(
        services.AuthScheme(
            kind,
            authorization_url=link(auth.get("authorization_endpoint"), base),
            token_url=link(auth.get("token_endpoint"), base),
            note=word if kind == "custom" else None,
        )
        for word, kind in kinds
    )
    return services.Auth(schemes, flag_of(auth, "required"))


def _read_capability(
    catalogue: ActionCatalogue, action: Object, name: str, pointer: str, call: services.Invocation
) -> services.Capability:
    dialect, notes = catalogue.dialect, catalogue.notes
    if dialect.published:
        missing_texts(action, ("name", "description"), pointer, rules.ACTION_TEXT, notes)
    if dialect.name == GRADED:
        check_action(action, name, pointer, notes)
    if dialect.name == "1.1" and not _ID_1_1.fullmatch(name):
        notes.add(rules.ID, at(pointer, "id"), name)
    return services.Capability(
        id=name,
        name=first_text(action, "name", "label", chars=NAME_CHARS) or name,
        title=first_text(action, "title", "name", "label", chars=NAME_CHARS),
        description=text_of(action, "description"),
        params=_read_inputs(action, pointer, dialect.published, notes),
        result=_read_outputs(action),
        side_effects=_read_side_effects(action),
        confirmation=_read_confirmation(action),
        idempotent=True if action.get("sideEffect") == "idempotent" else None,
        reversible=flag_of(action, "reversible"),
        invocations=(call,),
        native=native(SLUG, action, _ACTION_READ),
    )


def _read_side_effects(action: Object) -> bool | None:
    """Return the side effects that the action declares in any dialect, or None."""
    declared = flag_of(action, "side_effect")
    if declared is not None:
        return declared
    if isinstance(action.get("sideEffect"), str):
        return action["sideEffect"] != "safe"
    if isinstance(action.get("side_effects"), list):
        return bool(list_of(action, "side_effects"))
    return None


def _read_confirmation(action: Object) -> services.Confirmation | None:
    is_required = flag_of(action, "requires_user_confirmation")
    if is_required or action.get("sideEffect") == "destructive":
        return services.Confirmation(True)
    return services.Confirmation(False) if is_required is False else None


# --- parameters and results as JSON Schema; CSS selectors, meant for browsers, are dropped ----------------------------


def _read_inputs(action: Object, pointer: str, graded: bool, notes: Notes) -> dict[str, Any] | None:
    """Return the schema of the action's parameters, from any member; `graded`: check their required members."""
    for key in _SCHEMAS:
        if isinstance(action.get(key), dict):
            schema: dict[str, Any] = clean_json(action[key])
            return schema
    for key in _LISTS:
        parameters = action.get(key)
        if isinstance(parameters, list):
            if graded:
                _check_parameters(parameters, at(pointer, key), notes)
            # `validation` holds JSON Schema keywords
            return list_schema(
                [{**map_of(item, "validation"), **item} for item in parameters if isinstance(item, dict)]
            )
        if isinstance(parameters, dict):
            return _read_map_schema(parameters)
    return None


def _read_outputs(action: Object) -> dict[str, Any] | None:
    for key in _OUTPUT_SCHEMAS:
        if isinstance(action.get(key), dict):
            schema: dict[str, Any] = clean_json(action[key])
            return schema
    if isinstance(action.get("outputs"), list):
        return list_schema(list_of(action, "outputs"))
    result = map_of(action, "result")
    if not result:
        return None
    fields = object_schema([(line(name, NAME_CHARS), {}) for name in map_of(result, "properties")], ())
    return {"type": "array", "items": fields} if result.get("type") in ("list", "table") else fields


def _check_parameters(parameters: list[Json], pointer: str, notes: Notes) -> None:
    for index, parameter in enumerate(parameters):
        parameter_pointer = at(pointer, index)
        holder = parameter if isinstance(parameter, dict) else {}
        for key in ("name", "type", "required"):
            if key not in holder:
                notes.add(rules.PARAMETER, at(parameter_pointer, key))
        if "description" not in holder:
            notes.add(rules.PARAMETER_TEXT, at(parameter_pointer, "description"))
        choices = holder.get("enum")
        if "enum" in holder and not (isinstance(choices, list) and choices):
            notes.add(rules.ENUM, at(parameter_pointer, "enum"), choices)


def _read_map_schema(parameters: Object) -> dict[str, Any]:
    """Read `{required: [names], optional: [names]}`, `{name: text}` or `{name: {type, ...}}`."""
    if isinstance(parameters.get("required"), list):
        required = texts_of(parameters, "required")
        return object_schema([(name, {}) for name in (*required, *texts_of(parameters, "optional"))], required)
    properties = [(line(name, NAME_CHARS), _read_field_schema(field)) for name, field in parameters.items()]
    required_names = [
        name for name, field in parameters.items() if isinstance(field, dict) and field.get("required") is True
    ]
    return object_schema(properties, required_names)


def _read_field_schema(field: Json) -> dict[str, Any]:
    if isinstance(field, dict):
        return property_of(field)
    return {"type": "string", "description": line(field, TEXT_CHARS)} if isinstance(field, str) else {}


# --- bridges ----------------------------------------------------------------------------------------------------------


def _read_bridge(body: Object, document: Document, notes: Notes) -> services.Service:
    integration = map_of(body, "integration")
    protocol = (short_text_of(body, "protocol") or short_text_of(integration, "protocol") or "").lower()
    if protocol not in _NEEDED:
        protocol = "a2a" if "a2a" in document.url.rpartition("/")[2] else "mcp"
    for key in _NEEDED[protocol]:
        if key not in body:
            notes.add(rules.BRIDGE, at("", key))
    _check_endpoints(body, document, notes)
    metadata = {**body, **map_of(body, "metadata")}
    return services.Service(
        name=short_text_of(body, "name"),
        description=text_of(body, "description"),
        version=short_text_of(body, "version"),
        provider=provider_of(metadata, document.url),
        homepage=homepage_of(metadata, document.url),
        docs_url=next((url for key in _DOCS if (url := page(metadata.get(key), document.url))), None),
        repository=repository_of(metadata, document.url),
        license=license_of(metadata),
        native=native(SLUG, body, _BRIDGE_READ),
        protocols=(services.Protocol(protocol, version=short_text_of(integration, "version")),),
        pointers=tuple(_read_bridge_pointers(body, document))[:_MAX_BRIDGE_POINTERS],
    )


def _catalogue_urls(body: Object) -> list[Json]:
    endpoints, actions = map_of(body, "endpoints"), map_of(body, "actions")
    return [endpoints.get("actions"), endpoints.get("actions_registry"), actions.get("discover")]


def _check_endpoints(body: Object, document: Document, notes: Notes) -> None:
    """Check that the bridge links the catalogue of actions and its schema, and the types of its sections."""
    catalogue_urls = _catalogue_urls(body)
    if not any(link(url, document.url) for url in catalogue_urls):
        notes.add(rules.BRIDGE_LINK, "/endpoints", next((url for url in catalogue_urls if url is not None), ""))
    if not any(key.startswith("schema") for key in map_of(body, "endpoints")):
        notes.add(rules.BRIDGE_SCHEMA, "/endpoints")
    check_types(body, {"endpoints": OBJECT, "interoperability": OBJECT}, "", rules.MEMBER_TYPE, notes)
    if not isinstance(body.get("capabilities", []), list | dict):
        notes.add(rules.MEMBER_TYPE, "/capabilities", body["capabilities"])


def _read_bridge_pointers(body: Object, document: Document) -> Iterator[services.Pointer]:
    """Yield pointers to the documents that the bridge names, except schemas, which describe no capability."""
    for section in ("endpoints", "discovery", "actions"):
        for key, target in map_of(body, section).items():
            url = link(target, document.url)
            if url is not None and url != document.url and not key.startswith("schema"):
                expected = SLUG if key in _CATALOGUE else None
                yield services.Pointer(url, "ai-actions" if expected else key[:40], at("", section, key), expected)
