"""Which capabilities of a service answer the question: those that hold its words and point where it points."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from registry.core.listing import CapabilityMatch
from registry.core.ranking.evidence import Evidence
from registry.core.ranking.record import term_ids

_SHOWN_FROM: Final = 0.6
"""Share of the best capability's mark."""

SHOWN_AT_MOST: Final = 3

_FIRST_CAPABILITY_ROW: Final = 2
"""Rows of a service's vectors: all of it, its own text, then the capabilities."""


def matching_capabilities(evidence: Evidence, place: int, at_most: int = SHOWN_AT_MOST) -> tuple[CapabilityMatch, ...]:
    """Those nearly as good as the best one, best first, else in the listing's order.

    None where nothing speaks for any: only the service's own text matched, and no vectors are there.
    """
    held = evidence.candidates.capabilities(place)
    similar = _similarities(evidence, place, len(held.names))
    covers, words = _covers(evidence, place)
    if not held.names:
        return ()
    marks = np.round((_share_of_best(covers) + _share_of_best(similar)) / 2, 9)
    best = float(marks.max())
    chosen = [number for number in np.argsort(-marks, kind="stable").tolist() if marks[number] >= _SHOWN_FROM * best]
    return tuple(
        CapabilityMatch(
            held.names[number],
            tuple(words[number]),
            round(float(covers[number]), 6),
            round(float(similar[number]), 6),
        )
        for number in chosen[:at_most]
        if best > 0
    )


def _share_of_best(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    top = float(values.max(initial=0.0))
    return values / top if top > 0 else np.zeros_like(values)


def _similarities(evidence: Evidence, place: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Cosine with the question's nearest sentence, 0 for those without a vector."""
    start, end = (int(at) for at in evidence.candidates.row_starts[place : place + 2])
    out = np.zeros(count)
    rows = evidence.needs[start + _FIRST_CAPABILITY_ROW : end][:count]
    out[: len(rows)] = np.maximum(rows, 0.0)
    return out


def _covers(
    evidence: Evidence, place: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], Mapping[int, list[str]]]:
    """Share of the question's weight that each capability's words hold, and which words of the question they are."""
    candidates, terms = evidence.candidates, evidence.question.terms
    start, end = (int(at) for at in candidates.term_starts[place : place + 2])
    own = candidates.terms[start:end]
    held = candidates.capabilities(place)
    covers = np.zeros(len(held.names))
    words: dict[int, list[str]] = {number: [] for number in range(len(held.names))}
    total = float(evidence.idf.sum()) or 1.0
    for term, word, idf in zip(term_ids(list(terms)), terms.values(), evidence.idf, strict=True):
        at = int(np.searchsorted(own, term))
        if at == len(own) or own[at] != term:
            continue
        for number in (np.searchsorted(held.starts, np.flatnonzero(held.places == at), side="right") - 1).tolist():
            covers[number] += idf / total
            words[number].append(word)
    return covers, words
