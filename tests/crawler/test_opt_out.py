"""Checking a site for an opt-out, over real TLS: what counts, what does not, and how many requests it takes."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crawler import opt_out
from crawler.guards import AddressGuard, Pin, ResolutionError
from crawler.opt_out import OptOutChecks, read_proof
from registry.actions.maintenance.opt_out import Proof
from tests.crawler.support import settings, trust
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Exchange, Reply, Site, Sites, moved

pytestmark = pytest.mark.slow

HOST = "shop.example"
FILE = "/.well-known/waypost-optout.txt"
ROBOTS = {"/robots.txt": Reply("User-agent: *\nDisallow: /\n", type="text/plain")}
OPTS_OUT = {"/robots.txt": Reply("User-agent: WaypostBot\nDisallow: /\n", type="text/plain")}


class Names(AddressGuard):
    """A name server with TXT records, or one that fails."""

    records: tuple[bytes, ...] | None = ()

    async def txt_records(self, name: str) -> tuple[bytes, ...]:
        assert name == f"_waypost.{HOST}"
        if self.records is None:
            raise ResolutionError("dns_timeout")
        return self.records


class SilentNames(AddressGuard):
    """A name server that knows the address and does not answer other questions."""

    async def txt_records(self, name: str) -> tuple[bytes, ...]:
        await asyncio.Event().wait()
        return ()


@asynccontextmanager
async def checking(
    monkeypatch: pytest.MonkeyPatch, folder: Path, sites: Mapping[str, Site], **overrides: Any
) -> AsyncIterator[tuple[Sites, OptOutChecks]]:
    """Yield the sites and what checks them, which waits for a site as long as a busy machine needs."""
    monkeypatch.setattr(opt_out, "CHECK_SECONDS", HANG_SECONDS)
    async with Sites(sites) as served:
        trust(monkeypatch, folder, served)
        async with OptOutChecks(settings(*served.connect_to(), **overrides)) as checks:
            yield served, checks


async def proof_of(
    monkeypatch: pytest.MonkeyPatch, folder: Path, site: Site, records: tuple[bytes, ...] | None, wish: str
) -> tuple[Proof, list[str]]:
    async with checking(monkeypatch, folder, {HOST: site}) as (served, checks):
        checks.guard = names = Names(checks.guard.connect_to, None)
        names.records = records
        return await read_proof(checks, HOST, wish), served.paths(HOST)


async def silent(exchange: Exchange) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("site", "records", "said", "unanswered"),
    [
        ({}, (), [], 0),
        ({FILE: Reply("opt-out\n", type="text/plain")}, (), ["file"], 0),
        ({FILE: Reply("\ufeffOpt-Out. We mean it.", type="text/plain")}, (), ["file"], 0),
        (ROBOTS | {FILE: Reply("opt-out", type="text/plain")}, (), ["file"], 0),
        ({FILE: Reply("opt-out", 404)}, (), [], 0),
        ({FILE: Reply("<!doctype html><p>opt-out", type="text/html")}, (), [], 0),
        ({FILE: moved("https://elsewhere.example/")}, (), [], 1),
        ({FILE: Reply("oops", 500)}, (), [], 1),
        ({}, (b"v=spf1 -all", b"opt-out"), ["dns"], 0),
        ({}, (b"we do not opt-out",), [], 0),
        ({}, None, [], 1),
        (OPTS_OUT, (), [], 0),
        (Reply("oops", 503), (), [], 1),
    ],
)
async def test_an_opt_out_is_read_from_file_or_dns(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    site: Site,
    records: tuple[bytes, ...] | None,
    said: list[str],
    unanswered: int,
) -> None:
    proof, paths = await proof_of(monkeypatch, tmp_path, site, records, "out")
    assert [declaration.how for declaration in proof.declarations] == said
    assert len(proof.unanswered) == unanswered
    assert paths == [FILE], "one request"


@pytest.mark.parametrize(
    ("site", "records", "said", "unanswered"),
    [
        ({}, (), [], 0),
        (ROBOTS | {FILE: Reply("opt-out", type="text/plain")}, (b"opt-out",), ["file", "dns"], 0),
        (OPTS_OUT, (), ["robots"], 0),
        (OPTS_OUT | {FILE: Reply("opt-out")}, None, ["robots", "file"], 1),
        (Reply("oops", 503), (), [], 2),
    ],
)
async def test_an_opt_out_ends_when_neither_robots_txt_nor_file_nor_dns_declare_it(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    site: Site,
    records: tuple[bytes, ...] | None,
    said: list[str],
    unanswered: int,
) -> None:
    proof, paths = await proof_of(monkeypatch, tmp_path, site, records, "in")
    assert [declaration.how for declaration in proof.declarations] == said
    assert len(proof.unanswered) == unanswered
    assert paths == ["/robots.txt", FILE]


@pytest.mark.parametrize("wish", ["out", "in"])
@pytest.mark.parametrize(("other", "said"), [(f"www.{HOST}", True), (f"u1.{HOST}", False), (f"bounce.{HOST}", False)])
async def test_a_host_behind_a_redirect_opts_nobody_else_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wish: str, other: str, said: bool
) -> None:
    """Also when it leads back, to a file that one of its users may have uploaded."""
    texts = {"/robots.txt": OPTS_OUT["/robots.txt"], FILE: Reply("opt-out", type="text/plain")}
    sites: dict[str, Site] = {
        HOST: {path: moved(f"https://{other}{path}") for path in texts}
        | {f"/users{path}": text for path, text in texts.items()},
        f"www.{HOST}": texts,
        f"u1.{HOST}": texts,
        f"bounce.{HOST}": {path: moved(f"https://{HOST}/users{path}") for path in texts},
    }
    async with checking(monkeypatch, tmp_path, sites) as (_, checks):
        checks.guard = Names(checks.guard.connect_to, None)
        proof = await read_proof(checks, HOST, wish)
    sources = ["robots", "file"] if wish == "in" else ["file"]
    assert [declaration.how for declaration in proof.declarations] == (sources if said else [])
    assert len(proof.elsewhere) == (0 if said else len(sources))
    assert proof.unanswered == ()


async def test_a_check_ends_though_neither_site_nor_name_server_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with checking(monkeypatch, tmp_path, {HOST: silent}) as (_, checks):
        checks.guard = SilentNames(checks.guard.connect_to, None)
        checks.seconds = 0.1
        assert await read_proof(checks, HOST, "out") == Proof((), (f"https://{HOST}{FILE}", f"_waypost.{HOST}"))


async def test_a_silent_site_can_opt_out_by_its_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with checking(monkeypatch, tmp_path, {HOST: silent}) as (_, checks):
        checks.guard = names = Names(checks.guard.connect_to, None)
        names.records = (b"opt-out",)
        checks.seconds = 0.1
        proof = await read_proof(checks, HOST, "out")
    assert [declaration.how for declaration in proof.declarations] == ["dns"]
    assert proof.unanswered == (f"https://{HOST}{FILE}",)


class AtOneAddress(AddressGuard):
    """Assign sites of loopback to one public address, for the limits only."""

    async def pin(self, host: str) -> Pin:
        return replace(await super().pin(host), limiter_key="8.8.8.8")


async def test_silent_neighbours_at_its_address_do_not_delay_a_site(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The first of them spends the budget of their block of addresses."""
    first, *neighbours = [f"n{number}.example" for number in range(9)]
    sites = {**dict.fromkeys(neighbours, silent), first: Reply("opt-out"), HOST: {FILE: Reply("opt-out")}}
    overrides = {"block_daily_budget": 1, "block_connections": 1}
    async with checking(monkeypatch, tmp_path, sites, **overrides) as (served, checks):
        checks.guard = AtOneAddress(checks.guard.connect_to, None)
        async with asyncio.timeout(HANG_SECONDS), asyncio.TaskGroup() as group:
            assert (await read_proof(checks, first, "out")).declarations
            waiting = [group.create_task(read_proof(checks, host, "out")) for host in neighbours]
            await served.asked(1 + len(neighbours))
            proof = await read_proof(checks, HOST, "out")
            assert not any(task.done() for task in waiting)
            for task in waiting:
                task.cancel()
    assert [declaration.how for declaration in proof.declarations] == ["file"]
