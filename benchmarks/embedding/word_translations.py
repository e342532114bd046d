"""English words for the pieces of the other languages, from the pairs of texts alone: IBM model 1 (Brown et al. 1993).

In each pair, every English word is caused by one of the foreign pieces, or by none. How often a piece causes a word is
estimated by expectation maximisation.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

WORDS: Final = 3  # English words of a piece
_ROUNDS: Final = 6
_READ: Final = 14  # words and pieces of a text
_LEAST_SHARE: Final = 0.1
_LEAST_TIMES: Final = 1.0
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_USABLE: Final = re.compile("[a-z]{2,20}")
_MOST_NAMES: Final = 200_000


def english_words(
    pairs: Sequence[Sequence[tuple[str, Sequence[int]]]],
    pieces: int,
    meaningful: Collection[int],
    stop: Collection[str],
) -> tuple[NDArray[np.uint16], list[str]]:
    """Return (pieces, WORDS) numbers of English words, most frequent first, 0 for none, and the words by number.

    `pairs`: per language, the English text and the numbers of the foreign pieces. `meaningful`: the pieces that may
    have words. `stop`: English words that no piece gets.
    """
    numbers: dict[str, int] = {"": 0}
    times: dict[int, float] = {}
    for language in pairs:
        keys, counts = _counts(language, pieces, numbers)
        for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
            times[key] = times.get(key, 0.0) + count
    names = list(numbers)
    keys = np.array(sorted(times), np.int64)
    counts = np.array([times[key] for key in keys.tolist()])
    foreign, english = keys // _MOST_NAMES, keys % _MOST_NAMES
    shares = counts / (np.bincount(foreign, counts, pieces + 1)[foreign] + 0.5)
    usable = np.array([bool(_USABLE.fullmatch(name)) and name not in stop for name in names])
    may = np.zeros(pieces + 1, bool)
    may[list(meaningful)] = True
    chosen = (shares >= _LEAST_SHARE) & (counts >= _LEAST_TIMES) & may[foreign] & usable[english]
    foreign, english, shares = foreign[chosen], english[chosen], shares[chosen]
    order = np.lexsort((english, -shares, foreign))
    table = np.zeros((pieces, WORDS), "<u2")
    kept = {0: 0}
    for piece, word in zip(foreign[order].tolist(), english[order].tolist(), strict=True):
        free = np.flatnonzero(table[piece] == 0)
        if len(free):
            table[piece, free[0]] = kept.setdefault(word, len(kept))
    return table, [names[word] for word in kept]


def _counts(
    pairs: Sequence[tuple[str, Sequence[int]]], pieces: int, numbers: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return piece and English word as one number, and how often the piece caused the word."""
    foreign_parts, english_parts, owners, total = [], [], [], 0
    for text, read in pairs:
        words = [numbers.setdefault(word, len(numbers)) for word in _WORD.findall(text.lower())][:_READ]
        causes = np.array([*read[:_READ], pieces])  # the last one: no piece
        if len(causes) > 1 and words:
            foreign_parts.append(np.tile(causes, len(words)))
            english_parts.append(np.repeat(np.array(words), len(causes)))
            owners.append(total + np.repeat(np.arange(len(words)), len(causes)))
            total += len(words)
    keys = np.concatenate(foreign_parts) * _MOST_NAMES + np.concatenate(english_parts)
    owner = np.concatenate(owners)
    distinct, place = np.unique(keys, return_inverse=True)
    cause = distinct // _MOST_NAMES
    likely: NDArray[Any] = np.ones(len(distinct))
    counts: NDArray[Any] = likely
    for _ in range(_ROUNDS):
        weights = likely[place]
        weights /= np.bincount(owner, weights, total)[owner]
        counts = np.bincount(place, weights, len(distinct))
        likely = counts / (np.bincount(cause, counts, pieces + 1)[cause] + 0.5)
    return distinct, counts
