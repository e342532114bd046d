"""Order the candidates by a sum of weighted signals, and decide whether a hit answers the query at all.

Each signal is divided by the best value in the pool and squared. A sum of max-normalised scores (a weighted CombSUM,
Fox and Shaw 1994) keeps the distances that a fusion of ranks discards; squaring separates cosines, which are close
together. The first candidates get the absolute part `together` (capabilities.py) for words in one place.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from registry.core.model.listing import Hit
from registry.core.ranking.capabilities import MAX_SHOWN, close_look, matching_capabilities, says_the_reverse
from registry.core.ranking.confidence import confidence_of, suffices
from registry.core.ranking.copies import IN_DOUBT, SHOWN_COPIES, FoldedHosts
from registry.core.ranking.features import Features, Numbers, extract_features
from registry.core.ranking.naming import addressed
from registry.core.ranking.parsed_query import ParsedQuery
from registry.core.ranking.record import CandidateSet, CorpusStats
from registry.core.ranking.signals import SIGNALS
from registry.core.wording.language import ENGLISH

TOGETHER: Final = "together"  # name of the part that is added after a closer look
_LOOKED_AT: Final = 12  # candidates that are looked at closely. Looking at all would cost more than everything else.
_TOGETHER_SHORT: Final = 0.45
_SHORT_TERMS: Final = 2
_MANY_TERMS: Final = 6
_TOGETHER_LONG: Final = 0.2
"""Weight of `together` for a question of one sentence and up to two terms, and for a question of several sentences. It
falls with every further term, to zero above `_MANY_TERMS`: a service answers a long question with other words."""

_REVERSED: Final = 0.5
"""Factor for a service whose texts name the direction of the question ("X to Y") only the other way round."""

_MIN_SHARE: Final = 0.2
"""Least share of the first one's relevance. benchmarks/search-lab.md has the figures for other shares."""

_DECIMALS = 9  # rounding keeps equal texts equal: sums in another order may differ after the fifteenth decimal


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """`order`: positions in `features.candidates`, best first; candidates that do not match are left out. `relevance`
    (n,), 0 to 1, is the sum of `parts`, which has the names of SIGNALS and TOGETHER as keys. `alike`: position -> hosts
    folded into that hit (collapsing.py)."""

    features: Features
    parts: Mapping[str, Numbers]
    relevance: Numbers
    order: tuple[int, ...]
    alike: Mapping[int, FoldedHosts] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.order)

    @property
    def hosts(self) -> list[str]:
        """The hosts of `order`, best first."""
        return [self.features.candidates.hosts[candidate] for candidate in self.order]


def rank(question: ParsedQuery, candidates: CandidateSet, stats: CorpusStats) -> Ranking:
    """Rank the candidates. The order is total: relevance, then the services whose identity is not in doubt, then
    what can be called, then the listing's score (both descending), then the host. It does not depend on the order of
    the candidates. If a signal is 0 for all of them, for example without vectors, the others share its weight."""
    features = extract_features(question, candidates, stats)
    raw = np.maximum(np.stack([signal.of(features) for signal in SIGNALS]), 0.0)
    tops = raw.max(axis=1, initial=0.0)
    weights = np.where(tops > 0, [signal.weight_for(question) for signal in SIGNALS], 0.0)
    normalised = raw / np.where(tops > 0, tops, 1.0)[:, None]
    parts = normalised * normalised * (weights / (weights.sum() or 1.0))[:, None]
    share = _weight_together(question)
    first = _order(np.round(parts.sum(axis=0), _DECIMALS), candidates)[:_LOOKED_AT] if share or question.ways else ()
    together = _score_together(features, first) if share else np.zeros(len(candidates))
    parts = np.vstack([parts * (1 - share), together * together * share])
    parts[:, [candidate for candidate in first if says_the_reverse(features, candidate)]] *= _REVERSED
    parts = np.round(parts, _DECIMALS)
    relevance = np.round(parts.sum(axis=0), _DECIMALS)
    names = [*(signal.name for signal in SIGNALS), TOGETHER]
    return Ranking(features, dict(zip(names, parts, strict=True)), relevance, _order(relevance, candidates))


def _score_together(features: Features, first: Sequence[int]) -> Numbers:
    """Return (n,), 0 to 1: the share of the question's weight that the best place of a candidate matches, 0 for those
    after the `first`. For a question of several sentences, the best cover of one of them by all of a candidate."""
    if features.question.sentences:
        return features.sentence_covers
    values = np.zeros(len(features.candidates))
    matched = np.count_nonzero(features.places >= 0, axis=0)
    several = matched >= 2  # a single word stands in some place, so that place matches all that the candidate matches
    values[list(first)] = features.covers[list(first)]
    for candidate in first:
        if several[candidate]:
            values[candidate] = close_look(features, candidate).covers.max()
    return values * features.verb_alone


def _weight_together(question: ParsedQuery) -> float:
    if question.sentences:
        return _TOGETHER_LONG
    terms = max(1, len(question.terms))
    return _TOGETHER_SHORT * min(1.0, _SHORT_TERMS / terms) ** 2 if terms <= _MANY_TERMS else 0.0


def browse(candidates: CandidateSet, stats: CorpusStats) -> Ranking:
    """Rank by score alone, without a query; services whose identity is in doubt after the others of a score."""
    features = extract_features(ParsedQuery("", {}), candidates, stats)
    zeros = np.zeros(len(candidates))
    is_doubtful = candidates.standings.levels == IN_DOUBT
    by_score = sorted(
        range(len(candidates)), key=lambda one: (-candidates.scores[one], is_doubtful[one], candidates.hosts[one])
    )
    return Ranking(features, {}, zeros, tuple(by_score))


def answers(ranking: Ranking) -> Ranking:
    """Return the ranking without the candidates far below the first one, which only fill the list."""
    if not ranking.order:
        return ranking
    descending = ranking.relevance[list(ranking.order)]
    kept = int(np.count_nonzero(descending >= _MIN_SHARE * descending[0]))
    return replace(ranking, order=ranking.order[:kept])


def with_named(ranking: Ranking) -> Ranking:
    """Return the ranking with all services that the question names: those addressed by host or domain first, others
    where they rank, and last if they do not match at all."""
    candidates, names = ranking.features.candidates, ranking.features.question.names
    if not candidates.named:
        return ranking
    first = addressed(candidates.hosts, candidates.named, names)
    order = dict.fromkeys((*first, *ranking.order, *candidates.named))
    return replace(ranking, order=tuple(order))


def _order(relevance: Numbers, candidates: CandidateSet) -> tuple[int, ...]:
    matching = np.flatnonzero(relevance > 0)
    relevance_keys, score_keys = -relevance[matching], -candidates.scores[matching]
    order = np.argsort(relevance_keys, kind="stable")
    tied = np.flatnonzero(np.diff(relevance_keys[order]) == 0)
    if len(tied):
        hosts = np.array([candidates.hosts[candidate] for candidate in matching.tolist()], np.object_)
        uncalled = np.zeros(len(matching), np.bool_)
        for place in np.union1d(order[tied], order[tied + 1]).tolist():
            uncalled[place] = not candidates.capabilities(int(matching[place])).called.any()
        is_doubtful = candidates.standings.levels[matching] == IN_DOUBT  # guard: doubtful-after-equals
        order = np.lexsort((hosts, score_keys, uncalled, is_doubtful, relevance_keys))
    return tuple(matching[order].tolist())


_ALL: Final = 0.999  # cover of a question all of whose words match


class MatchEvidence(NamedTuple):
    """`cover`: the share of the query's idf that the candidate's words match. `similarity`: the cosine of the query
    with the candidate's nearest row, at least 0. `confidence`: both, and more, in one number. All 0 to 1."""

    cover: float
    similarity: float
    confidence: float
    is_confident: bool


def evidence(features: Features, candidate: int) -> MatchEvidence:
    """Return the evidence that the candidate answers the query. A candidate for the reverse ("X to Y") does not. Words
    count only if one of them is an object of the question, not its action. A service whose host the question names
    answers it."""
    cover, similarity = float(features.covers[candidate]), float(features.nearest[candidate])
    candidates = features.candidates
    if candidates.named and candidate in addressed(candidates.hosts, candidates.named, features.question.names):
        return MatchEvidence(cover, similarity, 1.0, True)
    confidence, has_vectors = cover, features.question.whole is not None
    if has_vectors:
        matched = max(cover, float(features.sentence_covers[candidate])) if features.on_object[candidate] else 0.0
        need, topic = float(features.need[candidate]), float(features.topic[candidate])
        confidence = confidence_of(matched, need, topic, in_english=features.question.language == ENGLISH)
        if features.question.is_name and cover >= _ALL:
            confidence = cover  # the vector of a word that the model does not know says nothing
    is_confident = suffices(confidence, has_vectors=has_vectors) and not says_the_reverse(features, candidate)
    return MatchEvidence(cover, similarity, round(confidence, 6), is_confident)


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
