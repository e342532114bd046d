"""Explain the rank of one service in the query's own words."""

from collections.abc import Collection

from registry.core.model.listing import Hit
from registry.core.ranking.capabilities import MAX_SHOWN, matching_capabilities
from registry.core.ranking.copies import SHOWN_COPIES, FoldedHosts
from registry.core.ranking.rank import Ranking, evidence


def explain(
    ranking: Ranking, position: int, capabilities: int = MAX_SHOWN, allowed: Collection[str] | None = None
) -> Hit:
    """Return the hit at `position` of the order, 0 = best. `allowed` names, if given, limit the capabilities shown."""
    candidate = ranking.order[position]
    features = ranking.features
    terms = features.matched_terms(candidate)
    found = evidence(features, candidate)
    alike = ranking.alike.get(candidate, FoldedHosts())
    copies = features.candidates.copies(candidate)
    return Hit(
        host=features.candidates.hosts[candidate],
        relevance=float(ranking.relevance[candidate]),
        matched_terms=tuple([word for word, _ in terms.values()]),
        capabilities=matching_capabilities(features, candidate, terms, capabilities, allowed),
        parts={name: float(values[candidate]) for name, values in ranking.parts.items()},
        alike=(*alike.hosts, *copies.hosts)[:SHOWN_COPIES] if alike.hosts else copies.hosts,
        alike_total=alike.total + copies.total,
        cover=found.cover,
        similarity=found.similarity,
        confident=found.is_confident,
        confidence=found.confidence,
    )
