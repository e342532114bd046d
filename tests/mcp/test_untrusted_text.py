"""Every text of a site in every result stands under a path that `untrusted_text` names; injection is flagged."""

import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from mcp.client.client import Client

from tests.api.planting import MARKER, MISSPELT, WORD, Web, uncovered
from tests.api.test_untrusted_text import BROKEN, OVERRIDE, POISONED, planted
from tests.mcp.serving import called, connected, served
from tests.support.api import Api

__all__ = ["planted"]

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def url(planted: tuple[Api, Web]) -> AsyncIterator[str]:
    waypost = planted[0].waypost
    async with served(waypost, waypost.settings) as address:
        yield address


async def results(client: Client, hosts: list[str]) -> AsyncIterator[tuple[str, Any]]:
    """Yield what each tool says of these hosts, in both details."""
    unverified = {"trust_level": ["verified", "community", "unverified"]}
    for question in (WORD, MISSPELT, "a", "service", "create list get"):
        for detail in ("low", "full"):
            found = await called(
                client, "discover_services", q=question, detail=detail, limit=20, max_bytes=60_000, filters=unverified
            )
            yield f"discover {question} {detail}", found
    for host in hosts:
        shown = await called(client, "get_service", domain=host, detail="full", max_bytes=60_000)
        yield f"service {host}", shown
        for capability in shown["capabilities"][:3]:
            arguments = {"domain": host, "name": capability["name"], "max_bytes": 60_000}
            yield f"capability of {host}", await called(client, "get_capability", **arguments)
        for document in shown.get("documents", ()):
            if urlsplit(document["url"]).hostname == host:  # a detail may be on another host of the site
                yield f"document of {host}", await called(client, "check_manifest", url=document["url"])
    yield "compared", await called(client, "compare_services", domains=hosts[:5], max_bytes=60_000)


async def test_every_text_of_a_site_is_marked(planted: tuple[Api, Web], url: str) -> None:
    api, web = planted
    listed = [row["domain"] for row in (await api.json("/api/services", limit=100, include_unverified="true"))["data"]]
    marked, kinds = 0, set[str]()
    async with connected(url) as client:
        async for what, result in results(client, listed):
            assert list(uncovered(result)) == [], what
            marked += "qz" in str(result)
            kinds.add(what.split()[0])
        for body in web.bodies[:40]:
            if len(body) < 100_000:
                checked = await called(client, "check_manifest", text=body.decode(), max_bytes=60_000)
                assert list(uncovered(checked)) == []
    assert kinds == {"discover", "service", "capability", "document", "compared"}
    assert marked > 50  # the markers are there to be found


async def test_an_unmarked_text_would_be_found() -> None:
    assert list(uncovered({"name": "qz00001qz", "untrusted_text": ["description"]})) != []


async def test_injection_is_flagged(url: str) -> None:
    async with connected(url) as client:
        shown = await called(client, "get_service", domain=POISONED)
        assert OVERRIDE in shown["injection_flags"]
        assert (await called(client, "get_service", domain=BROKEN))["domain"] == BROKEN


def _unquoted(text: str) -> list[str]:
    """Return the lines with a marker outside of quotation marks; the URL of a record is this registry's."""
    lines = [line for line in text.splitlines() if not line.strip().startswith("record: ")]
    quotes = re.compile(r'"(?:[^"\\]|\\.)*"')
    return [line for line in lines if MARKER.search(quotes.sub("", line))]


async def test_a_text_shows_what_sites_say_in_quotation_marks_only(planted: tuple[Api, Web], url: str) -> None:
    api, _ = planted
    listed = (await api.json("/api/services", limit=100, include_unverified="true"))["data"]
    marked = 0
    async with connected(url) as client:
        for row in listed:
            host = row["domain"]
            shown = await called(client, "get_service", domain=host)
            calls: list[tuple[str, dict[str, Any]]] = [("get_service", {"domain": host})]
            calls += [("get_capability", {"domain": host, "name": one["name"]}) for one in shown["capabilities"][:3]]
            calls += [("discover_services", {"q": one["description"][:60] or "a"}) for one in shown["capabilities"][:1]]
            for name, arguments in calls:
                result: Any = await client.call_tool(name, arguments)
                text = result.content[0].text
                assert _unquoted(text) == [], (name, arguments)
                marked += len(MARKER.findall(text))
    assert marked > 100


async def test_texts_of_sites_stand_in_quotation_marks(url: str) -> None:
    """A text may not end its quotation itself, nor begin a line."""
    async with connected(url) as client:
        result: Any = await client.call_tool("get_service", {"domain": POISONED})
        lines = result.content[0].text.splitlines()
        assert lines[0].startswith(POISONED)
        for line in lines:
            assert line.count('"') % 2 == 0
