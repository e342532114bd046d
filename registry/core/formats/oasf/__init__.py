"""OASF records: entries of a directory, recognised so that no other format claims them. Sites seldom serve them."""

from typing import Final

from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import Notes
from registry.core.model.documents import Document
from registry.core.model.services import Service

SLUG: Final = "oasf"
_LISTS: Final = ("locators", "modules", "extensions")


def dialect(document: Document) -> str | None:
    value = document.members
    if "schema_version" not in value or "name" not in value:
        return None
    return "" if any(isinstance(value.get(key), list) for key in _LISTS) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    """Return an empty service: a record describes the agent that it lists, never the host that serves it."""
    return Service()


FORMAT: Final = Format(
    slug=SLUG,
    title="OASF record",
    spec="OASF 1.0.0, record",
    about=(
        "A record describes an agent in the vocabulary of the Open Agentic Schema Framework. Directories of "
        "agents exchange such records; sites rarely serve them."
    ),
    link="https://github.com/agntcy/oasf",
    example={
        "schema_version": "1.0.0",
        "name": "example.com/city-weather",
        "version": "1.0.0",
        "description": "Tells the weather of any city.",
        "authors": ["Example"],
        "created_at": "2026-01-01T00:00:00Z",
        "skills": [{"name": "natural_language_processing", "id": 1}],
        "locators": [{"type": "source_code", "url": "https://example.com/source"}],
        "domains": [],
    },
    paths=(),
    role=Role.ENRICHER,
    read=read,
    no_parts="a record describes another agent than the host's",
)
