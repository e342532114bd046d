"""OAuth metadata, RFC 9728 (protected resource) and RFC 8414 (authorization server): they add to a service."""

from typing import Final

from registry.core.documents import Document, Json
from registry.core.endpoints import claim, link
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import MAX_TEXTS, Notes, Object, at, list_of, sourced, texts_of
from registry.core.services import Auth, AuthScheme, Pointer, Policies, Service

_RESOURCE: Final = "oauth-protected-resource"
_SERVER: Final = "oauth-authorization-server"
_SERVER_KEYS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri", "registration_endpoint")


def resource(document: Document) -> str | None:
    value = document.value
    named = isinstance(value, dict) and "resource" in value and isinstance(value.get("authorization_servers"), list)
    return "" if named else None


def server(document: Document) -> str | None:
    value = document.value
    named = isinstance(value, dict) and "issuer" in value and any(key in value for key in _SERVER_KEYS)
    return "" if named else None


def _read_resource(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    named = _url(value.get("resource"), "/resource", document, notes)
    pointers = []
    for index, issuer in enumerate(list_of(value, "authorization_servers")[:MAX_TEXTS]):
        place = at("", "authorization_servers", index)
        found = _url(issuer, place, document, notes)
        metadata = _metadata(found) if found else None
        if metadata:
            pointers.append(Pointer(metadata, "authorization_server", place, _SERVER))
    scheme = AuthScheme("oauth2", scopes=texts_of(value, "scopes_supported"))
    resource = claim(named, document, "/resource", notes)
    service = Service(
        claims={"resource": resource} if resource else {},
        docs_url=link(value.get("resource_documentation"), document.url),
        auth=Auth((scheme,)),
        policies=Policies(terms_url=link(value.get("resource_tos_uri"), document.url)),
        pointers=tuple(pointers),
    )
    places = {"auth": "/scopes_supported" if scheme.scopes else "/resource", "claims": "/resource"}
    documented = {"docs_url": "/resource_documentation", "policies": "/resource_tos_uri"}
    return sourced(service, document, _RESOURCE, {**places, **documented})


def _read_server(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.value if isinstance(document.value, dict) else {}
    named = _url(value.get("issuer"), "/issuer", document, notes)
    scheme = AuthScheme(
        "oauth2",
        authorization_url=_told(value, "authorization_endpoint", document, notes),
        token_url=_told(value, "token_endpoint", document, notes),
        scopes=texts_of(value, "scopes_supported"),
        setup_url=_told(value, "registration_endpoint", document, notes),
    )
    issuer = claim(named, document, "/issuer", notes)
    service = Service(auth=Auth((scheme,)), claims={"issuer": issuer} if issuer else {})
    return sourced(service, document, _SERVER, {"auth": "", "claims": "/issuer"})


def _told(value: Object, key: str, document: Document, notes: Notes) -> str | None:
    return _url(value[key], f"/{key}", document, notes) if key in value else None


def _url(value: Json, pointer: str, document: Document, notes: Notes) -> str | None:
    found = link(value, document.url) if isinstance(value, str) and value.startswith("https://") else None
    if found is None:
        notes.add(Reason.OAUTH_ADDRESS, pointer, value)
    return found


def _metadata(issuer: str) -> str | None:
    """RFC 8414 section 3.1: the well-known part stands between the host and the issuer's path."""
    host, _, path = issuer.removeprefix("https://").partition("/")
    return link(f"https://{host}/.well-known/oauth-authorization-server/{path}".rstrip("/"), issuer)


RESOURCE = Format(
    slug=_RESOURCE,
    title="OAuth protected resource metadata",
    spec="RFC 9728 section 2",
    paths=("/.well-known/oauth-protected-resource",),
    media_types=("application/json",),
    role=Role.ENRICHER,
    read=_read_resource,
)

SERVER = Format(
    slug=_SERVER,
    title="OAuth authorization server metadata",
    spec="RFC 8414 section 2",
    paths=("/.well-known/oauth-authorization-server",),
    media_types=("application/json",),
    role=Role.ENRICHER,
    read=_read_server,
)

FORMATS = (RESOURCE, SERVER)
