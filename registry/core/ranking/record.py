"""What the ranker keeps of one service: numbers, read once from its texts, in a few hundred bytes.

Words are named by 32 bits of their stem. Of a million words a few hundred share their name with another one, which
moves a document frequency a little; whoever looks for a word with the name of another gains nothing that writing that
other word would not give.
"""

import hashlib
import struct
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.core.listing import Listing
from registry.core.ranking import vectors as packing
from registry.core.ranking.fields import capability_texts, weighted_texts
from registry.core.text import RECIPE, name_text, stems

RANKER_VERSION: Final = f"3.{RECIPE}"
"""Version of the record and of what is counted of it. Records of another version are never scored; the index is built
again."""

MOST_COUNTED: Final = 255
"""A word counts no further (in halves, as all counts): nobody who is honest says one so often."""

_HEAD = struct.Struct("<4sIIIIf16s")
_CAPABILITIES_HEAD = struct.Struct("<III")
_MAGIC = b"wpr2"


@dataclass(frozen=True, slots=True, eq=False)
class Capabilities:
    """Names, cut to NAME_CHARS, in the listing's order; `places[starts[i]:starts[i + 1]]` are the positions in the
    record's `terms` of the words in name and description of the i-th."""

    names: tuple[str, ...]
    starts: NDArray[np.uint32]
    places: NDArray[np.uint16]

    def encode(self) -> bytes:
        names = "\0".join(self.names).encode("utf-8", "surrogatepass")
        head = _CAPABILITIES_HEAD.pack(len(self.names), len(self.places), len(names))
        return head + self.starts.astype("<u4").tobytes() + self.places.astype("<u2").tobytes() + names

    @classmethod
    def decode(cls, raw: bytes | memoryview) -> "Capabilities":
        """The inverse. Raises ValueError."""
        count, places, name_bytes = unpack(_CAPABILITIES_HEAD, raw)
        at = _CAPABILITIES_HEAD.size
        if len(raw) != at + 4 * (count + 1) + 2 * places + name_bytes:
            raise ValueError("not the capabilities of a record")
        starts = np.frombuffer(raw, "<u4", count + 1, at)
        held = np.frombuffer(raw, "<u2", places, at + 4 * (count + 1))
        text = str(raw[len(raw) - name_bytes :], "utf-8", "surrogatepass")
        names = tuple(text.split("\0")) if count else ()
        if len(names) != count or int(starts[-1]) != places:
            raise ValueError("not the capabilities of a record")
        return cls(names, starts, held)


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """`terms` (rising) and `counts` belong together; counts and `length` are weighted, in halves.

    `vectors` are the rows of `texts_of`: whole service, own text, capabilities; none where no embedder was at work,
    and then `model` is empty. `spread` is the length of the sum of all rows but the first, each of length 1.
    """

    length: int
    terms: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    capabilities: Capabilities
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]
    spread: float
    model: str

    def encode(self) -> bytes:
        """Little-endian: head, terms, scales, counts, vectors, capabilities."""
        rows, dims = self.vectors.shape
        model = self.model.encode("ascii")
        head = _HEAD.pack(_MAGIC, self.length, len(self.terms), rows, dims, self.spread, model)
        numbers = (self.terms.astype("<u4"), self.scales.astype("<f4"), self.counts, self.vectors)
        return head + b"".join(part.tobytes() for part in numbers) + self.capabilities.encode()

    @classmethod
    def decode(cls, raw: bytes) -> "Record":
        """The inverse of `encode`. Raises ValueError on other bytes."""
        held = parts(raw)
        return cls(
            held.length,
            np.frombuffer(held.terms, "<u4"),
            np.frombuffer(held.counts, np.uint8),
            Capabilities.decode(held.capabilities),
            np.frombuffer(held.vectors, np.int8).reshape(held.rows, held.dims),
            np.frombuffer(held.scales, "<f4"),
            held.spread,
            held.model,
        )


class Parts(NamedTuple):
    """An encoded record taken apart: `rows` vectors of `dims` numbers, and the bytes of each part as `encode` wrote
    them, for who puts many of them side by side."""

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
    """Raises ValueError where they are not those of a record of this version."""
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
    """The names of stems, in their order."""
    return np.fromiter(map(_term_id, stemmed), np.uint32, len(stemmed))


@lru_cache(maxsize=100_000)
def _term_id(stem: str) -> int:
    return zlib.crc32(stem.encode("utf-8", "surrogatepass"))


def index_hash(listing: Listing, model: str = "") -> bytes:
    """sha256 that names what the index holds of a listing: equal hashes, nothing to write."""
    recipe = f"{RANKER_VERSION}\0{model}\0".encode()
    return hashlib.sha256(recipe + listing.content_hash()).digest()


def make_record(listing: Listing, vectors: NDArray[np.float32] | None = None, model: str = "") -> Record:
    """Read a listing once, within the bounds of fields.py. `vectors` (n, dims) are those of `texts_of(listing)`."""
    counts: Counter[int] = Counter()
    length = 0
    for weight, text in weighted_texts(listing):
        found = term_ids(stems(text)).tolist()
        length += weight * len(found)
        for term, times in Counter(found).items():
            counts[term] += weight * times
    terms = np.array(sorted(counts), np.uint32)
    heavy = np.array([min(counts[term], MOST_COUNTED) for term in terms.tolist()], np.uint8)
    packed = np.zeros((0, 0), np.int8) if vectors is None else packing.pack(vectors)
    scale = packing.scales(packed)
    return Record(
        length,
        terms,
        heavy,
        _capabilities(listing, terms),
        packed,
        scale,
        packing.spread(packed[1:], scale[1:]),
        model if len(packed) else "",
    )


def _capabilities(listing: Listing, terms: NDArray[np.uint32]) -> Capabilities:
    names: list[str] = []
    places: list[NDArray[np.uint16]] = []
    for name, text in capability_texts(listing):
        names.append(name.replace("\0", ""))
        held = np.unique(term_ids([*stems(name_text(name)), *stems(text)]))
        places.append(np.searchsorted(terms, held).astype(np.uint16))
    starts = np.cumsum([0, *map(len, places)], dtype=np.uint32)
    return Capabilities(tuple(names), starts, np.concatenate([np.zeros(0, np.uint16), *places]))


def unpack(form: struct.Struct, raw: bytes | memoryview) -> tuple[Any, ...]:
    """Raises ValueError where the bytes end too early."""
    try:
        return form.unpack_from(raw)
    except struct.error as error:
        raise ValueError("too short for a record") from error
