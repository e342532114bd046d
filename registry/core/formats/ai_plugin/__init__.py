"""ai-plugin.json: manifests of a discontinued platform. The APIs that they name often still exist.

The API description is at `api.url`. One capability represents it, so that search finds the plugin without it.
`auth.verification_tokens` is never read.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from registry.core.format_support import common_rules, manifest
from registry.core.format_support.endpoints import first_link, link, origin_of
from registry.core.format_support.format import Format, Role
from registry.core.format_support.loose import homepage_of, pricing_of, provider_of
from registry.core.format_support.manifest import MAX_TEXTS, Notes, Object, first_text, map_of, short_text_of, text_of
from registry.core.format_support.offers import capabilities_of, offers_in
from registry.core.format_support.probing import ProbePath, always
from registry.core.format_support.security import scheme_of
from registry.core.format_support.shapes import OBJECT, TEXT, stated_pricing
from registry.core.format_support.vocabulary import auth_type
from registry.core.formats.ai_plugin import rules
from registry.core.model import services
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, AuthScheme, Capability, Invocation, Origin, Pointer, Provider, Service

SLUG: Final = "ai-plugin"
_NAMES: Final = ("name_for_model", "name_for_human")
_OTHERS: Final = ("schema_version", "description_for_model", "description_for_human")
_DOCS: Final = ("documentation_url", "docs_url", "documentation", "docs")
_TERMS: Final = ("legal_info_url", "terms_of_use_url", "terms_of_service_url", "terms_url")
_PRIVACY: Final = ("privacy_policy_url", "privacy_url", "privacy_policy")
_READ: Final = frozenset({
    "schema_version", "name_for_human", "description_for_human", "description_for_model", "logo_url", "contact_email",
    "legal_info_url", "auth", "version",
})  # fmt: skip


def dialect(document: Document) -> str | None:
    """Return the schema's version, "v1" where none is declared; None for a document that is not a plugin."""
    value = document.members
    if not ("name_for_model" in value or "description_for_model" in value):
        return None
    return short_text_of(value, "schema_version") or "v1" if "api" in value or "auth" in value else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    api = map_of(value, "api")
    _grade(value, api, notes)
    rendered = (key for key in ("name_for_human", "name_for_model") if _is_rendered(value, key))
    name = next((short_text_of(value, key) for key in rendered), None)
    target = link(api.get("url"), document.url)
    pricing = pricing_of(value.get("pricing"), document.url)
    if pricing.model == "unknown":
        stated = stated_pricing([text_of(value, key) for key in _OTHERS[1:]])
        pricing = replace(pricing, model=stated or "unknown")
    whole = (_read_capability(value, name, target, document),) if name and target else ()
    service = Service(
        name=name,
        description=first_text(value, "description_for_human", "description_for_model"),
        provider=_read_provider(value, document),
        version=short_text_of(value, "version"),
        homepage=homepage_of(value, document.url),
        docs_url=first_link(value, _DOCS, document.url),
        icon_url=link(value.get("logo_url"), document.url),
        capabilities=(*whole, *_read_endpoints(value, api, document, notes)),
        auth=_read_auth(map_of(value, "auth"), document),
        pricing=pricing,
        policies=services.Policies(
            terms_url=first_link(value, _TERMS, document.url), privacy_url=first_link(value, _PRIVACY, document.url)
        ),
        pointers=(Pointer(target, "api.url", "/api/url", "openapi"),) if target else (),
        native=manifest.native(SLUG, value, _READ),
    )
    # the texts for people, else those for models
    human = {key: f"/{key}_for_human" for key in ("name", "description") if text_of(value, f"{key}_for_human")}
    return manifest.with_provenance(service, document, SLUG, {**_POINTERS, **human})


_POINTERS: Final = {
    "provider": "/contact_email",
    "icon_url": "/logo_url",
    "capabilities": "/api",
    "auth": "/auth/type",
    "policies": "/legal_info_url",
    "version": "/version",
    "docs_url": "",
    "pricing": "",
    "name": "/name_for_model",
    "description": "/description_for_model",
}


def _grade(value: Object, api: Object, notes: Notes) -> None:
    for key in _NAMES:
        if not text_of(value, key):
            notes.add(rules.REQUIRED, f"/{key}")
        elif not _is_rendered(value, key):
            notes.add(common_rules.TEMPLATE, f"/{key}", value[key])
    if not text_of(api, "url"):
        notes.add(rules.REQUIRED, "/api/url")
    for key in _OTHERS:
        if not text_of(value, key):
            notes.add(rules.MEMBER, f"/{key}")
    if not text_of(map_of(value, "auth"), "type"):
        notes.add(rules.MEMBER, "/auth/type")


def _is_rendered(value: Object, key: str) -> bool:
    return bool(text_of(value, key)) and not manifest.has_placeholder(value.get(key))


def _read_capability(value: Object, name: str, target: str, document: Document) -> Capability:
    """Return the capability for the whole API. The text written for models is preferred, as the better search text."""
    call = Invocation("pointer", target, origin=Origin(document.url, "/api", SLUG))
    identifier = short_text_of(value, "name_for_model") or manifest.slug(name)
    description = first_text(value, "description_for_model", "description_for_human")
    return Capability(identifier, identifier, description, invocations=(call,))


def _read_endpoints(value: Object, api: Object, document: Document, notes: Notes) -> Iterator[Capability]:
    """Yield the calls that some plugins list beside the address of the description, or in `api`."""
    base = first_link(api, ("url",), document.url) or document.url
    used_names: set[str] = set()
    for holder, prefix in ((value, ""), (api, "/api")):
        for offer in offers_in(holder, ("endpoints",), prefix):
            yield from capabilities_of(offer, origin_of(base), document, SLUG, used_names, notes)


def _read_provider(value: Object, document: Document) -> Provider | None:
    contact = short_text_of(value, "contact_email")
    named = provider_of({key: item for key, item in value.items() if key != "contact_email"}, document.url)
    if named is not None and contact is not None:
        others = tuple(address for address in (named.contact, *named.contacts) if address and address != contact)
        return replace(named, contact=contact, contacts=others)
    return named or (Provider(contact=contact) if contact else None)


def _read_auth(auth: Object, document: Document) -> Auth:
    """Return what a caller needs; `instructions` say in words how to get it."""
    kind = auth_type(short_text_of(auth, "type"))
    if kind is None:
        return Auth()
    scheme = AuthScheme(kind)
    if kind == "oauth2":
        urls = (link(auth.get(key), document.url) for key in ("client_url", "authorization_url"))
        scopes = tuple(dict.fromkeys((text_of(auth, "scope") or "").replace(",", " ").split()))[:MAX_TEXTS]
        scheme = AuthScheme("oauth2", authorization_url=next(urls), token_url=next(urls), scopes=scopes)
    elif kind == "api_key":  # service_http or user_http: `authorization_type` defines how to send the secret
        sent = auth_type(short_text_of(auth, "authorization_type"))
        header = short_text_of(auth, "custom_auth_header")
        scheme = AuthScheme("api_key", "header" if header else None, header)
        scheme = scheme_of({"type": sent}, document.url) if sent in ("bearer", "http_basic") else scheme
    return Auth((replace(scheme, note=text_of(auth, "instructions")),), kind != "none")


FORMAT: Final = Format(
    slug=SLUG,
    title="ai-plugin manifest",
    spec="ai-plugin v1",
    cited_as="ai-plugin ",
    about=(
        "A service names its API description and how to sign in. It was made for plugins of a chat product; "
        "other agents still read it."
    ),
    example={
        "schema_version": "v1",
        "name_for_human": "City weather",
        "name_for_model": "city_weather",
        "description_for_human": "Tells the weather of any city.",
        "description_for_model": "Tells the current weather of a city by its name.",
        "auth": {"type": "none"},
        "api": {"type": "openapi", "url": "https://example.com/openapi.json"},
        "logo_url": "https://example.com/logo.png",
        "contact_email": "api@example.com",
        "legal_info_url": "https://example.com/terms",
    },
    paths=("/.well-known/ai-plugin.json",),
    role=Role.SERVICE,
    read=read,
    no_parts="a plugin names one API",
    types={
        **dict.fromkeys((f"/{key}" for key in (*_NAMES, *_OTHERS)), TEXT),
        **{"/api": OBJECT, "/api/url": TEXT, "/auth": OBJECT, "/auth/type": TEXT},
    },
    rules=rules_in(rules),
    asks=frozenset({"service.unnamed", "service.undescribed", "service.auth_unknown", "capability.unreachable"}),
    probe_paths=(ProbePath("S4", 30, "/.well-known/ai-plugin.json", when=always),),
    precedence=210,
)
