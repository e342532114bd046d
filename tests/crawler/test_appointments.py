"""A crowded place does not fill the flight: few wait for it, the others leave with an appointment."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest

from crawler import appointments
from crawler.appointments import LATEST, QUEUE, SOONEST, Appointments
from crawler.guards import Pin
from crawler.handler import Done, results
from crawler.politeness import PER_ADDRESS
from crawler.visit import Visitor
from registry.core.visits import DomainJob, HostJob, Lease
from registry.settings import Settings
from tests.crawler.support import far, visiting
from tests.support.sites import Exchange, Reply

SHARED = "198.41.1.1.example"


@pytest.mark.parametrize("magnitude", [1e2, 1e3, 1e4, 1e5, 1e6])
def test_each_appointment_is_later_until_the_day_is_full(monkeypatch: pytest.MonkeyPatch, magnitude: float) -> None:
    """Whatever the clock reads: the last bits of a float are lost when its readings are added."""
    readings = Random(5)
    for now in [readings.uniform(0, magnitude) for _ in range(100)]:
        monkeypatch.setattr(appointments.time, "monotonic", lambda now=now: now)
        given = Appointments(turn=600)
        waits = [given.next("a", 2).total_seconds() for _ in range(400)]
        assert waits == sorted(waits) and waits[0] == 2 * SOONEST and waits[-1] == LATEST
        assert waits[3] - waits[2] == 300  # two at once, ten minutes each
        assert given.next("b", 2) == timedelta(seconds=2 * SOONEST)


def test_places_are_forgotten_when_their_appointments_are_past(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(appointments.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(appointments, "REMEMBERED", 3)
    given = Appointments(turn=10)
    for place in "abc":
        given.next(place, 1)
    clock[0] = 2 * SOONEST
    given.next("d", 1)
    assert len(given._taken) == 1


async def test_sites_of_one_address_leave_room_for_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A flight of which half waits at one address: two are visited, a few wait, the rest goes back at once."""
    crowd, others = [f"c{n}.example" for n in range(30)], [f"o{n}.example" for n in range(5)]
    open_up = asyncio.Event()

    async def held(exchange: Exchange) -> None:
        await open_up.wait()
        await exchange.send(Reply(b"", 403).encode())

    sites = dict.fromkeys(crowd, held) | dict.fromkeys(others, Reply(b"", 403))
    async with visiting(monkeypatch, tmp_path, sites, request_timeout=100, hosts_in_flight=8) as (_, visitor):
        plain = visitor.guard.pin

        async def at_one_address(host: str) -> Pin:
            return replace(await plain(host), place=SHARED if host in crowd else host)

        monkeypatch.setattr(visitor.guard, "pin", at_one_address)
        jobs = tuple(DomainJob(host, (HostJob(host, whole_plan=True),)) for host in (*crowd, *others))
        done: list[Done] = []
        async with asyncio.timeout(120):
            async for one in results(visitor, Lease(uuid4(), far(), jobs)):
                done.append(one)
                if len(done) == len(jobs) - QUEUE * PER_ADDRESS:
                    assert set(others) <= {one.domain for one in done}
                    open_up.set()
    away = [one for one in done if one.finished is None]
    assert len(away) == len(crowd) - QUEUE * PER_ADDRESS
    assert all(one.later is not None and not one.crashed and one.domain in crowd for one in away)
    assert len(visitor.places) == 0


async def test_a_list_of_one_address_is_visited_in_one_pass_where_there_is_room_to_wait(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    crowd = [f"c{n}.example" for n in range(30)]
    async with visiting(monkeypatch, tmp_path, dict.fromkeys(crowd, Reply(b"", 403)), hosts_in_flight=60) as (
        _,
        visitor,
    ):
        plain = visitor.guard.pin

        async def at_one_address(host: str) -> Pin:
            return replace(await plain(host), place=SHARED)

        monkeypatch.setattr(visitor.guard, "pin", at_one_address)
        jobs = tuple(DomainJob(host, (HostJob(host, whole_plan=True),)) for host in crowd)
        async with asyncio.timeout(120):
            done = [one async for one in results(visitor, Lease(uuid4(), far(), jobs))]
    assert {one.domain for one in done if one.finished is not None} == set(crowd)


async def test_nobody_waits_longer_than_the_lease_lasts() -> None:
    """Ten seconds for each visit, two at once, half of a lease of two minutes: twelve may be there."""
    visitor = Visitor(Settings(resolve="table", request_delay=0, hosts_in_flight=1_000, lease_seconds=120))
    async with AsyncExitStack() as stack:

        def come() -> asyncio.Task[None]:
            return asyncio.create_task(stack.enter_async_context(visitor.places.at(SHARED)))

        there = [come() for _ in range(11)]
        await asyncio.sleep(0)
        assert not visitor.is_crowded(SHARED)
        there.append(come())
        await asyncio.sleep(0)
        assert visitor.is_crowded(SHARED)
        for one in there:
            one.cancel()
        await asyncio.gather(*there, return_exceptions=True)
    assert len(visitor.places) == 0 and visitor.places.waiting == 0
