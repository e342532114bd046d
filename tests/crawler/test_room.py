"""Large bodies of all visits share one room: who finds it full is visited later, and nothing is left taken."""

import asyncio
from pathlib import Path

import pytest

from crawler import room
from crawler.room import LARGEST, OWN, PER_HOST, SIZE, NoRoom, Room
from registry.core.documents import Outcome
from registry.core.visits import HostJob
from tests.crawler.support import far, fetch, probe, visiting
from tests.support.sites import Exchange, Reply

LARGE = Reply('{"broken": "' + "x" * 90_000)  # malformed documents are kept
HALVES = {
    "/.well-known/ard.json": Reply('{"broken": "' + "y" * 45_000),
    "/.well-known/api-catalog": Reply('{"broken": "' + "z" * 45_000),
}


def test_shares_take_only_what_is_beyond_their_own() -> None:
    made = Room(1)
    one, other = made.share(), made.share()
    one.reading(OWN)
    assert made.left == SIZE
    one.reading(OWN + SIZE)
    assert made.left == 0
    with pytest.raises(NoRoom):
        other.reading(OWN + 1)
    other.reading(OWN)
    one.let_go()
    other.reading(OWN + 1)
    other.keep(OWN + 5)
    assert made.left == SIZE - 5
    other.reading(3)
    assert made.left == SIZE - 8
    other.keep(0)
    assert made.left == SIZE


def test_more_visits_have_a_larger_room() -> None:
    assert Room(10_000).left == 10_000 * PER_HOST > SIZE


def test_larger_files_than_visits_read_have_room() -> None:
    made = Room(1)
    made.expect(LARGEST)
    assert made.left == SIZE
    for _ in range(2):
        made.expect(6 * SIZE)
    made.share().reading(6 * SIZE)
    with pytest.raises(NoRoom):
        made.share().reading(SIZE)


async def test_who_finds_no_room_is_visited_later_and_nothing_stays_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(room, "SIZE", 30_000)
    monkeypatch.setattr(room, "PER_HOST", 0)
    first_has_read = asyncio.Event()
    release = asyncio.Event()

    async def holds(exchange: Exchange) -> None:
        """Two documents that are kept, neither of them large, and then a long wait."""
        if exchange.path in HALVES:
            await exchange.send(HALVES[exchange.path].encode())
        elif exchange.path == "/agent.json":
            first_has_read.set()
            await release.wait()
            await exchange.send(Reply(b"", 404).encode())
        else:
            await exchange.send(Reply(b"", 404).encode())

    async def also(exchange: Exchange) -> None:
        await exchange.send(LARGE.encode() if exchange.path == "/.well-known/ard.json" else Reply(b"", 404).encode())

    sites = {"a.example": holds, "b.example": also}
    async with visiting(monkeypatch, tmp_path, sites, request_timeout=100) as (_, visitor):
        before = visitor.room.left
        first = asyncio.create_task(visitor.visit_host(HostJob("a.example", True), visitor.pace(), far()))
        await first_has_read.wait()
        assert visitor.room.left < before
        second = await visitor.visit_host(HostJob("b.example", True), visitor.pace(), far())
        release.set()
        assert (await first).outcome is not Outcome.SKIPPED
        assert visitor.room.left == before
        third = await visitor.visit_host(HostJob("b.example", True), visitor.pace(), far())
    assert (second.outcome, second.reason) == (Outcome.SKIPPED, "no_room")
    assert third.outcome is not Outcome.SKIPPED
    assert visitor.room.left == before


async def test_body_that_comes_to_nothing_takes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    async with visiting(monkeypatch, tmp_path, {"a.example": LARGE}) as (_, visitor):
        before = visitor.room.left
        [too_large] = await fetch(visitor, probe("https://a.example/x", cap=80_000))
        assert visitor.room.left == before
    assert too_large.failure is Outcome.TOO_LARGE
