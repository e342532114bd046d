"""ai-plugin.json: the manifests of a platform that is gone; the APIs behind them often are not.

The description itself is behind `api.url`; one capability stands for it, so that the plugin is found without it.
`auth.verification_tokens` is never read.
"""

from typing import Final

from registry.core.documents import Document
from registry.core.endpoints import link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import (
    Notes,
    Object,
    first_text,
    map_of,
    slug,
    sourced,
    text_of,
    unrendered,
    word_of,
)
from registry.core.security import scheme_of
from registry.core.services import (
    Auth,
    AuthScheme,
    Capability,
    Invocation,
    Origin,
    Pointer,
    Policies,
    Provider,
    Service,
)
from registry.core.vocabulary import auth_type

_SLUG: Final = "ai-plugin"
_NAMES: Final = ("name_for_model", "name_for_human")
_OTHERS: Final = ("schema_version", "description_for_model", "description_for_human")


def dialect(document: Document) -> str | None:
    """The schema's version, "v1" where it is not told."""
    value = document.value
    if not isinstance(value, dict) or not ("name_for_model" in value or "description_for_model" in value):
        return None
    return word_of(value, "schema_version") or "v1" if "api" in value or "auth" in value else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    api = map_of(value, "api")
    _grade(value, api, notes)
    name = next((word_of(value, key) for key in ("name_for_human", "name_for_model") if _is_rendered(value, key)), None)
    target = link(api.get("url"), document.url)
    pointer = Pointer(target, "api.url", "/api/url", "openapi") if target else None
    service = Service(
        name=name,
        description=first_text(value, "description_for_human", "description_for_model"),
        provider=_provider(value),
        icon_url=link(value.get("logo_url"), document.url),
        capabilities=(_capability(value, name, target, document),) if name and target else (),
        auth=_auth(map_of(value, "auth"), document),
        policies=Policies(terms_url=link(value.get("legal_info_url"), document.url)),
        pointers=(pointer,) if pointer else (),
    )
    return sourced(service, document, _SLUG, {**_PLACES, **_named_at(value)})


_PLACES: Final = {
    "provider": "/contact_email",
    "icon_url": "/logo_url",
    "capabilities": "/api",
    "auth": "/auth/type",
    "policies": "/legal_info_url",
}


def _named_at(value: Object) -> dict[str, str]:
    """People's texts where there are any, else the model's."""
    human = {key: f"/{key}_for_human" for key in ("name", "description") if text_of(value, f"{key}_for_human")}
    return {"name": "/name_for_model", "description": "/description_for_model", **human}


def _grade(value: Object, api: Object, notes: Notes) -> None:
    for key in _NAMES:
        if not text_of(value, key):
            notes.add(Reason.AI_PLUGIN_REQUIRED, f"/{key}")
        elif not _is_rendered(value, key):
            notes.add(Reason.TEMPLATE, f"/{key}", value[key])
    if not text_of(api, "url"):
        notes.add(Reason.AI_PLUGIN_REQUIRED, "/api/url")
    for key in _OTHERS:
        if not text_of(value, key):
            notes.add(Reason.AI_PLUGIN_MEMBER, f"/{key}")
    if not text_of(map_of(value, "auth"), "type"):
        notes.add(Reason.AI_PLUGIN_MEMBER, "/auth/type")


def _is_rendered(value: Object, key: str) -> bool:
    return bool(text_of(value, key)) and not unrendered(value.get(key))


def _capability(value: Object, name: str, target: str, document: Document) -> Capability:
    """The text written for models is the better one to search."""
    call = Invocation("pointer", target, origin=Origin(document.url, "/api", _SLUG))
    identifier = word_of(value, "name_for_model") or slug(name)
    description = first_text(value, "description_for_model", "description_for_human")
    return Capability(identifier, identifier, description, invocations=(call,))


def _provider(value: Object) -> Provider | None:
    contact = word_of(value, "contact_email")
    return Provider(contact=contact) if contact else None


def _auth(given: Object, document: Document) -> Auth:
    kind = auth_type(word_of(given, "type"))
    if kind is None:
        return Auth()
    if kind == "oauth2":
        urls = (link(given.get(key), document.url) for key in ("client_url", "authorization_url"))
        return Auth((AuthScheme("oauth2", authorization_url=next(urls), token_url=next(urls)),), True)
    if kind == "api_key":
        return Auth((_secret(given, document),), True)
    return Auth((AuthScheme(kind),), kind != "none")


def _secret(given: Object, document: Document) -> AuthScheme:
    """service_http and user_http tell who keeps the secret; `authorization_type` tells how it is sent."""
    form = auth_type(word_of(given, "authorization_type"))
    if form in ("bearer", "http_basic"):
        return scheme_of({"type": form}, document.url)
    header = word_of(given, "custom_auth_header")
    return AuthScheme("api_key", "header" if header else None, header)


FORMAT = Format(
    slug=_SLUG,
    title="ai-plugin manifest",
    spec="ai-plugin v1",
    paths=("/.well-known/ai-plugin.json",),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=_read,
)
