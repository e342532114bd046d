"""Statistics of the whole collection of one index generation, never of the candidates."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking.record import Record
from registry.core.ranking.vocabulary import Vocabulary

LENGTH_COUNTED: Final = 200
"""Cap in halves, so a hundred words: longer services count as this long in the mean. Otherwise one book in twenty
services makes all other texts short ones, and their length no longer tells them apart."""


def counted(length: int) -> int:
    """Return what a service of this length adds to the sum behind `mean_length`."""
    return min(length, LENGTH_COUNTED)


@dataclass(frozen=True, slots=True, eq=False)
class CorpusStats:
    """`df[i]` services hold the word `terms[i]` (ascending). `mean_length` is weighted, in halves; see `counted`.
    `vocabulary`: the words of the services as written, also of some that are gone."""

    services: int
    mean_length: float
    terms: NDArray[np.uint32]
    df: NDArray[np.uint32]
    vocabulary: Vocabulary = field(default_factory=Vocabulary)

    @classmethod
    def of(cls, records: Iterable[Record]) -> "CorpusStats":
        """Count from scratch, for a test or a small collection."""
        all_records = list(records)
        terms, df = np.unique(
            np.concatenate([np.zeros(0, np.uint32), *(record.terms for record in all_records)]), return_counts=True
        )
        total = sum(counted(record.length) for record in all_records)
        words = frozenset[str]().union(*(record.words for record in all_records))
        mean_length = total / len(all_records) if all_records else 0.0
        return cls(len(all_records), mean_length, terms, df.astype(np.uint32), Vocabulary.of(words))

    def document_frequency(self, terms: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Return the number of services that hold each of the words; 0 for an unknown word."""
        if not len(self.terms):
            return np.zeros(len(terms))
        positions = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        return np.where(self.terms[positions] == terms, self.df[positions], 0).astype(np.float64)

    def idf(self, terms: NDArray[np.uint32]) -> NDArray[np.float64]:
        """Return ln(1 + (N - df + 0.5) / (df + 0.5)), always positive."""
        df = self.document_frequency(terms)
        return np.log1p((np.maximum(self.services, df) - df + 0.5) / (df + 0.5))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CorpusStats)
            and (self.services, self.mean_length) == (other.services, other.mean_length)
            and np.array_equal(self.terms, other.terms)
            and np.array_equal(self.df, other.df)
        )
