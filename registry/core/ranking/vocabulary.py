"""The words of a collection as they are written, and those that are spelt nearly like another word.

The statistics know words only by the hashes of their stems; the spelling of a word cannot be corrected without the
words themselves. Distance: optimal string alignment (Levenshtein's distance with swaps of neighbouring letters).
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

SHORTEST: Final = 3
LONGEST: Final = 20
"""Letters of the words that are kept, and of those that can be corrected."""

MOST_WORDS: Final = 200_000
"""Words of one collection; further ones are not kept."""

_REPLACED_FROM: Final = 5
_TWO_EDITS_FROM: Final = 8
"""Letters from which on a letter may be replaced, and from which on two edits are allowed: of shorter words, too many
real ones differ by that. Of three letters, two may be swapped; of four, one may also be missing or too many."""

_LETTER_BITS: Final = 63


class Neighbour(NamedTuple):
    word: str
    edits: int


class _Table(NamedTuple):
    """The words as arrays: `codes` (n, LONGEST) of characters, 0 after the end; `letters`: a bit for each letter."""

    words: list[str]
    lengths: NDArray[np.int64]
    letters: NDArray[np.uint64]
    codes: NDArray[np.uint32]


def is_kept(word: str) -> bool:
    """Return whether a word can be corrected, and be a correction."""
    return SHORTEST <= len(word) <= LONGEST and word.isalpha()


class Vocabulary:
    """Any number of words; they are taken apart when the first neighbours are asked for. Safe in several threads."""

    def __init__(self, encoded: bytes = b"") -> None:
        """`encoded`: what `encode` returned."""
        self._encoded = encoded

    @classmethod
    def of(cls, words: Iterable[str]) -> "Vocabulary":
        return cls(encode(words))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self._encoded == other._encoded

    def __hash__(self) -> int:
        return hash(self._encoded)

    def near(self, word: str) -> list[Neighbour]:
        """Return the words within the edits that the word's length allows, in alphabetical order, without itself."""
        if not is_kept(word):
            return []
        table = self._table
        allowed = 2 if len(word) >= _TWO_EDITS_FROM else 1
        differences = np.bitwise_count(table.letters ^ _letters(word))
        longer = np.abs(table.lengths - len(word))
        is_near = (longer <= 1) & (differences <= 2)
        if allowed > 1:  # two edits only among the words that begin alike, so that few are compared
            begins_alike = table.codes[:, 0] == ord(word[0])
            is_near |= begins_alike & (longer <= allowed) & (differences <= 2 * allowed)
        if len(word) < _REPLACED_FROM:
            is_other_length = (table.lengths != len(word)) & (len(word) > SHORTEST)
            is_near &= is_other_length | ((table.lengths == len(word)) & (differences == 0))
        rows = np.flatnonzero(is_near)
        edits = _distances(word, table.codes[rows], table.lengths[rows])
        return [
            Neighbour(found, count)
            for row, count in zip(rows.tolist(), edits.tolist(), strict=True)
            if 0 < count <= allowed and ((found := table.words[row])[0] == word[0] or count == 1)
        ]

    @cached_property
    def _table(self) -> _Table:
        words = self._encoded.decode("utf-8", "surrogatepass").split("\n") if self._encoded else []
        codes = np.zeros((len(words), LONGEST), np.uint32)
        for row, word in enumerate(words):
            codes[row, : len(word)] = [ord(char) for char in word]
        return _Table(
            words,
            np.array([len(word) for word in words], np.int64),
            np.array([_letters(word) for word in words], np.uint64),
            codes,
        )


def encode(words: Iterable[str]) -> bytes:
    """Return the words that are kept, sorted, as bytes that need little space when compressed."""
    return "\n".join(sorted(filter(is_kept, words))).encode("utf-8", "surrogatepass")


def decode(encoded: bytes) -> set[str]:
    return set(encoded.decode("utf-8", "surrogatepass").split("\n")) if encoded else set()


def _letters(word: str) -> np.uint64:
    bits = 0
    for char in word:
        bits |= 1 << ord(char) % _LETTER_BITS
    return np.uint64(bits)


def _distances(word: str, codes: NDArray[np.uint32], lengths: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return (n,) the distance of the word to each of n words: Damerau's recurrence, all words at once."""
    count, width = len(codes), int(lengths.max(initial=0))
    previous = np.tile(np.arange(width + 1, dtype=np.int16), (count, 1))
    before_previous = previous
    for row, char in enumerate(map(ord, word), start=1):
        current = np.empty_like(previous)
        current[:, 0] = row
        for column in range(1, width + 1):
            differs = codes[:, column - 1] != char
            best = np.minimum(previous[:, column], current[:, column - 1]) + 1
            np.minimum(best, previous[:, column - 1] + differs, out=best)
            if row > 1 and column > 1:
                is_swap = (codes[:, column - 2] == char) & (codes[:, column - 1] == ord(word[row - 2]))
                best = np.where(is_swap, np.minimum(best, before_previous[:, column - 2] + 1), best)
            current[:, column] = best
        before_previous, previous = previous, current
    distances: NDArray[np.int16] = previous[np.arange(count), lengths]
    return distances
