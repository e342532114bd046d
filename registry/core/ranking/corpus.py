"""Counts of the whole collection of one index generation, never of the candidates."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking.record import Record

LENGTH_COUNTED: Final = 200
"""In halves, so a hundred words: of a longer service no more counts for the mean. Else one in twenty who writes a book
makes every other text a short one, and its length no longer tells."""


def counted(length: int) -> int:
    """What a service of this length adds to the sum behind `mean_length`."""
    return min(length, LENGTH_COUNTED)


@dataclass(frozen=True, slots=True, eq=False)
class CorpusStats:
    """`df[i]` services hold the word `terms[i]` (rising). `mean_length` is weighted, in halves as in Record; see
    `counted`."""

    services: int
    mean_length: float
    terms: NDArray[np.uint32]
    df: NDArray[np.uint32]

    @classmethod
    def of(cls, records: Iterable[Record]) -> "CorpusStats":
        """Counted anew, as for a test or a small collection."""
        held = list(records)
        terms, df = np.unique(
            np.concatenate([np.zeros(0, np.uint32), *(one.terms for one in held)]), return_counts=True
        )
        total = sum(counted(one.length) for one in held)
        return cls(len(held), total / len(held) if held else 0.0, terms, df.astype(np.uint32))

    def document_frequency(self, terms: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Services that hold each of the words; 0 for a word that none holds."""
        if not len(self.terms):
            return np.zeros(len(terms))
        at = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        return np.where(self.terms[at] == terms, self.df[at], 0).astype(np.float64)

    def idf(self, terms: NDArray[np.uint32]) -> NDArray[np.float64]:
        """ln(1 + (N - df + 0.5) / (df + 0.5)), never 0 or less."""
        df = self.document_frequency(terms)
        return np.log1p((np.maximum(self.services, df) - df + 0.5) / (df + 0.5))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CorpusStats)
            and (self.services, self.mean_length) == (other.services, other.mean_length)
            and np.array_equal(self.terms, other.terms)
            and np.array_equal(self.df, other.df)
        )
