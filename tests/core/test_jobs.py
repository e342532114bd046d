"""When jobs run: once for any number of missed runs, with growing back-off after failures, and despite clock errors."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.scheduling.jobs import (
    MAX_RETRY_WAIT,
    RETRY_FIRST,
    JobRun,
    RunOutcome,
    back_off,
    consecutive_failures,
    next_run,
)

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


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
    assert consecutive_failures([failed, failed, run(DAY), failed]) == 2
    assert consecutive_failures([run(HOUR), failed]) == 0


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
    assert RETRY_FIRST <= back_off(failures) <= MAX_RETRY_WAIT
