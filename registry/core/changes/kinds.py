"""The kinds of events in the change feed, and filters by kind."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, Self, get_args

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
SAYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "service.listed": "listed",
        "service.changed": "changed",
        "service.delisted": "no longer listed",
        "service.hidden": "no longer shown",
        "host.opted_out": "opted out, with all hosts below it",
        "host.blocked": "blocked by this registry, with all hosts below it",
        "host.forgotten": "forgotten, with all hosts below it",
        "host.readmitted": "may be visited again",
        "ownership.proven": "ownership proven",
        "ownership.changed": "note or canonical host of its owner changed",
        "ownership.ended": "ownership ended",
    }
)
"""Kind -> what happened to the host, in words."""

LISTED: Final = frozenset({"service.listed", "service.changed"})
"""Kinds of events of services that are listed."""

PATTERNS: Final = (*dict.fromkeys(f"{kind.partition('.')[0]}.*" for kind in KINDS), *KINDS)
"""What a filter may name: groups of kinds ("service.*"), and kinds."""


class UnknownKind(ValueError):
    """A filter names something that is no kind of event; the message says what it may name."""


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
        """The kinds that it lets through; None: all, also those that a later version of this program writes."""
        if not self.patterns:
            return None
        groups = {pattern.removesuffix("*") for pattern in self.patterns if pattern.endswith("*")}
        return frozenset(kind for kind in KINDS if kind in self.patterns or f"{kind.partition('.')[0]}." in groups)


ALL: Final = Types()
