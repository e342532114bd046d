"""What the ranker reads: the record of one service, columns of the candidates, statistics of the collection.

A record holds numbers, read once from the texts, in a few hundred bytes. Words are 32-bit hashes of their stems. Of a
million words a few hundred collide, which changes a document frequency a little and gains an attacker nothing. The
statistics cover one whole index generation, never only the candidates. Candidates are columns, so that numbers that
are read together are adjacent in memory.
"""

import hashlib
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.core.model.listing import Listing
from registry.core.ranking import vectors as packing
from registry.core.ranking.copies import FoldedHosts, Standings, no_copies
from registry.core.ranking.vocabulary import Vocabulary
from registry.core.reading.plain_text import split_name
from registry.core.wording.fields import capability_texts, other_languages, own_text, stems_besides, weighted_texts
from registry.core.wording.text import RECIPE, directions, name_text, stem_words, stems, words_of

RANKER_VERSION: Final = f"5.{RECIPE}"
"""Version of the record and of its counts. Records of another version are never scored; the index is rebuilt."""

MAX_COUNT: Final = 255  # cap on the count of a word (in halves, as all counts): no honest text uses one so often
WAYS: Final = 200  # directions that are kept of one service
_HEAD = struct.Struct("<4sIIIIf16s")
_CAPABILITIES_HEAD = struct.Struct("<IIII")
_MAGIC = b"wpr4"


@dataclass(frozen=True, slots=True, eq=False)
class Capabilities:
    """Where in a service its words stand. `names` of the n capabilities, cut to NAME_CHARS, in the listing's order.

    `places` are positions in the record's `terms`: `places[starts[0]:starts[1]]` of the words of the service's own name
    and description, `places[starts[i + 1]:starts[i + 2]]` of the words in name and description of the i-th capability.
    `ways` (m, 2) are pairs of positions: a text says that the first becomes the second ("HTML to PDF", see
    text.directions). `called` (n,): 1 for a capability that can be called.
    """

    names: tuple[str, ...]
    starts: NDArray[np.uint32]
    places: NDArray[np.uint16]
    ways: NDArray[np.uint16]
    called: NDArray[np.uint8]

    def encode(self) -> bytes:
        names = "\0".join(self.names).encode("utf-8", "surrogatepass")
        head = _CAPABILITIES_HEAD.pack(len(self.names), len(self.places), len(self.ways), len(names))
        numbers = (self.starts.astype("<u4"), self.places.astype("<u2"), self.ways.astype("<u2"), self.called)
        return head + b"".join(part.tobytes() for part in numbers) + names

    @classmethod
    def decode(cls, raw: bytes | memoryview) -> "Capabilities":
        """Return what `encode` wrote. Raise ValueError on other bytes."""
        count, position_count, way_count, name_bytes = unpack(_CAPABILITIES_HEAD, raw)
        places = _CAPABILITIES_HEAD.size + 4 * (count + 2)
        ways = places + 2 * position_count
        called = ways + 4 * way_count
        if len(raw) != called + count + name_bytes:
            raise ValueError("not the capabilities of a record")
        starts = np.frombuffer(raw, "<u4", count + 2, _CAPABILITIES_HEAD.size)
        positions = np.frombuffer(raw, "<u2", position_count, places)
        pairs = np.frombuffer(raw, "<u2", 2 * way_count, ways).reshape(way_count, 2)
        flags = np.frombuffer(raw, np.uint8, count, called)
        text = str(raw[len(raw) - name_bytes :], "utf-8", "surrogatepass")
        names = tuple(text.split("\0")) if count else ()
        if len(names) != count or int(starts[-1]) != position_count:
            raise ValueError("not the capabilities of a record")
        return cls(names, starts, positions, pairs, flags)


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """`terms` (ascending) and `counts` are parallel; counts and `length` are weighted, in halves. `vectors` are the
    rows of `texts_of`: whole service, own text, capabilities. Without an embedder `vectors` and `model` are empty.
    `spread` is the length of the sum of all rows except the first, each of length 1. `words` are the words of the texts
    as written, for the collection's vocabulary; they are not encoded."""

    length: int
    terms: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    capabilities: Capabilities
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]
    spread: float
    model: str
    words: frozenset[str] = frozenset()

    def encode(self) -> bytes:
        """Return little-endian bytes: head, terms, scales, counts, vectors, capabilities."""
        rows, dims = self.vectors.shape
        model = self.model.encode("ascii")
        head = _HEAD.pack(_MAGIC, self.length, len(self.terms), rows, dims, self.spread, model)
        numbers = (self.terms.astype("<u4"), self.scales.astype("<f4"), self.counts, self.vectors)
        return head + b"".join(part.tobytes() for part in numbers) + self.capabilities.encode()

    @classmethod
    def decode(cls, raw: bytes) -> "Record":
        """Return what `encode` wrote. Raise ValueError on other bytes."""
        encoded = parts(raw)
        return cls(
            encoded.length,
            np.frombuffer(encoded.terms, "<u4"),
            np.frombuffer(encoded.counts, np.uint8),
            Capabilities.decode(encoded.capabilities),
            np.frombuffer(encoded.vectors, np.int8).reshape(encoded.rows, encoded.dims),
            np.frombuffer(encoded.scales, "<f4"),
            encoded.spread,
            encoded.model,
        )


class Parts(NamedTuple):
    """An encoded record, split: `rows` vectors of `dims` numbers, and the bytes of each part as `encode` wrote them,
    for code that joins many records."""

    length: int
    rows: int
    dims: int
    spread: float
    model: str
    terms: bytes
    scales: bytes
    counts: bytes
    vectors: bytes
    capabilities: bytes


def parts(raw: bytes) -> Parts:
    """Split an encoded record. Raise ValueError if it is not a record of this version."""
    magic, length, count, rows, dims, spread, model = unpack(_HEAD, raw)
    scales = _HEAD.size + 4 * count
    counts = scales + 4 * rows
    vectors = counts + count
    end = vectors + rows * dims
    if magic != _MAGIC or len(raw) < end:
        raise ValueError("not a record of this version")
    return Parts(
        length,
        rows,
        dims,
        spread,
        model.rstrip(b"\0").decode("ascii"),
        raw[_HEAD.size : scales],
        raw[scales:counts],
        raw[counts:vectors],
        raw[vectors:end],
        raw[end:],
    )


def term_ids(stemmed: Sequence[str]) -> NDArray[np.uint32]:
    """Return the hashes of stems, in their order."""
    return np.fromiter(map(_term_id, stemmed), np.uint32, len(stemmed))


@lru_cache(maxsize=100_000)
def _term_id(stem: str) -> int:
    return zlib.crc32(stem.encode("utf-8", "surrogatepass"))


def index_hash(listing: Listing, model: str = "") -> bytes:
    """Return the sha256 of a listing's index entry. If it is unchanged, nothing has to be written."""
    recipe = f"{RANKER_VERSION}\0{model}\0".encode()
    return hashlib.sha256(recipe + listing.content_hash()).digest()


def make_record(listing: Listing, vectors: NDArray[np.float32] | None = None, model: str = "") -> Record:
    """Return the record of a listing, read within the bounds of fields.py. `vectors` (n, dims): of `texts_of`."""
    counts: Counter[int] = Counter()
    vocabulary: set[str] = set()
    languages = other_languages(listing)
    length = 0
    for weight, text in weighted_texts(listing):
        written = words_of(text)
        vocabulary.update(written)
        ids = term_ids(stem_words(written)).tolist()
        length += weight * len(ids)
        for term, times in Counter([*ids, *term_ids(stems_besides(text, languages)).tolist()]).items():
            counts[term] += weight * times
    terms = np.array(sorted(counts), np.uint32)
    capped_counts = np.array([min(counts[term], MAX_COUNT) for term in terms.tolist()], np.uint8)
    packed = np.zeros((0, 0), np.int8) if vectors is None else packing.pack(vectors)
    scale = packing.scales(packed)
    return Record(
        length,
        terms,
        capped_counts,
        _capabilities(listing, terms, languages),
        packed,
        scale,
        packing.spread(packed[1:], scale[1:]),
        model if len(packed) else "",
        frozenset(vocabulary),
    )


def _capabilities(listing: Listing, terms: NDArray[np.uint32], languages: Sequence[str]) -> Capabilities:
    names: list[str] = []
    positions: list[NDArray[np.uint16]] = []
    ways: dict[tuple[str, str], None] = {}
    for name, text in (own_text(listing), *capability_texts(listing)):
        names.append(name.replace("\0", ""))
        texts = (name_text(name), text)
        found = [stem for one in texts for stem in (*stems(one), *stems_besides(one, languages))]
        ids = np.unique(term_ids(found))
        positions.append(np.searchsorted(terms, ids).astype(np.uint16))
        ways |= dict.fromkeys((*directions(split_name(name)), *directions(text)))
    starts = np.cumsum([0, *map(len, positions)], dtype=np.uint32)
    ends = term_ids([stem for way in list(ways)[:WAYS] for stem in way])
    pairs = np.searchsorted(terms, ends).astype(np.uint16).reshape(len(ends) // 2, 2)
    called = [one.callability == "true" for one in listing.capabilities[: len(names) - 1]]
    return Capabilities(tuple(names[1:]), starts, np.concatenate(positions), pairs, np.array(called, np.uint8))


def unpack(layout: struct.Struct, raw: bytes | memoryview) -> tuple[Any, ...]:
    """Return the fields at the start of `raw`. Raise ValueError if there are too few bytes."""
    try:
        return layout.unpack_from(raw)
    except struct.error as error:
        raise ValueError("too short for a record") from error


LENGTH_COUNTED: Final = 200
"""Cap in halves, so a hundred words: longer services count as this long in the mean. Otherwise one book in twenty
services makes all other texts short ones, and their length no longer tells them apart."""


def counted(length: int) -> int:
    """Return the length that a service adds to the sum behind `mean_length`."""
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


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSet:
    """n services. The words of service i are `terms[term_starts[i]:term_starts[i + 1]]` with their `counts`, its
    vectors `vectors[row_starts[i]:row_starts[i + 1]]` with their `scales`: all of the model `model`, or none. See
    Record and Standings for each number. `capabilities(i)` and `copies(i)`, the hosts folded behind service i, are read
    only when a hit is explained. `named`: positions of the services that the question names (naming.py)."""

    hosts: Sequence[str]
    scores: NDArray[np.int64]
    lengths: NDArray[np.int64]
    term_starts: NDArray[np.int64]
    terms: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    row_starts: NDArray[np.int64]
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]
    spreads: NDArray[np.float32]
    model: str
    standings: Standings
    capabilities: Callable[[int], Capabilities]
    copies: Callable[[int], FoldedHosts] = no_copies
    named: Sequence[int] = ()

    def __len__(self) -> int:
        return len(self.hosts)
