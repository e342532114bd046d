"""Runs the crawler: until stopped, until nothing is due, or for one host or URL without storing anything.

Everything happens on the event loop of the caller (Scrapy without a Twisted reactor), so the caller's database engine
is used as it is.
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

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
    from crawler.flight import Tally
    from registry.wiring import Waypost

GRACE: Final = 8.0
"""Seconds between the wish to stop and the end of requests that are still under way."""

_ONE_VISIT: Final = timedelta(hours=1)


async def crawl(
    waypost: "Waypost",
    settings: Settings,
    *,
    until_idle: bool,
    only: Collection[str] | None = None,
    progress: "Callable[[Tally], None] | None" = None,
    stop: asyncio.Event | None = None,
) -> "Tally":
    """Crawls until `stop` is set or, with `until_idle`, nothing is due and nothing in flight could change that.

    `only`: domains to keep to. `progress` is called after every lease and every record. Stopping (also by cancelling
    this coroutine) takes no new leases, cuts visits before their next request, gives unfinished domains back and
    records the rest: within 10 s. Raises guards.BadSetup; with `until_idle` also what the database raises.
    """
    from crawler.spider import scrape  # Scrapy takes half a second to import: a check of one host needs none of it

    stop = stop or asyncio.Event()
    async with Visitor(settings, stop) as visitor, waypost.hold() as hold:
        return await scrape(
            waypost, visitor, holder=hold.id, until_idle=until_idle, only=only, progress=progress, grace=GRACE
        )


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
