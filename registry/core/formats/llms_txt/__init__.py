"""llms.txt (llmstxt.org): a title, a summary and links for language models. It is searched for pointers."""

import html
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
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_NO_PARAGRAPH = re.compile(r"#{1,6}(?:[ \t]|$)|[>|<]|[-+*][ \t]|\d{1,9}[.)][ \t]")
_BREAK = re.compile(r"(?:[-*_][ \t]*){3,}")
_FENCE = re.compile(r"\s*(?:>\s*)?(`{3,}(?=[^`]*$)|~{3,})")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.{1,200}?)(?<!`)\1(?!`)")
_WHOLE = re.compile(r"(\*\*|__|[*_`])(\S(?:.*\S)?)\1|\[([^\[\]]+)\]\([^()\s]*\)")
_MAX_TITLE_LINES = 5
_MAX_HEADING_CHARS = 1_000
_SUMMARY_LINES = 20
SCANNED_CHARS = 200_000
_MAX_MAILS = 5
_MAX_LINES = 5_000
_MAX_PRICES = 20
_TARGET = r"<?((?:[^()<>\s]|\([^()<>\s]{0,100}\)){1,500})>?"
_LINK_TITLE = r"""(?:\s{1,9}(?:"[^"\n]{0,300}"|'[^'\n]{0,300}'|\([^()\n]{0,300}\)))?"""
_LINK = re.compile(
    rf"(?<!!)\[([^\[\]\n]{{1,200}})\](?:\(\s{{0,9}}{_TARGET}{_LINK_TITLE}\s{{0,9}}\)|\[([^\[\]\n]{{0,200}})\])"
)
_DEFINITION = re.compile(rf"^ {{0,3}}\[([^\[\]\n]{{1,200}})\]:[ \t]{{0,9}}{_TARGET}{_LINK_TITLE}[ \t]*$", re.MULTILINE)
_MAIL = re.compile(r"(?<![\w.+@/-])[A-Za-z0-9][\w.+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{2,63}){1,4}(?![\w@])")
_CONTACT = re.compile(r"contact|e-?mail|mailto|support|reach|questions|press|partner|sales|founders?", re.IGNORECASE)
_HOME = re.compile(r"home(?: ?page)?|web ?site|main site", re.IGNORECASE)
_SOURCE = re.compile(r"\b(?:source (?:code|repository)|repository|github(?: repo)?)\b", re.IGNORECASE)
_PRICE = re.compile(r"[$€£]\s?\d|\b\d[\d.,]*\s?(?:USDC?|EUR|GBP)\b")


def read(document: Document, dialect: str, notes: Notes) -> Service:
    text = (document.text or "")[:SCANNED_CHARS].lstrip()
    lines = text.splitlines()
    prose = _read_prose(lines)
    title = _read_title(prose)
    if title is None:
        notes.add(TITLE, "", next(filter(None, map(str.strip, prose)), ""))
    links = _read_links("\n".join(prose), document)
    spoken = (one for one in lines[:_MAX_LINES] if _CONTACT.search(one))
    mails = tuple(dict.fromkeys(mail for one in spoken for mail in _MAIL.findall(one[:TEXT_CHARS])))[:_MAX_MAILS]
    quoted = [one.lstrip()[1:] for one in prose[:_SUMMARY_LINES] if one.lstrip().startswith(">")]  # near the top
    priced = [one for one in lines[:_MAX_LINES] if _PRICE.search(one[:TEXT_CHARS])][:_MAX_PRICES]
    prices = [line(one.strip(" -*"), NAME_CHARS) for one in priced]
    named = [{"name": name, "url": url} for name, url in links]
    kept: dict[str, Any] = {key: value for key, value in (("links", named), ("prices", prices)) if value}
    service = Service(
        name=line(title, NAME_CHARS) if title else None,
        description=line(" ".join(quoted), TEXT_CHARS) or None,
        provider=Provider(contact=mails[0], contacts=mails[1:]) if mails else None,
        homepage=next((url for name, url in links if _HOME.fullmatch(name)), None),
        repository=next((url for name, url in links if _SOURCE.search(name)), None),
        native={SLUG: kept} if kept else {},
    )
    fields = ("name", "description", "provider", "homepage", "repository")
    return with_provenance(service, document, SLUG, dict.fromkeys(fields, ""))


def _read_prose(lines: list[str]) -> list[str]:
    """Return the lines of a Markdown text without front matter, HTML comments and fenced code (CommonMark 0.31,
    sections 4.5 and 4.6), from its first line that is not empty. An empty line stands for a fence."""
    if lines[:1] and lines[0].rstrip() == "---":
        end = next((number for number, one in enumerate(lines[1:], 1) if one.rstrip() in ("---", "...")), 0)
        lines = lines[end + 1 :] if end else lines
    prose: list[str] = []
    fence: str | None = None
    in_comment = False
    for one in lines:
        if fence is not None:
            if (mark := one.strip(" \t>")).startswith(fence) and not mark.strip(fence[0]):
                fence = None
            continue
        visible, in_comment = _without_comments(one, in_comment) if in_comment or "<!--" in one else (one, False)
        if ("```" in visible or "~~~" in visible) and (opening := _FENCE.match(visible)):
            fence, visible = opening[1], ""
        if prose or visible.strip():
            prose.append(visible)
    return prose


def _without_comments(one: str, in_comment: bool) -> tuple[str, bool]:
    """Return a line without the HTML comments in it, and whether one is still open at its end."""
    visible, rest = "", one
    while rest:
        if in_comment:
            _, end, rest = rest.partition("-->")
            in_comment = not end
        else:
            before, start, rest = rest.partition("<!--")
            visible += before
            in_comment = bool(start)
            if in_comment and rest.startswith((">", "->")):
                rest, in_comment = rest.partition(">")[2], False
    return visible, in_comment


def _read_title(prose: list[str]) -> str | None:
    """Return the text of the heading with which the text begins, of the first level: behind "#" or above "=" signs."""
    start = next((number for number, one in enumerate(prose) if one.strip() and not _BREAK.fullmatch(one.strip())), 0)
    paragraph: list[str] = []
    for one in prose[start : start + _MAX_TITLE_LINES + 1]:
        text = one.strip()
        if not paragraph and text[0:1] == "#" and text[1:2] in (" ", "\t"):
            heading = text[1:].strip()
            unclosed = heading.rstrip("#")
            return _plain_heading(unclosed if unclosed[-1:] in ("", " ", "\t") else heading)
        if paragraph and _UNDERLINE.fullmatch(one):
            return _plain_heading(" ".join(paragraph)) if text.startswith("=") else None
        if not text or _NO_PARAGRAPH.match(text):
            return None
        paragraph.append(text)
    return None


def _plain_heading(text: str) -> str | None:
    """Return the text of a heading without the emphasis or link around all of it; None if nothing is left."""
    text = html.unescape(text[:_MAX_HEADING_CHARS]).strip()
    while whole := _WHOLE.fullmatch(text):
        text = whole[2] or whole[3]
    return text or None


def _read_links(prose: str, document: Document) -> list[tuple[str, str]]:
    """Return the names and https URLs of the Markdown links, each URL once, at most MAX_TEXTS."""
    found: dict[str, str] = {}
    if "`" in prose:  # a link in code does not count, code in the text of a link may stand
        prose = _CODE.sub(lambda span: "" if "](" in span[2] else span[0], prose)
    named = {" ".join(label.casefold().split()): target for label, target in reversed(_DEFINITION.findall(prose))}
    for name, inline, label in _LINK.findall(prose):
        if len(found) == MAX_TEXTS:
            break
        target = inline or named.get(" ".join((label or name).casefold().split()))
        url = link(target, document.url) if target else None
        if url is not None:
            found.setdefault(url, line(name, NAME_CHARS))
    return [(name, url) for url, name in found.items()]


FORMAT: Final = Format(
    slug=SLUG,
    title="llms.txt",
    spec="llmstxt.org, Format",
    cited_as="llmstxt.org",
    about=(
        "A text for language models: what the site is, and links to the pages worth reading. This registry "
        "searches it for documents for agents."
    ),
    link="https://llmstxt.org/",
    example=(
        "# City weather\n"
        "\n"
        "> Tells the weather of any city.\n"
        "\n"
        "## API\n"
        "\n"
        "- [OpenAPI description](https://example.com/openapi.json): all calls\n"
    ),
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
