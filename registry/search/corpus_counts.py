"""Word and service counts of a collection, updated incrementally; an engine stores them with the services counted."""

import struct
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking import CorpusStats, Record, vocabulary
from registry.core.ranking.corpus import counted
from registry.core.ranking.vocabulary import MOST_WORDS, Vocabulary, is_kept

_NUMBERS: Final = struct.Struct("<QQQI")


class IndexOutdated(Exception):
    """The index was written with another layout or ranker record."""


class CountedRecord(Protocol):
    """The fields of Record that are counted; removing needs no more."""

    @property
    def length(self) -> int: ...

    @property
    def terms(self) -> NDArray[np.uint32]: ...


@dataclass(slots=True)
class CorpusCounts:
    """`commit` numbers the commits of one build. `length` is the sum of lengths, for CorpusStats.mean_length. `df` maps
    each word to the number of services that hold it. `words` as written; a word stays until the next build."""

    commit: int = 0
    services: int = 0
    length: int = 0
    df: Counter[int] = field(default_factory=Counter)
    words: set[str] = field(default_factory=set)

    def add(self, record: Record) -> None:
        self.services += 1
        self.length += counted(record.length)
        self.df.update(record.terms.tolist())
        if len(self.words) < MOST_WORDS:
            self.words.update(filter(is_kept, record.words))

    def remove(self, record: CountedRecord) -> None:
        self.services -= 1
        self.length -= counted(record.length)
        for term in record.terms.tolist():
            self.df[term] -= 1
            if not self.df[term]:
                del self.df[term]

    def stats(self) -> CorpusStats:
        terms = np.fromiter(self.df.keys(), np.uint32, len(self.df))
        counts = np.fromiter(self.df.values(), np.uint32, len(self.df))
        order = np.argsort(terms)
        return CorpusStats(
            self.services,
            self.length / self.services if self.services else 0.0,
            terms[order],
            counts[order],
            Vocabulary.of(self.words),
        )

    def encode(self, layout: str) -> bytes:
        """Return the layout's name and, compressed and little-endian, the numbers, ascending terms, their counts, and
        the words as written."""
        stats = self.stats()
        name = layout.encode()
        head = _NUMBERS.pack(self.commit, self.services, self.length, len(stats.terms))
        body = (
            head
            + stats.terms.astype("<u4").tobytes()
            + stats.df.astype("<u4").tobytes()
            + vocabulary.encode(self.words)
        )
        return bytes([len(name)]) + name + zlib.compress(body, level=1)

    @classmethod
    def decode(cls, raw: bytes, layout: str) -> "CorpusCounts":
        """Return the counts that `encode` wrote. Raise IndexOutdated for another layout or unknown bytes."""
        commit, services, length, terms, counts, words = _decode(raw, layout)
        df = Counter(dict(zip(terms.tolist(), counts.tolist(), strict=True)))
        return cls(commit, services, length, df, vocabulary.decode(words))


def read_stats(raw: bytes, layout: str) -> tuple[int, CorpusStats]:
    """Return commit and statistics of encoded counts; needs a tenth of the memory of CorpusCounts."""
    commit, services, length, terms, counts, words = _decode(raw, layout)
    mean_length = length / services if services else 0.0
    return commit, CorpusStats(services, mean_length, terms, counts, Vocabulary(words))


def _decode(raw: bytes, layout: str) -> tuple[int, int, int, NDArray[np.uint32], NDArray[np.uint32], bytes]:
    try:
        name, packed = raw[1 : 1 + raw[0]], raw[1 + raw[0] :]
        if name != layout.encode():
            raise IndexOutdated(name.decode("ascii", "replace"))
        body = zlib.decompress(packed)
        commit, services, length, count = _NUMBERS.unpack_from(body)
        terms = np.frombuffer(body, "<u4", count, _NUMBERS.size)
        counts = np.frombuffer(body, "<u4", count, _NUMBERS.size + 4 * count)
    except (IndexError, zlib.error, struct.error, ValueError) as error:
        raise IndexOutdated("not a tally") from error
    return commit, services, length, terms, counts, body[_NUMBERS.size + 8 * count :]
