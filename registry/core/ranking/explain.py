"""Why a service stands where it does, in the question's own words."""

from collections.abc import Collection

from registry.core.listing import Hit
from registry.core.ranking import confidence
from registry.core.ranking.capabilities import SHOWN_AT_MOST, matching_capabilities
from registry.core.ranking.rank import Ranking


def explain(
    ranking: Ranking, place: int, capabilities: int = SHOWN_AT_MOST, allowed: Collection[str] | None = None
) -> Hit:
    """The hit at `place` of the order, 0 = best, with at most so many capabilities, of the `allowed` names if given."""
    at = ranking.order[place]
    evidence = ranking.evidence
    asked = evidence.asked_of(at)
    cover = confidence.cover(evidence, at)
    similarity = confidence.similarity(evidence, at)
    return Hit(
        host=evidence.candidates.hosts[at],
        relevance=float(ranking.relevance[at]),
        matched_terms=tuple([word for word, _ in asked.values()]),
        capabilities=matching_capabilities(evidence, at, asked, capabilities, allowed),
        parts={name: float(values[at]) for name, values in ranking.parts.items()},
        alike=ranking.alike.get(at, ()),
        cover=cover,
        similarity=similarity,
        confident=confidence.confident(cover, similarity, has_vectors=evidence.question.whole is not None),
    )
