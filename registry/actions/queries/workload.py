"""What waits, for this registry's operators: visits, submissions, checks of opt-outs, the index and the feed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from registry.actions.frontier.seed import SEED_HEAD_START, SUBMISSION_HEAD_START
from registry.store.unit_of_work import Store

CLIENTS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Workload:
    """`domains`: number by state: due, leased, waiting, never. `submissions`: submitted hosts that are due and not
    visited since. `postponed`: submitted hosts whose visit was put off. `by_client`: hosts that clients submitted in
    the last day and that were not visited yet, the largest numbers first; who they are is personal data and not told.
    `index_lag`: services whose index entry is out of date. `feed_lag`: events without a place in the feed yet.
    """

    domains: dict[str, int]
    submissions: int
    oldest_submission_at: datetime | None
    postponed: int
    by_client: tuple[int, ...]
    candidates: int
    opt_out_requests: int
    oldest_opt_out_request_at: datetime | None
    index_lag: int
    feed_lag: int
    oldest_event_at: datetime | None


async def workload(store: Store, target: str, *, now: datetime) -> Workload:
    """`target`: name of the search target that is queried."""
    # Only domains that are due as early as submissions are: otherwise all hosts would be read.
    head_start = (SEED_HEAD_START + SUBMISSION_HEAD_START) / 2
    async with store.begin() as uow:
        submitted = await uow.workload.submitted(now=now, due_before=now - head_start)
        requests = await uow.workload.opt_out_requests()
        feed = await uow.feed.state()
        return Workload(
            domains=await uow.domains.counts(now),
            submissions=submitted.number,
            oldest_submission_at=submitted.since,
            postponed=await uow.workload.postponed(now=now),
            by_client=await uow.workload.by_client(since=now - timedelta(days=1), most=CLIENTS_SHOWN),
            candidates=await uow.candidates.waiting(),
            opt_out_requests=requests.number,
            oldest_opt_out_request_at=requests.since,
            index_lag=await uow.search.count(target),
            feed_lag=feed.unsequenced,
            oldest_event_at=feed.unsequenced_since,
        )
