"""Checking a site for an opt-out, over real TLS: what counts, what does not, and how many requests it takes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from crawler.checks import OptOutChecks, read_proof
from crawler.guards import AddressGuard, Pin, ResolutionError
from registry.actions.maintenance.opt_out import Proof
from tests.crawler.support import Web, silent, silent_txt
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Reply, Site, Sites, moved

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


Checking: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[Sites, OptOutChecks]]]


@pytest.fixture
def checking(web: Web, monkeypatch: pytest.MonkeyPatch) -> Checking:
    """Return a context that yields sites and what checks them, which waits as long as a busy machine needs."""
    monkeypatch.setattr("crawler.checks.CHECK_SECONDS", HANG_SECONDS)

    @asynccontextmanager
    async def check(
        sites: Mapping[str, Site], records: tuple[bytes, ...] | None = (), **overrides: Any
    ) -> AsyncIterator[tuple[Sites, OptOutChecks]]:
        async with web(sites, **overrides) as (served, config), OptOutChecks(config) as checks:
            checks.guard = names = Names(checks.guard.connect_to, None)
            names.records = records
            yield served, checks

    return check


@pytest.mark.parametrize(
    ("wish", "site", "records", "said", "unanswered"),
    [
        ("out", {}, (), [], 0),
        ("out", {FILE: Reply("opt-out\n", type="text/plain")}, (), ["file"], 0),
        ("out", {FILE: Reply("\ufeffOpt-Out. We mean it.", type="text/plain")}, (), ["file"], 0),
        ("out", ROBOTS | {FILE: Reply("opt-out", type="text/plain")}, (), ["file"], 0),
        ("out", {FILE: Reply("opt-out", 404)}, (), [], 0),
        ("out", {FILE: Reply("<!doctype html><p>opt-out", type="text/html")}, (), [], 0),
        ("out", {FILE: Reply("<!-- 4 ms -->\n opt-out\n", type="text/html")}, (), ["file"], 0),
        ("out", {FILE: Reply("opt-out\n".encode("utf-16"))}, (), ["file"], 0),
        ("out", {}, (b'"opt-out"',), ["dns"], 0),
        ("out", {FILE: moved("https://elsewhere.example/")}, (), [], 1),
        ("out", {FILE: Reply("oops", 500)}, (), [], 1),
        ("out", {}, (b"v=spf1 -all", b"opt-out"), ["dns"], 0),
        ("out", {}, (b"we do not opt-out",), [], 0),
        ("out", {}, None, [], 1),
        ("out", OPTS_OUT, (), [], 0),
        ("out", Reply("oops", 503), (), [], 1),
        ("in", {}, (), [], 0),
        ("in", ROBOTS | {FILE: Reply("opt-out", type="text/plain")}, (b"opt-out",), ["file", "dns"], 0),
        ("in", OPTS_OUT, (), ["robots"], 0),
        ("in", OPTS_OUT | {FILE: Reply("opt-out")}, None, ["robots", "file"], 1),
        ("in", Reply("oops", 503), (), [], 2),
    ],
)
async def test_an_opt_out_is_read_from_file_or_dns_and_ends_when_neither_these_nor_robots_txt_declare_it(
    checking: Checking, wish: str, site: Site, records: tuple[bytes, ...] | None, said: list[str], unanswered: int
) -> None:
    async with checking({HOST: site}, records) as (served, checks):
        proof = await read_proof(checks, HOST, wish)
    assert [declaration.how for declaration in proof.declarations] == said
    assert len(proof.unanswered) == unanswered
    assert served.paths(HOST) == ([FILE] if wish == "out" else ["/robots.txt", FILE])


@pytest.mark.parametrize("wish", ["out", "in"])
@pytest.mark.parametrize(("other", "said"), [(f"www.{HOST}", True), (f"u1.{HOST}", False), (f"bounce.{HOST}", False)])
async def test_a_host_behind_a_redirect_opts_nobody_else_out(
    checking: Checking, wish: str, other: str, said: bool
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
    async with checking(sites) as (_, checks):
        proof = await read_proof(checks, HOST, wish)
    sources = ["robots", "file"] if wish == "in" else ["file"]
    assert [declaration.how for declaration in proof.declarations] == (sources if said else [])
    assert len(proof.elsewhere) == (0 if said else len(sources))
    assert proof.unanswered == ()


async def test_a_check_ends_though_neither_site_nor_name_server_answer(
    checking: Checking, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with checking({HOST: silent}) as (_, checks):
        monkeypatch.setattr(checks.guard, "txt_records", silent_txt)
        checks.seconds = 0.1
        assert await read_proof(checks, HOST, "out") == Proof((), (f"https://{HOST}{FILE}", f"_waypost.{HOST}"))


async def test_a_silent_site_can_opt_out_by_its_record(checking: Checking) -> None:
    async with checking({HOST: silent}, (b"opt-out",)) as (_, checks):
        checks.seconds = 0.1
        proof = await read_proof(checks, HOST, "out")
    assert [declaration.how for declaration in proof.declarations] == ["dns"]
    assert proof.unanswered == (f"https://{HOST}{FILE}",)


class AtOneAddress(AddressGuard):
    """Assign sites of loopback to one public address, for the limits only."""

    async def pin(self, host: str) -> Pin:
        return replace(await super().pin(host), limiter_key="8.8.8.8")


async def test_silent_neighbours_at_its_address_do_not_delay_a_site(checking: Checking) -> None:
    """The first of them spends the budget of their block of addresses."""
    first, *neighbours = [f"n{number}.example" for number in range(9)]
    sites = {**dict.fromkeys(neighbours, silent), first: Reply("opt-out"), HOST: {FILE: Reply("opt-out")}}
    overrides = {"block_daily_budget": 1, "block_connections": 1}
    async with checking(sites, **overrides) as (served, checks):
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
