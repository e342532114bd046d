"""An ATP manifest as a whole -> service (ATP sections 3.1 to 3.4 and 3.6 to 3.8)."""

import re
from collections.abc import Iterator
from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import claim, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.formats.atp.capabilities import SLUG, capabilities
from registry.core.formats.atp.checks import check, check_path, check_served, check_workflow
from registry.core.manifest import (
    ID_CHARS,
    MAX_TEXTS,
    NAME_CHARS,
    Notes,
    Object,
    at,
    clean_json,
    count_of,
    flag_of,
    has_template,
    list_of,
    map_of,
    sourced,
    text_of,
    texts_of,
    word_of,
)
from registry.core.plain_text import line
from registry.core.services import (
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
from registry.core.vocabulary import auth_type

LAX: Final = "lax"
TYPE: Final = "AgentManifest"

_SEMVER = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_FLOWS: Final = ("authorizationCode", "clientCredentials")
_PLACES: Final = {
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
    """Formats.md section 1 row 5. `@type` alone proves nothing: another project uses it too."""
    value = document.value
    if not isinstance(value, dict):
        return None
    if _names_context(value):
        return ""
    typed = value.get("@type") == TYPE
    return "" if typed and any(_has(one, "endpoint") for one in list_of(value, "capabilities")) else None


def lax_dialect(document: Document) -> str | None:
    """Row 31: the shape without the name."""
    value = document.value
    if not isinstance(value, dict) or "skills" in value:
        return None
    return LAX if any(_has(one, "endpoint", "method") for one in list_of(value, "capabilities")) else None


def _names_context(value: Object) -> bool:
    context = value.get("@context")
    named = context if isinstance(context, list) else [context]
    return any(isinstance(one, str) and "atp.dev/schema" in one for one in named)


def _has(entry: Json, *keys: str) -> bool:
    return isinstance(entry, dict) and all(key in entry for key in keys)


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    if document.url.startswith("http://"):
        notes.add(Reason.ATP_HTTP, "", document.url)
        return Service()
    body = document.value if isinstance(document.value, dict) else {}
    check_served(document, notes)
    _check_top(body, dialect, document, notes)
    check(body, document, notes)
    provider = map_of(body, "provider")
    site = claim(provider.get("url"), document, "/provider/url", notes)
    found = tuple(capabilities(body, document, notes))
    service = Service(
        name=_required(body, "name", NAME_CHARS, notes),
        description=_required(body, "description", None, notes),
        version=_required(body, "version", NAME_CHARS, notes),
        provider=_provider(provider, document, notes) if provider else None,
        homepage=link(provider.get("url"), document.url),
        icon_url=link(provider.get("logo"), document.url),
        capabilities=found,
        auth=_auth(map_of(body, "auth"), document),
        pricing=Pricing(url=link(map_of(body, "rateLimit").get("tierUrl"), document.url)),
        policies=_policies(body, document),
        relations=Relations(workflows=tuple(_workflows(body, found, notes))),
        claims={"provider_url": site} if site else {},
    )
    return sourced(service, document, SLUG, _PLACES)


def _check_top(body: Object, dialect: str, document: Document, notes: Notes) -> None:
    if dialect == LAX:
        notes.add(Reason.ATP_LAX)
    else:
        check_path(document, notes)
        for key, is_named in (("@context", _names_context(body)), ("@type", body.get("@type") == TYPE)):
            if not is_named:
                notes.add(Reason.ATP_CONTEXT, at("", key), body.get(key, ""))
    version = body.get("version")
    if isinstance(version, str) and version.strip() and not _SEMVER.fullmatch(version):
        notes.add(Reason.ATP_SEMVER, "/version", version)


def _required(body: Object, key: str, chars: int | None, notes: Notes) -> str | None:
    said = text_of(body, key, chars) if chars else text_of(body, key)
    if said is None:
        notes.add(Reason.ATP_REQUIRED, at("", key), body.get(key, ""))
        return None
    return None if has_template(body, (key,), "", notes) else said


def _provider(said: Object, document: Document, notes: Notes) -> Provider:
    for key in ("name", "url"):
        if not word_of(said, key):
            notes.add(Reason.ATP_PROVIDER, at("/provider", key), said.get(key, ""))
    return Provider(word_of(said, "name"), link(said.get("url"), document.url), word_of(said, "contact"))


def _auth(said: Object, document: Document) -> Auth:
    schemes = [
        scheme
        for one in list_of(said, "schemes")[:MAX_TEXTS]
        if isinstance(one, dict)
        for scheme in _schemes(one, document)
    ]
    identity = map_of(said, "agentIdentity")
    needs_identity = flag_of(identity, "required")
    if needs_identity:
        schemes.append(AuthScheme("did", "header", "Agent-Identity", note=word_of(identity, "format")))
    return Auth(tuple(schemes), True if needs_identity else None)


def _schemes(said: Object, document: Document) -> Iterator[AuthScheme]:
    word = word_of(said, "type")
    kind = auth_type(word)
    if kind == "oauth2":
        yield from _flows(map_of(said, "flows"), document)
    elif kind == "api_key":
        setup = link(said.get("registration"), document.url)
        yield AuthScheme("api_key", word_of(said, "in"), word_of(said, "name"), setup_url=setup)
    elif kind == "bearer":
        yield AuthScheme("bearer", "header", "Authorization", "Bearer")
    elif kind is not None:
        yield AuthScheme(kind, note=word)


def _flows(flows: Object, document: Document) -> Iterator[AuthScheme]:
    """One scheme a flow: they differ in who authorises and in their scopes."""
    known: list[tuple[str | None, Object]] = [(name, map_of(flows, name)) for name in _FLOWS if name in flows]
    for name, flow in known or [(None, {})]:
        yield AuthScheme(
            "oauth2",
            authorization_url=link(flow.get("authorizationUrl"), document.url),
            token_url=link(flow.get("tokenUrl"), document.url),
            scopes=tuple(line(scope, NAME_CHARS) for scope in list(map_of(flow, "scopes"))[:MAX_TEXTS]),
            note=name,
        )


def _policies(body: Object, document: Document) -> Policies:
    said, limit = map_of(body, "policies"), map_of(body, "rateLimit")
    burst = count_of(limit, "burstLimit")
    requests, window = count_of(limit, "requests"), word_of(limit, "window")
    known = requests is not None or window is not None or burst is not None
    note = f"at most {burst} at once" if burst is not None else None
    return Policies(
        training=word_of(said, "training"),
        inference=word_of(said, "inference"),
        caching=_caching(said),
        attribution=word_of(said, "attribution"),
        terms_url=link(said.get("termsUrl"), document.url),
        privacy_url=link(said.get("privacyUrl"), document.url),
        rate_limit=RateLimit(requests, window, note) if known else None,
    )


def _caching(said: Object) -> str | None:
    caching = map_of(said, "caching")
    allowed, seconds = flag_of(caching, "allowed"), count_of(caching, "maxAge")
    if allowed is None:
        return word_of(said, "caching")
    if not allowed:
        return "deny"
    return f"allow, {seconds} s" if seconds is not None else "allow"


def _workflows(body: Object, found: tuple[Capability, ...], notes: Notes) -> Iterator[Workflow]:
    """Steps are checked against all entries: one that was left out is an error of its own."""
    known = {text_of(entry, "id", ID_CHARS) for entry in list_of(body, "capabilities")}
    known |= {capability.id for capability in found}
    for index, said in enumerate(list_of(body, "workflows")[:MAX_TEXTS]):
        if not isinstance(said, dict):
            notes.add(Reason.ATP_WORKFLOW, at("/workflows", index), said)
            continue
        check_workflow(said, at("/workflows", index), known, notes)
        steps = texts_of(said, "steps", ID_CHARS)
        for step in steps:
            if step not in known:
                notes.add(Reason.ATP_WORKFLOW_STEP, at("/workflows", index, "steps"), step)
        conditions = clean_json(map_of(said, "conditional"))
        if name := text_of(said, "id", ID_CHARS):
            yield Workflow(name, word_of(said, "name"), text_of(said, "description"), steps, conditions)


FORMAT: Final = Format(
    slug=SLUG,
    title="Agent Transfer Protocol",
    spec="Agent Transfer Protocol 0.1",
    paths=("/.well-known/agent.json",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=_read,
)
