"""Large bodies of all visits share one memory budget: a visit that exceeds it is deferred, and nothing leaks."""

import asyncio

import pytest

from crawler import response_body
from crawler.response_body import (
    BUDGET_PER_VISIT,
    FREE_PER_VISIT,
    LARGEST_BODY,
    MIN_BUDGET,
    BodyMemoryBudget,
    BodyMemoryReservation,
    UnusableAnswer,
)
from registry.core.model.documents import Outcome
from registry.core.visiting.visits import HostJob
from tests.crawler.support import Visiting, far, fetch, probe
from tests.support.sites import Exchange, Reply

LARGE = Reply('{"broken": "' + "x" * 90_000)  # malformed documents are kept
HALVES = {
    "/.well-known/ard.json": Reply('{"broken": "' + "y" * 45_000),
    "/.well-known/api-catalog": Reply('{"broken": "' + "z" * 45_000),
}


def test_reservations_take_from_the_budget_only_beyond_their_free_share() -> None:
    budget = BodyMemoryBudget(1)
    first, second = BodyMemoryReservation(budget), BodyMemoryReservation(budget)
    first.grow_to(FREE_PER_VISIT)
    assert budget.left == MIN_BUDGET
    first.grow_to(FREE_PER_VISIT + MIN_BUDGET)
    assert budget.left == 0
    with pytest.raises(UnusableAnswer, match="no_room"):
        second.grow_to(FREE_PER_VISIT + 1)
    second.grow_to(FREE_PER_VISIT)
    first.keep(first.kept)
    second.grow_to(FREE_PER_VISIT + 1)
    second.keep(FREE_PER_VISIT + 5)
    assert budget.left == MIN_BUDGET - 5
    second.grow_to(3)
    assert budget.left == MIN_BUDGET - 8
    second.keep(0)
    assert budget.left == MIN_BUDGET


def test_the_budget_grows_with_the_number_of_visits() -> None:
    assert BodyMemoryBudget(10_000).left == 10_000 * BUDGET_PER_VISIT > MIN_BUDGET


def test_the_budget_grows_for_expected_larger_files() -> None:
    budget = BodyMemoryBudget(1)
    budget.expect(LARGEST_BODY)
    assert budget.left == MIN_BUDGET
    for _ in range(2):
        budget.expect(6 * MIN_BUDGET)
    BodyMemoryReservation(budget).grow_to(6 * MIN_BUDGET)
    with pytest.raises(UnusableAnswer, match="no_room"):
        BodyMemoryReservation(budget).grow_to(MIN_BUDGET)


async def test_a_visit_without_memory_is_skipped_and_all_memory_is_freed(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(response_body, "MIN_BUDGET", 30_000)
    monkeypatch.setattr(response_body, "BUDGET_PER_VISIT", 0)
    first_has_read = asyncio.Event()
    release = asyncio.Event()

    async def serve_and_wait(exchange: Exchange) -> None:
        """Serve two small documents that are kept, then wait."""
        if exchange.path in HALVES:
            await exchange.send(HALVES[exchange.path].encode())
        elif exchange.path == "/agent.json":
            first_has_read.set()
            await release.wait()
            await exchange.send(Reply(b"", 404).encode())
        else:
            await exchange.send(Reply(b"", 404).encode())

    async def serve_large(exchange: Exchange) -> None:
        await exchange.send(LARGE.encode() if exchange.path == "/.well-known/ard.json" else Reply(b"", 404).encode())

    sites = {"a.example": serve_and_wait, "b.example": serve_large}
    async with visiting(sites, request_timeout=100) as (_, visitor):
        before = visitor.body_memory.left
        first = asyncio.create_task(visitor.visit_host(HostJob("a.example", True), visitor.new_pacer(), far()))
        await first_has_read.wait()
        assert visitor.body_memory.left < before
        second = await visitor.visit_host(HostJob("b.example", True), visitor.new_pacer(), far())
        release.set()
        assert (await first).outcome is not Outcome.SKIPPED
        assert visitor.body_memory.left == before
        third = await visitor.visit_host(HostJob("b.example", True), visitor.new_pacer(), far())
    assert (second.outcome, second.reason) == (Outcome.SKIPPED, "no_room")
    assert third.outcome is not Outcome.SKIPPED
    assert visitor.body_memory.left == before


async def test_a_discarded_body_frees_its_memory(visiting: Visiting) -> None:
    async with visiting({"a.example": LARGE}) as (_, visitor):
        before = visitor.body_memory.left
        [too_large] = await fetch(visitor, probe("https://a.example/x", cap=80_000))
        assert visitor.body_memory.left == before
    assert too_large.failure is Outcome.TOO_LARGE
