"""The bodies of messages, and what counts as the answer to a challenge."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.changes.kinds import ALL, Types
from registry.core.webhooks import answers_challenge, challenge_body, events_body

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
