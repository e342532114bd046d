"""Recognise ATP manifests and read them into a service (ATP sections 3.1 to 3.4 and 3.6 to 3.8)."""

from collections.abc import Iterator
from typing import Final

from registry.core.format_support.common_rules import PROVIDER_ELSEWHERE
from registry.core.format_support.endpoints import claim, link
from registry.core.format_support.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    NAME_CHARS,
    Notes,
    Object,
    clean_json,
    count_of,
    flag_of,
    has_template,
    list_of,
    map_of,
    native,
    short_text_of,
    text_of,
    texts_of,
    with_provenance,
)
from registry.core.format_support.vocabulary import SEMVER, auth_type
from registry.core.formats.atp import rules
from registry.core.formats.atp.capabilities import SLUG, capabilities
from registry.core.formats.atp.checks import check, check_path, check_served, check_workflow
from registry.core.model.documents import Document, Json
from registry.core.model.services import (
    Auth,
    AuthScheme,
    Capability,
    Policies,
    Pricing,
    Provider,
    RateLimit,
    Relations,
    Service,
    Workflow,
)
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

LAX: Final = "lax"
TYPE: Final = "AgentManifest"

_READ: Final = frozenset({
    "@context", "@type", "name", "description", "version", "capabilities", "workflows", "policies", "rateLimit",
    "schemas",
})  # fmt: skip
"""Members that the model expresses; schemas stand in the capabilities that refer to them."""
_FLOWS: Final = ("authorizationCode", "clientCredentials")
_POINTERS: Final = {
    "name": "/name",
    "description": "/description",
    "version": "/version",
    "provider": "/provider",
    "icon_url": "/provider/logo",
    "capabilities": "/capabilities",
    "auth": "/auth",
    "policies": "/policies",
    "pricing": "/rateLimit/tierUrl",
    "relations": "/workflows",
}


def dialect(document: Document) -> str | None:
    """Return "" for an ATP document, None for any other.

    `@type` alone is not sufficient, because another project uses the same word.
    """
    value = document.value
    if not isinstance(value, dict):
        return None
    if _names_context(value):
        return ""
    has_type = value.get("@type") == TYPE
    return "" if has_type and any(_has_keys(entry, "endpoint") for entry in list_of(value, "capabilities")) else None


def lax_dialect(document: Document) -> str | None:
    """Return LAX for a document with the shape of ATP but without its context or type, None for any other.

    The caller tries `dialect` first: this test does not look for the context.
    """
    value = document.value
    if not isinstance(value, dict) or "skills" in value:
        return None
    return LAX if any(_has_keys(entry, "endpoint", "method") for entry in list_of(value, "capabilities")) else None


def _names_context(value: Object) -> bool:
    context = value.get("@context")
    contexts = context if isinstance(context, list) else [context]
    return any(isinstance(url, str) and "atp.dev/schema" in url for url in contexts)


def _has_keys(entry: Json, *keys: str) -> bool:
    return isinstance(entry, dict) and all(key in entry for key in keys)


def read(document: Document, dialect: str, notes: Notes) -> Service:
    if document.url.startswith("http://"):
        notes.add(rules.HTTP, "", document.url)
        return Service()
    body = document.value if isinstance(document.value, dict) else {}
    check_served(document, notes)
    _check_top(body, dialect, document, notes)
    check(body, document, notes)
    provider = map_of(body, "provider")
    provider_url = claim(provider.get("url"), document, "/provider/url", notes, PROVIDER_ELSEWHERE)
    usable_capabilities = tuple(capabilities(body, document, notes))
    service = Service(
        name=_read_required_text(body, "name", NAME_CHARS, notes),
        description=_read_required_text(body, "description", None, notes),
        version=_read_required_text(body, "version", NAME_CHARS, notes),
        provider=_read_provider(provider, document, notes) if provider else None,
        homepage=link(provider.get("url"), document.url),
        icon_url=link(provider.get("logo"), document.url),
        capabilities=usable_capabilities,
        auth=_read_auth(map_of(body, "auth"), document),
        pricing=Pricing(url=link(map_of(body, "rateLimit").get("tierUrl"), document.url)),
        policies=_read_policies(body, document),
        relations=Relations(workflows=tuple(_read_workflows(body, usable_capabilities, notes))),
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


def _read_provider(provider: Object, document: Document, notes: Notes) -> Provider:
    for key in ("name", "url"):
        if not short_text_of(provider, key):
            notes.add(rules.PROVIDER, at("/provider", key), provider.get(key, ""))
    return Provider(
        short_text_of(provider, "name"), link(provider.get("url"), document.url), short_text_of(provider, "contact")
    )


def _read_auth(auth: Object, document: Document) -> Auth:
    schemes = [
        scheme
        for entry in list_of(auth, "schemes")[:MAX_TEXTS]
        if isinstance(entry, dict)
        for scheme in _read_schemes(entry, document)
    ]
    identity = map_of(auth, "agentIdentity")
    needs_identity = flag_of(identity, "required")
    if needs_identity:
        schemes.append(AuthScheme("did", "header", "Agent-Identity", note=short_text_of(identity, "format")))
    return Auth(tuple(schemes), True if needs_identity else None)


def _read_schemes(scheme: Object, document: Document) -> Iterator[AuthScheme]:
    word = short_text_of(scheme, "type")
    kind = auth_type(word)
    if kind == "oauth2":
        yield from _read_flows(map_of(scheme, "flows"), document)
    elif kind == "api_key":
        setup = link(scheme.get("registration"), document.url)
        yield AuthScheme("api_key", short_text_of(scheme, "in"), short_text_of(scheme, "name"), setup_url=setup)
    elif kind == "bearer":
        yield AuthScheme("bearer", "header", "Authorization", "Bearer")
    elif kind is not None:
        yield AuthScheme(kind, note=word)


def _read_flows(flows: Object, document: Document) -> Iterator[AuthScheme]:
    """Yield one scheme per flow, because flows differ in their URLs and scopes; one empty scheme without flows."""
    known_flows: list[tuple[str | None, Object]] = [(name, map_of(flows, name)) for name in _FLOWS if name in flows]
    for name, flow in known_flows or [(None, {})]:
        yield AuthScheme(
            "oauth2",
            authorization_url=link(flow.get("authorizationUrl"), document.url),
            token_url=link(flow.get("tokenUrl"), document.url),
            scopes=tuple(line(scope, NAME_CHARS) for scope in list(map_of(flow, "scopes"))[:MAX_TEXTS]),
            note=name,
        )


def _read_policies(body: Object, document: Document) -> Policies:
    policies, limit = map_of(body, "policies"), map_of(body, "rateLimit")
    burst = count_of(limit, "burstLimit")
    requests, window = count_of(limit, "requests"), short_text_of(limit, "window")
    has_limit = requests is not None or window is not None or burst is not None
    return Policies(
        training=short_text_of(policies, "training"),
        inference=short_text_of(policies, "inference"),
        caching=_read_caching(policies),
        attribution=short_text_of(policies, "attribution"),
        terms_url=link(policies.get("termsUrl"), document.url),
        privacy_url=link(policies.get("privacyUrl"), document.url),
        rate_limit=RateLimit(requests, window, burst=burst) if has_limit else None,
    )


def _read_caching(policies: Object) -> str | None:
    caching = map_of(policies, "caching")
    allowed, seconds = flag_of(caching, "allowed"), count_of(caching, "maxAge")
    if allowed is None:
        return short_text_of(policies, "caching")
    if not allowed:
        return "deny"
    return f"allow, {seconds} s" if seconds is not None else "allow"


def _read_workflows(body: Object, usable_capabilities: tuple[Capability, ...], notes: Notes) -> Iterator[Workflow]:
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
            yield Workflow(name, short_text_of(workflow, "name"), text_of(workflow, "description"), steps, conditions)
