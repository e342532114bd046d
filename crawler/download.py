"""Download a file that a publisher offers, with the transport of visits: same guard, same caps, same User-Agent.

For the registry's reference data (`waypost schedule`), at URLs from its settings. Crawled sites are visited instead.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from crawler.visit import Visitor
from registry.core.model.documents import Fetched, Outcome, Probe, Purpose
from registry.core.names.domains import InvalidName, canonical_host, host_of, parse_https
from registry.settings import Settings

_ONE_DOWNLOAD: Final = timedelta(minutes=5)


async def download(
    url: str, settings: Settings, *, cap: int, etag: str | None = None, last_modified: str | None = None
) -> Fetched:
    """Return the answer, a 304 if the validators are still current, or a failure. `cap`: maximum decoded bytes.

    Raise guards.BadSetup.
    """
    canonical = parse_https(url)
    if canonical is None:
        return _refused(url, "no https URL on port 443")
    probe = Probe(canonical, Purpose.POINTER, "S5", "*/*", cap, None, etag, last_modified)
    async with Visitor(settings) as visitor:
        try:
            canonical_host(host_of(canonical) or "", exempt=visitor.guard.connect_to.names)
        except InvalidName as error:
            return _refused(url, str(error))
        async with visitor.session(datetime.now(UTC) + _ONE_DOWNLOAD) as session:
            return await session.fetch(probe)


def _refused(url: str, reason: str) -> Fetched:
    return Fetched(url, url, datetime.now(UTC), failure=Outcome.REFUSED_ADDRESS, reason=reason)
