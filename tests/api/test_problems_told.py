"""Requests that cannot be answered at the moment: what the log says of them."""

from structlog.testing import capture_logs

from registry.api.problems import TELL_SECONDS, Refused


def test_the_first_refusal_is_told_at_once_and_those_behind_it_together() -> None:
    refused = Refused()
    with capture_logs() as logs:
        for now in (100.0, 100.1, 100.2, 100.0 + TELL_SECONDS, 100.1 + TELL_SECONDS):
            refused.tell("SearchUnavailable", now)
    assert [(one["event"], one["requests"]) for one in logs] == [("request.unavailable", 1), ("request.unavailable", 3)]
