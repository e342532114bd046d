"""The log of an outage: a warning with its reason, one a minute, and one line at its end."""

import pytest
import structlog
from structlog.testing import capture_logs

from registry.outages import LINE_SECONDS, QUIET_SECONDS, Outage, log_failure
from registry.store.engine import StoreUnavailable

FAILED, WORKED = False, True


@pytest.mark.parametrize(
    ("calls", "logged"),
    [
        ([(0, WORKED)], []),
        ([(0, FAILED), (1, FAILED), (1.5, WORKED)], ["away 1"]),  # not yet over
        ([(0, FAILED), (1, FAILED), (1 + QUIET_SECONDS, WORKED)], ["away 1", "back"]),
        ([(second, FAILED) for second in range(121)], ["away 1", "away 60", "away 60"]),
        # a database that answers every second call, and one that comes and goes
        ([(second / 2, bool(second % 2)) for second in range(100)], ["away 1"]),
        (
            [(0, FAILED), (3, WORKED), (6, FAILED), (9, WORKED), (LINE_SECONDS, FAILED)],
            ["away 1", "back", "away 2"],
        ),
    ],
)
def test_the_lines_of_an_outage(calls: list[tuple[float, bool]], logged: list[str]) -> None:
    outage = Outage("away", "back")
    with capture_logs() as logs:
        for now, works in calls:
            outage.worked(now) if works else outage.failed("refused", now)
    assert [f"{one['event']} {one.get('failures', '')}".strip() for one in logs] == logged
    assert all(one["reason"] == "refused" for one in logs if one["event"] == "away")


def test_callers_log_no_outage_again_and_each_other_reason_once_a_minute() -> None:
    with capture_logs() as logs:
        for _ in range(3):
            log_failure(structlog.get_logger(), "upkeep.failed", StoreUnavailable("refused", is_outage=True))
            log_failure(structlog.get_logger(), "upkeep.failed", StoreUnavailable("deadlock detected"))
            log_failure(structlog.get_logger(), "upkeep.failed", ValueError("text of a site"))
    warnings = [(one["error"], one.get("reason")) for one in logs if one["log_level"] == "warning"]
    assert warnings == [("StoreUnavailable", "deadlock detected"), *[("ValueError", None)] * 3]
