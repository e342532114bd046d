"""OAuth authorization server metadata (RFC 8414): adds authentication to a service."""

from typing import Final

from registry.core.format_support import oauth
from registry.core.format_support.endpoints import claims
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import Notes, texts_of, with_provenance
from registry.core.format_support.oauth import AUTHORIZATION_SERVER, https_member, https_url
from registry.core.format_support.shapes import LIST, TEXT
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Auth, AuthScheme, Service

_KEYS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri", "registration_endpoint")


def dialect(document: Document) -> str | None:
    value = document.members
    return "" if "issuer" in value and any(key in value for key in _KEYS) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    issuer_url = https_url(value.get("issuer"), "/issuer", document, notes)
    scheme = AuthScheme(
        "oauth2",
        authorization_url=https_member(value, "authorization_endpoint", document, notes),
        token_url=https_member(value, "token_endpoint", document, notes),
        scopes=texts_of(value, "scopes_supported"),
        setup_url=https_member(value, "registration_endpoint", document, notes),
    )
    resources = list(texts_of(value, "protected_resources"))  # RFC 9728 section 4
    service = Service(
        auth=Auth((scheme,)),
        claims=claims("issuer", issuer_url, document, "/issuer", notes),
        native={AUTHORIZATION_SERVER: {"protected_resources": resources}} if resources else {},
    )
    return with_provenance(service, document, AUTHORIZATION_SERVER, {"auth": "", "claims": "/issuer"})


FORMAT: Final = Format(
    slug=AUTHORIZATION_SERVER,
    title="OAuth authorization server metadata",
    spec="RFC 8414 section 2",
    about=(
        "An authorization server names its endpoints and what it supports. Clients read it to get a token "
        "without hand-written settings."
    ),
    link="https://www.rfc-editor.org/rfc/rfc8414",
    example={
        "issuer": "https://login.example.com",
        "authorization_endpoint": "https://login.example.com/authorize",
        "token_endpoint": "https://login.example.com/token",
        "response_types_supported": ["code"],
    },
    paths=("/.well-known/oauth-authorization-server",),
    role=Role.ENRICHER,
    read=read,
    no_parts="metadata has no entries",
    types={"/issuer": TEXT, "/authorization_endpoint": TEXT, "/token_endpoint": TEXT, "/scopes_supported": LIST},
    rules=rules_in(oauth),
)
