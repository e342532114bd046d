"""When a message is sent again, and when a receiver is given up (Standard Webhooks, "Deliverability")."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

DELAYS: Final = (
    timedelta(seconds=5), timedelta(minutes=5), timedelta(minutes=30), timedelta(hours=2), timedelta(hours=5),
    timedelta(hours=10), timedelta(hours=14), timedelta(hours=20), timedelta(hours=24),
)  # fmt: skip
"""Waits after the first, second ... failed attempt: the schedule that the specification recommends. The last one
repeats until the receiver is disabled."""

JITTER: Final = 0.2
"""A wait differs from its place in DELAYS by at most this share, so that many receivers behind one broken proxy are not
all tried at the same moment."""

RETRY_AFTER_MOST: Final = timedelta(hours=24)

GATHER: Final = timedelta(seconds=10)
"""Minimum time between two messages to one receiver. Events in between are told by one message."""

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
class Delivered:
    """`next_at`: when the next message may be sent."""

    next_at: datetime


@dataclass(frozen=True, slots=True)
class Retry:
    at: datetime


@dataclass(frozen=True, slots=True)
class Disable:
    reason: str


Verdict: TypeAlias = Delivered | Retry | Disable


def reason_of(status: int) -> str:
    """Return why an answer of this status is not a delivery; empty when it is one. Redirects are never followed: what
    was verified is this address."""
    if 200 <= status < 300:
        return ""
    return "redirect" if 300 <= status < 400 else f"http_{status}"


def challenge_at(host: str, sent: Sequence[tuple[str, datetime]], now: datetime) -> datetime:
    """Return when a host may get a challenge; `now` if at once. `sent`: host and time of the challenges to all hosts of
    its registrable domain in the last DAY, the oldest first."""
    to_host, to_domain = [at for name, at in sent if name == host], [at for _, at in sent]
    waits = [
        times[-most] + DAY
        for times, most in ((to_host, MAX_CHALLENGES_OF_HOST), (to_domain, MAX_CHALLENGES_OF_DOMAIN))
        if len(times) >= most
    ]
    return max([now, *waits])


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
        return Delivered(now + GATHER)
    if attempt.status == GONE:
        return Disable("gone")
    if first_failure_at is not None and now - first_failure_at >= disable_after:
        return Disable(f"failed for {disable_after.days} days: {attempt.reason}")
    delay = DELAYS[min(failures, len(DELAYS) - 1)] * (1 - JITTER + 2 * JITTER * chance)
    requested = min(attempt.retry_after or timedelta(), RETRY_AFTER_MOST)  # guard: webhook-retry-after
    return Retry(now + max(delay, requested))
