"""The kinds of events in the change feed, filters by kind, states of services and hosts, and public payloads.

A public payload has only known members, always a state, and marked texts of sites.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, Self, get_args

from registry.core.access.claims import OwnershipState
from registry.core.model.listing import TrustLevel
from registry.core.scheduling.policy import STALE_AFTER

Kind = Literal[
    "service.listed",  # shown from now on: new, or shown again
    "service.changed",  # anything shown of it has changed, dates excepted
    "service.delisted",  # its host offers it no longer, or it was deleted here
    "service.hidden",  # it is stored and not shown: its site opted out
    "host.opted_out",  # the site asked not to be visited or listed; covers all hosts below it
    "host.blocked",  # an operator of this registry keeps it out; covers all hosts below it
    "host.forgotten",  # everything stored about it, and about all hosts below it, was deleted
    "host.readmitted",  # an opt-out or a block has ended: it may be visited again
    "ownership.proven",  # the ownership of the host was proven
    "ownership.changed",  # what the owner says of the host in public: the note, or the canonical host
    "ownership.ended",  # the ownership is over, and what its owner had set
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

LISTED: Final = frozenset({"service.listed", "service.changed"})  # kinds of events of services that are listed
PATTERNS: Final = (*dict.fromkeys(f"{kind.partition('.')[0]}.*" for kind in KINDS), *KINDS)
"""The allowed words of a filter: groups of kinds ("service.*"), and kinds."""


class UnknownKind(ValueError):
    """A filter names an unknown kind of event; the message lists the known ones."""


@dataclass(frozen=True, slots=True)
class Types:
    """A filter. `patterns`: kinds and groups ("service.*"), sorted, each once. ALL lets every kind through."""

    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Self:
        """Return the filter of kinds and groups. Raise UnknownKind."""
        named = set(patterns)
        if not named <= set(PATTERNS):
            raise UnknownKind(f"must be one or more of {', '.join(PATTERNS)}")
        return cls(tuple(sorted(named)))

    @property
    def kinds(self) -> frozenset[str] | None:
        """Return the kinds that pass; None: all, including kinds that a later version of this program writes."""
        if not self.patterns:
            return None
        groups = {pattern.removesuffix("*") for pattern in self.patterns if pattern.endswith("*")}
        return frozenset(kind for kind in KINDS if kind in self.patterns or f"{kind.partition('.')[0]}." in groups)


ALL: Final = Types()


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
    *, trust_level: TrustLevel | None, seen_at: datetime | None, was_found: bool, withheld: State | None, now: datetime
) -> State:
    """Return the state of any known host. `withheld`: why it may not be listed, None if it may be. `trust_level`,
    `seen_at`: of its service, None if none is shown. `was_found`: whether it ever served a document that counts."""
    if withheld is not None:
        return withheld
    if trust_level is not None and seen_at is not None:
        return state_of(trust_level, seen_at, now)
    return "gone" if was_found else "never_validated"


class _Event(NamedTuple):
    """An event in words, the state that it tells unless its payload states another, and the members of its payload."""

    says: str
    state: State | OwnershipState
    members: tuple[str, ...]


_OF_SERVICE: Final = (
    "name", "score", "trust_level", "formats", "injection_flags", "cause", "fingerprint", "changed", "capabilities",
    "difference", "truncated", "redacted",
)  # fmt: skip
_EVENTS: Final[Mapping[str, _Event]] = {
    "service.listed": _Event("listed", "fresh", _OF_SERVICE),
    "service.changed": _Event("changed", "fresh", _OF_SERVICE),
    "service.delisted": _Event("no longer listed", "gone", ("reason", "outcome")),
    "service.hidden": _Event("no longer shown", "opted_out", ()),
    "host.opted_out": _Event("opted out, with all hosts below it", "opted_out", ("how",)),
    "host.blocked": _Event("blocked by this registry, with all hosts below it", "blocked", ("how",)),
    "host.forgotten": _Event("forgotten, with all hosts below it", "gone", ("reason", "stays_out")),
    "host.readmitted": _Event("may be visited again", "never_validated", ("how",)),
    "ownership.proven": _Event("ownership proven", "proven", ("method", "scope")),
    "ownership.changed": _Event("note or canonical host of its owner changed", "proven", ("changed",)),
    "ownership.ended": _Event("ownership ended", "ended", ("scope", "reason")),
}
_UNKNOWN: Final = _Event("", "never_validated", ())

SAYS: Final[Mapping[str, str]] = {kind: event.says for kind, event in _EVENTS.items()}  # kind -> the event in words

# guard: untrusted-feed
_UNTRUSTED: Final = ("name", "capabilities", "difference")  # where a payload has texts of sites
_CODE: Final = re.compile(r"[a-z0-9][a-z0-9_.:-]{0,63}")


def payload_of(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of an event. `data` as stored; an operator's notes in it are not for readers."""
    event = _EVENTS.get(kind, _UNKNOWN)
    payload = {name: data[name] for name in ("state", *event.members) if name in data}
    if "reason" in payload and not _CODE.fullmatch(str(payload["reason"])):
        del payload["reason"]  # earlier versions stored a sentence of the operator here
    payload.setdefault("state", event.state)  # earlier versions stored none
    if untrusted := [name for name in _UNTRUSTED if name in payload]:
        payload["untrusted_text"] = untrusted
    return payload
