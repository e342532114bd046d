"""Reference data from publishers on loopback, over the real transport: accepted or refused, stored, put in force."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from crawler.run import download
from registry.actions.maintenance.maintenance import CAPS, SUFFIXES, MaintenanceActions, RefreshError, RefreshResult
from registry.core.model.documents import FetchResult
from registry.core.names.addresses import REGISTRY_V4, REGISTRY_V6, V4, V6, refusal, set_extra_refused
from registry.core.names.domains import registrable_domain, use_suffixes
from registry.core.names.suffixes import SHIPPED, shipped_body
from registry.settings import Settings
from registry.store.unit_of_work import Store
from registry.wiring.reference import reference_in_force
from tests.core.test_special_purpose import registry
from tests.crawler.support import settings
from tests.support.builders import NOW
from tests.support.database import execute, rows
from tests.support.sites import Answer, Exchange, Reply, Sites, moved

pytestmark = pytest.mark.slow  # over TLS, and through the database

LIST, IANA = "lists.example", "numbers.example"
URLS = {
    SUFFIXES: f"https://{LIST}/list.dat",
    REGISTRY_V4: f"https://{IANA}/v4.csv",
    REGISTRY_V6: f"https://{IANA}/v6.csv",
}
BODY = shipped_body()
NEWER = BODY.replace(b"// ===END PRIVATE DOMAINS===", b"shops.com\n// ===END PRIVATE DOMAINS===").replace(
    b"// VERSION: 20", b"// VERSION: 21"
)
ROW = "198.97.0.0/16,New,[RFC1],2027-01,N/A,False,False,False,False,False"
LATER = NOW + timedelta(days=7)


@pytest.fixture(autouse=True)
def restore_shipped_lists() -> Iterator[None]:
    yield
    use_suffixes(SHIPPED)
    set_extra_refused(())


class Publishers(Sites):
    """Publishers whose `pages` can be changed while they serve."""

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
    async with Publishers() as publishers:
        monkeypatch.setenv("SSL_CERT_FILE", str(publishers.write_authority(folder)))
        monkeypatch.delenv("SSL_CERT_DIR", raising=False)
        yield publishers, settings(*publishers.connect_to())


async def run(
    store: Store, crawler_settings: Settings, urls: Mapping[str, str] = URLS, now: Any = NOW
) -> RefreshResult:
    async def fetch(url: str, *, cap: int, etag: str | None, last_modified: str | None) -> FetchResult:
        return await download(url, crawler_settings, cap=cap, etag=etag, last_modified=last_modified)

    maintenance = MaintenanceActions(store, lambda: now, AsyncMock())  # `reference_in_force` adopts
    return await maintenance.refresh(urls, fetch)


async def stored_data(store: Store) -> dict[str, tuple[int, Any, Any]]:
    reference_rows = await rows(store, "SELECT name, length(body), fetched_at, checked_at FROM reference_data")
    return {name: (size, fetched, checked) for name, size, fetched, checked in reference_rows}


async def test_published_data_is_stored_and_put_in_force(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    async with publishing(monkeypatch, tmp_path) as (publishers, crawler_settings):
        first_refresh = await run(store, crawler_settings)
        second_refresh = await run(store, crawler_settings, now=LATER)
    assert (first_refresh.changed, first_refresh.unchanged) == ([SUFFIXES, REGISTRY_V4, REGISTRY_V6], [])
    assert (second_refresh.changed, second_refresh.unchanged) == ([], [SUFFIXES, REGISTRY_V4, REGISTRY_V6])
    assert publishers.seen[3].headers["if-none-match"] == '"1"'
    assert "waypost" in publishers.seen[0].headers["user-agent"].lower()
    assert (await stored_data(store))[SUFFIXES] == (len(NEWER), NOW, LATER)  # 304: only the check date is updated

    assert registrable_domain("alice.shops.com") == "shops.com"
    assert refusal("198.97.1.2") is None
    async with reference_in_force(store) as reference:
        assert registrable_domain("alice.shops.com") == "alice.shops.com"
        assert refusal("198.97.1.2") == "New (198.97.0.0/16)"
        assert not await reference.adopt()
    assert registrable_domain("alice.shops.com") == "shops.com"
    assert refusal("198.97.1.2") is None


async def send_endless_body(exchange: Exchange) -> None:
    await exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    await exchange.pour(b"// more and more\n" * 1_000)


async def send_half_and_reset(exchange: Exchange) -> None:
    await exchange.send(Reply(NEWER, type="text/plain").encode()[: len(NEWER) // 2])
    exchange.reset()


BAD: dict[str, tuple[Answer, str]] = {
    "truncated": (Reply(NEWER[: len(NEWER) // 2], type="text/plain"), "sections"),
    "broken off": (send_half_and_reset, "unreachable"),
    "a page": (Reply(b"<!doctype html><p>Please log in", type="text/html"), "sections"),
    "huge": (Reply(NEWER + b"// \n" * CAPS[SUFFIXES], type="text/plain"), "too_large"),
    "endless": (send_endless_body, "too_large"),
    "missing": (Reply(b"gone", 404, "text/plain"), "status 404"),
    "elsewhere": (moved("https://numbers.example/list.dat"), "redirected_away"),
    "plain": (moved("http://lists.example/list.dat"), "refused_address"),
    "older": (Reply(NEWER.replace(b"VERSION: 21", b"VERSION: 19"), type="text/plain"), "newer"),
    "undated": (Reply(NEWER.replace(b"// VERSION: 21", b"// SOME: 21"), type="text/plain"), "newer"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_refused_data_changes_nothing_and_is_reported(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
) -> None:
    answer, reason = BAD[kind]
    async with publishing(monkeypatch, tmp_path) as (publishers, crawler_settings):
        await run(store, crawler_settings)
        before = await stored_data(store)
        publishers.pages["/list.dat"] = answer
        with pytest.raises(RefreshError, match=reason) as failed:
            await run(store, crawler_settings, now=LATER)
    assert failed.value.refreshed.unchanged == [REGISTRY_V4, REGISTRY_V6]  # the others are not affected
    assert list(failed.value.refreshed.refused) == [SUFFIXES]
    assert (await stored_data(store))[SUFFIXES] == before[SUFFIXES]
    async with reference_in_force(store):
        assert registrable_domain("alice.shops.com") == "alice.shops.com"


async def test_a_registry_that_would_allow_or_refuse_too_much_is_refused(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    async with publishing(monkeypatch, tmp_path) as (publishers, crawler_settings):
        publishers.pages["/v4.csv"] = Reply(registry(REGISTRY_V4, ROW.replace("198.97.0.0/16", "0.0.0.0/0")))
        publishers.pages["/v6.csv"] = Reply(registry(REGISTRY_V6, left_out=("fc00::/7",)))
        with pytest.raises(RefreshError) as failed:
            await run(store, crawler_settings)
    assert sorted(failed.value.refreshed.refused) == [REGISTRY_V4, REGISTRY_V6]
    async with reference_in_force(store):
        assert all(refusal(row.prefix.partition("/")[0]) for row in (*V4, *V6))
        assert refusal("8.8.8.8") is None


async def test_publishers_are_guarded_like_every_host(store: Store, tmp_path: Path) -> None:
    """Whatever the settings: no IP address, no port, no plain http, and no name that is not public."""
    urls = ["https://127.0.0.1/x", "https://lists.example:8443/x", "http://lists.example/x", "https://localhost/x"]
    for url in urls:
        with pytest.raises(RefreshError, match="refused_address"):
            await run(store, settings(), {SUFFIXES: url})
    assert await stored_data(store) == {}


async def test_a_publisher_without_a_url_is_skipped(store: Store) -> None:
    refreshed = await run(store, settings(), dict.fromkeys(URLS, ""))
    assert (refreshed.changed, refreshed.unchanged, refreshed.refused) == ([], [], {})


async def test_unreadable_stored_data_leaves_the_shipped_data_in_force(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A program that ships a newer list than the one stored long ago."""
    async with publishing(monkeypatch, tmp_path) as (_, crawler_settings):
        await run(store, crawler_settings)
    await execute(store, "UPDATE reference_data SET body = 'x', sha256 = 'y'")
    async with reference_in_force(store):
        assert registrable_domain("alice.shops.com") == "shops.com"
