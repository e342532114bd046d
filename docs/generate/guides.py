"""The guides of docs/ as HTML for the pages of a registry (`registry/web/guides`)."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import escape

from registry.web.guides import BY_SLUG

_SLUGS_BY_SOURCE: Final = {
    source: [slug for slug, guide in BY_SLUG.items() if guide.source == source]
    for source in {guide.source for guide in BY_SLUG.values()}
}
_TITLES: Final = {posixpath.basename(guide.source): guide.title for guide in BY_SLUG.values()}
"""Name of a file, which is the text of some links -> the title of its page."""

_OTHER_PAGES: Final = {
    "README.md": "../docs", "rubric.md": "../rubric", "formats.md": "../formats", "openapi.json": "api",
}  # fmt: skip
"""Other documents that are pages -> their address, relative to a guide's."""

_PAGES: Final = frozenset({"/audit", "/bot", "/changes", "/check", "/claims", "/formats", "/opt-out", "/search",
                           "/submit", "/stats", "/status"})  # fmt: skip
"""Paths of pages: they are links wherever a guide names one as code."""

_LABELS: Final = {
    "sh": ("Shell", True), "json": ("JSON", True), "yaml": ("YAML", True), "python": ("Python", True),
    "console": ("Terminal", False),
}  # fmt: skip
"""Language of a block of code -> its name, and whether one would copy it whole."""

_LEAST_CONTENTS: Final = 3
_NOTE: Final = re.compile(r"\A<!--.*?-->\s*", re.DOTALL)


def guide_html(slug: str, markdown: str) -> str:
    """Return the text of a guide after its title: the contents, if there are several sections, and the sections."""
    return _Guide(slug).render(_NOTE.sub("", markdown))


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as forges make it, so that links work in both places."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class _Guide:
    """Turns the tokens of one guide into those of its page: what Markdown has no words for becomes HTML."""

    def __init__(self, slug: str) -> None:
        self._slug, self._source = slug, BY_SLUG[slug].source
        self._areas: Counter[str] = Counter()
        self._heading = "Overview"
        self._cell = "td"
        self._sections: list[str] = []

    def render(self, markdown: str) -> str:
        parser = MarkdownIt("commonmark", {"html": False}).enable("table")
        tokens = parser.parse(markdown)
        title_end = next(n for n, token in enumerate(tokens) if token.type == "heading_close") + 1
        shown = [*self._in_sections(tokens[title_end:]), tokens[0]]
        changed = [self._block(*pair) for pair in pairwise(shown)]
        body: str = parser.renderer.render(changed, parser.options, {})
        if len(self._sections) < _LEAST_CONTENTS:
            return body
        contents = ['<nav class="contents" aria-label="On this page">', "<ul>", *self._sections, "</ul>", "</nav>"]
        before, first, after = body.partition("<h2")
        return "\n".join([before.rstrip(), *contents, first + after])

    def _in_sections(self, tokens: Sequence[Token]) -> Iterator[Token]:
        """Yield the tokens of the sections of this guide: if they are a part of its document, without its opening."""
        sections = BY_SLUG[self._slug].sections
        is_shown = not sections
        for token, following in pairwise((*tokens, tokens[0])):
            if token.type == "heading_open" and token.tag == "h2":
                is_shown = not sections or anchor(following.content) in sections
            if is_shown:
                yield token

    def _block(self, token: Token, following: Token) -> Token:
        """Return what the page has for a token. `following`: the next one, which holds the text of a heading."""
        if token.type == "heading_open":
            self._heading = "".join(child.content for child in following.children or ())
            token.attrs = {"id": anchor(self._heading)}
            if token.tag == "h2":
                self._sections.append(f'<li><a href="#{anchor(self._heading)}">{escape(self._heading)}</a></li>')
        elif token.type in ("th_open", "td_open"):
            if not following.content:
                token.tag = "td"  # without a text, it heads nothing
            self._cell = token.tag
            is_number = token.attrs.pop("style", "") == "text-align:right"  # pages have no inline styles
            token.attrs |= ({"scope": "col"} if token.tag == "th" else {}) | ({"class": "number"} if is_number else {})
        elif token.type == "th_close":
            token.tag = self._cell
        elif token.type == "inline":
            token.children = list(self._linked(token.children or ()))
        elif token.type == "fence":
            return _html(self._code(token.info.strip(), token.content.rstrip()))
        elif token.type == "table_open":
            return _html(self._table())
        elif token.type == "table_close":
            return _html("</table>\n</div>\n")
        return token

    def _linked(self, children: Sequence[Token]) -> Iterator[Token]:
        """Yield the tokens with the addresses of pages. A link to what no registry serves becomes its text."""
        address: str | None = None
        for token in children:
            if token.type == "link_open":
                address = self._address(str(token.attrs["href"]))
                if address is None:
                    continue
                token.attrs["href"] = address
                if urlsplit(address).scheme:
                    token.attrs["rel"] = "noopener"
            elif token.type == "link_close" and address is None:
                continue
            elif token.type == "text" and token.content in _TITLES and address is not None:
                token.content = _TITLES[token.content]
            elif token.type == "code_inline" and address is None and token.content in _PAGES:
                link = f'<a href="..{token.content}"><code>{token.content}</code></a>'
                token = Token("html_inline", "", 0, content=link)
            yield token
            address = None if token.type == "link_close" else address

    def _address(self, target: str) -> str | None:
        """Return where a link leads from a page: None if that is nowhere in a registry or the web."""
        if urlsplit(target).scheme:
            return target
        path, _, fragment = target.partition("#")
        folder = posixpath.dirname(self._source)
        source = posixpath.normpath(posixpath.join(folder, path)) if path else self._source
        slugs = _SLUGS_BY_SOURCE.get(source)
        if slugs is None:
            return _OTHER_PAGES.get(source)
        slug = next((one for one in slugs if fragment in BY_SLUG[one].sections), slugs[0])
        return ("" if slug == self._slug else slug) + (f"#{fragment}" if fragment else "")

    def _code(self, kind: str, text: str) -> str:
        label, can_be_copied = _LABELS.get(kind, ("Example", False))
        self._areas["code"] += 1
        name = f"code-{self._areas['code']}"
        button = f'<button type="button" class="copy" hidden data-copy="{name}">Copy</button>' if can_be_copied else ""
        drawn = "" if kind else ' class="drawn"'  # its lines are not broken
        return (
            f'<div class="code"><div class="code-head"><span>{label}</span>{button}</div><pre{drawn} '
            f'tabindex="0" role="group" aria-label="{label}"><code id="{name}">{escape(text)}</code></pre></div>\n'
        )

    def _table(self) -> str:
        self._areas[self._heading] += 1
        count = self._areas[self._heading]
        label = escape(self._heading if count == 1 else f"{self._heading}, table {count}")
        return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">\n<table class="stacked">\n'


def _html(content: str) -> Token:
    return Token("html_block", "", 0, content=content, block=True)
