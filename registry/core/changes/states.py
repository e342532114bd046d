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
