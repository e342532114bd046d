"""When jobs run, despite missed runs, failures and clock errors; and which late or failed work is an incident."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.scheduling import jobs
from registry.core.scheduling.jobs import MAX_RETRY_WAIT, RETRY_FIRST, Incident, JobRun, RunOutcome, Work, next_run

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def run(ago: timedelta, outcome: RunOutcome = RunOutcome.DONE, duration: timedelta = MINUTE) -> JobRun:
    started = NOW - ago
    return JobRun(started, None if outcome is RunOutcome.RUNNING else started + duration, outcome)


def test_a_job_that_never_ran_is_due() -> None:
    assert next_run(DAY, [], NOW) == NOW


def test_a_job_without_an_interval_never_runs_by_itself() -> None:
    assert next_run(timedelta(), [], NOW) is None
    assert next_run(timedelta(), [run(DAY, RunOutcome.FAILED)], NOW) is None


def test_the_next_run_counts_from_the_start_of_the_last() -> None:
    assert next_run(DAY, [run(HOUR, duration=30 * MINUTE)], NOW) == NOW + 23 * HOUR


def test_missed_runs_are_made_up_once() -> None:
    due = next_run(HOUR, [run(30 * DAY)], NOW)
    assert due is not None and due <= NOW
    assert next_run(HOUR, [run(timedelta()), run(30 * DAY)], NOW) == NOW + HOUR


@pytest.mark.parametrize("outcome", [RunOutcome.RUNNING, RunOutcome.STOPPED])
def test_an_interrupted_job_runs_again_at_once(outcome: RunOutcome) -> None:
    assert next_run(DAY, [run(HOUR, outcome)], NOW) == NOW


@pytest.mark.parametrize("outcome", [RunOutcome.FAILED, RunOutcome.LOST])
def test_a_failed_run_is_repeated_with_growing_back_off(outcome: RunOutcome) -> None:
    waits = []
    for failures in range(1, 12):
        history = [run(MINUTE, outcome, MINUTE)] * failures + [run(DAY)]
        due = next_run(30 * DAY, history, NOW)
        assert due is not None
        waits.append(due - NOW)
    assert waits[:3] == [MINUTE, 2 * MINUTE, 4 * MINUTE]
    assert waits == sorted(waits)
    assert waits[-1] == MAX_RETRY_WAIT


def test_a_failure_is_not_repeated_later_than_the_next_regular_run() -> None:
    history = [run(MINUTE, RunOutcome.FAILED, MINUTE)] * 9
    assert next_run(5 * MINUTE, history, NOW) == NOW + 4 * MINUTE


def test_a_success_resets_the_count_of_failures() -> None:
    failed = run(HOUR, RunOutcome.FAILED)
    assert jobs.consecutive_failures([failed, failed, run(DAY), failed]) == 2
    assert jobs.consecutive_failures([run(HOUR), failed]) == 0


def test_a_clock_that_was_ahead_does_not_stop_a_job() -> None:
    assert next_run(HOUR, [run(-400 * DAY)], NOW) == NOW + HOUR
    failed = next_run(30 * DAY, [run(-400 * DAY, RunOutcome.FAILED)], NOW)
    assert failed == NOW + MAX_RETRY_WAIT


runs = st.lists(
    st.builds(run, st.timedeltas(-DAY, 400 * DAY), st.sampled_from(RunOutcome), st.timedeltas(timedelta(), DAY)),
    max_size=6,
)


@given(st.timedeltas(MINUTE, 30 * DAY), runs)
def test_every_job_with_an_interval_runs_again(interval: timedelta, history: list[JobRun]) -> None:
    due = next_run(interval, history, NOW)
    assert due is not None
    assert due <= NOW + max(interval, MAX_RETRY_WAIT)
    if history and history[0].outcome in (RunOutcome.FAILED, RunOutcome.LOST):
        assert due >= min((history[0].finished_at or history[0].started_at) + RETRY_FIRST, NOW + MAX_RETRY_WAIT)


@given(st.integers(-5, 10_000))
def test_the_back_off_is_bounded(failures: int) -> None:
    assert RETRY_FIRST <= jobs.back_off(failures) <= MAX_RETRY_WAIT


# --- incidents

QUIET = Work({}, {"prune": HOUR}, None, None, None, None, crawlers=0)


def told(work: Work) -> list[tuple[str, datetime]]:
    return [(incident.kind, incident.since) for incident in jobs.incidents(work, NOW)]


def test_nothing_is_wrong_where_nothing_waits() -> None:
    assert told(QUIET) == []
    assert told(replace(QUIET, runs={"prune": [run(HOUR)]}, last_visit_at=NOW - 999 * HOUR)) == []


@pytest.mark.parametrize(
    ("field", "bound", "kind"),
    [
        ("index_waits_since", jobs.INDEX_BOUND, "index_behind"),
        ("feed_waits_since", jobs.FEED_BOUND, "feed_behind"),
        ("due_since", jobs.VISITS_BOUND, "visits_stopped"),
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
    assert "because no crawler runs" in jobs.incidents(work, NOW)[0].says
    assert "although a crawler runs" in jobs.incidents(replace(work, crawlers=1), NOW)[0].says


@pytest.mark.parametrize("outcome", [RunOutcome.FAILED, RunOutcome.LOST])
def test_a_broken_job_is_told_since_its_first_failure_in_a_row(outcome: RunOutcome) -> None:
    runs = [run(HOUR, outcome), run(2 * HOUR, RunOutcome.FAILED), run(3 * HOUR), run(4 * HOUR, RunOutcome.FAILED)]
    assert told(replace(QUIET, runs={"prune": runs})) == [("job_failed", NOW - 2 * HOUR + MINUTE)]
    assert told(replace(QUIET, runs={"prune": [run(SECOND, RunOutcome.RUNNING), *runs]})) == []


@pytest.mark.parametrize("outcome", [RunOutcome.DONE, RunOutcome.STOPPED, RunOutcome.RUNNING])
def test_a_job_that_does_not_run_again_is_overdue(outcome: RunOutcome) -> None:
    late = HOUR + jobs.JOB_BOUND
    assert told(replace(QUIET, runs={"prune": [run(late - SECOND, outcome)]})) == []
    assert told(replace(QUIET, runs={"prune": [run(late, outcome)]})) == [("job_overdue", NOW - jobs.JOB_BOUND)]
    assert told(replace(QUIET, runs={"prune": [run(late, outcome)]}, intervals={"prune": timedelta()})) == []
    assert told(replace(QUIET, runs={"unknown": [run(late, outcome)]})) == []


def test_a_registry_without_a_schedule_is_told_after_the_bound() -> None:
    work = replace(QUIET, known_since=NOW - jobs.JOB_BOUND)
    assert told(work) == [("job_overdue", NOW - jobs.JOB_BOUND)]
    assert told(replace(work, known_since=NOW - jobs.JOB_BOUND + SECOND)) == []
    assert told(replace(work, intervals={"prune": timedelta()})) == []
    assert told(replace(work, runs={"prune": [run(SECOND)]})) == []


def test_a_shortage_of_space_is_told() -> None:
    work = replace(QUIET, shortage="the disk of the database is full", short_since=NOW - HOUR)
    assert told(work) == [("space_low", NOW - HOUR)]
    assert "the disk of the database is full" in jobs.incidents(work, NOW)[0].says


def test_what_began_last_comes_first() -> None:
    work = replace(QUIET, index_waits_since=NOW - 2 * HOUR, feed_waits_since=NOW - HOUR)
    assert jobs.incidents(work, NOW) == [
        Incident("feed_behind", NOW - HOUR, "Events wait for their place in the change feed."),
        Incident("index_behind", NOW - 2 * HOUR, "Changes of services wait for the search index."),
    ]
