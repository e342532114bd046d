"""Incidents: what is late or failed, since when, and what is not yet one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from registry.core.scheduling.jobs import (
    FEED_BOUND,
    INDEX_BOUND,
    JOB_BOUND,
    VISITS_BOUND,
    Incident,
    JobRun,
    RunOutcome,
    Work,
    incidents,
)

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
QUIET = Work({}, {"prune": HOUR}, None, None, None, None, crawlers=0)


def run(ago: timedelta, outcome: RunOutcome = RunOutcome.DONE) -> JobRun:
    started = NOW - ago
    return JobRun(started, None if outcome is RunOutcome.RUNNING else started + SECOND, outcome)


def told(work: Work) -> list[tuple[str, datetime]]:
    return [(incident.kind, incident.since) for incident in incidents(work, NOW)]


def test_nothing_is_wrong_where_nothing_waits() -> None:
    assert told(QUIET) == []
    assert told(replace(QUIET, runs={"prune": [run(HOUR)]}, last_visit_at=NOW - 999 * HOUR)) == []


@pytest.mark.parametrize(
    ("field", "bound", "kind"),
    [
        ("index_waits_since", INDEX_BOUND, "index_behind"),
        ("feed_waits_since", FEED_BOUND, "feed_behind"),
        ("due_since", VISITS_BOUND, "visits_stopped"),
    ],
)
def test_waiting_is_an_incident_from_its_bound_on(field: str, bound: timedelta, kind: str) -> None:
    assert told(replace(QUIET, **{field: NOW - bound + SECOND})) == []
    assert told(replace(QUIET, **{field: NOW - bound})) == [(kind, NOW - bound)]


def test_a_long_queue_that_is_visited_is_none() -> None:
    work = replace(QUIET, due_since=NOW - 99 * HOUR, last_visit_at=NOW - SECOND)
    assert told(work) == []
    assert told(replace(work, last_visit_at=NOW - 5 * HOUR)) == [("visits_stopped", NOW - 5 * HOUR)]
    assert told(replace(work, due_since=NOW - HOUR, last_visit_at=NOW - 99 * HOUR)) == []


def test_whether_a_crawler_runs_is_told() -> None:
    work = replace(QUIET, due_since=NOW - 5 * HOUR)
    assert "because no crawler runs" in incidents(work, NOW)[0].says
    assert "although a crawler runs" in incidents(replace(work, crawlers=1), NOW)[0].says


@pytest.mark.parametrize("outcome", [RunOutcome.FAILED, RunOutcome.LOST])
def test_a_broken_job_is_told_since_its_first_failure_in_a_row(outcome: RunOutcome) -> None:
    runs = [run(HOUR, outcome), run(2 * HOUR, RunOutcome.FAILED), run(3 * HOUR), run(4 * HOUR, RunOutcome.FAILED)]
    assert told(replace(QUIET, runs={"prune": runs})) == [("job_failed", NOW - 2 * HOUR + SECOND)]
    assert told(replace(QUIET, runs={"prune": [run(SECOND, RunOutcome.RUNNING), *runs]})) == []


@pytest.mark.parametrize("outcome", [RunOutcome.DONE, RunOutcome.STOPPED, RunOutcome.RUNNING])
def test_a_job_that_does_not_run_again_is_overdue(outcome: RunOutcome) -> None:
    late = HOUR + JOB_BOUND
    assert told(replace(QUIET, runs={"prune": [run(late - SECOND, outcome)]})) == []
    assert told(replace(QUIET, runs={"prune": [run(late, outcome)]})) == [("job_overdue", NOW - JOB_BOUND)]
    assert told(replace(QUIET, runs={"prune": [run(late, outcome)]}, intervals={"prune": timedelta()})) == []
    assert told(replace(QUIET, runs={"unknown": [run(late, outcome)]})) == []


def test_what_began_last_comes_first() -> None:
    work = replace(QUIET, index_waits_since=NOW - 2 * HOUR, feed_waits_since=NOW - HOUR)
    assert incidents(work, NOW) == [
        Incident("feed_behind", NOW - HOUR, "Events wait for their place in the change feed."),
        Incident("index_behind", NOW - 2 * HOUR, "Changes of services wait for the search index."),
    ]
