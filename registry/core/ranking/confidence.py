"""Decide whether a service, or one capability of it, answers a question: by absolute values, not by rank.

Relevance cannot tell an answer: the best candidate for nonsense has a high one. The geometric mean of the share of
matched words and of the cosine can; neither suffices alone: users choose other words, and vectors are often near.
"""

from math import sqrt
from typing import Final

_BOTH_WEIGHT: Final = 0.5
_TOPIC_WEIGHT: Final = 0.25
_NEED_WEIGHT: Final = 0.25
"""Weights, proportional to the weights of a logistic regression on the questions in benchmarks/search-lab.md."""

_MEANING_NEED: Final = 0.54
_MEANING_TOPIC: Final = 0.36
"""Weights of the meaning alone, for a question in another language than English."""

_THRESHOLD: Final = 0.45
_COVER_THRESHOLD: Final = 0.45
"""Least confidence of an answer, with and without vectors."""


def confidence_of(cover: float, need: float, topic: float, *, in_english: bool) -> float:
    """Return the confidence, 0 to 1. `cover`: matched share of the question's weight. `need`: cosine with the part that
    answers, at least 0; `topic`: with the service as a whole. The words of a question that is not `in_english` match no
    English text, however well that answers it: there the meaning alone may suffice."""
    topic = max(0.0, topic)
    confidence = _BOTH_WEIGHT * sqrt(cover * need) + _TOPIC_WEIGHT * topic + _NEED_WEIGHT * need
    return confidence if in_english else max(confidence, _MEANING_NEED * need + _MEANING_TOPIC * topic)


def suffices(confidence: float, *, has_vectors: bool) -> bool:
    return confidence >= (_THRESHOLD if has_vectors else _COVER_THRESHOLD)
