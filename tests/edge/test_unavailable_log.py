"""The log of requests that failed because a service was unavailable."""

from structlog.testing import capture_logs

from registry.edge.problems import LOG_INTERVAL_SECONDS, UnavailableLog


def test_the_first_failure_is_logged_at_once_and_later_ones_as_a_count() -> None:
    log = UnavailableLog()
    with capture_logs() as logs:
        for now in (100.0, 100.1, 100.2, 100.0 + LOG_INTERVAL_SECONDS, 100.1 + LOG_INTERVAL_SECONDS):
            log.record("SearchUnavailable", now)
    assert [(entry["event"], entry["requests"]) for entry in logs] == [
        ("request.unavailable", 1),
        ("request.unavailable", 3),
    ]
