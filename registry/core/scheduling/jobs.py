"""Decide when jobs are due, which work is late or failed, and which rows are old.

One run makes up for all missed runs: the next is due an interval after the start of the last. Incidents are judged
from stored times. Retention (actions/maintenance/maintenance.py) never deletes domains, hosts, current documents with
their bodies, services, opt-outs, or the last score and visits of a host: they explain every verdict that is shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Literal, get_args

RETRY_FIRST: Final = timedelta(minutes=1)
MAX_RETRY_WAIT: Final = timedelta(hours=6)


class RunOutcome(StrEnum):
    """How a run ended. STOPPED: the schedule was stopped. LOST: its process or its database session died."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    LOST = "lost"


BROKEN: Final = frozenset({RunOutcome.FAILED, RunOutcome.LOST})


@dataclass(frozen=True, slots=True)
class JobRun:
    """A stored run of a job. `finished_at`: None during the run."""

    started_at: datetime
    finished_at: datetime | None
    outcome: RunOutcome


def next_run(interval: timedelta, runs: Sequence[JobRun], now: datetime) -> datetime | None:
    """Return when a job should run next; `now` or earlier: it is due. None: never by itself (an interval of zero).
    `runs`: its latest runs, the newest first. The more broken runs in a row, the later the next try. A run marked as
    running is due at once, so that the caller checks whether it still runs."""
    if interval <= timedelta():
        return None
    if not runs or runs[0].outcome in (RunOutcome.RUNNING, RunOutcome.STOPPED):
        return now
    newest = runs[0]
    regular_time = newest.started_at + interval
    if newest.outcome not in BROKEN:
        return min(regular_time, now + interval)  # a clock that was ahead must not silence a job
    ended_at = newest.finished_at or newest.started_at
    return min(
        ended_at + back_off(consecutive_failures(runs)), max(regular_time, ended_at + RETRY_FIRST), now + MAX_RETRY_WAIT
    )


def consecutive_failures(runs: Sequence[JobRun]) -> int:
    """Return how many of the newest runs in a row were broken."""
    return next((count for count, run in enumerate(runs) if run.outcome not in BROKEN), len(runs))


def back_off(failures: int) -> timedelta:
    """Return the wait after this many failures in a row (1 or more): doubled each time, up to MAX_RETRY_WAIT."""
    return min(RETRY_FIRST * (1 << min(max(failures - 1, 0), 16)), MAX_RETRY_WAIT)


JOB_BOUND: Final = timedelta(hours=1)
INDEX_BOUND: Final = timedelta(minutes=15)
FEED_BOUND: Final = timedelta(minutes=5)
VISITS_BOUND: Final = timedelta(minutes=90)
"""How long a job may be late, changes may wait for the index and events for their place in the feed, and hosts may be
due without a visit of any. Registries without a worker make a pass of visits every hour."""

Kind = Literal["job_failed", "job_overdue", "index_behind", "feed_behind", "visits_stopped", "space_low"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Incident:
    kind: Kind
    since: datetime
    says: str


@dataclass(frozen=True, slots=True)
class Work:
    """The stored state of all work. `runs`: the latest runs of each job, the newest first. `intervals` by job; zero:
    never started automatically. Times: None if no work waits, or no host was ever visited. `known_since`: when figures
    of this registry begin. `shortage`: why work that fills disks stops."""

    runs: Mapping[str, Sequence[JobRun]]
    intervals: Mapping[str, timedelta]
    index_waits_since: datetime | None
    feed_waits_since: datetime | None
    due_since: datetime | None
    last_visit_at: datetime | None
    crawlers: int
    known_since: datetime | None = None
    shortage: str | None = None
    short_since: datetime | None = None


def incidents(work: Work, now: datetime) -> Sequence[Incident]:
    """Return the current incidents, the newest first."""
    found: list[Incident] = []
    for job, runs in work.runs.items():
        newest, interval = runs[0], work.intervals.get(job, timedelta())
        due = newest.started_at + interval
        if newest.outcome in BROKEN:
            first = runs[consecutive_failures(runs) - 1]
            how = "failed" if newest.outcome is RunOutcome.FAILED else "was lost"
            since = first.finished_at or first.started_at
            found.append(Incident("job_failed", since, f"The last run of the job {job} {how}."))
        elif interval and now - due >= JOB_BOUND:
            says = f"The job {job} is due and has not run again, or runs for too long."
            found.append(Incident("job_overdue", due, says))
    known_since = work.known_since
    if not work.runs and any(work.intervals.values()) and known_since is not None and now - known_since >= JOB_BOUND:
        found.append(Incident("job_overdue", known_since, "No recurring job has ever run: nothing runs the schedule."))
    if work.shortage is not None:
        says = f"No site is visited and no dump is written: {work.shortage}."
        found.append(Incident("space_low", work.short_since or now, says))
    if work.index_waits_since is not None and now - work.index_waits_since >= INDEX_BOUND:
        says = "Changes of services wait for the search index."
        found.append(Incident("index_behind", work.index_waits_since, says))
    if work.feed_waits_since is not None and now - work.feed_waits_since >= FEED_BOUND:
        says = "Events wait for their place in the change feed."
        found.append(Incident("feed_behind", work.feed_waits_since, says))
    if work.due_since is not None:
        since = max(work.due_since, work.last_visit_at or work.due_since)
        if now - since >= VISITS_BOUND:
            why = "although a crawler runs" if work.crawlers else "because no crawler runs"
            found.append(Incident("visits_stopped", since, f"Hosts are due and none is visited, {why}."))
    return sorted(found, key=lambda incident: incident.since, reverse=True)


MIN_LEDGER_AGE: Final = timedelta(days=2)
"""Visits newer than this are never deleted, under any setting: budgets count the visits of the last 24 hours."""

INDEX_FORGOTTEN_AFTER: Final = timedelta(days=7)
"""An index that was not updated for this long is forgotten: no more changes are queued for it until it comes back."""

CLIENTS_FORGOTTEN_AFTER: Final = timedelta(days=1)
"""Who made a request is erased with its result. When no worker runs, pruning erases it after this time."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Days and numbers set by the operator. The last `visits_per_host` visits and `versions` versions always stay.
    `archive_visits`: old months of visits become tables of their own, instead of being dropped."""

    visits_days: int
    visits_per_host: int
    history_days: int
    versions: int
    bodies_days: int
    scores_days: int
    changes_days: int
    candidates_days: int
    reports_days: int
    job_runs_days: int
    archive_visits: bool = False

    def horizon(self, now: datetime) -> "Horizon":
        def ago(days: int) -> datetime:
            return now - timedelta(days=days)

        return Horizon(
            visits=min(ago(self.visits_days), now - MIN_LEDGER_AGE),
            visits_per_host=self.visits_per_host,
            history=ago(self.history_days),
            versions=self.versions,
            bodies=ago(self.bodies_days),
            scores=ago(self.scores_days),
            changes=ago(self.changes_days),
            candidates=ago(self.candidates_days),
            reports=ago(self.reports_days),
            job_runs=ago(self.job_runs_days),
        )


@dataclass(frozen=True, slots=True)
class Horizon:
    """Rows older than these times may be deleted. `bodies`: of versions that were replaced before; `reports`: that were
    decided before."""

    visits: datetime
    visits_per_host: int
    history: datetime
    versions: int
    bodies: datetime
    scores: datetime
    changes: datetime
    candidates: datetime
    reports: datetime
    job_runs: datetime
