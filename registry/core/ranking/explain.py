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
    words = zip(evidence.question.terms.values(), evidence.places[:, at].tolist(), strict=True)
    cover = round(confidence.cover(evidence, at), 6)
    similarity = round(confidence.similarity(evidence, at), 6)
    return Hit(
        host=evidence.candidates.hosts[at],
        relevance=float(ranking.relevance[at]),
        matched_terms=tuple([word for word, held_at in words if held_at >= 0]),
        capabilities=matching_capabilities(evidence, at, capabilities, allowed),
        parts={name: float(values[at]) for name, values in ranking.parts.items()},
        alike=ranking.alike.get(at, ()),
        cover=cover,
        similarity=similarity,
        confident=confidence.confident(cover, similarity, has_vectors=evidence.question.whole is not None),
    )
