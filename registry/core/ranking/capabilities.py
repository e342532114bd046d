"""Which capabilities of a service answer the question: those that hold its words and point where it points."""

from collections.abc import Collection
from itertools import pairwise
from typing import Final

from registry.core.listing import CapabilityMatch
from registry.core.ranking.evidence import DECIMALS, Asked, Evidence
from registry.core.ranking.record import Capabilities

_SHOWN_FROM: Final = 0.6
"""Share of the best capability's mark."""

_MARKS: Final = 5e8
"""Marks are whole numbers, a thousand million the best: equal texts must stay equal, whatever was added up first."""

_SHOWN: Final = 10.0**DECIMALS
"""`round(number, DECIMALS)` costs five times as much as this: it goes through the number's digits."""

SHOWN_AT_MOST: Final = 3

_FIRST_CAPABILITY_ROW: Final = 2
"""Rows of a service's vectors: all of it, its own text, then the capabilities."""


def matching_capabilities(
    evidence: Evidence,
    place: int,
    asked: Asked,
    at_most: int = SHOWN_AT_MOST,
    allowed: Collection[str] | None = None,
) -> tuple[CapabilityMatch, ...]:
    """Those nearly as good as the best one, best first, else in the listing's order; only `allowed` names, if given.

    None where nothing speaks for any: only the service's own text matched, and no vectors are there. `asked` is what
    the service has of the question.
    """
    held = evidence.candidates.capabilities(place)
    if not held.names:
        return ()
    matched = _matched(held, asked)
    covers = [sum([asked[at][1] for at in sorted(own)]) for own in matched]
    similar = _similarities(evidence, place, len(held.names))
    most, nearest = max(covers) or 1.0, max(similar) or 1.0  # where the best has nothing, nobody has anything
    marks = [round(_MARKS * (one / most + near / nearest)) for one, near in zip(covers, similar, strict=True)]
    if allowed is not None:
        marks = [mark if name in allowed else 0 for mark, name in zip(marks, held.names, strict=True)]
    best = max(marks)
    if best <= 0:
        return ()
    chosen = [number for number, mark in enumerate(marks) if mark >= _SHOWN_FROM * best]
    chosen.sort(key=lambda number: -marks[number])
    return tuple(
        CapabilityMatch(
            held.names[number],
            tuple([word for at, (word, _) in asked.items() if at in matched[number]]),
            round(_SHOWN * covers[number]) / _SHOWN,
            round(_SHOWN * similar[number]) / _SHOWN,
        )
        for number in chosen[:at_most]
    )


def _matched(held: Capabilities, asked: Asked) -> list[set[int]]:
    """Which of the positions each capability's words hold."""
    if not asked:
        return [set()] * len(held.names)
    places, starts = held.places.tolist(), held.starts.tolist()
    return [asked.keys() & places[start:end] for start, end in pairwise(starts)]


def _similarities(evidence: Evidence, place: int, count: int) -> list[float]:
    """Cosine with the question's nearest sentence, 0 for those without a vector."""
    start, end = evidence.candidates.row_starts[place : place + 2].tolist()
    rows = evidence.needs[start + _FIRST_CAPABILITY_ROW : end][:count].tolist()
    return [max(0.0, row) for row in rows] + [0.0] * (count - len(rows))
