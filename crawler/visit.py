"""The visit of one domain: its hosts one after another, each along its plan, gently and inside its deadlines.

What to ask for, and where a redirect may lead, is decided by `registry.core.plan.HostPlan`; here only bytes are
moved. Nothing in here knows Scrapy: `waypost check` visits hosts by the same code.
"""

import asyncio
import secrets
import time
from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Final, Protocol, Self

from pyreqwest.client import Client

from crawler.appointments import QUEUE, Appointments, Crowded
from crawler.floods import Floods
from crawler.guards import ConnectTo, Guard, Pin, Resolver
from crawler.pauses import Pauses
from crawler.politeness import BlockBudgets, Pace, Places, Stay, connections_at
from crawler.room import Room
from crawler.settings import user_agent
from crawler.translate import (
    BLOCK_BUDGET,
    BROKE_OFF,
    FLOOD,
    HOST_DEADLINE,
    NO_CONNECTION,
    OPTED_OUT,
    SHUT,
    TWO_LOCATIONS,
    WORTH_A_SECOND_TRY,
    Failure,
    answered,
    failed,
    failure,
)
from crawler.translate import request_headers as headers_of
from crawler.transport import READ_AHEAD, Clients, Pinned, Wire, ask
from registry.core.documents import Fetched, Probe
from registry.core.domains import host_of
from registry.core.optout import is_covered
from registry.core.plan import HostPlan
from registry.core.probes import keeps_head
from registry.core.redirects import STATUSES, Follow, Stop
from registry.core.visits import DomainJob, FinishedDomain, HostJob, Visit, skipped
from registry.settings import Settings

OFF_LOOP_BYTES: Final = 32 * 1024
"""Bodies above this are assessed in a thread: a megabyte of JSON costs tens of milliseconds."""

SMALL: Final = 2 * 1024
"""Bodies up to this are not counted: sixty of them make no memory worth a look."""

LEAST_BUDGET: Final = 10
"""Requests that a domain must have left today for the visit of a host to be worth its robots.txt."""

RECORD_MARGIN: Final = timedelta(seconds=30)
"""Visits end this long before their lease does, so that what was found can still be recorded under it."""

TURN_REQUESTS: Final = 20
TURN_ANSWER: Final = 0.5
"""A visit of a host that has nothing, about: so many requests, and seconds for each answer."""

_NOWHERE: Final = ("no URL begins like this", HOST_DEADLINE)
"""How URLs of the latest host begin, and its pin, where there is none."""


class Cut(Exception):
    """The visit ends before its plan does: the crawler stops, or the lease runs out. Nothing is wrong with the host."""


class Redirects(Protocol):
    """Decides about one hop: a host's plan, or the bare policy where one URL is looked at."""

    def __call__(self, probe: Probe, from_url: str, location: str | None, hops: tuple[str, ...]) -> Follow | Stop: ...


class Visitor:
    """What all visits of one crawler share: guard, clients, places. An async context manager, bound to its loop."""

    def __init__(self, settings: Settings, stop: asyncio.Event | None = None) -> None:
        """`stop`: once set, visits are cut before their next request. Raises guards.BadEntry for a bad table."""
        self.settings = settings
        self.stop = stop or asyncio.Event()
        self.guard = Guard(ConnectTo.parse(settings.connect_to), None if settings.resolve == "table" else Resolver())
        self.clients = Clients(
            user_agent=user_agent(settings),
            connect_timeout=settings.connect_timeout,
            pause=settings.request_delay,
        )
        self.places = Places(settings.block_connections)
        self.blocks = BlockBudgets(settings.block_daily_budget)
        turn = TURN_REQUESTS * (settings.request_delay + TURN_ANSWER)
        self.appointments = Appointments(turn)
        self._longest_queue = max(QUEUE, settings.lease_seconds / 2 / turn)
        self.pauses = Pauses()
        self.room = Room(settings.hosts_in_flight)
        self.floods = Floods(self.clients, self.room)
        self.running: set[asyncio.Task[Any]] = set()
        self._open = AsyncExitStack()

    def halt(self) -> None:
        """Ends the visits that have not ended by themselves since `stop` was set."""
        for task in self.running:
            task.cancel()

    async def __aenter__(self) -> Self:
        """Raises transport.NoTrust."""
        await self.clients.check()
        await self._open.enter_async_context(self.floods)
        self._open.callback(asyncio.create_task(self.pauses.end_with(self.stop)).cancel)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._open.aclose()
        await self.guard.close()

    async def visit_domain(self, job: DomainJob, until: datetime) -> FinishedDomain | None:
        """The visits of all due hosts, or of those that were done before the visit was cut; None: of none.

        Raises Crowded where none could begin; TimeoutError when a visit outlives the lease, which is a bug of ours.
        """
        pace = self.pace(job.spent)
        visits: list[Visit] = []
        async with asyncio.timeout((until - _now()).total_seconds()):
            try:
                for host in job.hosts:
                    visits.append(await self.visit_host(host, pace, until))
            except Cut:
                pass
            except Crowded:
                if not visits:
                    raise
        return FinishedDomain(job.domain, tuple(visits)) if visits else None

    async def visit_host(self, job: HostJob, pace: Pace, until: datetime) -> Visit:
        """One host along its plan. Raises Cut; whatever the host does is an outcome."""
        started = _now()
        if pace.left < LEAST_BUDGET:
            return skipped(job, started, "domain_budget")
        plan = HostPlan(
            job,
            now=started,
            nonce=secrets.token_hex(16),
            exempt=self.guard.table.entries,
            budget=min(self.settings.request_budget, pace.left),
            detail_budget=max(0, min(self.settings.detail_budget, pace.left - self.settings.request_budget)),
        )
        robots = None
        async with Session(self, pace, until, job.closed) as session:
            while (probe := plan.next()) is not None:
                session.last = plan.is_last
                fetched = await session.fetch(probe, plan.redirect)
                size = len(fetched.body)
                if size > OFF_LOOP_BYTES:
                    await asyncio.to_thread(plan.take, probe, fetched)
                else:
                    plan.take(probe, fetched)
                del fetched  # or the pause would hold its body and its headers
                if size > SMALL:
                    session.share.keep(plan.held)
                if plan.robots is not robots:
                    robots = plan.robots
                    pace.obey(robots.crawl_delay if robots else None)
        visit = plan.finish(started, _now())
        if (visit.outcome, visit.reason) == BLOCK_BUDGET and not any(one.fetched.status for one in visit.answers):
            return skipped(job, started, BLOCK_BUDGET.reason)
        return visit

    def is_crowded(self, place: str) -> bool:
        """Whether no more may wait there: half of the flight waits already, or the lease would end before the wait."""
        many = self.places.waiting >= self.settings.hosts_in_flight // 2
        return self.places.is_crowded(place, QUEUE if many else self._longest_queue)

    def pace(self, spent: int = 0) -> Pace:
        """For one domain, of which so many requests were made in the last 24 hours."""
        return Pace(self.settings.request_delay, self.settings.domain_daily_budget - spent)


class Session:
    """The connections of one visit: where its hosts are pinned, and the time that it has left.

    It stays at one place at a time. Whoever held a connection at one address while waiting for a second could wait
    for somebody who does the same the other way round.
    """

    def __init__(self, visitor: Visitor, pace: Pace, until: datetime, closed: Collection[str] = ()) -> None:
        """`closed`: hosts that opted out, for whose address nobody is asked."""
        self._visitor = visitor
        self._settings = visitor.settings
        self._pace = pace
        self._until = time.monotonic() + (until - RECORD_MARGIN - _now()).total_seconds()
        self._seconds = visitor.settings.host_deadline
        self._closed = closed
        self.share = visitor.room.share()
        self._pins: dict[str, Pin | Failure] = {}
        self._at: tuple[str, Pin | Failure] = _NOWHERE
        self._clients: dict[str, Client] = {}
        self._held: list[Pinned] = []
        self._place: Stay | None = None
        self._place_name: str | None = None
        self._spoke: set[str] = set()
        self._ahead = READ_AHEAD
        self.last = False
        """Set it where the connection is of no use after the request at hand: idle ones are what memory goes for."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.share.keep(0)
        await self._leave()
        async with AsyncExitStack() as leaving:
            for pinned in self._held:
                leaving.push_async_exit(pinned)

    async def fetch(self, probe: Probe, redirects: Redirects) -> Fetched:
        """The answer to one probe after its redirects. Raises Cut.

        Nearly all requests are the twentieth of their kind on a connection that is open, so that way is kept short.
        """
        at, began = _now(), time.monotonic()
        self._visitor.room.expect(probe.cap)
        url: str = probe.url
        hops: tuple[str, ...] = ()
        while True:
            pin = self._at[1] if url.startswith(self._at[0]) else await self._pin(url)
            if isinstance(pin, Failure):
                return failed(probe, pin, at=at, url=url, hops=hops, elapsed_ms=_milliseconds(began))
            left = self._seconds
            wire = await self._ask(probe, pin, url, self._settings.request_timeout)
            if isinstance(wire, Failure):
                wire, pin = await self._ask_again(probe, pin, url, wire, left - self._seconds)
            else:
                self._spoke.add(pin.host)
            step = wire if isinstance(wire, Failure) else _step(probe, wire, url, hops, redirects)
            if isinstance(step, Follow):
                url, hops = step.url, (*hops, url)
            elif isinstance(step, Failure):
                return failed(probe, step, at=at, url=url, hops=hops, pin=pin, elapsed_ms=_milliseconds(began))
            else:
                return answered(probe, step, at, url, hops, pin, _milliseconds(began))

    async def _pin(self, url: str) -> Pin | Failure:
        """Of the host of a canonical URL. Resolved once per visit; a name that failed is not asked again."""
        host = host_of(url) or ""
        if host not in self._pins:
            self._pins[host] = OPTED_OUT if is_covered(host, self._closed) else await self._resolved(host)
        self._at = f"https://{host}/", self._pins[host]
        return self._pins[host]

    async def _resolved(self, host: str) -> Pin | Failure:
        began = time.monotonic()
        try:
            return await self._visitor.guard.pin(host)
        except Exception as error:
            return _outcome(error)
        finally:
            self._seconds -= time.monotonic() - began

    async def _ask_again(
        self, probe: Probe, pin: Pin, url: str, first: Failure, spent: float
    ) -> tuple[Wire | Failure, Pin]:
        """A second request where the server had closed the idle connection that the first was sent on, where a body
        that broke off took its status with it, or where no connection could be made and the host has another address.
        Tells which address was dialled.
        """
        broke_off = self._ahead and first.reason in BROKE_OFF
        if broke_off or (pin.host in self._spoke and first.reason in WORTH_A_SECOND_TRY):
            if broke_off:
                self._ahead, self.last = 0, False  # a connection that is to be closed is closed without care
            self._spoke.discard(pin.host)
            wire = await self._ask(probe, pin, url, self._settings.request_timeout)
            if not isinstance(wire, Failure):
                self._spoke.add(pin.host)
            return wire, pin
        other = pin.instead
        if pin.host not in self._spoke and other is not None and first.reason in NO_CONNECTION:
            return await self._ask_elsewhere(probe, pin, other, url, first, spent)
        return first, pin

    async def _ask_elsewhere(
        self, probe: Probe, pin: Pin, other: Pin, url: str, first: Failure, spent: float
    ) -> tuple[Wire | Failure, Pin]:
        """At the other address, in what is left of the request's time; if that is dead as well, the first failure."""
        self._clients.pop(pin.host, None)
        wire = await self._ask(probe, other, url, max(0.0, self._settings.request_timeout - spent))
        if isinstance(wire, Failure) and wire.reason in NO_CONNECTION:
            self._pins[pin.host] = replace(pin, instead=None)
            self._clients.pop(pin.host, None)
            self._at = _NOWHERE
            return first, pin
        self._pins[pin.host] = other
        self._at = _NOWHERE
        self._spoke.add(pin.host)
        return wire, other

    async def _ask(self, probe: Probe, pin: Pin, url: str, most: float) -> Wire | Failure:
        """One request, once it may be made. Raises Cut."""
        if pin.place != self._place_name:
            if self._visitor.blocks.is_spent(pin.place):
                return BLOCK_BUDGET
            await self._go_to(pin.place)
        began = time.monotonic()
        if self._pace.due > began or began >= self._until or self._visitor.stop.is_set():
            await self._wait()
            began = time.monotonic()
        if self._seconds <= 0:
            return HOST_DEADLINE
        client = self._clients.get(pin.host)
        if client is None:
            client = await self._client(pin)
            began = time.monotonic()
        try:
            return await ask(
                client,
                pin,
                url,
                headers_of(probe),
                cap=probe.cap,
                keep_head=keeps_head(probe),
                seconds=min(most, self._seconds),
                share=self.share,
                ahead=self._ahead,
                last=self.last,
            )
        except Exception as error:
            self.share.let_go()
            why = _outcome(error)
            return FLOOD if why.reason in SHUT and self._visitor.floods.shut_since(pin, began) else why
        finally:
            ended = time.monotonic()
            self._seconds -= ended - began
            self._pace.asked(ended)
            self._visitor.blocks.asked(pin.place)

    async def _client(self, pin: Pin) -> Client:
        """Of a host that was not spoken to yet, or not at this address."""
        pinned = self._visitor.clients.pinned(pin)
        client = self._clients[pin.host] = await pinned.__aenter__()
        self._held.append(pinned)
        return client

    async def _wait(self) -> None:
        """The pause of politeness; it does not count against the host. Raises Cut."""
        now = time.monotonic()
        if max(now, self._pace.due) >= self._until:
            raise Cut
        if self._pace.due > now and not self._visitor.stop.is_set():
            await self._visitor.pauses.wait(self._pace.due - now)
        if self._visitor.stop.is_set():
            raise Cut

    async def _go_to(self, place: str) -> None:
        await self._leave()
        if self._visitor.is_crowded(place):
            raise Crowded(self._visitor.appointments.next(place, connections_at(place)))
        waiting = self._visitor.places.at(place)
        await waiting.__aenter__()
        self._place, self._place_name = waiting, place

    async def _leave(self) -> None:
        place, self._place, self._place_name = self._place, None, None
        if place is not None:
            await place.__aexit__(None, None, None)


def _step(probe: Probe, wire: Wire, url: str, hops: tuple[str, ...], redirects: Redirects) -> Follow | Failure | Wire:
    """Where a redirect leads, why it is not followed, or the answer itself where it is none."""
    if wire.status not in STATUSES:
        return wire
    if "location" in wire.repeated:
        return TWO_LOCATIONS
    decision = redirects(probe, url, wire.headers.get("location"), hops)
    return decision if isinstance(decision, Follow) else Failure(decision.outcome, decision.reason)


def _outcome(error: Exception) -> Failure:
    why = failure(error)
    if why is None:
        raise error
    return why


def _milliseconds(began: float) -> int:
    return int((time.monotonic() - began) * 1000)


def _now() -> datetime:
    return datetime.now(UTC)
