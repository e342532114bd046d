"""Which capabilities of a service answer the query: those that hold its words and whose vectors are near it."""

from collections.abc import Collection
from itertools import pairwise
from typing import Final

from registry.core.model.listing import CapabilityMatch
from registry.core.ranking.features import DECIMALS, Features, MatchedTerms
from registry.core.ranking.record import Capabilities

_SHOWN_FROM: Final = 0.6
"""Least share of the best capability's mark that is shown."""

_MARKS: Final = 5e8
"""Marks are integers, the best 1e9: equal texts must stay equal, in whatever order numbers were added up."""

_SHOWN: Final = 10.0**DECIMALS
"""Factor for rounding: `round(number, DECIMALS)` costs five times as much, because it goes through decimal digits."""

SHOWN_AT_MOST: Final = 3

_FIRST_CAPABILITY_ROW: Final = 2
"""Rows of a service's vectors: the whole service, its own text, then the capabilities."""


def matching_capabilities(
    features: Features,
    candidate: int,
    terms: MatchedTerms,
    at_most: int = SHOWN_AT_MOST,
    allowed: Collection[str] | None = None,
) -> tuple[CapabilityMatch, ...]:
    """Return the capabilities nearly as good as the best one, best first; only `allowed` names, if given.

    Equals keep the listing's order. Empty if none matches: only the service's own text did, and there are no vectors.
    `terms` are the query's words that the service holds.
    """
    capabilities = features.candidates.capabilities(candidate)
    if not capabilities.names:
        return ()
    matched_positions = _matched_positions(capabilities, terms)
    covers = [sum([terms[position][1] for position in sorted(positions)]) for positions in matched_positions]
    similarities = _similarities(features, candidate, len(capabilities.names))
    best_cover, best_similarity = max(covers) or 1.0, max(similarities) or 1.0  # 0 for the best means 0 for all
    marks = [
        round(_MARKS * (cover / best_cover + similarity / best_similarity))
        for cover, similarity in zip(covers, similarities, strict=True)
    ]
    if allowed is not None:
        marks = [mark if name in allowed else 0 for mark, name in zip(marks, capabilities.names, strict=True)]
    best = max(marks)
    if best <= 0:
        return ()
    chosen = [index for index, mark in enumerate(marks) if mark >= _SHOWN_FROM * best]
    chosen.sort(key=lambda index: -marks[index])
    return tuple(
        CapabilityMatch(
            capabilities.names[index],
            tuple([word for position, (word, _) in terms.items() if position in matched_positions[index]]),
            round(_SHOWN * covers[index]) / _SHOWN,
            round(_SHOWN * similarities[index]) / _SHOWN,
        )
        for index in chosen[:at_most]
    )


def _matched_positions(capabilities: Capabilities, terms: MatchedTerms) -> list[set[int]]:
    """Return which of the positions in `terms` the words of each capability hold."""
    if not terms:
        return [set()] * len(capabilities.names)
    positions, starts = capabilities.places.tolist(), capabilities.starts.tolist()
    return [terms.keys() & positions[start:end] for start, end in pairwise(starts)]


def _similarities(features: Features, candidate: int, count: int) -> list[float]:
    """Return the cosine of each with the query's nearest sentence, 0 for those without a vector."""
    start, end = features.candidates.row_starts[candidate : candidate + 2].tolist()
    cosines = features.needs[start + _FIRST_CAPABILITY_ROW : end][:count].tolist()
    return [max(0.0, cosine) for cosine in cosines] + [0.0] * (count - len(cosines))
