"""Looks at a site itself whether it opts out: robots.txt, the well-known file, a TXT record. Only when somebody asks.

At most two requests and one question to its name server, which is why no visit does this by itself. robots.txt keeps
nobody from reading this one file: it was put there to be read by us.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import structlog

from crawler.guards import Unresolved
from crawler.visit import Cut, Session, Visitor
from registry.actions.keeping.opt_out import Proof, Said
from registry.core.documents import Fetched, Probe, Purpose
from registry.core.optout import FILE_PATH, TXT_LABEL, file_says_so, record_says_so
from registry.core.probes import robots_probe
from registry.core.redirects import Follow, Stop, redirect
from registry.core.robots import Robots

if TYPE_CHECKING:
    from registry.wiring import Waypost

LOOK_SECONDS: Final = 2.0
"""Between two looks at what was asked for."""

_CAP: Final = 4 * 1024
_ONE_LOOK: Final = timedelta(minutes=5)

log = structlog.get_logger(__name__)


async def read_proof(visitor: Visitor, host: str) -> Proof:
    """What the site says. Whatever it does is part of the answer; raises Cut when the crawler stops."""
    said, unanswered = list[Said](), list[str]()
    file = f"https://{host}{FILE_PATH}"
    async with Session(visitor, visitor.pace(), datetime.now(UTC) + _ONE_LOOK) as session:
        robots = await session.fetch(robots_probe(host), _same_site)
        served = await session.fetch(Probe(file, Purpose.POINTER, "S0", "text/plain, */*;q=0.1", _CAP), _same_site)
    if not _is_answer(robots):
        unanswered.append(f"https://{host}/robots.txt")
    elif Robots.from_answer(robots.status, robots.body).opted_out:
        said.append(Said("robots", f"https://{host}/robots.txt"))
    if not _is_answer(served):
        unanswered.append(file)
    elif served.status == 200 and file_says_so(served.body):
        said.append(Said("file", file))
    try:
        if record_says_so(await visitor.guard.texts(f"{TXT_LABEL}.{host}")):
            said.append(Said("dns", f"{TXT_LABEL}.{host}"))
    except Unresolved:
        unanswered.append(f"{TXT_LABEL}.{host}")
    return Proof(tuple(said), tuple(unanswered))


@contextlib.asynccontextmanager
async def answering(waypost: "Waypost", visitor: Visitor) -> AsyncIterator[None]:
    """Looks at what was asked for while the block runs."""

    async def keep_on() -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await answer_all(waypost, visitor)
            except Exception as error:
                log.warning("optout.failed", error=type(error).__name__)

    looking = asyncio.create_task(keep_on())
    try:
        yield
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


async def answer_all(waypost: "Waypost", visitor: Visitor) -> None:
    """One after another, for nobody is in a hurry here but the site. Raises what the database raises."""
    for request in await waypost.opt_outs_waiting():
        with contextlib.suppress(Cut):
            verdict = await waypost.settle_opt_out(request, await read_proof(visitor, request.host))
            log.info("optout.checked", host=request.host, wish=request.wish, verdict=verdict)


def _is_answer(fetched: Fetched) -> bool:
    """A server error, or no answer, says nothing about what stands there; a missing file says that it does not."""
    return fetched.status is not None and fetched.status < 500 and fetched.status != 429


def _same_site(probe: Probe, from_url: str, location: str | None, hops: tuple[str, ...]) -> Follow | Stop:
    return redirect(from_url, location, hops, probe.purpose)
