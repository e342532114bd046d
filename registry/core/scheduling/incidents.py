"""Incidents: which work of this registry is late or has failed, judged from what is stored. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, get_args

from registry.core.scheduling.jobs import BROKEN, JobRun, RunOutcome, consecutive_failures

JOB_BOUND: Final = timedelta(hours=1)
INDEX_BOUND: Final = timedelta(minutes=15)
FEED_BOUND: Final = timedelta(minutes=5)
VISITS_BOUND: Final = timedelta(minutes=90)
"""How long a job may be late, changes may wait for the index and events for their place in the feed, and hosts may be
due without a visit of any. Registries without a worker make a pass of visits every hour."""

Kind = Literal["job_failed", "job_overdue", "index_behind", "feed_behind", "visits_stopped"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Incident:
    kind: Kind
    since: datetime
    says: str


@dataclass(frozen=True, slots=True)
class Work:
    """`runs`: the latest runs of each job that ever ran, the newest first. `intervals`: of the jobs; zero: it does not
    run by itself. The times are None where nothing waits, and where no host was ever visited."""

    runs: Mapping[str, Sequence[JobRun]]
    intervals: Mapping[str, timedelta]
    index_waits_since: datetime | None
    feed_waits_since: datetime | None
    due_since: datetime | None
    last_visit_at: datetime | None
    crawlers: int


def incidents(work: Work, now: datetime) -> Sequence[Incident]:
    """Return what is wrong now, what began last first."""
    return sorted(_incidents(work, now), key=lambda incident: incident.since, reverse=True)


def _incidents(work: Work, now: datetime) -> Iterator[Incident]:
    for job, runs in work.runs.items():
        if (incident := _of_job(job, runs, work.intervals.get(job, timedelta()), now)) is not None:
            yield incident
    if (since := work.index_waits_since) is not None and now - since >= INDEX_BOUND:
        yield Incident("index_behind", since, "Changes of services wait for the search index.")
    if (since := work.feed_waits_since) is not None and now - since >= FEED_BOUND:
        yield Incident("feed_behind", since, "Events wait for their place in the change feed.")
    if work.due_since is not None:
        since = max(work.due_since, work.last_visit_at or work.due_since)
        if now - since >= VISITS_BOUND:
            why = "although a crawler runs" if work.crawlers else "because no crawler runs"
            yield Incident("visits_stopped", since, f"Hosts are due and none is visited, {why}.")


def _of_job(job: str, runs: Sequence[JobRun], interval: timedelta, now: datetime) -> Incident | None:
    newest = runs[0]
    if newest.outcome in BROKEN:
        first = runs[consecutive_failures(runs) - 1]
        how = "failed" if newest.outcome is RunOutcome.FAILED else "was lost"
        since = first.finished_at or first.started_at
        return Incident("job_failed", since, f"The last run of the job {job} {how}.")
    due = newest.started_at + interval
    if interval and now - due >= JOB_BOUND:
        return Incident("job_overdue", due, f"The job {job} is due and has not run again, or runs for too long.")
    return None
