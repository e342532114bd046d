"""Documents of one site that are read for the names in them: by the crawler's own transport, guards and manners.

robots.txt of each host is asked first, opt-outs count before a name is resolved, requests keep their pause, redirects
stay inside the registrable domain and are judged hop by hop. What a site answers is never an exception but NotRead.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from crawler.politeness import Pace, counted
from crawler.seeds.source import BadSource
from crawler.visit import Session, Visitor
from registry.core.documents import Fetched, Outcome, Probe, Purpose
from registry.core.domains import InvalidName, canonical_host, host_of, parse_https, registrable_domain
from registry.core.probes import robots_probe
from registry.core.redirects import Follow, Stop, redirect
from registry.core.robots import Robots
from registry.core.robots_record import keep
from registry.settings import Settings

if TYPE_CHECKING:
    from registry.wiring import Waypost

READ_SECONDS: Final = 60.0
"""For one document: lists are larger than what a visit asks for."""

ALL_SECONDS: Final = 3_600.0
ALL_DAY: Final = timedelta(days=1)


class NotRead(Exception):
    """A document could not be had. The message says why, in plain words."""


class Reader:
    """Reads documents of one registrable domain, one after another."""

    def __init__(self, session: Session, pace: Pace, domain: str) -> None:
        self.domain = domain
        self._session = session
        self._pace = pace
        self._robots: dict[str, Robots] = {}
        self._moved: str | None = None

    async def read(self, url: str, *, accept: str, cap: int) -> tuple[str, bytes]:
        """Where a 200 answer came from after redirects, and its body of at most `cap` bytes. Raises NotRead.

        `url` is canonical and of this domain.
        """
        asked: tuple[str, ...] = ()
        while True:
            await self._obey_robots(url)
            fetched = await self._fetch(Probe(url, Purpose.POINTER, "S5", accept, cap), asked)
            if self._moved is None:
                break
            asked, url = (*asked, url), self._moved
        if fetched.failure is not None:
            raise NotRead(" ".join(filter(None, (fetched.failure.value.replace("_", " "), fetched.reason))))
        if fetched.status != 200:
            raise NotRead(f"the answer was {fetched.status}")
        return url, fetched.body

    async def _fetch(self, probe: Probe, asked: tuple[str, ...]) -> Fetched:
        """Each hop is a request of its own: robots.txt of where it leads comes first."""
        self._moved = None

        def judge(probe: Probe, from_url: str, location: str | None, hops: tuple[str, ...]) -> Follow | Stop:
            decision = redirect(from_url, location, asked, probe.purpose)
            if isinstance(decision, Follow):
                self._moved = decision.url
                return Stop(Outcome.SKIPPED, "moved")
            return decision

        return await self._session.fetch(probe, judge)

    async def _obey_robots(self, url: str) -> None:
        host = host_of(url) or ""
        if host not in self._robots:
            probe = robots_probe(host)
            fetched = await self._session.fetch(
                probe, lambda one, at, location, hops: redirect(at, location, hops, one.purpose)
            )
            record = keep(fetched)
            self._robots[host] = Robots.from_answer(record.status, record.body, f"robots.txt: {fetched.reason}")
            self._pace.obey(self._robots[host].crawl_delay)
        robots = self._robots[host]
        if not robots.allowed(url):
            raise NotRead(robots.reason or "robots.txt does not allow it")


def readable(url: str, exempt: frozenset[str] = frozenset()) -> str:
    """The canonical form of a URL that somebody wants read. Raises BadSource."""
    canonical = parse_https(url)
    if canonical is None:
        raise BadSource(f"{url}: only https URLs on port 443 of a host name are read")
    try:
        canonical_host(host_of(canonical) or "", exempt=exempt)
    except InvalidName as error:
        raise BadSource(f"{url}: {error}") from None
    return canonical


@asynccontextmanager
async def reading(url: str, waypost: "Waypost", settings: Settings) -> AsyncIterator[tuple[Reader, str]]:
    """A reader for the domain of `url`, and the canonical URL. Raises BadSource and guards.BadSetup."""
    patient = {"request_timeout": max(READ_SECONDS, settings.request_timeout), "host_deadline": ALL_SECONDS}
    async with Visitor(settings.model_copy(update=patient)) as visitor, counted(visitor.blocks, waypost.spend):
        canonical = readable(url, visitor.guard.table.names)
        domain = registrable_domain(host_of(canonical) or "")
        pace = visitor.pace()
        closed = await waypost.opted_out(domain)
        async with Session(visitor, pace, datetime.now(UTC) + ALL_DAY, closed) as session:
            yield Reader(session, pace, domain), canonical
