"""Checks on request, many sites at once: whether a site opts out, and whether it publishes the value of a claim.

A site opts out by the well-known file, a TXT record, or robots.txt. That check takes one request and one DNS query, or
two requests to end an opt-out, so ordinary visits do not include it. The file is read even if robots.txt disallows it,
because a site publishes it for this crawler. A claim of ownership is checked on its claimant's request, and a proven
one on a schedule, by one request or one DNS query. A file counts only if the host itself (for a claim also its `www.`)
serves it: otherwise one host of a platform could delete or claim all others. A CNAME of the TXT record's name is set by
the domain owner.

Checks and visits share no limits, so that neither can delay the other: checks need no lease, have separate connections,
and do not count against budgets. They are bounded by their deadline, MAX_OPT_OUTS, MAX_CLAIMS, and the limits of
`registry.actions.maintenance.opt_out` on requests.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

import structlog

from crawler.guards import ResolutionError
from crawler.politeness import Limit, NoBudgets, RequestPacer
from crawler.session import CrawlResources, FetchSession
from registry.actions.maintenance.opt_out import Declaration, OptOutRequestRecord, Proof
from registry.actions.ownership.claiming import ClaimCheck
from registry.core.access.claims import ProofReading, is_published, lines_of, place
from registry.core.model.documents import FetchResult, Outcome, Probe, Purpose
from registry.core.names.authority import is_own_answer
from registry.core.names.opt_out import FILE_PATH, TXT_LABEL, file_opts_out, record_opts_out
from registry.core.visiting.probes import robots_probe
from registry.core.visiting.robots import CAP as ROBOTS_CAP
from registry.core.visiting.robots import Robots
from registry.core.visiting.shares import DomainBudget
from registry.outages import log_failure
from registry.settings import Settings
from registry.tasks import running_beside

if TYPE_CHECKING:
    from registry.wiring import Waypost

POLL_SECONDS: Final = 1.0  # seconds between two claims of pending requests
MAX_OPT_OUTS: Final = 64
MAX_CLAIMS: Final = 16
"""Checks of one worker at once."""

CHECK_SECONDS: Final = 6.0
"""Seconds for one check. If silent sites occupy every place, a request waits that long for a place, at most a second
for the claim, and again that long for its site: under 15 seconds."""

_SETTLED_AT_ONCE: Final = 4  # results written at once: the crawl needs the other connections to the database
_CAP: Final = 4 * 1024

_T = TypeVar("_T")

log = structlog.get_logger(__name__)


class OptOutChecks(CrawlResources):
    """The resources of the checks of one process, separate from those of its visits."""

    def __init__(self, settings: Settings) -> None:
        """Raise guards.BadConnectTo for an invalid table."""
        self.seconds = CHECK_SECONDS
        limits = {
            "request_timeout": self.seconds,
            "host_deadline": self.seconds,
            "connect_timeout": min(settings.connect_timeout, self.seconds / 2),  # leaves time for another address
        }
        super().__init__(settings.model_copy(update=limits))
        self.block_budgets = NoBudgets()  # guard: opt-out-budgets
        self.body_memory.left = MAX_OPT_OUTS * ROBOTS_CAP

    async def acquire_slot(self, key: str) -> tuple[Limit, ...]:
        """Limit nothing: at a shared address, silent neighbours would make an honest site wait."""
        return ()  # guard: opt-out-slots

    def session(self) -> FetchSession:
        """Return a session without pauses: its one or two requests use one connection."""
        return FetchSession(self, RequestPacer(0, DomainBudget(2)), datetime.now(UTC) + timedelta(minutes=5), ())


async def read_proof(checks: OptOutChecks, host: str, wish: str) -> Proof:
    """Return the site's declarations, and the sources that did not answer in time. `wish`: "out" or "in". robots.txt is
    read only for "in": visits read it for "out"."""
    robots = Declaration("robots", f"https://{host}/robots.txt")
    file = Declaration("file", f"https://{host}{FILE_PATH}")
    record = Declaration("dns", f"{TXT_LABEL}.{host}")
    sources = (robots, file, record) if wish == "in" else (file, record)
    opts_out: dict[Declaration, bool] = {}  # by the sources that answered
    elsewhere: list[str] = []

    def is_own(answer: FetchResult) -> bool:
        if not is_own_answer(host, (*answer.hops, answer.final_url)):  # guard: opt-out-redirect
            elsewhere.append(answer.final_url)
            return False
        return True

    async def read_pages() -> None:
        async with checks.session() as session:
            if robots in sources:
                answer = await session.fetch(robots_probe(host))
                if is_conclusive(answer):
                    rules = await asyncio.to_thread(Robots.from_answer, answer.status, answer.body)
                    opts_out[robots] = is_own(answer) and rules.opted_out
            answer = await session.fetch(_text_probe(file.evidence))
            if is_conclusive(answer):
                opts_out[file] = is_own(answer) and answer.status == 200 and file_opts_out(answer.body)

    async def read_record() -> None:
        with contextlib.suppress(ResolutionError):
            opts_out[record] = record_opts_out(await checks.guard.txt_records(record.evidence))

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(checks.seconds), asyncio.TaskGroup() as reading:  # guard: opt-out-deadline
            reading.create_task(read_pages())
            reading.create_task(read_record())
    return Proof(
        tuple(source for source in sources if opts_out.get(source)),
        tuple(source.evidence for source in sources if source not in opts_out),
        tuple(elsewhere),
    )


async def read_claim(checks: OptOutChecks, check: ClaimCheck) -> ProofReading:
    """Return whether the host publishes the value; "unanswered" if the answer is not definite."""
    try:
        async with asyncio.timeout(checks.seconds):  # guard: claim-deadline
            if check.method == "dns":
                return _record_read(check.value, await checks.guard.txt_records(place(check.host, "dns")))
            if not check.may_fetch:
                return ProofReading("unanswered", "not_visited")
            async with checks.session() as session:
                answer = await session.fetch(_text_probe(place(check.host, "file")))
    except TimeoutError:
        return ProofReading("unanswered", "check_timeout")
    except ResolutionError as error:
        return ProofReading("unanswered", error.reason)
    if answer.status is None:
        is_refused = answer.failure is Outcome.REFUSED_ADDRESS
        code = answer.reason.partition(":")[0]  # what follows may be the site's words
        return ProofReading("unanswered", "refused_address" if is_refused else code)
    if not is_conclusive(answer):
        return ProofReading("unanswered", f"http_{answer.status}")
    if not is_own_answer(check.host, (*answer.hops, answer.final_url)):  # guard: claim-redirect
        return ProofReading("missing", "redirect")
    if answer.status != 200:
        return ProofReading("missing", f"http_{answer.status}")
    if is_published(check.value, lines_of(answer.body)):
        return ProofReading("published")
    is_page = "html" in answer.headers.get("content-type", "")
    return ProofReading("missing", "web_page" if is_page else "other_text")


def _record_read(value: str, texts: Sequence[bytes]) -> ProofReading:
    if is_published(value, texts):
        return ProofReading("published")
    return ProofReading("missing", "other_record" if texts else "no_record")


@contextlib.asynccontextmanager
async def running_checks(waypost: "Waypost", settings: Settings) -> AsyncIterator[None]:
    """Check pending opt-out requests and claims while the block runs. Raise guards.BadSetup."""
    async with (
        OptOutChecks(settings) as opt_out_checks,
        running_beside(check_opt_outs(waypost, opt_out_checks)),
        OptOutChecks(settings) as claim_checks,
        running_beside(check_claims(waypost, claim_checks)),
    ):
        yield


async def check_opt_outs(waypost: "Waypost", checks: OptOutChecks) -> None:
    """Claim and check requests, up to MAX_OPT_OUTS at once, until cancelled."""
    settling = asyncio.Semaphore(_SETTLED_AT_ONCE)

    async def check(request: OptOutRequestRecord) -> None:
        """Check one request. If its result cannot be stored, it is checked again after its claim."""
        try:
            proof = await read_proof(checks, request.host, request.wish)
        except Exception as error:  # a bug: without a verdict the request would be checked again and again
            log.error("optout.crashed", host=request.host, error=type(error).__name__)
            proof = Proof((), (request.host,))
        try:
            async with settling:
                verdict = await waypost.opt_outs.settle(request, proof)
            log.info("optout.checked", host=request.host, wish=request.wish, verdict=verdict, elsewhere=proof.elsewhere)
        except Exception as error:
            log_failure(log, "optout.failed", error)

    await run_checks(waypost.opt_outs.claim, check, MAX_OPT_OUTS, failed="optout.failed")


async def check_claims(waypost: "Waypost", checks: OptOutChecks) -> None:
    """Take and check claims, up to MAX_CLAIMS at once, until cancelled."""

    async def check(due: ClaimCheck) -> None:
        try:
            reading = await read_claim(checks, due)
        except Exception as error:  # a bug: without an answer the claim would be checked again and again
            log.error("claim.crashed", host=due.host, error=type(error).__name__)
            reading = ProofReading("unanswered")
        try:
            await waypost.claims.settle(due.claim, *reading)
            log.info("claim.checked", host=due.host, method=due.method, answer=reading.answer, reason=reading.reason)
        except Exception as error:
            log_failure(log, "claim.failed", error)

    allow = waypost.mode.require_off
    await run_checks(waypost.claims.take, check, MAX_CLAIMS, failed="claim.failed", allow=allow)


async def run_checks(
    take: Callable[[int], Awaitable[Sequence[_T]]],
    check: Callable[[_T], Coroutine[Any, Any, None]],
    at_once: int,
    *,
    failed: str,
    allow: Callable[[], None] = lambda: None,
) -> None:
    """Take due checks and make them, up to `at_once` at once, until cancelled. `failed`: log event of a failed `take`.
    `allow` is called before each `take` and raises if none may be taken now. Interrupted checks are taken again when
    their claims expire."""
    running: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:
        while True:
            due: Sequence[_T] = ()
            try:
                if room := at_once - len(running):
                    allow()
                    due = await take(room)
            except Exception as error:  # the database is away
                log_failure(log, failed, error)
            for one in due:
                task = group.create_task(check(one))
                running.add(task)
                task.add_done_callback(running.discard)
            await asyncio.sleep(POLL_SECONDS)


def _text_probe(url: str) -> Probe:
    return Probe(url, Purpose.POINTER, "S0", "text/plain, */*;q=0.1", _CAP)


def is_conclusive(fetched: FetchResult) -> bool:
    """Return whether the answer is conclusive: a missing file is; a server error, a 429 or a failure is not."""
    return fetched.status is not None and fetched.status < 500 and fetched.status != 429
