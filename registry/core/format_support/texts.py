"""Texts that are recognised only by their paths, because no grammar for them is enforced."""

from typing import Final

from registry.core.format_support.manifest import Notes
from registry.core.model.documents import Document
from registry.core.model.services import Service

TEXT_TYPES: Final = ("text/plain", "text/markdown")


def any_text(document: Document) -> str | None:
    """Return "" for every text, None for JSON. The test is applied only at the paths of a format."""
    return "" if document.text is not None else None


def read_empty_service(document: Document, dialect: str, notes: Notes) -> Service:
    """Return an empty service: such a text contributes only pointers to other documents."""
    return Service()
