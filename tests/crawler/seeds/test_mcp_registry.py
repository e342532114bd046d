"""The lists of MCP registries: hosts of endpoints and web sites, page by page, or from a file."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.seeds import mcp_registry
from crawler.seeds.mcp_registry import QUERY, first_page, names, saved
from crawler.seeds.opened import opened
from crawler.seeds.source import BROKEN_OFF, BadSource
from registry.core.names.seeds import Refusal, Seed
from tests.crawler.seeds.gathering import Sources, gathered
from tests.support.sites import Reply

BASE = "https://registry.example"
ROUTE = "/v0.1/servers"


def server(name: str, *remotes: str, **members: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "Does what its name says.",
        "version": "1.0.0",
        "remotes": [{"type": "streamable-http", "url": url} for url in remotes],
        **members,
    }


def wrapped(document: dict[str, Any], status: str = "active") -> dict[str, Any]:
    """Wrap a server as v0.1 of the registry API does."""
    return {"server": document, "_meta": {"io.modelcontextprotocol.registry/official": {"status": status}}}


def page(*entries: Any, cursor: str | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"count": len(entries)}
    return {"servers": list(entries), "metadata": metadata | ({"nextCursor": cursor} if cursor else {})}


def read_saved(folder: Path, *values: Any) -> list[tuple[str, str | None]]:
    path = folder / "servers.json"
    path.write_text("\n".join(json.dumps(value) for value in values))
    with opened(str(path)) as source:
        return [
            (entry.name, entry.code if isinstance(entry, Refusal) else entry.referrer)
            for entry in saved(source)
            if isinstance(entry, Seed | Refusal)
        ]


ONE = server("com.one/x", "https://mcp.one.com/mcp", "https://mcp.one.com/sse", websiteUrl="https://one.com/about")
TWO = server("com.two/y", "wss://two.com:8443/", websiteUrl=7)
HOSTS = [("mcp.one.com", "com.one/x"), ("one.com", "com.one/x"), ("two.com", "com.two/y")]


@pytest.mark.parametrize(
    "values",
    [
        [page(wrapped(ONE), wrapped(TWO))],
        [page(ONE, TWO)],
        [[ONE, wrapped(TWO)]],
        [[page(wrapped(ONE)), page(TWO)]],
        [wrapped(ONE), TWO],
        [page(ONE, cursor="a"), page(wrapped(TWO))],
    ],
)
def test_a_saved_list_is_read_in_any_of_its_forms(tmp_path: Path, values: list[Any]) -> None:
    assert read_saved(tmp_path, *values) == HOSTS


def test_malformed_servers_are_skipped(tmp_path: Path) -> None:
    malformed: list[Any] = [
        7, None, [], {"server": 7}, {"name": 7, "remotes": 7}, {"remotes": [7, {"url": 7}, {}]},
        server("t/t", "https://{tenant}.two.com/mcp", "stdio:x", "https://[::1]/"),
        wrapped(server("d/d", "https://gone.com/"), "deleted"), server("e/e", "https://gone.com/", status="deleted"),
        server("x" * 5_000, "https://one.com/"),
    ]  # fmt: skip
    entries = read_saved(tmp_path, page(*malformed, ONE))
    assert entries[-2:] == HOSTS[:2]
    assert [code_or_referrer for _, code_or_referrer in entries[:-3]] == [
        *["no_server"] * 3,
        *["no_host"] * 2,
        "t/t",
        *["deleted"] * 2,
    ]
    assert ("{tenant}.two.com", "t/t") in entries, "which the frontier refuses as it does every such name"
    assert entries[-3] == ("one.com", "x" * 200)


@pytest.mark.parametrize("text", ["", "nothing", "{}", "[]", '{"servers": 7}', '{"servers": []', '"x"'])
def test_a_document_that_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "servers.json"
    path.write_text(text)
    with opened(str(path)) as source, pytest.raises(BadSource, match="servers"):
        saved(source)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["servers", "server", "remotes", "url", "name", "_meta", "metadata"]), inner)
    ),
    max_leaves=12,
)


@given(_JSON)
@settings(max_examples=200)
def test_any_value_is_read(value: Any) -> None:
    assert all(isinstance(entry, Seed | Refusal) for entry in mcp_registry._hosts_in_server(value))
    assert isinstance(mcp_registry._next(value), str)


@pytest.mark.parametrize(
    ("list_url", "page_url"),
    [
        (BASE, f"{BASE}{ROUTE}?{QUERY}"),
        (f"{BASE}/", f"{BASE}{ROUTE}?{QUERY}"),
        (f"{BASE}/org/v0.1/servers", f"{BASE}/org/v0.1/servers?{QUERY}"),
        (f"{BASE}/v0/servers?limit=5", f"{BASE}/v0/servers?limit=5"),
    ],
)
def test_the_first_page_has_the_path_of_the_api(list_url: str, page_url: str) -> None:
    assert first_page(list_url) == page_url


def json_reply(value: Any) -> Reply:
    return Reply(json.dumps(value))


async def test_pages_are_followed_by_their_cursors(source: Sources) -> None:
    first_url = f"{ROUTE}?{QUERY}"
    pages = {
        first_url: json_reply(page(wrapped(ONE), cursor="com.one/x:1.0.0")),
        f"{first_url}&cursor=com.one%2Fx%3A1.0.0": json_reply(page(wrapped(TWO))),
    }
    sites = {"registry.example": pages}
    async with source(first_page(BASE), sites) as (served, *found):
        accepted, refused = await gathered(names(*found))
    assert (accepted, refused) == (HOSTS, [])
    assert served.paths("registry.example") == ["/robots.txt", *pages]
    assert served.connections == 1


@pytest.mark.parametrize(
    ("second", "code"),
    [
        (json_reply(page(TWO, cursor="again")), "cursor"),
        (json_reply(page(TWO, cursor="x" * 3_000)), "cursor"),
        (Reply("<html>busy</html>", 200, "text/html"), "not_read"),
        (Reply("", 500), "not_read"),
        (Reply('{"servers": ['), "not_read"),
    ],
)
async def test_a_list_that_breaks_off_keeps_the_pages_before(source: Sources, second: Reply, code: str) -> None:
    first_url = f"{ROUTE}?{QUERY}"
    pages = {first_url: json_reply(page(ONE, cursor="again")), f"{first_url}&cursor=again": second}
    sites = {"registry.example": pages}
    async with source(first_page(BASE), sites) as (served, *found):
        accepted, refused = await gathered(names(*found))
    assert accepted[:2] == HOSTS[:2]
    assert [refusal_code for _, refusal_code in refused] == [BROKEN_OFF + code]
    assert len(served.paths("registry.example")) == 3
