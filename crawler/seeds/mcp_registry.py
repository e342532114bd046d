"""Reads hosts of endpoints and web sites from the server list of an MCP registry (API v0.1 or the older v0).

Reads pages from a registry, or a saved file: one page, a list of pages or of servers, or one of these on each line.
Only the few members with hosts are read, so a malformed server affects only itself.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, Final
from urllib.parse import quote

from crawler.seeds.lines import NO_HOST, NO_HOST_SAYS
from crawler.seeds.online import Reader, ReadError
from crawler.seeds.opened import OpenList
from crawler.seeds.pages import PAGE_CAP, Page, Since, cut_page, member, paged, readable_entries
from crawler.seeds.source import BadSource, SeedSource
from registry.core.names.domains import MAX_URL_CHARS, host_of
from registry.core.names.seeds import Checkpoint, Refusal, Seed
from registry.core.reading.foreign_lists import cut_list, reason_of
from registry.core.reading.reader import Unreadable

MCP_REGISTRY: Final = SeedSource(
    "mcp-registry", "the servers of an MCP registry, or a saved list of them", "the server"
)

OFFICIAL: Final = "https://registry.modelcontextprotocol.io"
ROUTE: Final = "/v0.1/servers"
QUERY: Final = "limit=100&version=latest"

FILE_CAP: Final = 64 * 1024 * 1024
MAX_SAVED: Final = 200_000  # maximum number of servers, or pages, of a saved list
_MAX_NAME = 200


def first_page(url: str) -> str:
    """Return the URL of the first page of a registry's list. A `url` ending in `/servers`, or with a query, is one."""
    if "?" in url:
        return url
    url = url.rstrip("/")
    return f"{url if url.endswith('/servers') else url + ROUTE}?{QUERY}"


def names(
    url: str, reader: Reader, start: str = "", clock: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> AsyncIterator[Seed | Refusal | Checkpoint]:
    """Yield the hosts of all pages from the place `start` on, as `paged` does. `url`: canonical, of the first page.
    After a complete run, only updates since its beginning are requested."""

    async def read_page(place: str) -> Page:
        since = Since.of(place, clock)
        page_url = f"{url}&updated_since={quote(since.moment, safe='')}" if since.moment else url
        page_url += f"&cursor={quote(since.cursor, safe='')}" if since.cursor else ""
        if len(page_url) > MAX_URL_CHARS:
            raise ReadError("the cursor of the next page is too long for a URL")
        _, body = await reader.read(page_url, accept="application/json", cap=PAGE_CAP)
        listed = cut_page(body, "servers")
        cursor = _next(listed.envelope)
        return Page(list(_hosts(listed)), since.at(cursor) if cursor else "", since.later())

    return paged(url, reader, read_page, start)


def saved(source: OpenList) -> Iterator[Seed | Refusal]:
    """Return the hosts of a saved list. Raise BadSource if it is not a list."""
    body = source.all(FILE_CAP)
    if not any(isinstance(entry, bytes) for entry in _saved_entries(body)):
        raise BadSource(f"{source.name}: not JSON, or no servers are listed in it")
    return _hosts(_saved_entries(body))


def _saved_entries(body: bytes) -> Iterator[bytes | Refusal]:
    """Yield the servers of a saved list; a Refusal for an unreadable line."""
    with suppress(Unreadable):
        yield from _cut(body)
        return
    for number, line in enumerate(BytesIO(body), 1):
        if not line.strip():
            continue
        try:
            yield from _cut(line)
        except Unreadable as refusal:
            code = reason_of(refusal)
            yield Refusal(line[:_MAX_NAME].decode("utf-8", "replace"), code, f"cannot be read: {code}", None, number)


def _cut(raw: bytes) -> Iterable[bytes]:
    """Return the servers in a value: a page, a list of pages or servers, or one server. Raise Unreadable."""
    is_list = raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    listed = cut_list(raw, None if is_list else "servers", max_entries=MAX_SAVED)
    if is_list:
        return (server for entry in listed for server in _servers(entry))
    if listed.is_list:
        return listed
    value = listed.envelope
    return [raw] if isinstance(value, dict) and ("server" in value or "remotes" in value) else []


def _servers(entry: bytes) -> Iterable[bytes]:
    """Return the servers of an entry that is a page; any other entry counts as a server."""
    with suppress(Unreadable):
        page = cut_list(entry, "servers", max_entries=MAX_SAVED)
        if page.is_list:
            return page
    return [entry]


def _next(value: Any) -> str:
    metadata = member(value, "metadata", dict) or {}
    cursor = metadata.get("nextCursor", metadata.get("next_cursor"))
    return cursor if isinstance(cursor, str) else ""


def _hosts(entries: Iterable[bytes | Refusal]) -> Iterator[Seed | Refusal]:
    for raw in entries:
        for entry in [raw] if isinstance(raw, Refusal) else readable_entries([raw], None):
            yield from _hosts_in_server(entry)


def _hosts_in_server(entry: Any) -> Iterator[Seed | Refusal]:
    """Yield the hosts of an entry. v0.1 wraps the document in `server`, beside the registry's metadata; v0 does not."""
    if isinstance(entry, Refusal):
        yield entry
        return
    wrapped = member(entry, "server", dict)
    server = entry if wrapped is None else wrapped
    if not isinstance(server, dict):
        yield Refusal(str(entry)[:_MAX_NAME], "no_server", "this entry of the list is no server")
        return
    name = member(server, "name", str)
    referrer = None if name is None else name[:_MAX_NAME]
    marks = (member(entry, "_meta", dict) or {}).values()  # beside the server, in v0 inside it
    if "deleted" in [member(one, "status", str) for one in (*marks, server)]:
        yield Refusal(referrer or "", "deleted", "the registry says that this server was deleted", referrer)
        return
    urls = [member(remote, "url", str) for remote in member(server, "remotes", list) or ()]
    site = server.get("websiteUrl", server.get("website_url"))
    hosts: dict[str, None] = {}
    for url in (*urls, site):
        if not isinstance(url, str):
            continue
        if (host := host_of(url)) is None:
            yield Refusal(url[:MAX_URL_CHARS], NO_HOST, NO_HOST_SAYS, referrer)
        else:
            hosts[host] = None
    for host in hosts:
        yield Seed(host, referrer)
