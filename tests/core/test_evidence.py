"""Availability by day, and wishes about copies."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.evidence import UptimeCheck, compared, forbids_copies, percentage, series, status_of
from registry.core.model.documents import Outcome


@pytest.mark.parametrize(
    ("headers", "caching", "expected"),
    [
        ({}, None, False),
        ({"x-robots-tag": "noindex"}, None, False),
        ({"x-robots-tag": "googlebot: noarchive"}, None, True),
        ({"x-robots-tag": "None"}, None, True),
        ({"x-robots-tag": "noarchivex"}, None, False),
        ({}, "allowed", False),
        ({}, " Forbidden ", True),
    ],
)
def test_wishes_about_copies(headers: dict[str, str], caching: str | None, expected: bool) -> None:
    assert forbids_copies(headers, caching) is expected


@given(st.lists(st.tuples(st.integers(0, 200), st.sampled_from(["up", "degraded", "down"])), max_size=30))
def test_a_series_counts_each_check_of_its_days_once(found: list[tuple[int, Any]]) -> None:
    today = datetime(2026, 11, 26, tzinfo=UTC)
    checks = [UptimeCheck(today - timedelta(days=age), status, 5) for age, status in found]
    days = series(checks, today.date(), 90)
    assert len(days) == 90 and sum(day.checks for day in days) == sum(age < 90 for age, _ in found)
    assert all((percentage(day.checks, day.down) is None) is (day.checks == 0) for day in days)


def test_what_a_visit_says_of_a_service() -> None:
    assert status_of(Outcome.SKIPPED, None) is None and status_of(Outcome.DISALLOWED, None) is None
    assert status_of(Outcome.FOUND, 10) == "up" and status_of(Outcome.FOUND, 5_001) == "degraded"
    assert status_of(Outcome.TLS_ERROR, None) == "down" and status_of(Outcome.ABSENT, 5) == "degraded"
    assert percentage(0, 0) is None and percentage(4, 1) == 75.0
    assert percentage(3, 1) == 66.67


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_can_be_compared(before: bytes, after: bytes) -> None:
    assert not isinstance(compared(b'{"a": 1}', b'{"a": 2}'), str)
    compared(before, after)


@pytest.mark.parametrize("body", [b"", b"[1]", b"\xff", b"null", b"{" * 100_000, b'{"a": 1, "a": 2}'])
def test_what_is_no_object_is_not_compared(body: bytes) -> None:
    assert compared(body, b"{}") == compared(b"{}", body) == "not_json_objects"
