"""How long a response may be cached: RFC 9111, for anything that servers send."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.scheduling.policy import MAX_LIFETIME, lifetime

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"cache-control": "public"}, None),
        ({"cache-control": "public, max-age=3600"}, HOUR),
        ({"cache-control": 'Max-Age="3600", must-revalidate'}, HOUR),
        ({"cache-control": "s-maxage=86400"}, None),
        ({"cache-control": "s-maxage=86400, max-age=3600"}, HOUR),
        ({"cache-control": "max-age=3600, no-store"}, timedelta()),
        ({"cache-control": "no-cache"}, timedelta()),
        ({"cache-control": "no-transform, max-age=3600"}, HOUR),
        ({"cache-control": "max-age=-1"}, None),
        ({"cache-control": "max-age=soon"}, None),
        ({"cache-control": "max-age=" + "9" * 5000}, MAX_LIFETIME),
        ({"cache-control": "max-age=999999999"}, MAX_LIFETIME),
        ({"expires": "Mon, 02 Mar 2026 12:00:00 GMT"}, DAY),
        ({"expires": "Mon, 02 Mar 2026 12:00:00 GMT", "date": "Mon, 02 Mar 2026 11:00:00 GMT"}, HOUR),
        ({"expires": "Sat, 28 Feb 2026 12:00:00 GMT"}, timedelta()),
        ({"expires": "0"}, timedelta()),
        ({"expires": "-1"}, timedelta()),
        ({"expires": "Thu, 31 Dec 9999 23:59:59 GMT"}, MAX_LIFETIME),
        ({"expires": "Mon, 02 Mar 2026 12:00:00 GMT", "cache-control": "max-age=3600"}, HOUR),
    ],
)
def test_the_lifetime_follows_from_the_headers(headers: dict[str, str], expected: timedelta | None) -> None:
    assert lifetime(headers, NOW) == expected


fields = st.text(max_size=60) | st.from_regex(r"(max-age|no-store|expires)=?\"?[0-9]{0,30}", fullmatch=True)


@given(st.dictionaries(st.sampled_from(["cache-control", "expires", "date"]), fields))
def test_any_header_text_has_a_bounded_lifetime(headers: dict[str, str]) -> None:
    duration = lifetime(headers, NOW)
    assert duration is None or timedelta() <= duration <= MAX_LIFETIME
