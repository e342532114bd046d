"""Reads documents of one site with the crawler's transport, address guard and politeness limits, for names in them.

robots.txt of each host is fetched first, opt-outs apply before a name is resolved, requests keep their pause, redirects
stay inside the registrable domain and are checked hop by hop. A site's answers raise only ReadError.
"""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from crawler.politeness import RequestPacer, sync_block_budgets
from crawler.seeds.source import BadSource
from crawler.session import FetchSession
from crawler.visit import Visitor
from registry.core.model.documents import FetchResult, Outcome, Post, Probe, Purpose
from registry.core.names.domains import InvalidName, canonical_host, host_of, parse_https, registrable_domain
from registry.core.visiting.pointers import Follow, Stop, redirect
from registry.core.visiting.probes import robots_probe
from registry.core.visiting.robots import Robots
from registry.core.visiting.robots_record import keep, rules_of
from registry.settings import Settings

if TYPE_CHECKING:
    from registry.wiring import Waypost

READ_SECONDS: Final = 60.0  # timeout of one document: lists are larger than the documents of a visit
ALL_SECONDS: Final = 3_600.0
LEASE: Final = timedelta(days=1)


class ReadError(Exception):
    """A document could not be read. The message says why, without texts of the site. `status`: of the answer, if any;
    `after`: seconds that it asks to wait; `is_too_large`: a smaller question may be answered."""

    def __init__(
        self, message: str, status: int | None = None, after: float | None = None, *, is_too_large: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.after = after
        self.is_too_large = is_too_large


def json_post(body: bytes) -> Post:
    return Post("", body, (("Content-Type", "application/json"),))


def accepted(fetched: FetchResult, status: int = 200) -> FetchResult:
    """Return the answer, which has this status. Raise ReadError."""
    if fetched.failure is not None:
        reason = " ".join(filter(None, (fetched.failure.value.replace("_", " "), fetched.reason)))
        raise ReadError(reason, is_too_large=fetched.failure is Outcome.TOO_LARGE)
    if fetched.status != status:
        seconds = retry_seconds(fetched.headers.get("retry-after", ""))
        raise ReadError(f"the answer was {fetched.status}", fetched.status, seconds)
    return fetched


def retry_seconds(field: str) -> float | None:
    """Return a Retry-After in seconds (RFC 9110 section 10.2.3), at most an hour; None for a date or nonsense."""
    return min(float(field), 3_600.0) if field.isascii() and field.isdigit() and len(field) < 10 else None


class Reader:
    """Reads documents of one registrable domain, one after another. `received` counts the bytes of their bodies."""

    def __init__(self, session: FetchSession, pacer: RequestPacer, domain: str) -> None:
        self.domain = domain
        self.received = 0
        self._session = session
        self._pacer = pacer
        self._robots: dict[str, Robots] = {}

    async def read(self, url: str, *, accept: str, cap: int) -> tuple[str, bytes]:
        """Return the final URL of a 200 answer after redirects, and its body of at most `cap` bytes. Raise ReadError.
        `url` is canonical and of this domain."""
        return await self._answer(Probe(url, Purpose.POINTER, "S5", accept, cap))

    async def post(self, url: str, body: bytes, *, accept: str, cap: int) -> bytes:
        """Return the body of the 200 answer to a JSON question, like `read`; for registries whose search is a POST."""
        probe = Probe(url, Purpose.POINTER, "S5", accept, cap, post=json_post(body))
        return (await self._answer(probe))[1]

    async def _answer(self, probe: Probe) -> tuple[str, bytes]:
        """Fetch, and follow redirects here, not in the session: robots.txt of their hosts must be checked first."""
        url = probe.url
        previous_urls: tuple[str, ...] = ()
        target: str | None = None

        def decide(probe: Probe, from_url: str, location: str | None, hops: tuple[str, ...]) -> Follow | Stop:
            nonlocal target
            decision = redirect(from_url, location, previous_urls, probe.purpose)
            if isinstance(decision, Stop):
                return decision
            target = decision.url
            return Stop(Outcome.SKIPPED, "moved")

        while True:
            await self._obey_robots(url)
            fetched = await self._session.fetch(probe._replace(url=url), decide)
            if target is None:
                break
            previous_urls, url, target = (*previous_urls, url), target, None
        self.received += len(fetched.body)
        return url, accepted(fetched).body

    async def _obey_robots(self, url: str) -> None:
        host = host_of(url) or ""
        if host not in self._robots:
            fetched = await self._session.fetch(robots_probe(host))
            self._robots[host] = rules_of(keep(fetched, host), f"robots.txt: {fetched.reason}")
            self._pacer.set_crawl_delay(self._robots[host].crawl_delay)
        robots = self._robots[host]
        if not robots.allowed(url):
            raise ReadError(robots.reason or "robots.txt does not allow it")


def readable(url: str, exempt: Collection[str] = ()) -> str:
    """Return the canonical form of a URL to read. Raise BadSource if it must not be read."""
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
    """Yield a reader for the domain of `url`, and the canonical URL. Raise BadSource and guards.BadSetup."""
    timeouts = {"request_timeout": max(READ_SECONDS, settings.request_timeout), "host_deadline": ALL_SECONDS}
    async with (
        Visitor(settings.model_copy(update=timeouts)) as visitor,
        sync_block_budgets(visitor.block_budgets, waypost.crawl.spend),
    ):
        canonical = readable(url, visitor.guard.connect_to.entries)
        domain = registrable_domain(host_of(canonical) or "")
        pacer = visitor.new_pacer()
        opted_out = await waypost.opt_outs.hosts(domain)
        async with visitor.session(datetime.now(UTC) + LEASE, pacer, opted_out) as session:
            yield Reader(session, pacer, domain), canonical
