"""Messages to webhook receivers, their signatures (Standard Webhooks, HMAC-SHA256), and the schedule of retries.

Messages are thin: they hold no text of any site, and the receiver reads the feed. When to retry, and when to give up a
receiver, follows Standard Webhooks, "Deliverability".
"""

import base64
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias
from urllib.parse import urlencode

import orjson
from standardwebhooks.webhooks import Webhook

from registry.core.changes.kinds import Types
from registry.core.reading.reader import Unreadable, read_json

Purpose = Literal["events", "challenge", "test"]

EVENTS: Final = "feed.changed"
CHALLENGE: Final = "webhook.challenge"
TEST: Final = "webhook.test"

TOKEN_BYTES: Final = 24


@dataclass(frozen=True, slots=True)
class Message:
    """`id` is the same in every attempt to deliver it (`webhook-id`). `token`: the expected answer of the receiver."""

    id: str
    purpose: Purpose
    body: str
    token: str | None = None


def events_body(base: str, types: Types, *, count: int, since: str, until: str, now: datetime) -> str:
    """Return the body that announces new events. `since`, `until`: cursors of the feed before and after them, for the
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


DELAYS: Final = (
    timedelta(seconds=5), timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=2), timedelta(hours=5),
    timedelta(hours=10), timedelta(hours=14), timedelta(hours=20), timedelta(hours=24),
)  # fmt: skip
"""Waits after the first, second ... failed attempt: the schedule that the specification recommends. The last one
repeats until the receiver is disabled."""

JITTER: Final = 0.2
"""A wait differs from its place in DELAYS by at most this share, so that many receivers behind one broken proxy are not
all tried at the same moment."""

MAX_RETRY_AFTER: Final = timedelta(hours=24)

GATHER: Final = timedelta(seconds=10)
"""Minimum time between two messages to one receiver. One message announces all events in between."""

GONE: Final = 410

DAY: Final = timedelta(hours=24)

MAX_CHALLENGES_OF_HOST: Final = 5
MAX_CHALLENGES_OF_DOMAIN: Final = 10
"""Challenges that a host, and a registrable domain, get in DAY, from all webhooks of all owners and operators. An owner
of one host of a shared domain cannot spend all of the domain's."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one attempt ended. `status`: of the answer, None without one. `reason`: empty when it was delivered, else why
    not, as a code: `http_500`, `redirect`, `request_timeout`, `connection_refused`, `wrong_token` ..."""

    status: int | None
    reason: str = ""
    retry_after: timedelta | None = None
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class DeliveryState:
    """`next_at`: when the next message may be sent."""

    next_at: datetime


@dataclass(frozen=True, slots=True)
class Retry:
    at: datetime


@dataclass(frozen=True, slots=True)
class Disable:
    reason: str


Verdict: TypeAlias = DeliveryState | Retry | Disable


def reason_of(status: int) -> str:
    """Return why an answer with this status is not a delivery; empty for a delivery. Redirects are never followed,
    because only this address was verified."""
    if 200 <= status < 300:
        return ""
    return "redirect" if 300 <= status < 400 else f"http_{status}"


def challenge_at(host: str, sent: Sequence[tuple[str, datetime]], now: datetime) -> datetime:
    """Return when a host may get a challenge; `now` if at once. `sent`: host and time of the challenges to all hosts of
    its registrable domain in the last DAY, the oldest first."""
    to_host, to_domain = [at for name, at in sent if name == host], [at for _, at in sent]
    limited = ((to_host, MAX_CHALLENGES_OF_HOST), (to_domain, MAX_CHALLENGES_OF_DOMAIN))
    return max([now, *(times[-most] + DAY for times, most in limited if len(times) >= most)])


def judge(
    attempt: Attempt,
    *,
    failures: int,
    first_failure_at: datetime | None,
    now: datetime,
    disable_after: timedelta,
    chance: float,
) -> Verdict:
    """Return what follows from an attempt. `failures`: failed attempts in a row before this one; `first_failure_at`:
    when the first of them was made. `chance`: a random number from 0 to 1."""
    if not attempt.reason:
        return DeliveryState(now + GATHER)
    if attempt.status == GONE:
        return Disable("gone")
    if first_failure_at is not None and now - first_failure_at >= disable_after:
        return Disable(f"failed for {disable_after.days} days: {attempt.reason}")
    delay = DELAYS[min(failures, len(DELAYS) - 1)] * (1 - JITTER + 2 * JITTER * chance)
    requested = min(attempt.retry_after or timedelta(), MAX_RETRY_AFTER)  # guard: webhook-retry-after
    return Retry(now + max(delay, requested))


SECRET_BYTES: Final = 32  # bytes of a secret; the specification asks for 24 to 64
PREFIX: Final = "whsec_"


def secret_of(random: bytes) -> str:
    """Return these random bytes as a secret. Raise ValueError unless there are 24 to 64."""
    if not 24 <= len(random) <= 64:
        raise ValueError(f"a secret has 24 to 64 bytes, not {len(random)}")
    return PREFIX + base64.b64encode(random).decode()


def signed_headers(secrets: Sequence[str], message_id: str, body: str, now: datetime) -> dict[str, str]:
    """Return the three header fields of a message. `now`: when this attempt is made, which receivers compare with their
    clock. Each secret makes one signature, and one has to match, so a receiver may change its secret at any time during
    a rotation."""
    signatures = [Webhook(secret).sign(message_id, now, body) for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
