"""A busy address does not fill all visits in flight: a few visits wait for it, the others are deferred."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from random import Random
from types import SimpleNamespace

import pytest

from crawler import politeness
from crawler.guards import RESOLVER_AWAY, Pin, ResolutionError
from crawler.handler import AWAY_FOR, DeferredVisit
from crawler.politeness import MAX_DELAY, MIN_DELAY, PER_ADDRESS, QUEUE_FACTOR, Deferrals
from crawler.visit import Visitor
from registry.core.visiting.visits import FinishedDomain
from registry.settings import Settings
from tests.crawler.support import Visiting, connection_slot, visit_all
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Exchange, Reply

SHARED = "198.41.1.1.example"


def clock_of(monotonic: Callable[[], float]) -> SimpleNamespace:
    """Return the module `time` for one module alone: event loops of other threads would sleep by another clock."""
    return SimpleNamespace(monotonic=monotonic)


@pytest.mark.parametrize("magnitude", [1e2, 1e3, 1e4, 1e5, 1e6])
def test_each_deferral_is_longer_up_to_the_maximum(monkeypatch: pytest.MonkeyPatch, magnitude: float) -> None:
    """The order holds for any clock reading, although adding floats loses their last bits."""
    readings = Random(5)
    for now in [readings.uniform(0, magnitude) for _ in range(100)]:
        monkeypatch.setattr(politeness, "time", clock_of(lambda now=now: now))
        address_deferrals = Deferrals(visit_seconds=600)
        waits = [address_deferrals.defer("a", 2).total_seconds() for _ in range(400)]
        assert waits == sorted(waits) and waits[0] == 2 * MIN_DELAY and waits[-1] == MAX_DELAY
        assert waits[3] - waits[2] == 300  # two visits at once, ten minutes each
        assert address_deferrals.defer("b", 2) == timedelta(seconds=2 * MIN_DELAY)


def test_limiter_keys_are_forgotten_when_their_deferrals_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(politeness, "time", clock_of(lambda: clock[0]))
    monkeypatch.setattr(politeness, "MAX_TRACKED", 3)
    address_deferrals = Deferrals(visit_seconds=10)
    for limiter_key in "abc":
        address_deferrals.defer(limiter_key, 1)
    clock[0] = 2 * MIN_DELAY
    address_deferrals.defer("d", 1)
    assert len(address_deferrals._free_at) == 1


async def test_sites_of_one_address_do_not_block_others(visiting: Visiting, monkeypatch: pytest.MonkeyPatch) -> None:
    """With many sites at one address, two are visited, a few wait, and the others are deferred at once."""
    shared_hosts, other_hosts = [f"c{n}.example" for n in range(30)], [f"o{n}.example" for n in range(5)]
    may_answer = asyncio.Event()

    async def wait_then_refuse(exchange: Exchange) -> None:
        await may_answer.wait()
        await exchange.send(Reply(b"", 403).encode())

    sites = dict.fromkeys(shared_hosts, wait_then_refuse) | dict.fromkeys(other_hosts, Reply(b"", 403))
    async with visiting(sites, request_timeout=100, hosts_in_flight=8) as (_, visitor):
        original_pin = visitor.guard.pin

        async def pin_at_one_address(host: str) -> Pin:
            return replace(await original_pin(host), limiter_key=SHARED if host in shared_hosts else host)

        monkeypatch.setattr(visitor.guard, "pin", pin_at_one_address)
        results: dict[str, FinishedDomain | Exception] = {}
        async with asyncio.timeout(HANG_SECONDS):
            async for domain, visit_result in visit_all(visitor, *shared_hosts, *other_hosts):
                results[domain] = visit_result
                if len(results) == len(shared_hosts) + len(other_hosts) - QUEUE_FACTOR * PER_ADDRESS:
                    assert set(other_hosts) <= set(results)
                    may_answer.set()
    deferred = {domain: result for domain, result in results.items() if isinstance(result, Exception)}
    assert len(deferred) == len(shared_hosts) - QUEUE_FACTOR * PER_ADDRESS
    assert all(isinstance(result, DeferredVisit) and domain in shared_hosts for domain, result in deferred.items())
    assert not visitor.limiter.limits


async def test_sites_of_one_address_are_all_visited_if_the_flight_is_large_enough(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared_hosts = [f"c{n}.example" for n in range(30)]
    async with visiting(dict.fromkeys(shared_hosts, Reply(b"", 403)), hosts_in_flight=60) as (
        _,
        visitor,
    ):
        original_pin = visitor.guard.pin

        async def pin_at_one_address(host: str) -> Pin:
            return replace(await original_pin(host), limiter_key=SHARED)

        monkeypatch.setattr(visitor.guard, "pin", pin_at_one_address)
        async with asyncio.timeout(HANG_SECONDS):
            results = [domain_result async for domain_result in visit_all(visitor, *shared_hosts)]
    assert {domain for domain, result in results if isinstance(result, FinishedDomain)} == set(shared_hosts)


async def test_no_host_is_recorded_as_down_while_the_resolver_is_away(
    visiting: Visiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with visiting({"a.example": Reply(b"", 403)}) as (_, visitor):

        async def fail(_: str) -> Pin:
            raise ResolutionError(RESOLVER_AWAY)

        monkeypatch.setattr(visitor.guard, "pin", fail)
        [(_, result)] = [domain_result async for domain_result in visit_all(visitor, "a.example")]
    assert isinstance(result, DeferredVisit) and result.later == AWAY_FOR


async def test_no_visit_waits_longer_than_its_lease_lasts() -> None:
    """With ten seconds a visit, two at once, and half of a lease of two minutes, twelve visits may be queued."""
    visitor = Visitor(Settings(resolve="table", request_delay=0, hosts_in_flight=1_000, lease_seconds=120))
    async with AsyncExitStack() as stack:

        def start_task() -> asyncio.Task[None]:
            return asyncio.create_task(stack.enter_async_context(connection_slot(visitor.limiter, SHARED)))

        tasks = [start_task() for _ in range(11)]
        await asyncio.sleep(0)
        assert not visitor.is_crowded(SHARED)
        tasks.append(start_task())
        await asyncio.sleep(0)
        assert visitor.is_crowded(SHARED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert not visitor.limiter.limits and visitor.limiter.waiting == 0
