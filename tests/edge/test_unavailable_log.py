"""The log of requests that failed because a service was unavailable."""

from structlog.testing import capture_logs

from registry.core.model.listing import SearchUnavailable
from registry.edge.problems import UnavailableLog
from registry.outages import LINE_SECONDS


def test_the_first_failure_is_logged_at_once_and_later_ones_as_a_count() -> None:
    log = UnavailableLog()
    with capture_logs() as logs:
        for now in (100.0, 100.1, 100.2, 100.0 + LINE_SECONDS, 100.1 + LINE_SECONDS):
            log.record(SearchUnavailable("too many searches"), now)
    assert [(entry["event"], entry["requests"]) for entry in logs] == [
        ("request.unavailable", 1),
        ("request.unavailable", 3),
    ]
