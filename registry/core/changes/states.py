"""The states of a service and its host that consumers of the feed tell apart."""

from datetime import datetime
from typing import Literal

from registry.core.model.listing import TrustLevel
from registry.core.scheduling.policy import STALE_AFTER

State = Literal[
    "never_validated",  # nothing was read of it yet, or everything was deleted and it may come back
    "fresh",  # its documents were seen lately
    "stale",  # not seen for longer than STALE_AFTER; nothing says that it is down
    "failing",  # its host has not answered for days
    "gone",  # it was listed, and is offered no longer
    "opted_out",  # its site asked not to be listed
    "blocked",  # an operator of this registry keeps it out
]


def state_of(trust_level: TrustLevel, seen_at: datetime, now: datetime) -> State:
    """Return the state of a service that is shown."""
    if trust_level is TrustLevel.UNVERIFIED:  # given to hosts that fail, and to nothing else
        return "failing"
    return "stale" if now - seen_at > STALE_AFTER else "fresh"


def state_of_host(
    *, trust_level: TrustLevel | None, seen_at: datetime | None, was_found: bool, opted_out: str | None, now: datetime
) -> State:
    """Return the state of any known host. `opted_out`: how, None for not at all. `trust_level`, `seen_at`: of its
    service, None if none is shown. `was_found`: whether it ever served a document that counts."""
    if opted_out is not None:
        return state_out(opted_out)
    if trust_level is not None and seen_at is not None:
        return state_of(trust_level, seen_at, now)
    return "gone" if was_found else "never_validated"


def state_out(how: str) -> State:
    """Return the state of a host that an opt-out covers; `how` it was declared."""
    return "blocked" if how == "operator" else "opted_out"
