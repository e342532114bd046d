"""When a host is visited again and why: every outcome, back-off, limits, jitter, declared lifetimes, sentences."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.model.documents import Outcome
from registry.core.scheduling import policy

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def wait(outcome: Outcome, history: policy.VisitHistory) -> timedelta:
    due = policy.next_visit(outcome, history, NOW)
    assert due is not None
    return due - NOW


def is_near(actual: timedelta, expected: timedelta) -> bool:
    return abs(actual - expected) <= expected * policy.SPREAD


@pytest.mark.parametrize(
    ("outcome", "streak", "expected"),
    [
        (Outcome.FOUND, 1, DAY), (Outcome.NEGATIVE, 1, 30 * DAY), (Outcome.NEGATIVE, 5, 30 * DAY),
        (Outcome.NOT_A_MANIFEST, 1, 14 * DAY), (Outcome.NOT_A_MANIFEST, 3, 56 * DAY), (Outcome.MALFORMED, 1, 3 * DAY),
        (Outcome.MALFORMED, 9, 30 * DAY), (Outcome.ABSENT, 1, 14 * DAY), (Outcome.ABSENT, 2, 28 * DAY),
        (Outcome.ABSENT, 1000, 90 * DAY), (Outcome.GONE, 1, 90 * DAY), (Outcome.REDIRECTED_AWAY, 2, 30 * DAY),
        (Outcome.REFUSED, 1, 7 * DAY), (Outcome.REFUSED, 2, 14 * DAY), (Outcome.RATE_LIMITED, 4, 8 * HOUR),
        (Outcome.RATE_LIMITED, 99, 7 * DAY), (Outcome.SERVER_ERROR, 2, 6 * HOUR), (Outcome.SERVER_ERROR, 3, DAY),
        (Outcome.SERVER_ERROR, 4, 2 * DAY), (Outcome.SERVER_ERROR, 99, 30 * DAY), (Outcome.UNREACHABLE, 1, DAY),
        (Outcome.UNREACHABLE, 3, 4 * DAY), (Outcome.TLS_ERROR, 2, 2 * DAY), (Outcome.TOO_LARGE, 3, 28 * DAY),
        (Outcome.UNSUPPORTED_ENCODING, 1, 7 * DAY), (Outcome.DISALLOWED, 1, DAY), (Outcome.DISALLOWED, 9, 30 * DAY),
        (Outcome.SKIPPED, 2, 2 * HOUR),
    ],
)  # fmt: skip
def test_each_outcome_has_its_wait(outcome: Outcome, streak: int, expected: timedelta) -> None:
    assert is_near(wait(outcome, policy.VisitHistory("shop.example", streak)), expected)


@pytest.mark.parametrize("outcome", Outcome)
def test_only_refused_addresses_are_never_visited_again(outcome: Outcome) -> None:
    assert (policy.next_visit(outcome, policy.VisitHistory("shop.example"), NOW) is None) is (
        outcome is Outcome.REFUSED_ADDRESS
    )


@pytest.mark.parametrize(
    ("interval", "has_changed", "max_age", "expected"),
    [
        (2 * DAY, False, None, 4 * DAY),
        (2 * DAY, True, None, DAY),
        (5 * DAY, False, None, policy.FOUND_MOST),
        (90 * timedelta(minutes=1), True, None, policy.FOUND_LEAST),
        (2 * HOUR, True, 12 * HOUR, 12 * HOUR),
        (2 * HOUR, False, 400 * DAY, policy.FOUND_MOST),
    ],
)
def test_changing_documents_are_visited_more_often(
    interval: timedelta, has_changed: bool, max_age: timedelta | None, expected: timedelta
) -> None:
    history = policy.VisitHistory("shop.example", 3, interval, has_changed, max_age)
    assert is_near(wait(Outcome.FOUND, history), expected)


def test_something_found_again_starts_at_a_day() -> None:
    assert is_near(wait(Outcome.FOUND, policy.VisitHistory("shop.example", 1, interval=56 * DAY)), DAY)


@pytest.mark.parametrize(
    ("seconds", "least", "most"),
    [(60, HOUR, 1.1 * HOUR), (7200, 2 * HOUR, 2 * HOUR), (10**9, DAY, DAY), (None, HOUR, 1.1 * HOUR)],
)
def test_a_host_may_ask_for_time_between_an_hour_and_a_day(
    seconds: int | None, least: timedelta, most: timedelta
) -> None:
    retry_after = None if seconds is None else timedelta(seconds=seconds)
    assert least <= wait(Outcome.RATE_LIMITED, policy.VisitHistory("shop.example", retry_after=retry_after)) <= most


def test_the_jitter_of_a_host_is_constant() -> None:
    waits = [wait(Outcome.ABSENT, policy.VisitHistory(f"host{n}.example")) for n in range(500)]
    assert waits == [wait(Outcome.ABSENT, policy.VisitHistory(f"host{n}.example")) for n in range(500)]
    assert len(set(waits)) > 450
    assert 14 * DAY * 0.9 <= min(waits) < 14 * DAY * 0.92 and 14 * DAY * 1.08 < max(waits) <= 14 * DAY * 1.1


durations = st.none() | st.timedeltas(timedelta(), 4000 * DAY)


@given(st.sampled_from(Outcome), st.integers(0, 10**9), durations, st.booleans(), durations, durations)
def test_always_later_and_never_too_late(
    outcome: Outcome,
    streak: int,
    interval: timedelta | None,
    has_changed: bool,
    max_age: timedelta | None,
    retry_after: timedelta | None,
) -> None:
    due = policy.next_visit(
        outcome, policy.VisitHistory("h.example", streak, interval, has_changed, max_age, retry_after), NOW
    )
    assert due is None or NOW + HOUR <= due <= NOW + 99 * DAY
    if outcome is Outcome.FOUND:
        assert due is not None and due <= NOW + policy.FOUND_MOST
    if due is not None and retry_after is not None:
        assert due >= NOW + min(retry_after, policy.MAX_RETRY_WAIT) == policy.earliest(retry_after, NOW)


@given(st.sampled_from(sorted(policy.WAITS)), st.integers(1, 60), st.text("abc.", min_size=1, max_size=20))
def test_the_back_off_never_shrinks(outcome: Outcome, streak: int, host: str) -> None:
    assert wait(outcome, policy.VisitHistory(host, streak)) <= wait(outcome, policy.VisitHistory(host, streak + 1))
    assert wait(outcome, policy.VisitHistory(host, 60)) >= timedelta(days=1) * (1 - policy.SPREAD)


ABSENT_OR_SOFT_404 = st.lists(st.sampled_from([Outcome.ABSENT, Outcome.NOT_A_MANIFEST]), min_size=2, max_size=12)
AWAY = st.lists(st.sampled_from([Outcome.UNREACHABLE, Outcome.TLS_ERROR]), min_size=2, max_size=12)


@given(ABSENT_OR_SOFT_404 | AWAY, st.lists(st.booleans(), min_size=12, max_size=12))
def test_related_outcomes_share_one_back_off(outcomes: list[Outcome], same_reason: list[bool]) -> None:
    """A host that times out one day and does not resolve the next must not restart its back-off."""
    previous, streak, interval = None, 0, None
    for outcome, same in zip(outcomes, same_reason, strict=False):
        streak = streak + 1 if outcome is previous and same else 1
        waited = wait(outcome, policy.VisitHistory("h.example", streak, interval, previous=previous))
        assert interval is None or waited >= interval
        assert waited <= 1.1 * policy.WAITS[outcome].most
        previous, interval = outcome, waited


def test_a_host_skipped_for_its_budget_is_visited_within_hours() -> None:
    assert is_near(policy.after_spent_budget("shop.example", NOW) - NOW, 6 * HOUR)


@given(st.integers(2, 10), st.booleans())
def test_jitter_does_not_accumulate(times: int, has_changed: bool) -> None:
    """Intervals are halved and doubled without the jitter that was added before."""
    interval = wait(Outcome.FOUND, policy.VisitHistory("h.example"))
    for streak in range(2, times + 2):
        interval = wait(Outcome.FOUND, policy.VisitHistory("h.example", streak, interval, has_changed))
    expected = max(DAY / 2**times, HOUR) if has_changed else min(DAY * 2**times, policy.FOUND_MOST)
    assert is_near(interval, expected)


# --- how long a response may be cached (RFC 9111)


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
        ({"cache-control": "max-age=" + "9" * 5000}, policy.MAX_LIFETIME),
        ({"cache-control": "max-age=999999999"}, policy.MAX_LIFETIME),
        ({"expires": "Mon, 02 Mar 2026 12:00:00 GMT"}, DAY),
        ({"expires": "Mon, 02 Mar 2026 12:00:00 GMT", "date": "Mon, 02 Mar 2026 11:00:00 GMT"}, HOUR),
        ({"expires": "Sat, 28 Feb 2026 12:00:00 GMT"}, timedelta()),
        ({"expires": "0"}, timedelta()),
        ({"expires": "-1"}, timedelta()),
        ({"expires": "Thu, 31 Dec 9999 23:59:59 GMT"}, policy.MAX_LIFETIME),
        ({"expires": "Mon, 02 Mar 2026 12:00:00 GMT", "cache-control": "max-age=3600"}, HOUR),
    ],
)
def test_the_lifetime_follows_from_the_headers(headers: dict[str, str], expected: timedelta | None) -> None:
    assert policy.lifetime(headers, NOW) == expected


fields = st.text(max_size=60) | st.from_regex(r"(max-age|no-store|expires)=?\"?[0-9]{0,30}", fullmatch=True)


@given(st.dictionaries(st.sampled_from(["cache-control", "expires", "date"]), fields))
def test_any_header_text_has_a_bounded_lifetime(headers: dict[str, str]) -> None:
    duration = policy.lifetime(headers, NOW)
    assert duration is None or timedelta() <= duration <= policy.MAX_LIFETIME


# --- why a visit is due


@pytest.mark.parametrize("reason", [reason for reason in policy.DueReason if reason is not policy.DueReason.POLICY])
def test_every_reason_has_a_sentence_of_its_own(reason: policy.DueReason) -> None:
    other_sentences = {
        policy.sentence(other, Outcome.ABSENT, "", 1, timedelta(days=14))
        for other in policy.DueReason
        if other is not reason
    }
    assert policy.sentence(reason, Outcome.ABSENT, "", 1, timedelta(days=14)) not in other_sentences


def test_the_reason_of_the_policy_names_the_wait_and_the_outcome() -> None:
    text = policy.sentence(policy.DueReason.POLICY, Outcome.REFUSED, "status_403", 3, timedelta(days=28))
    assert text == "28 d after a visit that ended with refused (status_403), 3 times in a row"


def test_no_next_visit_is_explained() -> None:
    assert policy.sentence(policy.DueReason.POLICY, Outcome.REFUSED_ADDRESS, "private", 1, None).startswith(
        "never by itself"
    )


@pytest.mark.parametrize(
    ("wait", "words"),
    [
        (timedelta(seconds=1), "1 min"),
        (timedelta(minutes=59, seconds=40), "1 h"),
        (timedelta(hours=26, minutes=5), "1 d 2 h"),
        (timedelta(days=14), "14 d"),
        (timedelta(hours=1, minutes=1), "1 h 1 min"),
    ],
)
def test_a_wait_in_words(wait: timedelta, words: str) -> None:
    assert policy.in_words(wait) == words


def test_an_overdue_visit_is_shown_within_the_next_minute() -> None:
    now = datetime(2026, 11, 21, 12, 30, 10, tzinfo=UTC)
    shown = policy.shown_time(now - timedelta(days=400), now)
    assert shown is not None and now < shown <= now + timedelta(minutes=1)
    assert policy.shown_time(now - timedelta(days=1), now + timedelta(seconds=30)) == shown
    assert policy.shown_time(now + timedelta(hours=1), now) == now + timedelta(hours=1)
    assert policy.shown_time(None, now) is None
