"""Reads hosts of URLs from sitemaps and sitemap indexes (sitemaps.org protocol 0.9).

expat parses the XML as a stream, without a tree, so nesting and repetition cost no memory. A document type declaration
is refused at its start, which excludes all entities except the five predefined ones, and all external references. An
index may name only sitemaps of the same registrable domain, so it cannot direct requests at other sites.
"""

import asyncio
import gzip
import io
import re
import zlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, Any, Final, cast
from xml.parsers import expat

from crawler.seeds.lines import NO_HOST, NO_HOST_SAYS, seed
from crawler.seeds.online import Reader, ReadError
from crawler.seeds.source import BROKEN_OFF, SeedSource
from registry.core.names.domains import host_of, parse_https, registrable_domain
from registry.core.names.seeds import Refusal, Seed

SITEMAP: Final = SeedSource("sitemap", "a sitemap or an index of sitemaps, by its https URL", "the URL of the sitemap")

CAP: Final = 50 * 1024 * 1024  # bytes of one sitemap, both compressed and decompressed (the protocol's own limit)
MAX_SITEMAPS: Final = 1_000
MAX_DEPTH: Final = 3  # levels of nested indexes; the protocol allows none, some sites have one
MAX_ELEMENTS: Final = 2_000_000
MAX_URLS: Final = 100_000  # maximum URLs read from one sitemap; the protocol allows 50,000
MAX_URL: Final = 8_192

_ACCEPT = "application/xml, text/xml, text/plain, */*;q=0.1"
_BLOCK = 64 * 1024
_MAX_SILENT_BLOCKS = 4
"""Blocks without a start or end tag after which parsing fails: no tag or text of a sitemap is this long."""

_BARE_AMPERSAND = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)")
_CUT_REFERENCE = re.compile(rb"&[^;&]{0,8}\Z")
_NESTING = 16
_SHOWN = 200
_BROKEN_XML = BROKEN_OFF + "broken"


@dataclass(slots=True)
class Sitemap:
    """The content of one document: hosts of its URLs, sitemaps that it indexes (not yet checked), refusals."""

    hosts: dict[str, None] = field(default_factory=dict)
    sitemaps: list[str] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


async def names(url: str, reader: Reader) -> AsyncIterator[Seed | Refusal]:
    """Yield the hosts of a sitemap and of all sitemaps it indexes; `url` is canonical. Failures become Refusals."""
    waiting, seen = [(url, url, 0)], {url}
    while waiting:
        sitemap_url, referrer, depth = waiting.pop(0)
        try:
            final_url, body = await reader.read(sitemap_url, accept=_ACCEPT, cap=CAP)
        except ReadError as error:
            yield Refusal(sitemap_url, BROKEN_OFF + "not_read", str(error), referrer)
            continue
        seen.add(final_url)
        sitemap = await asyncio.to_thread(read, body, sitemap_url)
        for host in sitemap.hosts:
            yield Seed(host, sitemap_url)
        for refusal in sitemap.refused:
            yield refusal
        for child in sitemap.sitemaps:
            child_url = _checked_child(child, final_url, depth, len(seen), reader.domain)
            if isinstance(child_url, Refusal):
                yield child_url
            elif child_url not in seen:
                seen.add(child_url)
                waiting.append((child_url, sitemap_url, depth + 1))


def _checked_child(url: str, index: str, depth: int, sitemap_count: int, domain: str) -> str | Refusal:
    canonical = parse_https(url, index)
    if canonical is None:
        return Refusal(url, "not_https", "a sitemap is read over https only", index)
    if registrable_domain(host_of(canonical) or "") != domain:
        return Refusal(canonical, "other_site", "an index may only lead to sitemaps of the same site", index)
    if depth >= MAX_DEPTH or sitemap_count >= MAX_SITEMAPS:
        message = f"more than {MAX_DEPTH} indexes deep, or more than {MAX_SITEMAPS} sitemaps"
        return Refusal(canonical, BROKEN_OFF + "too_many", message, index)
    return canonical


def read(body: bytes, url: str) -> Sitemap:
    """Parse a sitemap in XML or plain text, also with gzip. Never raises: errors are in `refused`. White space before
    the XML declaration is skipped, and if the XML is not well-formed, "&" that begin no reference are read as text."""
    sitemap = _read(body, url, repair=False)
    if any(refusal.code == _BROKEN_XML for refusal in sitemap.refused):
        repaired = _read(body, url, repair=True)
        if not any(refusal.code == _BROKEN_XML for refusal in repaired.refused):
            return repaired
    return sitemap


def _read(body: bytes, url: str, *, repair: bool) -> Sitemap:
    stream = cast(IO[bytes], gzip.GzipFile(fileobj=io.BytesIO(body))) if body[:2] == b"\x1f\x8b" else io.BytesIO(body)
    sitemap = Sitemap()
    try:
        blocks = _blocks(stream)
        first = next(blocks, b"")
        start = first.removeprefix(b"\xef\xbb\xbf").lstrip()
        if start[:1] == b"<" or first[:2] in (b"\xff\xfe", b"\xfe\xff"):
            all_blocks = chain([start if start[:1] == b"<" else first], blocks)
            _Reading(sitemap, url).take(_repaired(all_blocks) if repair else all_blocks)
        else:
            _read_text(first, blocks, url, sitemap)
    except _Invalid as error:
        sitemap.refused.append(Refusal(url, BROKEN_OFF + "not_a_sitemap", str(error), url))
    except expat.ExpatError as error:
        message = f"the XML breaks off in line {error.lineno}: {expat.ErrorString(error.code)}"
        sitemap.refused.append(Refusal(url, _BROKEN_XML, message, url))
    except (OSError, EOFError, zlib.error) as error:
        sitemap.refused.append(Refusal(url, BROKEN_OFF + "broken", f"the packed file breaks off: {error}", url))
    return sitemap


def _repaired(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the blocks with "&amp;" for every "&" that begins none of the references of XML itself."""
    rest = b""
    for block in chain(blocks, [b""]):
        text = rest + block
        cut = _CUT_REFERENCE.search(text, max(0, len(text) - 9)) if block else None
        text, rest = (text[: cut.start()], text[cut.start() :]) if cut else (text, b"")
        yield _BARE_AMPERSAND.sub(b"&amp;", text)


class _Invalid(Exception):
    """The document is not a sitemap, or exceeds a limit."""


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    size = 0
    while block := stream.read(_BLOCK):
        size += len(block)
        if size > CAP:
            raise _Invalid(f"it unpacks to more than {CAP >> 20} MB")
        yield block


def _read_text(first: bytes, blocks: Iterator[bytes], url: str, sitemap: Sitemap) -> None:
    """Parse a text sitemap with one URL on each line, block by block. A line longer than a block is cut."""
    number, rest = 0, b""
    for block in chain([first.removeprefix(b"\xef\xbb\xbf")], blocks, [b"\n"]):
        *lines, rest = (rest[:_BLOCK] + block).split(b"\n")
        for line in lines:
            number += 1
            text = line.decode("utf-8", "surrogateescape").strip()
            if not text:
                continue
            _require_room(sitemap)
            entry = seed(text, url, number, urls=True)
            if isinstance(entry, Refusal):
                sitemap.refused.append(entry)
            else:
                sitemap.hosts[entry.name] = None


def _require_room(sitemap: Sitemap) -> None:
    if len(sitemap.hosts) + len(sitemap.sitemaps) + len(sitemap.refused) >= MAX_URLS:
        raise _Invalid(f"it has more than {MAX_URLS:,} URLs")


class _Reading:
    """The state of the XML parser: only `loc` directly inside `url` or `sitemap` is read, in any namespace."""

    def __init__(self, sitemap: Sitemap, url: str) -> None:
        self._sitemap = sitemap
        self._url = url
        self._path: list[str] = []
        self._text: list[str] | None = None
        self._elements = self._last_active_block = 0
        self._parser = expat.ParserCreate()  # resolved namespaces would copy a URI of any length for each tag
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.StartElementHandler = self._start_element
        self._parser.EndElementHandler = self._end_element
        self._parser.CharacterDataHandler = self._add_text

    def take(self, blocks: Iterator[bytes]) -> None:
        for number, block in enumerate(blocks):
            if number - self._last_active_block > _MAX_SILENT_BLOCKS:
                raise _Invalid("one tag or text of it has no end")
            elements_before = self._elements
            self._parser.Parse(block)
            if self._elements != elements_before:
                self._last_active_block = number
        self._parser.Parse(b"", True)

    def _refuse_doctype(self, *_: Any) -> None:
        raise _Invalid("it has a document type declaration, as web pages have and sitemaps have not")

    def _start_element(self, name: str, _: dict[str, str]) -> None:
        self._count_element()
        name = name.rpartition(":")[2]
        if not self._path and name not in ("urlset", "sitemapindex"):
            raise _Invalid(f"its root is {name[:40]!r}, neither urlset nor sitemapindex")
        if len(self._path) >= _NESTING:
            raise _Invalid("its elements are nested too deeply")
        self._path.append(name)
        self._text = [] if name == "loc" and self._path[-2] in ("url", "sitemap") else None

    def _end_element(self, _: str) -> None:
        self._count_element()
        if self._text is not None:
            _require_room(self._sitemap)
            text = "".join(self._text).strip()
            if self._path[-2] == "sitemap":
                self._sitemap.sitemaps.append(text[:MAX_URL])
            elif host := host_of(text[:MAX_URL]):
                self._sitemap.hosts[host] = None
            else:
                self._sitemap.refused.append(Refusal(text[:_SHOWN], NO_HOST, NO_HOST_SAYS, self._url))
        self._text = None
        self._path.pop()

    def _add_text(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _count_element(self) -> None:
        self._elements += 1
        if self._elements > 2 * MAX_ELEMENTS:
            raise _Invalid(f"it has more than {MAX_ELEMENTS} elements")
