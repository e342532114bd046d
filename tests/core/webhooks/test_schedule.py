"""What follows from an attempt to deliver a message."""

from datetime import UTC, datetime, timedelta

import pytest

from registry.core.webhooks import DELAYS, GATHER, Attempt, DeliveryState, Disable, Retry, Verdict, judge, reason_of

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
WEEK = timedelta(days=7)
FAILED = Attempt(500, "http_500")


def judged(attempt: Attempt, failures: int = 0, since: timedelta | None = None, chance: float = 0.5) -> Verdict:
    first_failure_at = None if since is None else NOW - since
    return judge(
        attempt, failures=failures, first_failure_at=first_failure_at, now=NOW, disable_after=WEEK, chance=chance
    )


@pytest.mark.parametrize(
    ("status", "reason"),
    [(200, ""), (204, ""), (299, ""), (199, "http_199"), (301, "redirect"), (308, "redirect"), (404, "http_404"),
     (410, "http_410"), (503, "http_503")],
)  # fmt: skip
def test_only_2xx_is_a_delivery(status: int, reason: str) -> None:
    assert reason_of(status) == reason


def test_after_a_delivery_events_gather_for_a_while() -> None:
    assert judged(Attempt(200), failures=7, since=6 * WEEK) == DeliveryState(NOW + GATHER)


def test_waits_follow_the_schedule_and_the_last_one_repeats() -> None:
    waits = [judged(FAILED, failures) for failures in range(len(DELAYS) + 2)]
    assert waits == [Retry(NOW + delay) for delay in (*DELAYS, DELAYS[-1], DELAYS[-1])]
    assert sum(DELAYS, timedelta()) > timedelta(days=3), "the specification asks for retries over days"


def test_waits_are_spread() -> None:
    assert judged(FAILED, 1, chance=0) == Retry(NOW + timedelta(minutes=4))
    assert judged(FAILED, 1, chance=1) == Retry(NOW + timedelta(minutes=6))


@pytest.mark.parametrize(
    ("seconds", "wait"), [(1, timedelta(seconds=5)), (3_600, timedelta(hours=1)), (10**9, timedelta(hours=24))]
)
def test_retry_after_is_honoured_within_bounds(seconds: int, wait: timedelta) -> None:
    assert judged(Attempt(503, "http_503", timedelta(seconds=seconds))) == Retry(NOW + wait)


def test_410_disables_at_once() -> None:
    assert judged(Attempt(410, "http_410", timedelta(hours=1))) == Disable("gone")


def test_days_of_failures_disable() -> None:
    assert judged(FAILED, 20, WEEK - timedelta(seconds=1)) == Retry(NOW + DELAYS[-1])
    assert judged(FAILED, 20, WEEK) == Disable("failed for 7 days: http_500")
