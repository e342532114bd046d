"""A registry and its mirror, in two databases and two processes: equal in the end, whatever happens on the way."""

import asyncio
import random
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from registry.actions.ownership.owning import NotAnOwner
from registry.actions.queries.discover import SearchActions
from registry.cli.interfaces import interfaces_of
from registry.core.access.tokens import Token
from registry.core.model.listing import Query
from registry.edge.interfaces import compose
from registry.search.embedded import EmbeddedBackend
from registry.settings import Settings
from registry.store.engine import make_engine
from registry.store.recorded import RecordedListener
from registry.store.unit_of_work import Store
from registry.wiring import Waypost, utc_now
from registry.wiring.reference import Reference
from tests.actions.ownership.test_ownership import owner_of
from tests.actions.test_dumps import same
from tests.support.builders import ADP, HOLDER, NOW, Page, Site, adp_site, awp_manifest, finish, on, record
from tests.support.database import MigratedDatabases, rows, until_true
from tests.support.hang import HANG_SECONDS
from tests.support.running import new_data_folder
from tests.support.sites import Exchange, Reply, Sites

pytestmark = [pytest.mark.slow]

HOST: Final = "origin.example"
HOSTS: Final = tuple(f"{prefix}site{number:02}.example" for number in range(20) for prefix in ("", "api."))
NOWHERE: Final = tuple(f"{host}:443:127.0.0.1:1" for host in HOSTS)
"""Entries of the connect-to table, which make these names valid."""

AT_ONCE: Final = 12

GONE: Final[Site] = {ADP: Page(status=410), "/agent.json": Page(status=410)}
OPTS_OUT: Final[Site] = {"/robots.txt": Page("User-agent: WaypostBot\nDisallow: /\n", media_type="text/plain")}


class Changing:
    """The web of the origin, and everything that can happen to what the origin knows of it."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        self._store = store
        self._rng = rng
        self._owners: dict[str, Token] = {}
        self.now: datetime = NOW
        self.done = 0

    async def change(self, hosts: list[str]) -> None:
        """Do something else to each of these hosts."""
        self.now += timedelta(days=20)
        sites: dict[str, Site] = {}
        for host in hosts:
            match self._rng.randrange(13):
                case 0:
                    sites[host] = GONE
                case 1:
                    sites[host] = OPTS_OUT
                case 2:
                    await on(self._store, self.now).opt_outs.forget(host, reason="on request")
                case 3:
                    await on(self._store, self.now).opt_outs.forget(host, opt_out="file", evidence=f"https://{host}/x")
                case 4:
                    await on(self._store, self.now).opt_outs.forget(host, opt_out="operator", evidence="abuse")
                case 5 | 6:
                    await on(self._store, self.now).opt_outs.readmit(host)
                case 7:
                    await self._rescore(host)
                case 8:
                    sites[host] = {"/agent.json": Page(awp_manifest(host))}
                case 9:
                    await self._own(host)
                case _:
                    names = self._rng.sample(("send", "track", "price", "cancel", "insure"), self._rng.randrange(1, 5))
                    sites[host] = adp_site(host, *names, name=f"Post {self._rng.randrange(10**6)}")
        await self.visit(sites)
        self.done += len(hosts)

    async def visit(self, sites: dict[str, Site]) -> None:
        await on(self._store, self.now, exempt=set(HOSTS)).frontier.seed(sites, source="test")
        await on(self._store, self.now, exempt=set(HOSTS)).frontier.make_due(sites)
        later = self.now + timedelta(days=1)
        lease = await on(self._store, later).crawl.lease(limit=100, holder=HOLDER, only=list(sites))
        if lease is not None:
            known = {host: sites.get(host, {}) for job in lease.domains for host in (one.host for one in job.hosts)}
            await record(self._store, lease.token, [finish(job, known, later) for job in lease.domains], now=later)

    async def _own(self, host: str) -> None:
        """Somebody proves to own the host; or its owner hides it, leaves a note, and maybe gives it up."""
        if (owner := self._owners.pop(host, None)) is None:
            self._owners[host] = await owner_of(self._store, host, now=self.now)
            return
        with suppress(NotAnOwner):  # the host was forgotten meanwhile
            await on(self._store, self.now).ownership.hide(owner, host)
            await on(self._store, self.now).ownership.set_note(owner, host, "Closed.")
            if self._rng.randrange(2):
                await on(self._store, self.now).ownership.give_up(owner, host)

    async def _rescore(self, host: str) -> None:
        async with self._store.engine.begin() as connection:
            await connection.exec_driver_sql("UPDATE services SET rubric_version = '0' WHERE host = %s", (host,))
        await on(self._store, self.now).maintenance.rescore(only_outdated=True)


@asynccontextmanager
async def served(store: Store, folder: Path) -> AsyncIterator[tuple[Waypost, Sites]]:
    """Serve the registry at https://origin.example, on loopback."""
    settings = Settings(data=folder, public_url=f"https://{HOST}", read_rate=10**6, connect_to=NOWHERE)

    def no_search() -> Any:
        raise AssertionError("a mirror asks for no search")

    async with RecordedListener(store) as listener:
        waypost = Waypost(settings, store, no_search, listener, Reference(store))
        app = compose(interfaces_of(waypost, settings), settings)
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), timeout=HANG_SECONDS) as client:

            async def forward(exchange: Exchange) -> None:
                url = f"http://{HOST}{exchange.path}"
                async with client.stream(
                    exchange.method, url, headers=exchange.headers, content=exchange.body
                ) as answer:
                    body = b"".join([chunk async for chunk in answer.aiter_raw()])  # as it was compressed
                kept = [(name, value) for name, value in answer.headers.items() if name != "content-length"]
                await exchange.send(Reply(body, answer.status_code, None, tuple(kept)).encode())

            async with Sites({HOST: forward}) as sites:
                yield waypost, sites


@pytest.mark.parametrize(("changes", "kills"), [(120, 1), pytest.param(1_000, 3, marks=pytest.mark.long)])
async def test_a_mirror_equals_its_origin_after_changes_and_kills(
    store: Store,
    migrated_databases: MigratedDatabases,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: int,
    kills: int,
) -> None:
    rng = random.Random(14)
    monkeypatch.setattr("tests.actions.test_dumps.EXEMPT", frozenset(HOSTS))
    changing = Changing(store, rng)
    kill_at = [changes * (number + 1) // (kills + 1) for number in range(kills)]
    (tmp_path / "origin").mkdir()
    async with (
        asyncio.timeout(HANG_SECONDS if changes < 1_000 else 2 * HANG_SECONDS),
        served(store, tmp_path / "origin") as (waypost, sites),
    ):
        with (
            migrated_databases.borrowed() as url,
            new_data_folder(tmp_path / "copy", sites, sites.write_authority(tmp_path), url) as folder,
        ):
            folder.environment["WAYPOST_CONNECT_TO"] = ",".join([*sites.connect_to(), *NOWHERE])
            copy = Store(make_engine(url, pool_size=3))
            await changing.visit({host: adp_site(host) for host in HOSTS[::2]})
            await waypost.dumps.export()
            mirror = folder.start("mirror", f"https://{HOST}")
            try:
                while changing.done < changes:
                    await changing.change(rng.sample(HOSTS, AT_ONCE))
                    if kill_at and kill_at[0] <= changing.done:
                        del kill_at[0]
                        mirror.process.kill()
                        await mirror.exit_code()
                        mirror = folder.start("mirror", f"https://{HOST}")

                async def is_current() -> bool:
                    assert mirror.process.poll() is None, mirror.output
                    state = await on(copy).mirror.progress()
                    return state is not None and state.cursor == (await on(store).feed.latest()).cursor

                await until_true(is_current)
                await same(store, copy, tmp_path)
                mirror.send_signal(signal.SIGTERM)
                assert await mirror.exit_code() == 0, mirror.output
                assert not any("Traceback" in command.output for command in folder.commands)
                assert await rows(copy, "SELECT host FROM mirrored WHERE state = 'refused'") == []
                await assert_answers(copy, tmp_path / "copy")
            finally:
                await copy.close()


async def assert_answers(copy: Store, folder: Path) -> None:
    """The mirror answers questions itself."""
    backend = EmbeddedBackend(folder / "index")
    search = SearchActions(copy, utc_now, backend)
    try:
        await search.reindex()
        page = await search.discover(Query("send a parcel by post", limit=50))
        listed = {host for (host,) in await rows(copy, "SELECT host FROM services")}
        assert page.hits and {found.hit.host for found in page.hits} <= listed
    finally:
        await search.backend.close()
