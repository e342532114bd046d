"""OASF records: entries of a directory, seldom served by sites; known, so that no other format takes them."""

from typing import Final

from registry.core.documents import Document
from registry.core.format import Format, Role
from registry.core.manifest import Notes
from registry.core.services import Service

_SLUG: Final = "oasf"
_LISTS: Final = ("locators", "modules", "extensions")


def dialect(document: Document) -> str | None:
    value = document.value
    if not isinstance(value, dict) or "schema_version" not in value or "name" not in value:
        return None
    return "" if any(isinstance(value.get(key), list) for key in _LISTS) else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    """A record speaks for whoever is listed in it, never for the host that serves it."""
    return Service()


FORMAT = Format(
    slug=_SLUG,
    title="OASF record",
    spec="OASF 1.0.0, record",
    paths=(),
    media_types=("application/json",),
    role=Role.ENRICHER,
    read=_read,
)
