"""Reference data from publishers on loopback: by the real transport, believed or not, stored, adopted, told."""

import pkgutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from crawler.download import download
from registry.actions.keeping.refresh import CAPS, SUFFIXES, Refreshed, RefreshFailed, refresh
from registry.core.addresses import REGISTRY_V4, REGISTRY_V6, V4, V6, refusal, refuse_also
from registry.core.documents import Fetched
from registry.core.domains import registrable_domain, use_suffixes
from registry.core.suffixes import SHIPPED
from registry.settings import Settings
from registry.store.unit_of_work import Store
from registry.wiring.reference import reference_in_force
from tests.core.test_special_purpose import registry
from tests.crawler.support import settings
from tests.support.builders import NOW
from tests.support.database import rows
from tests.support.sites import Answer, Exchange, Reply, Sites, moved

pytestmark = pytest.mark.slow  # over TLS, and through the database

LIST, IANA = "lists.example", "numbers.example"
URLS = {
    SUFFIXES: f"https://{LIST}/list.dat",
    REGISTRY_V4: f"https://{IANA}/v4.csv",
    REGISTRY_V6: f"https://{IANA}/v6.csv",
}
BODY = pkgutil.get_data("tldextract", ".tld_set_snapshot") or b""
NEWER = BODY.replace(b"// ===END PRIVATE DOMAINS===", b"shops.com\n// ===END PRIVATE DOMAINS===").replace(
    b"// VERSION: 2025", b"// VERSION: 2026"
)
ROW = "198.97.0.0/16,New,[RFC1],2027-01,N/A,False,False,False,False,False"
LATER = NOW + timedelta(days=7)


@pytest.fixture(autouse=True)
def nothing_stays_in_force() -> Iterator[None]:
    yield
    use_suffixes(SHIPPED)
    refuse_also(())


class Publishers(Sites):
    """`pages` can be changed while they serve."""

    def __init__(self, **pages: Answer) -> None:
        self.pages: dict[str, Answer] = {
            "/list.dat": Reply(NEWER, type="text/plain", headers=(("ETag", '"1"'),)),
            "/v4.csv": Reply(registry(REGISTRY_V4, ROW), type="text/csv"),
            "/v6.csv": Reply(registry(REGISTRY_V6), type="text/csv"),
        }
        super().__init__({LIST: self._publish, IANA: self._publish})

    async def _publish(self, exchange: Exchange) -> None:
        page = self.pages.get(exchange.path, Reply(b"nothing here", 404, "text/plain"))
        if not isinstance(page, Reply):
            await page(exchange)
        elif (etag := dict(page.headers).get("ETag")) and exchange.headers.get("if-none-match") == etag:
            await exchange.send(Reply(status=304, type=None, headers=page.headers).encode())
        else:
            await exchange.send(page.encode())


@asynccontextmanager
async def publishing(monkeypatch: pytest.MonkeyPatch, folder: Path) -> AsyncIterator[tuple[Publishers, Settings]]:
    async with Publishers() as served:
        monkeypatch.setenv("SSL_CERT_FILE", str(served.write_authority(folder)))
        monkeypatch.delenv("SSL_CERT_DIR", raising=False)
        yield served, settings(*served.connect_to())


async def run(opened: Store, by: Settings, urls: Mapping[str, str] = URLS, now: Any = NOW) -> Refreshed:
    async def fetch(url: str, *, cap: int, etag: str | None, last_modified: str | None) -> Fetched:
        return await download(url, by, cap=cap, etag=etag, last_modified=last_modified)

    return await refresh(opened, urls, fetch, now=now)


async def stored(opened: Store) -> dict[str, tuple[int, Any, Any]]:
    found = await rows(opened, "SELECT name, length(body), fetched_at, checked_at FROM reference_data")
    return {name: (size, fetched, checked) for name, size, fetched, checked in found}


async def test_what_publishers_say_is_stored_and_adopted(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    async with publishing(monkeypatch, tmp_path) as (served, by):
        first = await run(store, by)
        second = await run(store, by, now=LATER)
    assert (first.changed, first.unchanged) == ([SUFFIXES, REGISTRY_V4, REGISTRY_V6], [])
    assert (second.changed, second.unchanged) == ([], [SUFFIXES, REGISTRY_V4, REGISTRY_V6])
    assert served.seen[3].headers["if-none-match"] == '"1"'
    assert "waypost" in served.seen[0].headers["user-agent"].lower()
    assert (await stored(store))[SUFFIXES] == (len(NEWER), NOW, LATER)  # said to be unchanged: dated, not written

    assert registrable_domain("alice.shops.com") == "shops.com"
    assert refusal("198.97.1.2") is None
    async with reference_in_force(store) as reference:
        assert registrable_domain("alice.shops.com") == "alice.shops.com"
        assert refusal("198.97.1.2") == "New (198.97.0.0/16)"
        assert not await reference.adopt()
    assert registrable_domain("alice.shops.com") == "shops.com"
    assert refusal("198.97.1.2") is None


async def endless(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    await exchange.pour(b"// more and more\n" * 1_000)


async def cut(exchange: Exchange) -> None:
    await exchange.send(Reply(NEWER, type="text/plain").encode()[: len(NEWER) // 2])
    exchange.reset()


BAD: dict[str, tuple[Answer, str]] = {
    "truncated": (Reply(NEWER[: len(NEWER) // 2], type="text/plain"), "sections"),
    "broken off": (cut, "unreachable"),
    "a page": (Reply(b"<!doctype html><p>Please log in", type="text/html"), "sections"),
    "huge": (Reply(NEWER + b"// \n" * CAPS[SUFFIXES], type="text/plain"), "too_large"),
    "endless": (endless, "too_large"),
    "missing": (Reply(b"gone", 404, "text/plain"), "status 404"),
    "elsewhere": (moved("https://numbers.example/list.dat"), "redirected_away"),
    "plain": (moved("http://lists.example/list.dat"), "refused_address"),
    "older": (Reply(NEWER.replace(b"VERSION: 2026", b"VERSION: 2024"), type="text/plain"), "newer"),
    "undated": (Reply(NEWER.replace(b"// VERSION: 2026", b"// SOME: 2026"), type="text/plain"), "newer"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_what_is_not_believed_changes_nothing_and_is_told(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
) -> None:
    answer, why = BAD[kind]
    async with publishing(monkeypatch, tmp_path) as (served, by):
        await run(store, by)
        before = await stored(store)
        served.pages["/list.dat"] = answer
        with pytest.raises(RefreshFailed, match=why) as failed:
            await run(store, by, now=LATER)
    assert failed.value.refreshed.unchanged == [REGISTRY_V4, REGISTRY_V6]  # the others are not held up by it
    assert list(failed.value.refreshed.refused) == [SUFFIXES]
    assert (await stored(store))[SUFFIXES] == before[SUFFIXES]
    async with reference_in_force(store):
        assert registrable_domain("alice.shops.com") == "alice.shops.com"


async def test_a_registry_that_would_open_or_close_too_much_is_told(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    async with publishing(monkeypatch, tmp_path) as (served, by):
        served.pages["/v4.csv"] = Reply(registry(REGISTRY_V4, ROW.replace("198.97.0.0/16", "0.0.0.0/0")))
        served.pages["/v6.csv"] = Reply(registry(REGISTRY_V6, left_out=("fc00::/7",)))
        with pytest.raises(RefreshFailed) as failed:
            await run(store, by)
    assert sorted(failed.value.refreshed.refused) == [REGISTRY_V4, REGISTRY_V6]
    async with reference_in_force(store):
        assert all(refusal(row.prefix.partition("/")[0]) for row in (*V4, *V6))
        assert refusal("8.8.8.8") is None


async def test_publishers_are_guarded_like_every_host(store: Store, tmp_path: Path) -> None:
    """Whatever the settings say: no address, no port, no plain http, no name that is no public one."""
    urls = ["https://127.0.0.1/x", "https://lists.example:8443/x", "http://lists.example/x", "https://localhost/x"]
    for url in urls:
        with pytest.raises(RefreshFailed, match="refused_address"):
            await run(store, settings(), {SUFFIXES: url})
    assert await stored(store) == {}


async def test_a_publisher_that_is_not_asked(store: Store) -> None:
    done = await run(store, settings(), dict.fromkeys(URLS, ""))
    assert (done.changed, done.unchanged, done.refused) == ([], [], {})


async def test_stored_data_that_is_no_longer_believed_leaves_what_was_shipped(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A program that ships a newer list than the one that was stored long ago."""
    async with publishing(monkeypatch, tmp_path) as (_, by):
        await run(store, by)
    async with store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE reference_data SET body = 'x', sha256 = 'y'")
    async with reference_in_force(store):
        assert registrable_domain("alice.shops.com") == "shops.com"
