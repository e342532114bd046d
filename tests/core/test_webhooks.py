"""Webhooks: the bodies and signatures of messages, and what follows from an attempt to deliver one."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from registry.core.changes.kinds import ALL, Types
from registry.core.webhooks import (
    DELAYS,
    GATHER,
    Attempt,
    DeliveryState,
    Disable,
    Retry,
    Verdict,
    answers_challenge,
    challenge_body,
    events_body,
    judge,
    reason_of,
    secret_of,
    signed_headers,
)

NOW = datetime(2026, 11, 24, 12, 0, 0, 250_000, tzinfo=UTC)
TOKEN = "dG9rZW4-_x"


def test_a_message_says_where_to_read_and_how_far_the_feed_has_moved() -> None:
    types = Types.of(["service.*"])
    body = json.loads(events_body("https://registry.example/", types, count=3, since="AAA", until="BBB", now=NOW))
    assert body == {
        "type": "feed.changed",
        "timestamp": "2026-11-24T12:00:00.250Z",
        "data": {
            "cursor": "BBB",
            "events": 3,
            "url": "https://registry.example/api/feed?cursor=AAA&types=service.*",
        },
    }
    body = json.loads(events_body("https://registry.example", ALL, count=1, since="AAA", until="BBB", now=NOW))
    assert body["data"]["url"] == "https://registry.example/api/feed?cursor=AAA"


@pytest.mark.parametrize(
    ("answer", "holds"),
    [
        (TOKEN.encode(), True),
        (f"  {TOKEN}\n".encode(), True),
        (json.dumps({"challenge": TOKEN, "more": 1}).encode(), True),
        (challenge_body(TOKEN, NOW).encode(), False),  # a server that echoes everything has not read it
        (b"", False),
        (b"ok", False),
        (TOKEN[:-1].encode(), False),
        (f"[{TOKEN}]".encode(), False),
        (json.dumps([TOKEN]).encode(), False),
        (json.dumps({"challenge": [TOKEN]}).encode(), False),
        (b'{"challenge": "\\ud800"}', False),
        (b"[" * 4_000, False),
    ],
)
def test_a_challenge_is_answered_by_the_token_alone_or_as_challenge(answer: bytes, holds: bool) -> None:
    assert answers_challenge(answer, TOKEN) is holds


@given(st.binary(max_size=200))
def test_no_answer_breaks_the_reader(answer: bytes) -> None:
    assert not answers_challenge(answer, TOKEN)


# --- what follows from an attempt ------------------------------------------------------------------------------------

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


# --- signatures, verified by the library that receivers use ----------------------------------------------------------

OLD, NEW = secret_of(b"o" * 32), secret_of(b"n" * 32)

BODY = '{"type":"feed.changed","data":{"events":3}}'


def test_a_receiver_verifies_a_message() -> None:
    headers = signed_headers([NEW], "msg_1", BODY, datetime.now(UTC))
    assert headers.keys() == {"webhook-id", "webhook-timestamp", "webhook-signature"}
    assert Webhook(NEW).verify(BODY, headers) == {"type": "feed.changed", "data": {"events": 3}}
    with pytest.raises(WebhookVerificationError):
        Webhook(OLD).verify(BODY, headers)


@pytest.mark.parametrize("secret", [OLD, NEW])
def test_a_receiver_with_either_secret_verifies_during_a_rotation(secret: str) -> None:
    headers = signed_headers([NEW, OLD], "msg_1", BODY, datetime.now(UTC))
    assert headers["webhook-signature"].count("v1,") == 2
    assert Webhook(secret).verify(BODY, headers)


@pytest.mark.parametrize("altered", ["body", "webhook-id", "webhook-timestamp"])
def test_a_message_that_was_altered_is_refused(altered: str) -> None:
    now = datetime.now(UTC)
    message = {"body": BODY} | signed_headers([NEW], "msg_1", BODY, now)
    other = {"body": BODY.replace("3", "4"), "webhook-id": "msg_2", "webhook-timestamp": str(int(now.timestamp()) - 1)}
    message[altered] = other[altered]
    with pytest.raises(WebhookVerificationError, match="No matching signature"):
        Webhook(NEW).verify(message.pop("body"), message)


@pytest.mark.parametrize("late", [timedelta(minutes=-6), timedelta(minutes=6)])
def test_a_message_with_another_time_is_refused(late: timedelta) -> None:
    with pytest.raises(WebhookVerificationError, match="timestamp too"):
        Webhook(NEW).verify(BODY, signed_headers([NEW], "msg_1", BODY, datetime.now(UTC) + late))


@pytest.mark.parametrize("size", [0, 23, 65])
def test_a_secret_has_the_length_that_the_specification_asks_for(size: int) -> None:
    with pytest.raises(ValueError, match="24 to 64"):
        secret_of(b"x" * size)
