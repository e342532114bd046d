"""Which capabilities of a service answer the question: those that hold its words and point where it points."""

from collections.abc import Collection
from typing import Final

import numpy as np

from registry.core.listing import CapabilityMatch
from registry.core.ranking.evidence import Evidence, Numbers
from registry.core.ranking.record import Capabilities

_SHOWN_FROM: Final = 0.6
"""Share of the best capability's mark."""

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
    asked_at = _places_of_question(evidence, place)
    covers = _covers(held, asked_at, evidence)
    similar = _similarities(evidence, place, len(held.names))
    marks = np.round((_share_of_best(covers) + _share_of_best(similar)) / 2, 9)
    if allowed is not None:
        marks[[name not in allowed for name in held.names]] = 0.0
    best = float(marks.max())
    if best <= 0:
        return ()
    chosen = [number for number in np.argsort(-marks, kind="stable").tolist() if marks[number] >= _SHOWN_FROM * best]
    return tuple(
        CapabilityMatch(
            held.names[number],
            _words(held, number, asked_at, evidence),
            round(float(covers[number]), 6),
            round(float(similar[number]), 6),
        )
        for number in chosen[:at_most]
    )


def _places_of_question(evidence: Evidence, place: int) -> list[int]:
    """For each word of the question its position among the service's words, -1 where it has it not."""
    start, end = evidence.candidates.term_starts[place : place + 2].tolist()
    own = evidence.candidates.terms[start:end]
    asked = evidence.asked
    if not len(own):
        return [-1] * len(asked)
    at = np.minimum(np.searchsorted(own, asked), len(own) - 1)
    found: list[int] = np.where(own[at] == asked, at, -1).tolist()
    return found


def _covers(held: Capabilities, asked_at: list[int], evidence: Evidence) -> Numbers:
    """Share of the question's weight that each capability's words hold, 0 to 1."""
    total = evidence.weight or 1.0
    weight = np.zeros(1 << 16)  # as many as a place can name
    for at, idf in zip(asked_at, evidence.idf.tolist(), strict=True):
        if at >= 0:
            weight[at] += idf / total
    sums: Numbers = np.concatenate([np.zeros(1), np.cumsum(weight[held.places])])
    covers: Numbers = np.round(sums[held.starts[1:]] - sums[held.starts[:-1]], 9)
    return covers


def _similarities(evidence: Evidence, place: int, count: int) -> Numbers:
    """Cosine with the question's nearest sentence, 0 for those without a vector."""
    start, end = evidence.candidates.row_starts[place : place + 2].tolist()
    out = np.zeros(count)
    rows = evidence.needs[start + _FIRST_CAPABILITY_ROW : end][:count]
    out[: len(rows)] = np.maximum(rows, 0.0)
    return out


def _words(held: Capabilities, number: int, asked_at: list[int], evidence: Evidence) -> tuple[str, ...]:
    own = set(held.terms_of(number).tolist())
    words = evidence.question.terms.values()
    return tuple(word for word, at in zip(words, asked_at, strict=True) if at in own)


def _share_of_best(values: Numbers) -> Numbers:
    top = float(values.max(initial=0.0))
    return values / top if top > 0 else np.zeros_like(values)
