"""llms.txt (llmstxt.org): a title, a summary and links, for people's models. Its links name better documents."""

import re

from registry.core.documents import Document
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.manifest import NAME_CHARS, TEXT_CHARS, Notes, sourced
from registry.core.mining import mined
from registry.core.plain_text import line
from registry.core.services import Service

_SLUG = "llms-txt"
_TITLE = re.compile(r"#[ \t]+(\S.*)")
_SUMMARY_LINES = 20


def dialect(document: Document) -> str | None:
    """Any text, but only at the format's own paths."""
    return "" if document.text is not None else None


def _read(document: Document, dialect: str, notes: Notes) -> Service:
    text = document.text or ""
    lines = text.lstrip().splitlines()
    title = _TITLE.match(lines[0]) if lines else None
    if title is None:
        notes.add(Reason.LLMS_TITLE, "", lines[0] if lines else "")
    service = Service(
        name=line(title[1], NAME_CHARS) if title else None,
        description=_summary(lines),
        pointers=mined(text, document.url),
    )
    return sourced(service, document, _SLUG, {"name": "", "description": ""})


def _summary(lines: list[str]) -> str | None:
    """The block quote near the top."""
    quoted = [one.lstrip()[1:] for one in lines[:_SUMMARY_LINES] if one.lstrip().startswith(">")]
    return line(" ".join(quoted), TEXT_CHARS) or None


FORMAT = Format(
    slug=_SLUG,
    title="llms.txt",
    spec="llmstxt.org, Format",
    paths=("/llms.txt", "/.well-known/llms.txt"),
    media_types=("text/plain", "text/markdown"),
    role=Role.TEXT,
    read=_read,
)
