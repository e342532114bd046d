"""Check on request whether a site opts out: by robots.txt, the well-known file, or a TXT record.

A check takes at most two requests and one DNS query, so ordinary visits do not include it. The file is read even if
robots.txt disallows it, because a site publishes it for this crawler.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import structlog

from crawler.guards import Unresolved
from crawler.sender import VisitInterrupted
from crawler.visit import Visitor
from registry.actions.maintenance.opt_out import Declaration, Proof
from registry.core.model.documents import Fetched, Probe, Purpose
from registry.core.names.opt_out import FILE_PATH, TXT_LABEL, file_opts_out, record_opts_out
from registry.core.visiting.probes import robots_probe
from registry.core.visiting.robots import Robots

if TYPE_CHECKING:
    from registry.wiring import Waypost

POLL_SECONDS: Final = 2.0
"""Seconds between two polls for pending requests."""

_CAP: Final = 4 * 1024
_ONE_LOOK: Final = timedelta(minutes=5)

log = structlog.get_logger(__name__)


async def read_proof(visitor: Visitor, host: str) -> Proof:
    """Return what the site declares and which sources did not answer. Raise VisitInterrupted at a stop."""
    declarations, unanswered = list[Declaration](), list[str]()
    file_url = f"https://{host}{FILE_PATH}"
    async with visitor.session(datetime.now(UTC) + _ONE_LOOK) as session:
        robots = await session.fetch(robots_probe(host))
        file_answer = await session.fetch(Probe(file_url, Purpose.POINTER, "S0", "text/plain, */*;q=0.1", _CAP))
    if not _is_conclusive(robots):
        unanswered.append(f"https://{host}/robots.txt")
    elif Robots.from_answer(robots.status, robots.body).opted_out:
        declarations.append(Declaration("robots", f"https://{host}/robots.txt"))
    if not _is_conclusive(file_answer):
        unanswered.append(file_url)
    elif file_answer.status == 200 and file_opts_out(file_answer.body):
        declarations.append(Declaration("file", file_url))
    try:
        if record_opts_out(await visitor.guard.txt_records(f"{TXT_LABEL}.{host}")):
            declarations.append(Declaration("dns", f"{TXT_LABEL}.{host}"))
    except Unresolved:
        unanswered.append(f"{TXT_LABEL}.{host}")
    return Proof(tuple(declarations), tuple(unanswered))


@contextlib.asynccontextmanager
async def checking_opt_outs(waypost: "Waypost", visitor: Visitor) -> AsyncIterator[None]:
    """Check pending opt-out requests periodically while the block runs."""

    async def check_regularly() -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await check_requests(waypost, visitor)
            except Exception as error:
                log.warning("optout.failed", error=type(error).__name__)

    checking = asyncio.create_task(check_regularly())
    try:
        yield
    finally:
        checking.cancel()
        await asyncio.gather(checking, return_exceptions=True)


async def check_requests(waypost: "Waypost", visitor: Visitor) -> None:
    """Check all pending requests, one after another. Raise the errors of the database."""
    for request in await waypost.opt_outs.pending():
        with contextlib.suppress(VisitInterrupted):
            verdict = await waypost.opt_outs.settle(request, await read_proof(visitor, request.host))
            log.info("optout.checked", host=request.host, wish=request.wish, verdict=verdict)


def _is_conclusive(fetched: Fetched) -> bool:
    """True when the answer is conclusive: a server error, a 429 or no answer is not, a missing file is."""
    return fetched.status is not None and fetched.status < 500 and fetched.status != 429
