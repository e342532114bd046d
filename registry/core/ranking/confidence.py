"""Decide whether a hit answers the query at all. The relevance cannot: the best candidate has a high one for nonsense.

Absolute values can: the share of the query's weight that the candidate's words match, and its cosines. Neither does
alone. Of a request in words of its own, a service holds few; and the nearest vector is near for many a question that it
does not answer. Their geometric mean asks for both.
"""

from math import sqrt
from typing import Final, NamedTuple

from registry.core.ranking.closer import says_the_reverse
from registry.core.ranking.features import Features
from registry.core.ranking.naming import addressed

_BOTH_WEIGHT: Final = 0.4
_TOPIC_WEIGHT: Final = 0.35
_NEED_WEIGHT: Final = 0.25
"""Weights, proportional to those of a logistic regression: docs/search-lab.md says on which questions."""

THRESHOLD: Final = 0.44
_COVER_THRESHOLD: Final = 0.45
"""Least confidence of an answer, with and without vectors."""

_ALL: Final = 0.999
"""Cover of a question all of whose words match."""


class Evidence(NamedTuple):
    """`cover`: the share of the query's idf that the candidate's words match. `similarity`: the cosine of the query
    with the candidate's nearest row, at least 0. `confidence`: both, and more, in one number. All 0 to 1."""

    cover: float
    similarity: float
    confidence: float
    is_confident: bool


def evidence(features: Features, candidate: int) -> Evidence:
    """Return the evidence that the candidate answers the query. One that says the reverse ("X to Y") does not.

    Words count only if one of them is what the question is about, not what is to be done with it. A service whose host
    the question names answers it.
    """
    cover, similarity = float(features.covers[candidate]), float(features.nearest[candidate])
    candidates = features.candidates
    if candidates.named and candidate in addressed(candidates.hosts, candidates.named, features.question.names):
        return Evidence(cover, similarity, 1.0, True)
    confidence, threshold = cover, _COVER_THRESHOLD
    if features.question.whole is not None:
        need, topic = float(features.need[candidate]), max(0.0, float(features.topic[candidate]))
        matched = max(cover, float(features.sentence_covers[candidate])) if features.on_object[candidate] else 0.0
        confidence = _BOTH_WEIGHT * sqrt(matched * need) + _TOPIC_WEIGHT * topic + _NEED_WEIGHT * need
        threshold = THRESHOLD
        if features.question.is_name and cover >= _ALL:
            confidence = cover  # the vector of a word that the model does not know says nothing
    is_confident = confidence >= threshold and not says_the_reverse(features, candidate)
    return Evidence(cover, similarity, round(confidence, 6), is_confident)
