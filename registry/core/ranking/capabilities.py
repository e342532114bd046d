"""Find the capabilities of a service that answer the query, and look closely at one candidate.

A capability answers if it holds the query's words and its vector is near. A service of fifty capabilities holds most
words somewhere, so the closer look asks which words stand together in one capability or in the description.
"""

from collections.abc import Collection
from functools import lru_cache
from typing import Final

import numpy as np

from registry.core.model.listing import CapabilityMatch
from registry.core.ranking import actions
from registry.core.ranking.actions import RequestedAction
from registry.core.ranking.confidence import confidence_of, suffices
from registry.core.ranking.features import DECIMALS, CloseLook, Features, MatchedTerms
from registry.core.ranking.record import Capabilities
from registry.core.reading.plain_text import split_name
from registry.core.wording.language import ENGLISH
from registry.core.wording.text import stem_words, words


def close_look(features: Features, candidate: int) -> CloseLook:
    """Return the look at a candidate; it is taken once for each answer."""
    if (known := features.looks.get(candidate)) is not None:
        return known
    capabilities = features.candidates.capabilities(candidate)
    start, end = features.candidates.term_starts[candidate : candidate + 2].tolist()
    weights = np.zeros(end - start)
    for place, (_, share) in features.matched_terms(candidate).items():
        weights[place] = share
    sums = np.zeros(len(capabilities.places) + 1)
    weights.take(capabilities.places, mode="clip").cumsum(out=sums[1:])
    totals = sums.take(capabilities.starts, mode="clip")
    covers = (totals[1:] - totals[:-1]).round(DECIMALS)
    is_reverse = bool(features.both_ends[candidate]) and _is_reverse(features, candidate, capabilities)
    look = features.looks[candidate] = CloseLook(capabilities, covers, is_reverse)
    return look


def says_the_reverse(features: Features, candidate: int) -> bool:
    """Return whether the candidate's texts name a direction of the query ("HTML to PDF") only the other way round."""
    return bool(features.both_ends[candidate]) and close_look(features, candidate).is_reverse


def _is_reverse(features: Features, candidate: int, capabilities: Capabilities) -> bool:
    place_of = dict(zip(features.question.terms, features.places[:, candidate].tolist(), strict=True))
    pairs = [(place_of.get(first, -1), place_of.get(second, -1)) for first, second in features.question.ways]
    asked = {(source, target) for source, target in pairs if source >= 0 and target >= 0}
    told = set(map(tuple, capabilities.ways.tolist()))
    return asked.isdisjoint(told) and any((target, source) in told for source, target in asked)


_SHOWN_FROM: Final = 0.6  # least share of the best capability's mark that is shown
_SIMILARITY: Final = 1.0
"""Weight of the cosine relative to the share of the query's words. Neither is normalised: if the best capability holds
few of the words, the meaning decides."""

_SAME_ACTION: Final = 1.2
_LIKELY_ACTION: Final = 1.1
_OTHER_ACTION: Final = 0.9
_MAKING: Final = frozenset({RequestedAction.CREATE, RequestedAction.SCHEDULE, RequestedAction.SEND})
"""Factors of a capability's mark, see `_action_factor`. Between them and 1, results hardly change."""

_NOT_CALLED: Final = 0.98
"""Factor for a capability without a call: of nearly equal ones, what can be called comes first."""

_UNASKED_WORD: Final = 0.02
_UNASKED_WORDS: Final = 4
"""Loss of the mark for each word of a name that the query lacks, and how many words count: `address_only_geocode` is a
special case of `geocode`."""

_MARKS: Final = 1e9  # marks are integers: equal texts must stay equal, in any order of addition
_SHOWN: Final = 10.0**DECIMALS
"""Factor for rounding: `round(number, DECIMALS)` costs five times as much, because it goes through decimal digits."""

MAX_SHOWN: Final = 3

_FIRST_CAPABILITY_ROW: Final = 2  # rows of a service's vectors: the whole service, its own text, then the capabilities


def matching_capabilities(
    features: Features,
    candidate: int,
    terms: MatchedTerms,
    at_most: int = MAX_SHOWN,
    allowed: Collection[str] | None = None,
) -> tuple[CapabilityMatch, ...]:
    """Return the capabilities nearly as good as the best one, best first; only `allowed` names, if given. Equals keep
    the listing's order. Empty if none matches: only the service's own text did, and there are no vectors. `terms` are
    the query's words that the service holds."""
    look = close_look(features, candidate)
    names = look.capabilities.names
    if not names:
        return ()
    covers = look.covers[1:].tolist()
    start, end = features.candidates.row_starts[candidate : candidate + 2].tolist()
    cosines = features.needs[start + _FIRST_CAPABILITY_ROW : end][: len(names)].tolist()
    # the cosine of each with the query's nearest sentence; without a vector, as near as its words suggest
    similarities = [max(0.0, cosine) for cosine in cosines]
    nearest = max(similarities, default=0.0)
    similarities += [nearest * cover for cover in covers[len(cosines) :]]
    question = features.question.text
    asked, likely = actions.action_of_question(question), actions.likely_action(question)
    asked_terms = _terms_of(question)
    marks: list[int] = []
    called = look.capabilities.called.tolist()
    last: set[int] = set()  # what removes or stops something, unasked
    for index, (cover, similarity, name) in enumerate(zip(covers, similarities, names, strict=True)):
        objects, action, removing = _read_name(name)
        unasked = min(_UNASKED_WORDS, len(objects - asked_terms))
        factor = _action_factor(asked, likely, action) / (1 + _UNASKED_WORD * unasked)
        mark = round(_MARKS * (cover + _SIMILARITY * similarity) * factor * (1.0 if called[index] else _NOT_CALLED))
        marks.append(mark if allowed is None or name in allowed else 0)
        if action is RequestedAction.REMOVE and asked is not action and asked_terms.isdisjoint(removing):
            last.add(index)
    best = max((mark for index, mark in enumerate(marks) if index not in last), default=0) or max(marks)
    if best <= 0:
        return ()
    chosen = [index for index, mark in enumerate(marks) if mark >= _SHOWN_FROM * best]
    chosen.sort(key=lambda index: (index in last, -marks[index]))
    matches: list[CapabilityMatch] = []
    may_answer = not says_the_reverse(features, candidate)
    has_vectors = features.question.whole is not None
    for index in chosen[:at_most]:
        start, end = look.capabilities.starts[index + 1 : index + 3].tolist()
        places = set(look.capabilities.places[start:end].tolist())
        words_in_it = tuple([word for place, (word, _) in terms.items() if place in places])
        similarity = round(_SHOWN * similarities[index]) / _SHOWN
        is_same = asked is not None and actions.action_of_capability(names[index]) is asked
        confidence = _confidence(features, candidate, words_in_it, covers[index], similarity, is_same=is_same)
        is_confident = may_answer and index not in last and suffices(confidence, has_vectors=has_vectors)
        matches.append(CapabilityMatch(names[index], words_in_it, covers[index], similarity, is_confident, confidence))
    return tuple(matches)


def _confidence(
    features: Features, candidate: int, matched: Collection[str], cover: float, similarity: float, *, is_same: bool
) -> float:
    """Return the confidence in a capability, from its own cover and cosine. The verb of a question does not count
    without one of its objects; with one, it is matched by the same action ("book a table", `reserve_table`)."""
    question = features.question
    if question.objects:
        if not any(question.terms[stem] in matched for stem in question.objects):
            cover = 0.0
        elif is_same:
            verb = actions.head_verb(question.text)
            cover += sum(share for word, share in features.shares if word == verb and word not in matched)
    if question.whole is None:
        return cover
    is_english = question.language == ENGLISH
    confidence = confidence_of(cover, similarity, float(features.topic[candidate]), in_english=is_english)
    return round(_SHOWN * confidence) / _SHOWN


def _action_factor(
    asked: RequestedAction | None, likely: RequestedAction | None, action: RequestedAction | None
) -> float:
    """Return the factor: more for the requested action; less for another one."""
    if action is None:
        return 1.0
    if asked is None:
        is_likely = action is likely or (likely is RequestedAction.CREATE and action in _MAKING)
        return _LIKELY_ACTION if is_likely else 1.0
    return _SAME_ACTION if action is asked else _OTHER_ACTION


@lru_cache(maxsize=1_000)
def _terms_of(question: str) -> frozenset[str]:
    return frozenset(stem_words(words(question)))


@lru_cache(maxsize=20_000)
def _read_name(name: str) -> tuple[frozenset[str], RequestedAction | None, frozenset[str]]:
    """Return the stems of a name's words without verbs of APIs, its action, and the stems of its removing verbs."""
    objects = stem_words([word for word in words(split_name(name)) if word not in actions.ACTION_OF])
    removing = stem_words(list(actions.removing_words(name)))
    return frozenset(objects), actions.action_of_capability(name), frozenset(removing)
