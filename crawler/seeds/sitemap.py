"""Sitemaps (sitemaps.org protocol 0.9) and what they index: the hosts of their URLs.

XML is read by expat as it comes, without a tree: what nests, repeats or swells costs no memory. A document type
declaration is refused where it begins, and with it every entity but the five of XML itself, and all that could be
fetched. An index leads to sitemaps of its own registrable domain only, so that nobody points us at somebody else.
"""

import asyncio
import gzip
import io
import zlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Final, cast
from xml.parsers import expat

from crawler.seeds.lines import NO_HOST, NO_HOST_SAYS, seed
from crawler.seeds.online import NotRead, Reader
from crawler.seeds.source import BROKEN_OFF, Source
from registry.core.domains import host_of, parse_https, registrable_domain
from registry.core.seeds import Refusal, Seed

SITEMAP: Final = Source("sitemap", "a sitemap or an index of sitemaps, by its https URL", "the URL of the sitemap")

CAP: Final = 50 * 1024 * 1024
"""Bytes of one sitemap, packed and unpacked (the protocol's own limit)."""

MAX_SITEMAPS: Final = 1_000
MAX_DEPTH: Final = 3
"""Indexes of indexes; the protocol knows none, some sites have one."""

MAX_ELEMENTS: Final = 2_000_000
MAX_URL: Final = 8_192

_ACCEPT = "application/xml, text/xml, text/plain, */*;q=0.1"
_BLOCK = 64 * 1024
_PATIENCE = 4
"""Blocks without the beginning or end of an element: a tag or a text of so many bytes has no place in a sitemap."""

_NESTING = 16


@dataclass(slots=True)
class Sitemap:
    """What one document says: hosts of its URLs, sitemaps that it indexes (absolute, not judged yet), refusals."""

    hosts: dict[str, None] = field(default_factory=dict)
    sitemaps: list[str] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


async def names(url: str, reader: Reader) -> AsyncIterator[Seed | Refusal]:
    """The hosts of a sitemap and of all that it indexes; `url` is canonical. What was not read is a Refusal."""
    waiting, seen = [(url, url, 0)], {url}
    while waiting:
        one, referrer, depth = waiting.pop(0)
        try:
            at, body = await reader.read(one, accept=_ACCEPT, cap=CAP)
        except NotRead as error:
            yield Refusal(one, BROKEN_OFF + "not_read", str(error), referrer)
            continue
        seen.add(at)
        found = await asyncio.to_thread(read, body, one)
        for host in found.hosts:
            yield Seed(host, one)
        for refusal in found.refused:
            yield refusal
        for child in found.sitemaps:
            wanted = _child(child, at, depth, len(seen), reader.domain)
            if isinstance(wanted, Refusal):
                yield wanted
            elif wanted not in seen:
                seen.add(wanted)
                waiting.append((wanted, one, depth + 1))


def _child(url: str, index: str, depth: int, seen: int, domain: str) -> str | Refusal:
    canonical = parse_https(url, index)
    if canonical is None:
        return Refusal(url, "not_https", "a sitemap is read over https only", index)
    if registrable_domain(host_of(canonical) or "") != domain:
        return Refusal(canonical, "other_site", "an index leads to sitemaps of its own site only", index)
    if depth >= MAX_DEPTH or seen >= MAX_SITEMAPS:
        message = f"more than {MAX_DEPTH} indexes deep, or more than {MAX_SITEMAPS} sitemaps"
        return Refusal(canonical, BROKEN_OFF + "too_many", message, index)
    return canonical


def read(body: bytes, url: str) -> Sitemap:
    """A sitemap in XML or plain text, or packed with gzip. Total: what is wrong stands in `refused`."""
    stream = cast(IO[bytes], gzip.GzipFile(fileobj=io.BytesIO(body))) if body[:2] == b"\x1f\x8b" else io.BytesIO(body)
    found = Sitemap()
    try:
        blocks = _blocks(stream)
        first = next(blocks, b"")
        if first.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<" or first[:2] in (b"\xff\xfe", b"\xfe\xff"):
            _Reading(found, url).take(first, blocks)
        else:
            _read_text(first + b"".join(blocks), url, found)
    except _Wrong as error:
        found.refused.append(Refusal(url, BROKEN_OFF + "not_a_sitemap", str(error), url))
    except expat.ExpatError as error:
        message = f"the XML breaks off in line {error.lineno}: {expat.ErrorString(error.code)}"
        found.refused.append(Refusal(url, BROKEN_OFF + "broken", message, url))
    except (OSError, EOFError, zlib.error) as error:
        found.refused.append(Refusal(url, BROKEN_OFF + "broken", f"the packed file breaks off: {error}", url))
    return found


class _Wrong(Exception):
    """This is no sitemap, or one that nobody should read."""


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    size = 0
    while block := stream.read(_BLOCK):
        size += len(block)
        if size > CAP:
            raise _Wrong(f"it unpacks to more than {CAP >> 20} MB")
        yield block


def _read_text(body: bytes, url: str, found: Sitemap) -> None:
    """One URL on each line."""
    for number, line in enumerate(body.decode("utf-8-sig", "surrogateescape").splitlines(), 1):
        if not (text := line.strip()):
            continue
        one = seed(text[:MAX_URL], url, number, urls=True)
        if isinstance(one, Refusal):
            found.refused.append(one)
        else:
            found.hosts[one.name] = None


class _Reading:
    """Where we are in the XML: only `loc` directly inside `url` or `sitemap` counts, whatever the namespace."""

    def __init__(self, found: Sitemap, url: str) -> None:
        self._found = found
        self._url = url
        self._path: list[str] = []
        self._text: list[str] | None = None
        self._elements = self._last = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._say

    def take(self, first: bytes, blocks: Iterator[bytes]) -> None:
        self._parser.Parse(first)
        for number, block in enumerate(blocks, 1):
            if number - self._last > _PATIENCE:
                raise _Wrong("one tag or text of it has no end")
            before = self._elements
            self._parser.Parse(block)
            if self._elements != before:
                self._last = number
        self._parser.Parse(b"", True)

    def _refuse_doctype(self, *_: Any) -> None:
        raise _Wrong("it has a document type declaration, as web pages have and sitemaps have not")

    def _begin(self, name: str, _: dict[str, str]) -> None:
        self._count()
        name = name.rpartition(" ")[2]
        if not self._path and name not in ("urlset", "sitemapindex"):
            raise _Wrong(f"its root is {name[:40]!r}, neither urlset nor sitemapindex")
        if len(self._path) >= _NESTING:
            raise _Wrong("its elements are nested too deeply")
        self._path.append(name)
        self._text = [] if name == "loc" and self._path[-2] in ("url", "sitemap") else None

    def _end(self, _: str) -> None:
        self._count()
        if self._text is not None:
            self._location("".join(self._text).strip(), self._path[-2])
        self._text = None
        self._path.pop()

    def _say(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _count(self) -> None:
        self._elements += 1
        if self._elements > 2 * MAX_ELEMENTS:
            raise _Wrong(f"it has more than {MAX_ELEMENTS} elements")

    def _location(self, text: str, parent: str) -> None:
        if parent == "sitemap":
            self._found.sitemaps.append(text[:MAX_URL])
        elif host := host_of(text[:MAX_URL]):
            self._found.hosts[host] = None
        else:
            self._found.refused.append(Refusal(text[:MAX_URL], NO_HOST, NO_HOST_SAYS, self._url))
