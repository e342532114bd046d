"""One file that a publisher offers for download, by the transport that visits use: same guard, same caps, same name.

For reference data of this program's own (`waypost schedule`), at URLs of its settings; what a site serves is visited.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from crawler.visit import Session, Visitor
from registry.core.documents import Fetched, Outcome, Probe, Purpose
from registry.core.domains import InvalidName, canonical_host, host_of, parse_https
from registry.core.redirects import Follow, Stop, redirect
from registry.settings import Settings

_ONE_DOWNLOAD: Final = timedelta(minutes=5)


async def download(
    url: str, settings: Settings, *, cap: int, etag: str | None = None, last_modified: str | None = None
) -> Fetched:
    """The answer, a 304 where the validators still hold; whatever goes wrong is in it. `cap`: decoded bytes.

    Raises guards.BadSetup.
    """
    canonical = parse_https(url)
    if canonical is None:
        return _refused(url, "no https URL on port 443")
    probe = Probe(canonical, Purpose.POINTER, "S5", "*/*", cap, None, etag, last_modified)
    async with Visitor(settings) as visitor:
        try:
            canonical_host(host_of(canonical) or "", exempt=visitor.guard.table.names)
        except InvalidName as error:
            return _refused(url, str(error))
        async with Session(visitor, visitor.pace(), datetime.now(UTC) + _ONE_DOWNLOAD) as session:
            return await session.fetch(probe, _within_the_site)


def _refused(url: str, reason: str) -> Fetched:
    return Fetched(url, url, datetime.now(UTC), failure=Outcome.REFUSED_ADDRESS, reason=reason)


def _within_the_site(probe: Probe, from_url: str, location: str | None, hops: tuple[str, ...]) -> Follow | Stop:
    return redirect(from_url, location, hops, probe.purpose)
