"""Checks and the rule that the two OAuth metadata documents share (RFC 8414, RFC 9728)."""

from collections.abc import Iterable
from typing import Final

from registry.core.format_support.endpoints import link
from registry.core.format_support.manifest import Notes, Object
from registry.core.model.documents import Document, Json
from registry.core.model.findings import CONFORMANCE, WARNING, Rule
from registry.core.model.services import AuthScheme, Pointer
from registry.core.names.domains import host_of

# fmt: off
ADDRESS = Rule(
    "oauth.address", WARNING, points=2, section=CONFORMANCE, spec="RFC 8414 section 2; RFC 9728 section 2",
    says="An address in the metadata is not an https URL.",
    fix="Use https URLs.",
)
# fmt: on

AUTHORIZATION_SERVER: Final = "oauth-authorization-server"
"""Slug of the format that a protected resource points to."""

RESOURCE: Final = "oauth-protected-resource"
"""Slug of the format that describes a protected resource."""

RESOURCE_PATH: Final = ".well-known/oauth-protected-resource"

TOKEN_TYPES: Final = ("oauth2", "openid")
"""Types of schemes whose tokens an authorization server issues."""


def issuers_of(schemes: Iterable[AuthScheme], pointers: Iterable[Pointer]) -> tuple[str, ...]:
    """Return the hosts that issue the access tokens of the schemes. `pointers`: of the service, which may name
    authorization servers (RFC 9728 section 2)."""
    urls: list[str | None] = []
    for scheme in schemes:
        if scheme.type in TOKEN_TYPES:
            urls += (scheme.token_url, scheme.authorization_url, scheme.setup_url if scheme.type == "openid" else None)
    if urls:
        urls += (pointer.url for pointer in pointers if pointer.rel == "authorization_server")
    return tuple(dict.fromkeys(host for url in urls if url and (host := host_of(url)) is not None))


def https_member(value: Object, key: str, document: Document, notes: Notes) -> str | None:
    """Return the URL of an optional member; None where it is missing or, with a finding, is not an https URL."""
    return https_url(value[key], f"/{key}", document, notes) if key in value else None


def https_url(value: Json, pointer: str, document: Document, notes: Notes) -> str | None:
    """Return the URL; None, with a finding, for anything other than an https URL."""
    url = link(value, document.url) if isinstance(value, str) and value.startswith("https://") else None
    if url is None:
        notes.add(ADDRESS, pointer, value)
    return url
