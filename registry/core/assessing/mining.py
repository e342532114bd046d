"""Find the URLs of manifests in texts and home pages, and the format that each promises.

Whole path segments are compared, because `ard.json` is also the end of `agent-card.json`. Home pages point with HTTP
`Link` fields (RFC 8288), and with `<link rel>` and JSON-LD in the head. Input may be hostile: every scan moves forward
only, so the work is linear in the bytes, and results are capped. The HTML is not parsed into a tree.
"""

import html
import re
from collections.abc import Iterator, Mapping
from html.entities import html5
from types import MappingProxyType
from typing import Final

from registry.core.format_support.endpoints import Endpoint
from registry.core.format_support.mcp_parts import card_pointer
from registry.core.format_support.public_addresses import is_public
from registry.core.formats import FORMATS
from registry.core.model.services import Pointer
from registry.core.names.domains import host_of, parse_https
from registry.core.reading.link_field import links_of

MAX_MINED: Final = 40
SCANNED_CHARS: Final = 200_000

PROMISED: Final[Mapping[str, str]] = MappingProxyType({path: form.slug for form in FORMATS for path in form.promises()})
"""Well-known paths and the format to expect there; the content decides where several formats share a path."""

_PATTERNS: Final = tuple((form.promised_pattern, form.slug) for form in FORMATS if form.promised_pattern)
_URL = re.compile(r"https://[^\s<>()\[\]\"'`|\\]{4,500}")
_LINK = re.compile(
    r"(?:\]\(\s{0,9}|^ {0,3}\[[^\[\]\n]{1,200}\]:[ \t]{1,9})<?(?![A-Za-z]+:|#)"
    r"((?:[^\s()<>]|\([^\s()<>]{0,100}\)){1,500})(?=[\s)>]|\Z)",
    re.MULTILINE,
)
"""A relative target of a Markdown link or link reference definition (CommonMark 0.31, sections 6.3 and 4.7)."""

_TAIL = re.compile(r"[.,;:!?*_]+$")
_NAMES = {path.rpartition("/")[2] for path in PROMISED} | {"openapi.", "swagger.", "server-card", "SKILL.md", "mcp"}
_RELEVANT = re.compile("|".join(map(re.escape, sorted(_NAMES))))  # most links lead to pages and need no parsing


def find_manifest_pointers(text: str, base: str) -> tuple[Pointer, ...]:
    """Return pointers from the Markdown links and bare URLs of a text, in order, distinct, at most MAX_MINED. Addresses
    that are not public are ignored: a text may mention them."""
    text = text[:SCANNED_CHARS]
    pointers: dict[str, Pointer] = {}
    for match in (*_URL.finditer(text), *_LINK.finditer(text)):
        target = match[match.lastindex or 0]
        url = parse_https(_TAIL.sub("", target), base) if _RELEVANT.search(target) else None
        pointer = _pointer(url) if url and is_public(url, base) else None
        if pointer is not None and pointer.url is not None:
            pointers.setdefault(pointer.url, pointer)
        if len(pointers) == MAX_MINED:
            break
    return tuple(pointers.values())


def _pointer(url: str) -> Pointer | None:
    path = "/" + url.partition("://")[2].partition("/")[2].partition("?")[0]
    if path in PROMISED:
        return Pointer(url, "mentioned", expected=PROMISED[path])
    for pattern, slug in _PATTERNS:
        if pattern.search(path):
            return Pointer(url, "mentioned", expected=slug)
    if path.endswith("/SKILL.md"):
        return Pointer(url, "skill")  # recorded only: no format reads it yet, so it is not requested
    if path.rstrip("/").endswith("/mcp"):
        return next(iter(card_pointer(Endpoint(url), "")), None)
    return None


MAX_POINTERS: Final = 20
MAX_HEADER: Final = 16 * 1024

EXPECTED: Final[Mapping[str, str | None]] = MappingProxyType({
    "agent-manifest": None,  # claimed by ATP, AWP and several unrelated schemes: the content decides
    "describedby": None,
    **{relation: form.slug for form in FORMATS for relation in form.link_relations},
})  # fmt: skip
"""The link relations that are followed (docs/crawler.md, "Pointers"), and the format each promises."""

_JSON_LD = "application/ld+json"
_BLANK: Final = r"[\t\n\f\r ]"
_QUOTED: Final = r"""(?:"([^"]*+)(?:"|\Z)|'([^']*+)(?:'|\Z)|([^\t\n\f\r >"'][^\t\n\f\r >]*+))"""
_ATTRIBUTE = re.compile(rf"(=?[^\t\n\f\r />=]++|=)(?:{_BLANK}*+={_BLANK}*+{_QUOTED}?+)?+")
_TAG_REST = re.compile(rf"""((?:[^>"'=]++|={_BLANK}*+(?:{_QUOTED.replace("([", "(?:[")})?+|["'])*+)>""")
"""An attribute, and all attributes of a tag, as the HTML standard's tokenizer reads them (section 13.2.5.32 and on)."""

_REFERENCE = re.compile(r"&(?:#[0-9]{1,10}|#[xX][0-9a-fA-F]{1,10}|[a-zA-Z][a-zA-Z0-9]{1,40})[;=]?")
_RELEVANT_RELATIONS = re.compile("|".join([*map(re.escape, sorted(EXPECTED)), r"ld\+json", "&"]))
"""Matches every tag, in lower case, that names a relation of EXPECTED or JSON-LD; "&" may encode any of them. Most tags
of a head name styles and scripts, and this search costs a fraction of parsing them."""
_OPENING = re.compile(
    r"<(?=[!?/blmnst])"  # nearly all other tags are left here, at half the cost
    r"(!--|[!?]|(?:body|/head|link|base|meta|script|style|title|template|noscript|textarea)(?=[\t\n\f\r />]))",
    re.IGNORECASE | re.ASCII,
)
_RAW_TEXT: Final = ("script", "style", "title", "template", "noscript", "textarea")
_CLOSING = {name: re.compile(rf"</{name}(?=[\t\n\f\r />])", re.IGNORECASE | re.ASCII) for name in _RAW_TEXT}
_EMPTY_COMMENT = re.compile("-?>")
_BOGUS_COMMENT_END = re.compile(">")
_COMMENT_END = re.compile("--!?>")


def home_pointers(url: str, headers: Mapping[str, str], body: bytes) -> tuple[Pointer, ...]:
    """Return the followed links of a page served at `url`: absolute https URLs without repeats, header fields first."""
    pointers: dict[str, Pointer] = {}
    elements: list[tuple[str, list[str]]] = []
    own_base: str | None = None
    json_ld = []
    for tag, attributes, content in _head_tags(body.decode("utf-8", "replace")):
        if tag == "script":
            media_type = attributes.get("type", "").partition(";")[0].strip().lower()
            json_ld += [content] if media_type == _JSON_LD else []
        elif "href" not in attributes:
            continue
        elif tag == "base":  # the first one counts, for all links
            own_base = own_base or parse_https(attributes["href"], url) or url
        else:
            elements.append((attributes["href"].strip(), attributes.get("rel", "").lower().split()))
    links = [(href, rels, url) for href, rels in _header_links(headers.get("link", ""), url)]
    links += [(href, rels, own_base or url) for href, rels in elements]
    for href, rels, base in links:
        for rel in rels:
            if rel in EXPECTED and len(pointers) < MAX_POINTERS and (target := parse_https(href, base)) is not None:
                pointers.setdefault(target, Pointer(target, rel, "", EXPECTED[rel]))
    # known documents in the JSON-LD of the head (ARD 0.91), found as in any text
    for pointer in find_manifest_pointers(" ".join(json_ld).replace("\\/", "/"), url):
        if len(pointers) < MAX_POINTERS and pointer.url is not None:
            pointers.setdefault(pointer.url, pointer)
    return tuple(pointers.values())


def header_targets(url: str, headers: Mapping[str, str], relation: str) -> frozenset[str]:
    """Return the absolute https URLs that the `Link` fields of a page served at `url` name with the relation."""
    links = _header_links(headers.get("link", ""), url)
    targets = (parse_https(href, url) for href, relations in links if relation in relations)
    return frozenset(target for target in targets if target is not None)


def _header_links(field: str, url: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the target and the relations of each link whose context is a resource of the host of `url`."""
    for target, params in links_of(field[:MAX_HEADER]):
        anchor = params.get("anchor")
        if anchor is None or host_of(parse_https(anchor, url) or "") == host_of(url):
            yield target, params.get("rel", "").lower().split()


def _head_tags(text: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield the tags before the body that may matter: `base`, `link`, and `script` with its content. Skip comments and
    other elements of raw text."""
    opening = _OPENING.search(text)
    while opening:
        name, offset = opening[1].lower(), opening.end()
        if name in ("body", "/head"):
            return
        if name == "!--":
            end = _EMPTY_COMMENT.match(text, offset) or _COMMENT_END.search(text, offset)
        elif name in ("!", "?"):
            end = _BOGUS_COMMENT_END.search(text, offset)
        else:
            end = _TAG_REST.match(text, offset)
        if end is None:
            return
        offset = end.end()
        is_relevant = name == "base" or (name in ("link", "script") and _RELEVANT_RELATIONS.search(end[1].lower()))
        if name in _CLOSING:
            closing = _CLOSING[name].search(text, offset)
            if closing is None:
                return
            if is_relevant:
                yield name, _attributes(end[1]), text[offset : closing.start()]
            offset = closing.end()
        elif is_relevant:
            yield name, _attributes(end[1]), ""
        opening = _OPENING.search(text, offset)


def _attributes(text: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        attributes.setdefault(name.lower(), _REFERENCE.sub(_resolve, double or single or bare))
    return attributes


def _resolve(reference: re.Match[str]) -> str:
    """Return the character of a reference in an attribute. Without a semicolon, the names of HTML 4 count, unless a
    letter, digit or "=" follows: `?a=1&copy=2` is a query."""
    text = reference[0]
    if text[1] == "#":
        return html.unescape(text)
    return html5.get(text[1:], text)
