"""Runs the crawler: until stopped, until nothing is due, or for one host or URL without storing anything.

Everything happens on the event loop of the caller (Scrapy without a Twisted reactor), so the caller's database engine
is used as it is.
"""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import structlog

from crawler.batch import as_batch_job
from crawler.descriptors import hosts_that_fit
from crawler.optout import answering
from crawler.politeness import counted
from crawler.visit import Session, Visitor
from registry.core.assess import assess
from registry.core.controls import Controls
from registry.core.documents import Probe
from registry.core.domains import InvalidName, canonical_host, host_of, parse_https
from registry.core.probes import pointer_probe
from registry.core.redirects import Follow, Stop, redirect
from registry.core.visits import Answer, HostJob, Visit
from registry.settings import Settings

if TYPE_CHECKING:
    from crawler.flight import Flight, Tally
    from registry.wiring import Hold, Waypost

GRACE: Final = 5.0
"""Seconds between the wish to stop and the end of requests that are still under way. Recording, the last word to the
index and the end of the process have the other five, on a busy machine."""

AGAIN_SECONDS: Final = 0.5
"""Between two attempts to get a session of a database that is away: it restarts in two to five seconds."""

_ONE_VISIT: Final = timedelta(hours=1)

log = structlog.get_logger(__name__)


async def crawl(
    waypost: "Waypost",
    settings: Settings,
    *,
    until_idle: bool,
    only: Collection[str] | None = None,
    progress: "Callable[[Tally], None] | None" = None,
    landed: Callable[[Sequence[Visit]], None] | None = None,
    stop: asyncio.Event | None = None,
) -> "Tally":
    """Crawls until `stop` is set or, with `until_idle`, nothing is due and nothing in flight could change that.

    `only`: domains to keep to. `progress` is called after every lease and every record, `landed` with the visits of
    every record. Stopping (also by cancelling this coroutine) takes no new leases, cuts visits before their next
    request, gives unfinished domains back and records the rest: within 10 s. When the database drops the session that
    vouches for the leases, anybody may take them: the visits are cut at once, and the crawl goes on under a new one.

    Raises guards.BadSetup; with `until_idle` also what the database raises.
    """
    from crawler.flight import Flight
    from crawler.spider import scrape  # Scrapy takes half a second to import: a check of one host needs none of it

    settings = settings.model_copy(update={"hosts_in_flight": hosts_that_fit(settings.hosts_in_flight)})
    stop, flight = stop or asyncio.Event(), Flight(progress, landed)
    while True:
        async with (
            as_batch_job(),
            Visitor(settings) as visitor,
            counted(visitor.blocks, waypost.spend),
            contextlib.nullcontext() if until_idle else answering(waypost, visitor),
            _held(waypost, stop, patient=not until_idle) as hold,
        ):
            if hold is None:
                return flight.tally
            ending = asyncio.create_task(_end(visitor, flight, stop, hold))
            try:
                await scrape(waypost, visitor, flight, holder=hold.id, until_idle=until_idle, only=only)
            finally:
                ending.cancel()
                await asyncio.gather(ending, return_exceptions=True)
            if stop.is_set() or not visitor.stop.is_set():
                return flight.tally


@contextlib.asynccontextmanager
async def _held(waypost: "Waypost", stop: asyncio.Event, *, patient: bool) -> "AsyncIterator[Hold | None]":
    """A session that vouches for leases. The patient wait for a database that is away; None: until stopped."""
    from registry.wiring import NOT_READY

    async with contextlib.AsyncExitStack() as stack:
        hold = None
        while hold is None and not stop.is_set():
            try:
                hold = await stack.enter_async_context(waypost.hold())
            except NOT_READY as error:
                if not patient:
                    raise
                log.warning("hold.failed", error=type(error).__name__)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), AGAIN_SECONDS)
        yield hold


async def _end(visitor: Visitor, flight: "Flight", stop: asyncio.Event, hold: "Hold") -> None:
    """Ends the visits: at the wish to stop with some grace, without the hold at once, for others may begin them."""
    lost = asyncio.create_task(hold.until_lost())
    wishes = [asyncio.create_task(wish.wait()) for wish in (stop, visitor.stop)]
    try:
        await asyncio.wait({lost, *wishes}, return_when=asyncio.FIRST_COMPLETED)
        visitor.stop.set()
        flight.wake()
        await asyncio.wait({lost}, timeout=GRACE)
        if lost.done():
            log.warning("hold.lost")
        visitor.halt()
    finally:
        for task in (lost, *wishes):
            task.cancel()
        await asyncio.gather(lost, *wishes, return_exceptions=True)


async def visit_host(name: str, settings: Settings) -> Visit:
    """The visit of one host by the whole plan; nothing is stored. A host that is another one's alias: of that one.

    Raises InvalidName and guards.BadSetup.
    """
    async with Visitor(settings) as visitor:
        host = canonical_host(name, exempt=visitor.guard.table.names).host
        pace, until = visitor.pace(), datetime.now(UTC) + _ONE_VISIT
        visit = await visitor.visit_host(HostJob(host, whole_plan=True), pace, until)
        if visit.alias_of is None:
            return visit
        return await visitor.visit_host(HostJob(visit.alias_of, whole_plan=True), pace, until)


async def fetch_url(url: str, settings: Settings) -> Answer:
    """One https URL as somebody who looks at it by hand would see it: no plan, no controls; nothing is stored.

    Raises InvalidName for anything but https on port 443 of a host that may be probed, and guards.BadSetup.
    """
    async with Visitor(settings) as visitor:
        canonical = parse_https(url)
        if canonical is None:
            raise InvalidName("has_scheme" if "://" in url else "bad_character")
        canonical_host(host_of(canonical) or "", exempt=visitor.guard.table.names)
        probe = pointer_probe(canonical, None, None)
        async with Session(visitor, visitor.pace(), datetime.now(UTC) + _ONE_VISIT) as session:
            fetched = await session.fetch(probe, _bare_policy)
        return Answer(probe, fetched, assess(probe, fetched, Controls()))


def _bare_policy(probe: Probe, from_url: str, location: str | None, hops: tuple[str, ...]) -> Follow | Stop:
    return redirect(from_url, location, hops, probe.purpose)


@contextlib.contextmanager
def stop_on_signals() -> Iterator[asyncio.Event]:
    """An event for `crawl` that SIGINT and SIGTERM set; a second signal interrupts as usual. Main thread only."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def asked(number: signal.Signals) -> None:
        stop.set()
        loop.remove_signal_handler(number)

    for number in signals:
        loop.add_signal_handler(number, asked, number)
    try:
        yield stop
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
