"""Copies are services with one fingerprint. Of each group of copies one or a few are in front; the others are folded.

In front are the best proven (by trust level, a doubtful identity after the others, then by age) and every copy that is
older than all better proven ones. So a late copy never replaces the original, not even by a higher trust level: it then
stands beside it. With four levels a group has at most four rows, and mostly one. Score and relevance decide nothing,
because a copier can raise both. Age is how long a host has offered exactly this: an old domain that becomes a copy is a
late copy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.core.merging.trust import identity_of_listing
from registry.core.model.listing import IdentityState, Listing, TrustLevel
from registry.core.wording.fields import fingerprint

SHOWN_COPIES: Final = 20  # folded hosts whose names are kept with the first one; all are counted
LEVELS: Final = (TrustLevel.VERIFIED, TrustLevel.COMMUNITY, IdentityState.IN_DOUBT, TrustLevel.UNVERIFIED)
IN_DOUBT: Final = LEVELS.index(IdentityState.IN_DOUBT)

Positions = NDArray[np.int64]


class CopyStanding(NamedTuple):
    """What decides which of several copies is in front. `offer`: the fingerprint, 0 for a service that is never a copy.
    `level`: place in LEVELS. `offered` and `listed`: Listing.offered_since and listed_since in seconds since 1970, 0 if
    they are not recorded."""

    offer: int
    level: int
    offered: int
    listed: int


def standing_of(listing: Listing) -> CopyStanding:
    moments = (listing.offered_since, listing.listed_since)
    seconds = (0 if moment is None else min(max(0, int(moment.timestamp())), 0xFFFFFFFF) for moment in moments)
    is_doubtful = identity_of_listing(listing) is IdentityState.IN_DOUBT
    level = max(LEVELS.index(listing.trust_level), IN_DOUBT if is_doubtful else 0)
    return CopyStanding(fingerprint(listing), level, *seconds)


@dataclass(frozen=True, slots=True, eq=False)
class Standings:
    """The standings of n services as columns, each (n,)."""

    offers: NDArray[np.uint64]
    levels: NDArray[np.unsignedinteger]
    offered: NDArray[np.uint32]
    listed: NDArray[np.uint32]

    @classmethod
    def of(cls, standings: Sequence[CopyStanding]) -> "Standings":
        columns = zip(*standings, strict=True) if standings else ((), (), (), ())
        types = (np.uint64, np.uint8, np.uint32, np.uint32)
        return cls(*(np.array(column, dtype) for column, dtype in zip(columns, types, strict=True)))

    def take(self, positions: Positions) -> "Standings":
        return Standings(
            *(np.take(column, positions) for column in (self.offers, self.levels, self.offered, self.listed))
        )


class FoldedHosts(NamedTuple):
    """`hosts`: at most SHOWN_COPIES, in the order of precedence; `total` counts all."""

    hosts: tuple[str, ...] = ()
    total: int = 0


def no_copies(_: int) -> FoldedHosts:
    """Return the result without any folded service."""
    return FoldedHosts()


class FoldedCopies(NamedTuple):
    """Positions of services that are not shown, and, parallel to them, of the best proven copy of each."""

    positions: Positions
    fronts: Positions

    def behind(self, front: int) -> Positions:
        behind: Positions = self.positions[self.fronts == front]
        return behind


NONE_FOLDED: Final = FoldedCopies(np.zeros(0, np.int64), np.zeros(0, np.int64))


class Copies:
    """Those of n services that have a copy, in the order of precedence: level, age, score, host."""

    def __init__(
        self, standings: Standings, scores: NDArray[np.integer], hosts: Callable[[Positions], Sequence[str]]
    ) -> None:
        """Fold copies. `hosts` returns the hosts of positions; it is called only for services with a copy."""
        ordered = np.sort(standings.offers)
        repeated = ordered[1:][(ordered[1:] == ordered[:-1]) & (ordered[1:] != 0)]  # usually there are few
        no_positions = np.zeros(0, np.int64)
        positions = np.flatnonzero(np.isin(standings.offers, repeated)) if len(repeated) else no_positions
        columns = standings.take(positions)
        _, by_host = np.unique(np.array(hosts(positions), np.object_), return_inverse=True)
        keys = by_host, -np.take(scores, positions).astype(np.int64), columns.offered, columns.levels, columns.offers
        order = np.lexsort(keys)
        self._positions, self._offers = positions[order], columns.offers[order]
        self._offered = columns.offered[order].astype(np.int64)

    def folded(self, passing: NDArray[np.bool_]) -> FoldedCopies:
        """Return which of the services for which `passing` (n,) is true are folded behind others of these."""
        is_passing = passing[self._positions]
        positions, offers, offered = self._positions[is_passing], self._offers[is_passing], self._offered[is_passing]
        is_first = np.ones(len(positions), np.bool_)
        is_first[1:] = offers[1:] != offers[:-1]
        group = np.cumsum(is_first) - 1
        is_older = np.zeros(len(positions), np.bool_)
        # each group's ages are moved below all of the group before, so that the running minimum begins again
        moved = offered - group * (int(offered.max(initial=0)) + 1)
        is_older[1:] = moved[1:] < np.minimum.accumulate(moved)[:-1]
        is_folded = ~(is_first | is_older)  # guard: the-oldest-copy-stays
        return FoldedCopies(positions[is_folded], positions[is_first][group[is_folded]])
