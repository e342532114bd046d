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

READ_SECONDS: Final = 60.0
"""Timeout of one document: lists are larger than the documents of a visit."""

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


class Reader:
    """Reads documents of one registrable domain, one after another. `received` counts the bytes of their bodies."""

    def __init__(self, session: FetchSession, pacer: RequestPacer, domain: str) -> None:
        self.domain = domain
        self.received = 0
        self._session = session
        self._pacer = pacer
        self._robots: dict[str, Robots] = {}
        self._redirect_target: str | None = None

    async def read(self, url: str, *, accept: str, cap: int) -> tuple[str, bytes]:
        """Return the final URL of a 200 answer after redirects, and its body of at most `cap` bytes. Raise ReadError.

        `url` is canonical and of this domain.
        """
        return await self._answer(Probe(url, Purpose.POINTER, "S5", accept, cap))

    async def post(self, url: str, body: bytes, *, accept: str, cap: int) -> bytes:
        """Return the body of the 200 answer to a JSON question, like `read`; for registries whose search is a POST."""
        post = Post("", body, (("Content-Type", "application/json"),))
        _, answer = await self._answer(Probe(url, Purpose.POINTER, "S5", accept, cap, post=post))
        return answer

    async def _answer(self, probe: Probe) -> tuple[str, bytes]:
        url = probe.url
        previous_urls: tuple[str, ...] = ()
        while True:
            await self._obey_robots(url)
            fetched = await self._fetch(probe._replace(url=url), previous_urls)
            if self._redirect_target is None:
                break
            previous_urls, url = (*previous_urls, url), self._redirect_target
        if fetched.failure is not None:
            raise ReadError(" ".join(filter(None, (fetched.failure.value.replace("_", " "), fetched.reason))))
        self.received += len(fetched.body)
        if fetched.status != 200:
            raise ReadError(f"the answer was {fetched.status}", fetched.status)
        return url, fetched.body

    async def _fetch(self, probe: Probe, previous_urls: tuple[str, ...]) -> FetchResult:
        """Fetch without following redirects: store the target, because robots.txt of its host must be checked first."""
        self._redirect_target = None

        def decide(probe: Probe, from_url: str, location: str | None, hops: tuple[str, ...]) -> Follow | Stop:
            decision = redirect(from_url, location, previous_urls, probe.purpose)
            if isinstance(decision, Follow):
                self._redirect_target = decision.url
                return Stop(Outcome.SKIPPED, "moved")
            return decision

        return await self._session.fetch(probe, decide)

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
