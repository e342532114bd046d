"""Checking claims over real TLS: what proves a host, what does not, and what no definite answer is."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from crawler import opt_out
from crawler.claims import read_claim
from crawler.guards import AddressGuard, Unresolved
from crawler.opt_out import OptOutChecks
from registry.actions.ownership.checking import Check
from registry.core.access.claims import FILE_PATH, challenge
from tests.crawler.support import settings, trust
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Exchange, Reply, Site, Sites, moved

pytestmark = pytest.mark.slow

HOST, OTHER = "shop.example", "www.shop.example"
VALUE = challenge("0123456789abcdef", HOST, "host", bytes(32))
CHECK = Check("0123456789abcdef", HOST, "file", VALUE, may_fetch=True)


class Names(AddressGuard):
    records: tuple[bytes, ...] | None = ()

    async def txt_records(self, name: str) -> tuple[bytes, ...]:
        assert name == f"_waypost-claim.{HOST}"
        if self.records is None:
            raise Unresolved("dns_timeout")
        return self.records


async def silent(exchange: Exchange) -> None:
    await exchange.pour(b"", 0.05)


async def answer_of(
    monkeypatch: pytest.MonkeyPatch, folder: Path, site: Site, check: Check, records: tuple[bytes, ...] | None = ()
) -> tuple[str, list[str]]:
    monkeypatch.setattr(opt_out, "CHECK_SECONDS", HANG_SECONDS)
    sites = {HOST: site, OTHER: {FILE_PATH: Reply(VALUE, type="text/plain")}}
    async with Sites(sites) as served:
        trust(monkeypatch, folder, served)
        async with OptOutChecks(settings(*served.connect_to())) as checks:
            checks.guard = names = Names(checks.guard.connect_to, None)
            names.records = records
            if site is silent:
                checks.seconds = 0.1
            return await read_claim(checks, check), served.paths(HOST)


@pytest.mark.parametrize(
    ("site", "answer"),
    [
        ({FILE_PATH: Reply(VALUE, type="text/plain")}, "published"),
        ({FILE_PATH: Reply(f"waypost-claim=another\r\n {VALUE}\n", type="text/plain")}, "published"),
        ({FILE_PATH: Reply(VALUE[:-1], type="text/plain")}, "missing"),
        ({FILE_PATH: Reply(VALUE, 404)}, "missing"),
        ({FILE_PATH: moved(f"https://{OTHER}{FILE_PATH}")}, "missing"),
        ({}, "missing"),
        (Reply("oops", 503), "unanswered"),
        (Reply("slow down", 429), "unanswered"),
        (silent, "unanswered"),
    ],
)
async def test_a_file_proves_the_host_that_serves_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, site: Site, answer: str
) -> None:
    assert await answer_of(monkeypatch, tmp_path, site, CHECK) == (answer, [FILE_PATH])


@pytest.mark.parametrize(
    ("records", "answer"),
    [
        ((b"v=spf1 -all", VALUE.encode()), "published"),
        ((b"v=spf1 -all",), "missing"),
        ((), "missing"),
        (None, "unanswered"),
    ],
)
async def test_a_record_proves_a_host_without_a_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, records: tuple[bytes, ...] | None, answer: str
) -> None:
    check = replace(CHECK, method="dns")
    assert await answer_of(monkeypatch, tmp_path, {}, check, records) == (answer, [])


async def test_a_host_that_may_not_be_visited_gets_no_request(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    site = {FILE_PATH: Reply(VALUE, type="text/plain")}
    assert await answer_of(monkeypatch, tmp_path, site, replace(CHECK, may_fetch=False)) == ("unanswered", [])


class SilentNames(AddressGuard):
    """A name server that does not answer."""

    async def txt_records(self, name: str) -> tuple[bytes, ...]:
        await asyncio.Event().wait()
        return ()


async def test_a_check_ends_though_the_name_server_does_not_answer() -> None:
    async with OptOutChecks(settings()) as checks:
        checks.guard = SilentNames(checks.guard.connect_to, None)
        checks.seconds = 0.1
        assert await read_claim(checks, replace(CHECK, method="dns")) == "unanswered"
