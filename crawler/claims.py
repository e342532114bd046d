"""Checks claims of ownership: the file or the TXT record, with the address guard and resolver of visits.

A check is made on a claimant's request, and for proven claims on a schedule. It takes one request or one DNS query. A
file counts only if the host itself, or its `www.`, serves it: a redirect to another host proves nothing.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import structlog

from crawler.guards import ResolutionError
from crawler.opt_out import OptOutChecks, is_conclusive, run_checks
from registry.actions.ownership.claiming import ClaimCheck
from registry.core.access.claims import Answer, is_published, lines_of, place
from registry.core.model.documents import Probe, Purpose
from registry.core.names.authority import is_own_answer
from registry.settings import Settings
from registry.tasks import running_beside

if TYPE_CHECKING:
    from registry.wiring import Waypost

MAX_AT_ONCE: Final = 16
"""Checks of one worker at once."""

_CAP: Final = 4 * 1024

log = structlog.get_logger(__name__)


async def read_claim(checks: OptOutChecks, check: ClaimCheck) -> Answer:
    """Return whether the host publishes the value; "unanswered" if the answer is not definite."""
    if check.method == "dns":
        read = _read_record(checks, check)
    elif check.may_fetch:
        read = _read_file(checks, check)
    else:
        return "unanswered"
    try:
        async with asyncio.timeout(checks.seconds):  # guard: claim-deadline
            return await read
    except TimeoutError:
        return "unanswered"


async def _read_record(checks: OptOutChecks, check: ClaimCheck) -> Answer:
    try:
        texts = await checks.guard.txt_records(place(check.host, "dns"))
    except ResolutionError:
        return "unanswered"
    return "published" if is_published(check.value, texts) else "missing"


async def _read_file(checks: OptOutChecks, check: ClaimCheck) -> Answer:
    probe = Probe(place(check.host, "file"), Purpose.POINTER, "S0", "text/plain, */*;q=0.1", _CAP)
    async with checks.session() as session:
        answer = await session.fetch(probe)
    if not is_conclusive(answer):
        return "unanswered"
    if not is_own_answer(check.host, (*answer.hops, answer.final_url)):  # guard: claim-redirect
        return "missing"
    return "published" if answer.status == 200 and is_published(check.value, lines_of(answer.body)) else "missing"


@contextlib.asynccontextmanager
async def checking_claims(waypost: "Waypost", settings: Settings) -> AsyncIterator[None]:
    """Check claims while the block runs. Raise guards.BadSetup."""

    async def check(due: ClaimCheck) -> None:
        answer: Answer
        try:
            answer = await read_claim(checks, due)
        except Exception as error:  # a bug: without an answer the claim would be checked again and again
            log.error("claim.crashed", host=due.host, error=type(error).__name__)
            answer = "unanswered"
        try:
            await waypost.claims.settle(due.claim, answer)
            log.info("claim.checked", host=due.host, method=due.method, answer=answer)
        except Exception as error:
            log.warning("claim.failed", error=type(error).__name__)

    async with (
        OptOutChecks(settings) as checks,
        running_beside(run_checks(waypost.claims.take, check, MAX_AT_ONCE, failed="claim.failed")),
    ):
        yield
