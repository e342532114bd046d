"""llms.txt (llmstxt.org): a title, a summary and links for language models. It is searched for pointers."""

import re
from typing import Any, Final

from registry.core.format_support.endpoints import link
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import MAX_TEXTS, NAME_CHARS, TEXT_CHARS, Notes, with_provenance
from registry.core.format_support.probing import ProbePath
from registry.core.model.documents import Document
from registry.core.model.findings import CONFORMANCE, ERROR, Rule
from registry.core.model.services import Provider, Service
from registry.core.reading.plain_text import line

SLUG = "llms-txt"

TITLE = Rule(
    "llms.title", ERROR, points=3, section=CONFORMANCE, spec="llmstxt.org, Format",
    says="The text does not begin with a title.",
    fix="Begin the text with a title line, for example \"# Example\".",
)  # fmt: skip
_TITLE = re.compile(r"#[ \t]+(\S.*)")
_SUMMARY_LINES = 20
SCANNED_CHARS = 200_000
_MAX_MAILS = 5
_MAX_LINES = 5_000
_MAX_PRICES = 20
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{1,200})\]\(([^()\s]{1,500})\)")
_MAIL = re.compile(r"(?<![\w.+@/-])[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{2,63}){1,4}(?![\w@])")
_CONTACT = re.compile(r"contact|e-?mail|mailto|support|reach|questions|press|partner|sales|founders?", re.IGNORECASE)
_HOME = re.compile(r"home(?: ?page)?|web ?site|main site", re.IGNORECASE)
_SOURCE = re.compile(r"\b(?:source (?:code|repository)|repository|github(?: repo)?)\b", re.IGNORECASE)
_PRICE = re.compile(r"[$€£]\s?\d|\b\d[\d.,]*\s?(?:USDC?|EUR|GBP)\b")


def read(document: Document, dialect: str, notes: Notes) -> Service:
    text = (document.text or "")[:SCANNED_CHARS]
    lines = text.lstrip().splitlines()
    title = _TITLE.match(lines[0]) if lines else None
    if title is None:
        notes.add(TITLE, "", lines[0] if lines else "")
    links = _read_links(text, document)
    spoken = (one for one in lines[:_MAX_LINES] if _CONTACT.search(one))
    mails = tuple(dict.fromkeys(mail for one in spoken for mail in _MAIL.findall(one[:TEXT_CHARS])))[:_MAX_MAILS]
    quoted = [one.lstrip()[1:] for one in lines[:_SUMMARY_LINES] if one.lstrip().startswith(">")]  # near the top
    priced = [one for one in lines[:_MAX_LINES] if _PRICE.search(one[:TEXT_CHARS])][:_MAX_PRICES]
    prices = [line(one.strip(" -*"), NAME_CHARS) for one in priced]
    named = [{"name": name, "url": url} for name, url in links]
    kept: dict[str, Any] = {key: value for key, value in (("links", named), ("prices", prices)) if value}
    service = Service(
        name=line(title[1], NAME_CHARS) if title else None,
        description=line(" ".join(quoted), TEXT_CHARS) or None,
        provider=Provider(contact=mails[0], contacts=mails[1:]) if mails else None,
        homepage=next((url for name, url in links if _HOME.fullmatch(name)), None),
        repository=next((url for name, url in links if _SOURCE.search(name)), None),
        native={SLUG: kept} if kept else {},
    )
    fields = ("name", "description", "provider", "homepage", "repository")
    return with_provenance(service, document, SLUG, dict.fromkeys(fields, ""))


def _read_links(text: str, document: Document) -> list[tuple[str, str]]:
    """Return the names and https URLs of the Markdown links, each URL once, at most MAX_TEXTS."""
    found: dict[str, str] = {}
    for name, target in _LINK.findall(text):
        url = link(target, document.url)
        if url is not None and len(found) < MAX_TEXTS:
            found.setdefault(url, line(name, NAME_CHARS))
    return [(name, url) for url, name in found.items()]


FORMAT: Final = Format(
    slug=SLUG,
    title="llms.txt",
    spec="llmstxt.org, Format",
    paths=("/llms.txt", "/.well-known/llms.txt"),
    media_types=("text/plain", "text/markdown"),
    role=Role.TEXT,
    read=read,
    no_parts="a text",
    rules=(TITLE,),
    promised_paths=("/.well-known/llms.txt",),
    probe_paths=(ProbePath("S1", 40, "/llms.txt"), ProbePath("S1", 10, "/llms.txt", sub_host="docs")),
    names_documents=True,
    precedence=230,
)
