"""Pointers of a home page: HTTP `Link` fields (RFC 8288), `<link rel>` and JSON-LD in the HTML head.

Hostile input is expected: every scan moves forward only, so the work is linear in the bytes, and what is kept is
capped. The HTML is not parsed into a tree; a head has no need of one.
"""

import html
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from registry.core.domains import parse_https
from registry.core.mining import mined
from registry.core.services import Pointer

MAX_POINTERS: Final = 20
MAX_HEADER: Final = 16 * 1024
MAX_TAG: Final = 2000

EXPECTED: Final[Mapping[str, str | None]] = MappingProxyType(
    {
        "ard": "ai-catalog",
        "ai-catalog": "ai-catalog",
        "api-catalog": "api-catalog",
        "agent-manifest": None,  # claimed by ATP, AWP and several unrelated schemes: the content decides
        "ai-actions": "awas",
        "agent-permissions": "agent-permissions",
        "service-desc": "openapi",
        "describedby": None,
    }
)
"""The link relations that are followed (probe-plan.md section 4), and the format each promises."""

_JSON_LD = "application/ld+json"
_LINK_VALUE = re.compile(
    r"""<([^<>]{1,2000})>((?:\s*;\s*[^\s;,="<>]{1,50}(?:\s*=\s*(?:"[^"]{0,500}"|[^\s;,"<>]{0,200}))?){0,20})"""
)
_PARAM = re.compile(r""";\s*([^\s;,="<>]{1,50})\s*=\s*(?:"([^"]{0,500})"|([^\s;,"<>]{0,200}))""")
_ATTRIBUTE = re.compile(r"""([a-zA-Z-]{1,50})\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_TELLING = re.compile(r"ard|-catalog|agent-|ai-actions|service-desc|describedby|ld\+json|&")
"""In every tag that names a relation of EXPECTED, or JSON-LD, in lower case; "&" may be any of them in disguise. Most
tags of a head name styles and scripts: this search is a fraction of the work of reading them."""
_AWAS_HINT = re.compile(rb"\sdata-(?:awas|ai)-[a-z]", re.IGNORECASE)
_OPENING = re.compile(
    r"<(!--|(?:body|/head|link|base|script|style|title|template|noscript|textarea)(?=[\s/>]))", re.IGNORECASE | re.ASCII
)
_CLOSING = {
    "!--": re.compile("-->"),
    **{
        name: re.compile(f"</{name}", re.IGNORECASE | re.ASCII)
        for name in ("script", "style", "title", "template", "noscript", "textarea")
    },
}


def home_pointers(url: str, headers: Mapping[str, str], body: bytes) -> tuple[Pointer, ...]:
    """The followed links of a page served at `url`, header fields first, absolute https URLs, without repeats."""
    found: dict[str, Pointer] = {}
    links, data = _head_links(body.decode("utf-8", "replace"), url)
    named = [(href, rels, url) for href, rels in _header_links(headers.get("link", ""))]
    for href, rels, base in (*named, *links):
        for rel in rels:
            if rel in EXPECTED and len(found) < MAX_POINTERS and (target := parse_https(href, base)) is not None:
                found.setdefault(target, Pointer(target, rel, "", EXPECTED[rel]))
    for pointer in _named_in_data(data, url):
        if len(found) < MAX_POINTERS and pointer.url is not None:
            found.setdefault(pointer.url, pointer)
    return tuple(found.values())


def has_awas_hint(body: bytes) -> bool:
    """Whether the page marks actions up for agents (AWAS `data-awas-*`, `data-ai-*`): a hint, never a capability."""
    # plain search first: the pattern alone costs most of what is done with a page
    return b"data-a" in body.lower() and _AWAS_HINT.search(body) is not None


def _header_links(field: str) -> Iterator[tuple[str, list[str]]]:
    for value in _LINK_VALUE.finditer(field[:MAX_HEADER]):
        params = {name.lower(): quoted or bare for name, quoted, bare in reversed(_PARAM.findall(value[2]))}
        if "anchor" not in params:  # a link whose context is another resource says nothing about this host
            yield value[1].strip(), params.get("rel", "").lower().split()


def _head_links(text: str, url: str) -> tuple[list[tuple[str, list[str], str]], list[str]]:
    """The links of the head, each with its relations and its base; and the texts of its JSON-LD."""
    base, links, data = url, [], []
    for tag, attributes, content in _head_tags(text):
        if tag == "base":
            base = parse_https(attributes.get("href", ""), url) or base
        elif tag == "script":
            data += [content] if attributes.get("type", "").lower() == _JSON_LD else []
        elif "href" in attributes:
            links.append((attributes["href"].strip(), attributes.get("rel", "").lower().split(), base))
    return links, data


def _named_in_data(data: list[str], url: str) -> tuple[Pointer, ...]:
    """Addresses of known documents in the JSON-LD of the head (ARD 0.91): found as in any text, never interpreted."""
    return mined(" ".join(data).replace("\\/", "/"), url) if data else ()


def _head_tags(text: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """The tags before the body that may tell something: `base`, `link`, and `script` with its content; comments and
    other raw text elements are jumped over."""
    opened = _OPENING.search(text)
    while opened:
        name, at = opened[1].lower(), opened.end()
        if name in ("body", "/head"):
            return
        end = text.find(">", at, at + MAX_TAG)
        telling = end >= 0 and (name == "base" or _TELLING.search(text[at:end].lower()) is not None)
        if name in _CLOSING:
            closed = _CLOSING[name].search(text, at)
            if closed is None:
                return
            if name == "script" and telling:
                yield name, _attributes(text[at:end]), text[end + 1 : closed.start()]
            at = closed.end()
        elif telling:
            yield name, _attributes(text[at:end]), ""
        opened = _OPENING.search(text, at)


def _attributes(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        found.setdefault(name.lower(), html.unescape(double or single or bare))
    return found
