"""Reads hosts from the entries of an ARD registry (Agentic Resource Discovery v0.91) or of a catalogue.

A registry is asked for its list (`GET /agents`), without one for its publishers (`POST /explore`), else general
questions (`POST /search`), which find only some entries. Only members with hosts are read, so a malformed entry affects
only itself. Catalogues of other sites are not read here: their hosts are yielded, and a visit reads the catalogue.
"""

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote

import orjson

from crawler.seeds.lines import NO_HOST, NO_HOST_SAYS
from crawler.seeds.online import Reader, ReadError
from crawler.seeds.pages import PAGE_CAP, Page, cut_page, member, paged, readable_entries
from crawler.seeds.source import BROKEN_OFF, SeedSource
from registry.core.format_support.artifact_types import AI_CATALOG, canonical_type
from registry.core.names.air import publisher_of, repaired
from registry.core.names.domains import MAX_URL_CHARS, host_of, parse_https, registrable_domain
from registry.core.names.seeds import Checkpoint, Refusal, Seed
from registry.core.reading.foreign_lists import ENTRY_BYTES, read_entry, reason_of
from registry.core.reading.reader import Unreadable

ARD_REGISTRY: Final = SeedSource("ard-registry", "the entries of a registry that speaks ARD", "the entry's identifier")
ARD_CATALOG: Final = SeedSource("ard-catalog", "the entries of a catalogue (ARD, AI Catalog)", "the entry's identifier")

PAGE_SIZE: Final = 100
PUBLISHERS: Final = 1_000
MAX_CATALOGUES: Final = 1_000
MAX_DEPTH: Final = 3  # levels of catalogues inside catalogues
QUESTIONS: Final = (
    "agent", "tools", "data", "search", "weather", "travel", "shopping and payments", "documents", "finance", "health",
    "code and software", "maps and places", "news", "music and video", "mail and calendar", "government",
)  # fmt: skip
PAGES_OF_QUESTION: Final = 20

WELL_KNOWN: Final = ("/.well-known/ard.json", "/.well-known/ai-catalog.json")
"""Where a site's catalogue is, the required path first (section 5.1)."""

_ACCEPT = "application/json"
_MISSING = frozenset({404, 405, 501})
_NOT_COUNTED = _MISSING | {400, 422}  # statuses of a registry that counts nothing, or not by publisher
_MAX_NAME = 200
_LIST, _PUBLISHERS, _SEARCH = "a", "e", "s"


def base_of(url: str) -> str:
    """Return the base URL of a registry, also from the URL of its search route or list."""
    return url.rstrip("/").removesuffix("/search").removesuffix("/agents").rstrip("/")


def registry_names(url: str, reader: Reader, start: str = "") -> AsyncIterator[Seed | Refusal | Checkpoint]:
    """Yield the hosts that a registry's entries name, from the place `start` on, as `paged` does. `url`: canonical."""
    base = base_of(url)

    async def read_page(place: str) -> Page:
        kind, _, rest = (place or f"{_LIST}:").partition(":")
        if kind == _LIST:
            return await _list_page(base, rest, reader)
        if kind == _PUBLISHERS:
            return await _publishers(base, reader)
        return await _found_page(base, rest, reader)

    return paged(url, reader, read_page, start)


async def catalogue_names(url: str, reader: Reader) -> AsyncIterator[Seed | Refusal]:
    """Yield the hosts that a catalogue names, and those in catalogues of the same site that it lists. `url` is
    canonical; the URL of a site's front page means its catalogue. Failures become Refusals."""
    is_site = parse_https("/", url) == url
    waiting = [(parse_https(path, url) or url, 0) for path in WELL_KNOWN] if is_site else [(url, 0)]
    seen = {target for target, _ in waiting}
    while waiting:
        target, depth = waiting.pop(0)
        try:
            _, body = await reader.read(target, accept=f"{AI_CATALOG}, {_ACCEPT}", cap=PAGE_CAP)
            _, entries = _listed(body, "entries", target)
        except ReadError as error:
            if is_site and waiting and error.status in _MISSING:
                is_site = False  # the older path is left
                continue
            yield Refusal(target, BROKEN_OFF + "not_read", str(error), url)
            continue
        if is_site:
            waiting, is_site = [], False  # both paths serve the same document
        for entry in _flatten(entries, MAX_DEPTH):
            for name in _hosts_in_entry(entry):
                yield name
            child = _inner_catalogue(entry, target, reader.domain)
            if child is None or child in seen:
                continue
            if depth >= MAX_DEPTH or len(seen) >= MAX_CATALOGUES:
                message = f"more than {MAX_DEPTH} levels, or more than {MAX_CATALOGUES} catalogues"
                yield Refusal(child, BROKEN_OFF + "too_many", message, target)
                continue
            seen.add(child)
            waiting.append((child, depth + 1))


async def _list_page(base: str, token: str, reader: Reader) -> Page:
    url = f"{base}/agents?pageSize={PAGE_SIZE}" + (f"&pageToken={quote(token, safe='')}" if token else "")
    if len(url) > MAX_URL_CHARS:
        raise ReadError("the token of the next page is too long for a URL")
    try:
        _, body = await reader.read(url, accept=_ACCEPT, cap=PAGE_CAP)
    except ReadError as error:
        if token or error.status not in _MISSING:
            raise
        return Page([], f"{_PUBLISHERS}:")  # the list is optional
    value, entries = _listed(body, "items", base)
    following = member(value, "pageToken", str)
    return Page(_hosts(entries), f"{_LIST}:{following}" if following else "")


async def _publishers(base: str, reader: Reader) -> Page:
    question = {"resultType": {"facets": [{"field": "publisher", "limit": PUBLISHERS}]}}
    try:
        body = await reader.post(f"{base}/explore", orjson.dumps(question), accept=_ACCEPT, cap=ENTRY_BYTES)
        value = read_entry(body)
    except Unreadable as refusal:
        raise ReadError(f"this cannot be read: {reason_of(refusal)}") from None
    except ReadError as error:
        if error.status not in _NOT_COUNTED:
            raise
        value = None
    facet = member(member(value, "facets", dict), "publisher", dict)
    buckets = member(facet, "buckets", list)
    if facet is None or buckets is None:
        return Page([], f"{_SEARCH}:0:")
    names = [Seed(name, base) for bucket in buckets if (name := member(bucket, "value", str)) is not None]
    return Page(names, f"{_SEARCH}:0:" if facet.get("otherCount") else "")


async def _found_page(base: str, rest: str, reader: Reader) -> Page:
    """Read a page of the answer to one of the general questions. `rest`: `question.page:token`."""
    where, _, token = rest.partition(":")
    number, _, page_number = where.partition(".")
    if not (number.isascii() and number.isdigit() and int(number) < len(QUESTIONS)):
        return Page([])
    question: dict[str, Any] = {"query": {"text": QUESTIONS[int(number)]}, "federation": "none", "pageSize": PAGE_SIZE}
    if token:
        question["pageToken"] = token
    body = await reader.post(f"{base}/search", orjson.dumps(question), accept=_ACCEPT, cap=PAGE_CAP)
    value, entries = _listed(body, "results", base)
    names, following = _hosts(entries), member(value, "pageToken", str)
    page = int(page_number) + 1 if page_number.isascii() and page_number.isdigit() else 1
    if following and page < PAGES_OF_QUESTION:
        return Page(names, f"{_SEARCH}:{number}.{page}:{following}")
    is_last = int(number) + 1 >= len(QUESTIONS)
    return Page(names, "" if is_last else f"{_SEARCH}:{int(number) + 1}:")


def _listed(body: bytes, key: str, referrer: str) -> tuple[Any, Iterator[Any]]:
    """Return an answer, and the entries of its list `key`, which are read one by one. Raise ReadError."""
    listed = cut_page(body, key)
    if not listed.is_list or not isinstance(listed.envelope, dict):
        raise ReadError(f"there is no list of {key} in it")
    return listed.envelope, readable_entries(listed, referrer)


def _flatten(entries: Iterable[Any], depth: int) -> Iterator[Any]:
    """Yield entries, and the entries of catalogues that they contain."""
    for entry in entries:
        yield entry
        inner = member(member(entry, "data", dict), "entries", list)
        if inner is not None and depth > 0:
            yield from _flatten(inner, depth - 1)


def _hosts(entries: Iterable[Any]) -> list[Seed | Refusal]:
    return [name for entry in entries for name in _hosts_in_entry(entry)]


def _hosts_in_entry(entry: Any) -> Iterator[Seed | Refusal]:
    """Yield the hosts of an entry: of its document, and the publisher in its identifier, which is a claim."""
    if isinstance(entry, Refusal):
        yield entry
        return
    if not isinstance(entry, dict):
        yield Refusal(str(entry)[:_MAX_NAME], "no_entry", "this member of the list is no entry")
        return
    identifier, url = member(entry, "identifier", str), member(entry, "url", str)
    urn = "" if identifier is None else repaired(identifier[:MAX_URL_CHARS])
    referrer = urn[:_MAX_NAME] or None
    found = (None if url is None else host_of(url), publisher_of(urn) if urn.startswith("urn:air:") else None)
    hosts = dict.fromkeys(host for host in found if host)
    if not hosts:
        yield Refusal(referrer or "", NO_HOST, NO_HOST_SAYS, referrer)
    for host in hosts:
        yield Seed(host, referrer)


def _inner_catalogue(entry: Any, catalogue: str, domain: str) -> str | None:
    """Return the address of a catalogue of the same site listed in an entry, or None."""
    if (text := member(entry, "url", str)) is None:
        return None
    kind = entry.get("type", entry.get("mediaType"))
    url = parse_https(text, catalogue)
    is_catalogue = isinstance(kind, str) and canonical_type(kind) == AI_CATALOG
    return url if is_catalogue and url and registrable_domain(host_of(url) or "") == domain else None
