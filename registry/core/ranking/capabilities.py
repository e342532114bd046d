"""Which capabilities of a service answer the question: those that hold its words and point where it points."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Final

from registry.core.listing import CapabilityMatch
from registry.core.ranking.evidence import Evidence
from registry.core.ranking.record import Capabilities

_SHOWN_FROM: Final = 0.6
"""Share of the best capability's mark."""

_MARKS: Final = 5e8
"""Marks are whole numbers, a thousand million the best: equal texts must stay equal, whatever was added up first."""

SHOWN_AT_MOST: Final = 3

_FIRST_CAPABILITY_ROW: Final = 2
"""Rows of a service's vectors: all of it, its own text, then the capabilities."""


def matching_capabilities(
    evidence: Evidence, place: int, at_most: int = SHOWN_AT_MOST, allowed: Collection[str] | None = None
) -> tuple[CapabilityMatch, ...]:
    """Those nearly as good as the best one, best first, else in the listing's order; only `allowed` names, if given.

    None where nothing speaks for any: only the service's own text matched, and no vectors are there.
    """
    held = evidence.candidates.capabilities(place)
    if not held.names:
        return ()
    asked = _asked_at(evidence, place)
    matched = _matched(held, asked)
    covers = [sum([asked[at][1] for at in sorted(own)]) for own in matched]
    similar = _similarities(evidence, place, len(held.names))
    shares = zip(_shares_of_best(covers), _shares_of_best(similar), strict=True)
    marks = [round(_MARKS * (one + other)) for one, other in shares]
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
            round(covers[number], 6),
            round(similar[number], 6),
        )
        for number in chosen[:at_most]
    )


def _asked_at(evidence: Evidence, place: int) -> dict[int, tuple[str, float]]:
    """Of the question's words that the service has: position among the service's words -> the word, and what share of
    the question's weight it is. In the order of asking."""
    held_at, weights = evidence.places[:, place].tolist(), evidence.idf.tolist()
    words = zip(held_at, evidence.question.terms.values(), weights, strict=True)
    return {at: (word, idf / evidence.weight) for at, word, idf in words if at >= 0}


def _matched(held: Capabilities, asked: Mapping[int, object]) -> list[set[int]]:
    """Which of the positions each capability's words hold."""
    places, starts = held.places.tolist(), held.starts.tolist()
    if not asked:
        return [set()] * len(held.names)
    return [asked.keys() & places[start:end] for start, end in pairwise(starts)]


def _similarities(evidence: Evidence, place: int, count: int) -> list[float]:
    """Cosine with the question's nearest sentence, 0 for those without a vector."""
    start, end = evidence.candidates.row_starts[place : place + 2].tolist()
    rows = evidence.needs[start + _FIRST_CAPABILITY_ROW : end][:count].tolist()
    return [max(0.0, row) for row in rows] + [0.0] * (count - len(rows))


def _shares_of_best(values: Sequence[float]) -> list[float]:
    top = max(values)
    return [value / top for value in values] if top > 0 else [0.0] * len(values)
