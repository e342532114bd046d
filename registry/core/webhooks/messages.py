"""What is sent to a receiver. Messages are thin: they hold no text of any site, and the receiver reads the feed."""

import hmac
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal
from urllib.parse import urlencode

import orjson

from registry.core.changes.kinds import Types
from registry.core.reading.reader import Unreadable, read_json

Purpose = Literal["events", "challenge", "test"]

EVENTS: Final = "feed.changed"
CHALLENGE: Final = "webhook.challenge"
TEST: Final = "webhook.test"

TOKEN_BYTES: Final = 24


@dataclass(frozen=True, slots=True)
class Message:
    """`id` is the same in every attempt to deliver it (`webhook-id`). `token`: what a receiver has to answer."""

    id: str
    purpose: Purpose
    body: str
    token: str | None = None


def events_body(base: str, types: Types, *, count: int, since: str, until: str, now: datetime) -> str:
    """Return the body that tells of new events. `since`, `until`: cursors of the feed before and after them, for the
    filter `types`. `base`: URL of this registry."""
    query = {"cursor": since} | ({"types": ",".join(types.patterns)} if types.patterns else {})
    data = {"cursor": until, "events": count, "url": f"{base.rstrip('/')}/api/feed?{urlencode(query, safe='*,')}"}
    return _body(EVENTS, data, now)


def challenge_body(token: str, now: datetime) -> str:
    return _body(CHALLENGE, {"challenge": token}, now)


def test_body(base: str, now: datetime) -> str:
    return _body(TEST, {"url": f"{base.rstrip('/')}/api/feed"}, now)


def answers_challenge(body: bytes, token: str) -> bool:
    """Return whether an answer holds the token: alone, or as `challenge` of a JSON object."""
    if hmac.compare_digest(body.strip(), token.encode()):
        return True
    try:
        value = read_json(body)
    except Unreadable:
        return False
    given = value.get("challenge") if isinstance(value, dict) else None
    return isinstance(given, str) and hmac.compare_digest(given.encode(errors="replace"), token.encode())


def _body(kind: str, data: dict[str, object], now: datetime) -> str:
    timestamp = now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return orjson.dumps({"type": kind, "timestamp": timestamp, "data": data}).decode()
