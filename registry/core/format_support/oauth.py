"""Checks that the two OAuth metadata documents share (RFC 8414, RFC 9728)."""

from typing import Final

from registry.core.format_support import oauth_rules
from registry.core.format_support.endpoints import link
from registry.core.format_support.manifest import Notes, Object
from registry.core.model.documents import Document, Json

AUTHORIZATION_SERVER: Final = "oauth-authorization-server"
"""Slug of the format that a protected resource points to."""


def https_member(value: Object, key: str, document: Document, notes: Notes) -> str | None:
    """Return the URL of an optional member; None where it is missing or, with a finding, is not an https URL."""
    return https_url(value[key], f"/{key}", document, notes) if key in value else None


def https_url(value: Json, pointer: str, document: Document, notes: Notes) -> str | None:
    """Return the URL; None, with a finding, for anything other than an https URL."""
    url = link(value, document.url) if isinstance(value, str) and value.startswith("https://") else None
    if url is None:
        notes.add(oauth_rules.ADDRESS, pointer, value)
    return url
