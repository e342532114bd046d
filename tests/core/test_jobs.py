"""When jobs run: once for any number of missed runs, later and later while they fail, never at two clocks' mercy."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.jobs import RETRY_FIRST, RETRY_MOST, Outcome, Run, back_off, broken_in_a_row, next_run

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


def run(ago: timedelta, outcome: Outcome = Outcome.DONE, took: timedelta = MINUTE) -> Run:
    started = NOW - ago
    return Run(started, None if outcome is Outcome.RUNNING else started + took, outcome)


def test_a_job_that_never_ran_is_due() -> None:
    assert next_run(DAY, [], NOW) == NOW


def test_a_job_without_an_interval_never_runs_by_itself() -> None:
    assert next_run(timedelta(), [], NOW) is None
    assert next_run(timedelta(), [run(DAY, Outcome.FAILED)], NOW) is None


def test_the_next_run_counts_from_the_start_of_the_last() -> None:
    assert next_run(DAY, [run(HOUR, took=30 * MINUTE)], NOW) == NOW + 23 * HOUR


def test_runs_missed_in_a_month_without_power_are_one() -> None:
    due = next_run(HOUR, [run(30 * DAY)], NOW)
    assert due is not None and due <= NOW
    assert next_run(HOUR, [run(timedelta()), run(30 * DAY)], NOW) == NOW + HOUR


@pytest.mark.parametrize("outcome", [Outcome.RUNNING, Outcome.STOPPED])
def test_what_was_cut_short_goes_on_at_once(outcome: Outcome) -> None:
    assert next_run(DAY, [run(HOUR, outcome)], NOW) == NOW


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.LOST])
def test_a_broken_run_is_repeated_later_and_later(outcome: Outcome) -> None:
    waits = []
    for broken in range(1, 12):
        last = [run(MINUTE, outcome, MINUTE)] * broken + [run(DAY)]
        due = next_run(30 * DAY, last, NOW)
        assert due is not None
        waits.append(due - NOW)
    assert waits[:3] == [MINUTE, 2 * MINUTE, 4 * MINUTE]
    assert waits == sorted(waits)
    assert waits[-1] == RETRY_MOST


def test_a_failure_is_not_repeated_later_than_the_next_regular_run() -> None:
    last = [run(MINUTE, Outcome.FAILED, MINUTE)] * 9
    assert next_run(5 * MINUTE, last, NOW) == NOW + 4 * MINUTE


def test_success_ends_the_row_of_failures() -> None:
    failed = run(HOUR, Outcome.FAILED)
    assert broken_in_a_row([failed, failed, run(DAY), failed]) == 2
    assert broken_in_a_row([run(HOUR), failed]) == 0


def test_a_clock_that_was_ahead_silences_nothing() -> None:
    assert next_run(HOUR, [run(-400 * DAY)], NOW) == NOW + HOUR
    failed = next_run(30 * DAY, [run(-400 * DAY, Outcome.FAILED)], NOW)
    assert failed == NOW + RETRY_MOST


runs = st.lists(
    st.builds(run, st.timedeltas(-DAY, 400 * DAY), st.sampled_from(Outcome), st.timedeltas(timedelta(), DAY)),
    max_size=6,
)


@given(st.timedeltas(MINUTE, 30 * DAY), runs)
def test_every_job_with_an_interval_runs_again(interval: timedelta, last: list[Run]) -> None:
    due = next_run(interval, last, NOW)
    assert due is not None
    assert due <= NOW + max(interval, RETRY_MOST)
    if last and last[0].outcome in (Outcome.FAILED, Outcome.LOST):
        assert due >= min((last[0].finished_at or last[0].started_at) + RETRY_FIRST, NOW + RETRY_MOST)


@given(st.integers(-5, 10_000))
def test_back_off_has_ends(broken: int) -> None:
    assert RETRY_FIRST <= back_off(broken) <= RETRY_MOST
