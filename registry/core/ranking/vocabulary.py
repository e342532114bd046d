"""The words of a collection as written, and a search for words with nearly the same spelling.

The statistics know words only by the hashes of their stems; the spelling of a word cannot be corrected without the
words themselves. Distance: optimal string alignment (Levenshtein's distance with swaps of neighbouring letters).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import OSA

MIN_CHARS: Final = 3
MAX_CHARS: Final = 20
"""Maximum letters of a kept word, and of a word that can be corrected."""

MOST_WORDS: Final = 200_000  # words of one collection; further ones are not kept
REPLACED_FROM: Final = 5
_TWO_EDITS_FROM: Final = 8
"""Letters from which on any letter may be replaced, and from which on two edits are allowed: of shorter words, too many
real ones differ by that. Of four letters, one may be missing, too many, or replaced by a key beside it; of three, one
after the first may be missing. Of all, two may be swapped. The first letter is replaced by a key beside it only."""

_KEY_ROWS: Final = (("qwertyuiop", 0.0), ("asdfghjkl", 0.25), ("zxcvbnm", 0.75))
_KEYS: Final = {
    key: (row, column + shift) for row, (keys, shift) in enumerate(_KEY_ROWS) for column, key in enumerate(keys)
}
"""Where the letters are on a keyboard: rows, and columns with the shift of the row."""

_LETTER_BITS: Final = 63


class Neighbour(NamedTuple):
    word: str
    edits: int


class _Table(NamedTuple):
    """The words, and three arrays about them: `letters` has a bit for each letter, `firsts` the first character."""

    words: list[str]
    lengths: NDArray[np.int64]
    letters: NDArray[np.uint64]
    firsts: NDArray[np.uint32]


def is_kept(word: str) -> bool:
    """Return whether a word can be corrected, and be a correction."""
    return MIN_CHARS <= len(word) <= MAX_CHARS and word.isalpha()


@dataclass(frozen=True)
class Vocabulary:
    """Any number of words; they are taken apart when the first neighbours are asked for. Safe in several threads.
    `encoded`: the words that are kept, sorted, as bytes that need little space when compressed."""

    encoded: bytes = b""

    @classmethod
    def of(cls, words: Iterable[str]) -> "Vocabulary":
        return cls.of_sorted(sorted(filter(is_kept, words)))

    @classmethod
    def of_sorted(cls, words: Iterable[str]) -> "Vocabulary":
        """Return the vocabulary of sorted words that are all kept."""
        return cls("\n".join(words).encode("utf-8", "surrogatepass"))

    def words(self) -> list[str]:
        return self.encoded.decode("utf-8", "surrogatepass").split("\n") if self.encoded else []

    def near(self, word: str) -> list[Neighbour]:
        """Return the words within the edits that the word's length allows, in alphabetical order, without itself."""
        if not is_kept(word):
            return []
        table = self._table
        allowed = 2 if len(word) >= _TWO_EDITS_FROM else 1
        differences = np.bitwise_count(table.letters ^ _letters(_codes([word])))
        longer = np.abs(table.lengths - len(word))
        is_near = (longer <= 1) & (differences <= 2)
        if allowed > 1:  # two edits only among the words that begin alike, so that few are compared
            is_near |= (table.firsts == ord(word[0])) & (longer <= allowed) & (differences <= 2 * allowed)
        if len(word) == MIN_CHARS:
            is_near &= (table.lengths > len(word)) & (table.firsts == ord(word[0])) | (differences == 0)
        candidates = [table.words[row] for row in np.flatnonzero(is_near).tolist()]
        found = process.extract(word, candidates, scorer=OSA.distance, score_cutoff=allowed, limit=None)
        near = [
            (other, int(edits))
            for other, edits, _ in found
            if other[0] == word[0] or (edits == 1 and _is_slip(word, other))
        ]
        if len(word) < REPLACED_FROM:
            near = [(other, edits) for other, edits in near if _is_slip(word, other)]
        return sorted(Neighbour(other, edits) for other, edits in near if other != word)

    @cached_property
    def _table(self) -> _Table:
        words = self.words()
        codes = _codes(words)
        return _Table(words, np.count_nonzero(codes, axis=1), _letters(codes), codes[:, 0].copy())


def unlikeliness(word: str, other: str) -> int:
    """Return how unlikely a word of one edit is: 0 for two letters swapped or a letter doubled, 1 for a letter missing,
    too many or replaced by a key beside it, 2 for another letter; 1 more if the first letter differs."""
    first = word[0] != other[0]
    if len(word) != len(other):
        return first + ([letter for letter, _ in groupby(word)] != [letter for letter, _ in groupby(other)])
    if sorted(word) == sorted(other):
        return int(first)
    return first + (1 if _is_slip(word, other) else 2)


def _is_slip(word: str, other: str) -> bool:
    """Return whether no letter is replaced, unless by a key beside it."""
    if len(word) != len(other) or sorted(word) == sorted(other):
        return True
    return all(_is_beside(one, another) for one, another in zip(word, other, strict=True) if one != another)


def _is_beside(one: str, another: str) -> bool:
    (row, column), (other_row, other_column) = _KEYS.get(one, (-9, 0.0)), _KEYS.get(another, (9, 0.0))
    return abs(row - other_row) <= 1 and abs(column - other_column) <= 1


def _codes(words: Sequence[str]) -> NDArray[np.uint32]:
    """Return (n, MAX_CHARS): the codes of each word's characters, 0 after its end."""
    codes: NDArray[np.uint32] = np.array(words, f"U{MAX_CHARS}").view(np.uint32).reshape(len(words), MAX_CHARS)
    return codes


def _letters(codes: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Return (n,): a bit for each letter of n words, of their characters' codes (n, MAX_CHARS)."""
    bits = np.left_shift(np.uint64(1), codes.astype(np.uint64) % _LETTER_BITS) * (codes > 0)
    letters: NDArray[np.uint64] = np.bitwise_or.reduce(bits, axis=1)
    return letters
