"""Recognise ATP manifests and read them into a service (ATP section 3)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

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
    short_text_of,
    text_of,
    texts_of,
    with_provenance,
)
from registry.core.format_support.params import Definitions, list_schema
from registry.core.format_support.shapes import missing_texts
from registry.core.format_support.vocabulary import ACTION_METHODS, SAFE_METHODS, SEMVER, auth_type, http_method
from registry.core.formats.atp import rules
from registry.core.formats.atp.checks import check, check_capability, check_path, check_served, check_workflow
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
    check_served(document, notes)
    _check_top(body, dialect, document, notes)
    check(body, document, notes)
    provider = map_of(body, "provider")
    provider_url = claim(provider.get("url"), document, "/provider/url", notes, PROVIDER_ELSEWHERE)
    usable_capabilities = tuple(capabilities(body, document, notes))
    service = services.Service(
        name=_read_required_text(body, "name", NAME_CHARS, notes),
        description=_read_required_text(body, "description", None, notes),
        version=_read_required_text(body, "version", NAME_CHARS, notes),
        provider=_read_provider(provider, document, notes) if provider else None,
        homepage=link(provider.get("url"), document.url),
        icon_url=link(provider.get("logo"), document.url),
        capabilities=usable_capabilities,
        auth=_read_auth(map_of(body, "auth"), document),
        pricing=services.Pricing(url=link(map_of(body, "rateLimit").get("tierUrl"), document.url)),
        policies=_read_policies(body, document),
        relations=services.Relations(workflows=tuple(_read_workflows(body, usable_capabilities, notes))),
        claims={"provider_url": provider_url} if provider_url else {},
        native=native(SLUG, body, _READ),
    )
    return with_provenance(service, document, SLUG, _POINTERS)


def _check_top(body: Object, dialect: str, document: Document, notes: Notes) -> None:
    if dialect == LAX:
        notes.add(rules.LAX)
    else:
        check_path(document, notes)
        for key, is_named in (("@context", _names_context(body)), ("@type", body.get("@type") == TYPE)):
            if not is_named:
                notes.add(rules.CONTEXT, at("", key), body.get(key, ""))
    version = body.get("version")
    if isinstance(version, str) and version.strip() and not SEMVER.fullmatch(version):
        notes.add(rules.SEMVER, "/version", version)


def _read_required_text(body: Object, key: str, chars: int | None, notes: Notes) -> str | None:
    text = text_of(body, key, chars) if chars else text_of(body, key)
    if text is None:
        notes.add(rules.REQUIRED, at("", key), body.get(key, ""))
        return None
    return None if has_template(body, (key,), "", notes) else text


def _read_provider(provider: Object, document: Document, notes: Notes) -> services.Provider:
    missing_texts(provider, ("name", "url"), "/provider", rules.PROVIDER, notes)
    return services.Provider(
        short_text_of(provider, "name"), link(provider.get("url"), document.url), short_text_of(provider, "contact")
    )


def _read_auth(auth: Object, document: Document) -> services.Auth:
    schemes = [
        scheme
        for entry in list_of(auth, "schemes")[:MAX_TEXTS]
        if isinstance(entry, dict)
        for scheme in _read_schemes(entry, document)
    ]
    identity = map_of(auth, "agentIdentity")
    needs_identity = flag_of(identity, "required")
    if needs_identity:
        schemes.append(services.AuthScheme("did", "header", "Agent-Identity", note=short_text_of(identity, "format")))
    return services.Auth(tuple(schemes), True if needs_identity else None)


def _read_schemes(scheme: Object, document: Document) -> Iterator[services.AuthScheme]:
    word = short_text_of(scheme, "type")
    kind = auth_type(word)
    if kind == "oauth2":
        yield from _read_flows(map_of(scheme, "flows"), document)
    elif kind == "api_key":
        setup = link(scheme.get("registration"), document.url)
        yield services.AuthScheme(
            "api_key", short_text_of(scheme, "in"), short_text_of(scheme, "name"), setup_url=setup
        )
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


def _read_workflows(
    body: Object, usable_capabilities: tuple[services.Capability, ...], notes: Notes
) -> Iterator[services.Workflow]:
    """Yield the workflows. A step may name an entry that was left out: that entry has its own finding."""
    capability_ids = {text_of(entry, "id", ID_CHARS) for entry in list_of(body, "capabilities")}
    capability_ids |= {capability.id for capability in usable_capabilities}
    for index, workflow in enumerate(list_of(body, "workflows")[:MAX_TEXTS]):
        if not isinstance(workflow, dict):
            notes.add(rules.WORKFLOW, at("/workflows", index), workflow)
            continue
        check_workflow(workflow, at("/workflows", index), capability_ids, notes)
        steps = texts_of(workflow, "steps", ID_CHARS)
        for step in steps:
            if step not in capability_ids:
                notes.add(rules.WORKFLOW_STEP, at("/workflows", index, "steps"), step)
        conditions = clean_json(map_of(workflow, "conditional"))
        if name := text_of(workflow, "id", ID_CHARS):
            yield services.Workflow(
                name, short_text_of(workflow, "name"), text_of(workflow, "description"), steps, conditions
            )


# --- capabilities (section 3.5) ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Schemas:
    """The schemas that the document defines (section 3.7). References out of the document are dropped: they would make
    clients of the registry fetch a URL that the site chose."""

    definitions: Definitions
    notes: Notes

    def resolved(self, value: Json, pointer: str, depth: int = 0) -> Any:
        """Return a copy of `value` with cleaned texts and with references replaced by their targets."""
        if isinstance(value, str):
            return plain(value, TEXT_CHARS)
        if isinstance(value, list):
            return [self.resolved(item, at(pointer, index), depth) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return self._resolved_reference(value["$ref"], pointer, depth)
        return {line(key, NAME_CHARS): self.resolved(item, at(pointer, key), depth) for key, item in value.items()}

    def _resolved_reference(self, reference: Json, pointer: str, depth: int) -> Any:
        name = reference.removeprefix(_PREFIX) if isinstance(reference, str) else ""
        if not isinstance(reference, str) or not reference.startswith(_PREFIX) or name not in self.definitions.named:
            self.notes.add(rules.REFERENCE, at(pointer, "$ref"), reference)
            return {}
        schema = self.definitions.taken(name) if depth < _MAX_DEPTH else None
        return {"type": "object"} if schema is None else self.resolved(schema, at("/schemas", name), depth + 1)


def capabilities(body: Object, document: Document, notes: Notes) -> Iterator[services.Capability]:
    """Yield the usable entries of `body["capabilities"]`; unusable ones are left out, with findings."""
    entries = body.get("capabilities")
    if not isinstance(entries, list):
        notes.add(rules.CAPABILITIES, "/capabilities", body.get("capabilities", ""))
        return
    schemas = _Schemas(Definitions(map_of(body, "schemas")), notes)
    seen: set[str] = set()
    for pointer, entry in members(entries, "/capabilities", rules.CAPABILITY, notes):
        missing = missing_texts(entry, REQUIRED, pointer, rules.CAPABILITY_REQUIRED, notes)
        name = text_of(entry, "id", ID_CHARS)
        if missing or name is None or is_repeated(name, seen, at(pointer, "id"), notes):
            continue
        if not has_template(entry, ("id", "name", "description", "method"), pointer, notes, url="endpoint"):
            _check(entry, name, pointer, notes)
            yield _read_capability(entry, name, pointer, document, schemas, notes)


def _check(entry: Object, name: str, pointer: str, notes: Notes) -> None:
    check_capability(entry, pointer, notes)
    if not _ID.fullmatch(name):
        notes.add(rules.ID, at(pointer, "id"), name)
    semantic_type = entry.get("semanticType")
    if semantic_type is not None and not (
        isinstance(semantic_type, str) and services.SEMANTIC_TYPE.fullmatch(semantic_type)
    ):
        notes.add(rules.SEMANTIC_TYPE, at(pointer, "semanticType"), semantic_type)
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


def _read_capability(
    entry: Object, name: str, pointer: str, document: Document, schemas: _Schemas, notes: Notes
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
    return services.Capability(
        id=name,
        name=short_text_of(entry, "name") or name,
        title=short_text_of(entry, "name"),
        description=text_of(entry, "description"),
        params=_read_params(entry.get("parameters"), at(pointer, "parameters"), schemas),
        result=_read_result(entry.get("response"), at(pointer, "response"), schemas),
        side_effects=flag_of(entry, "sideEffects"),
        confirmation=_read_confirmation(map_of(entry, "confirmation")),
        deprecated=flag_of(entry, "deprecated"),
        tags=(semantic_type,) if semantic_type else (),
        invocations=(call,),
        native=native(SLUG, entry, _CAPABILITY_READ),
    )


def _read_params(parameters: Json, pointer: str, schemas: _Schemas) -> dict[str, Any] | None:
    if not isinstance(parameters, list):
        return None
    resolved = schemas.resolved(parameters, pointer)
    return list_schema(resolved if isinstance(resolved, list) else [])


def _read_result(response: Json, pointer: str, schemas: _Schemas) -> dict[str, Any] | None:
    resolved = schemas.resolved(response, pointer) if isinstance(response, dict) and response else None
    return resolved if isinstance(resolved, dict) and resolved else None


def _read_confirmation(confirmation: Object) -> services.Confirmation | None:
    required = flag_of(confirmation, "required")
    return None if required is None else services.Confirmation(required, text_of(confirmation, "message"))
