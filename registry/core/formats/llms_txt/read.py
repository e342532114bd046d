"""Read title and summary of llms.txt (llmstxt.org)."""

import re

from registry.core.format_support.manifest import NAME_CHARS, TEXT_CHARS, Notes, with_provenance
from registry.core.formats.llms_txt import rules
from registry.core.model.documents import Document
from registry.core.model.services import Service
from registry.core.reading.plain_text import line

SLUG = "llms-txt"
_TITLE = re.compile(r"#[ \t]+(\S.*)")
_SUMMARY_LINES = 20


def read(document: Document, dialect: str, notes: Notes) -> Service:
    text = document.text or ""
    lines = text.lstrip().splitlines()
    title = _TITLE.match(lines[0]) if lines else None
    if title is None:
        notes.add(rules.TITLE, "", lines[0] if lines else "")
    service = Service(
        name=line(title[1], NAME_CHARS) if title else None,
        description=_summary(lines),
    )
    return with_provenance(service, document, SLUG, {"name": "", "description": ""})


def _summary(lines: list[str]) -> str | None:
    """Return the text of the block quote near the top, or None."""
    quoted = [text_line.lstrip()[1:] for text_line in lines[:_SUMMARY_LINES] if text_line.lstrip().startswith(">")]
    return line(" ".join(quoted), TEXT_CHARS) or None
