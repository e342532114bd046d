"""The services of one generation as columns on disk, safetensors files, and the counts of words and services.

One row per version of a service is read in place: `rows.bin` has one entry of fixed size per row, the first one empty
(the row's end in each other file, and its numbers); `*.bin` have the values of all rows, concatenated. Rows are only
appended, so the mapped bytes of a reader never change; bytes after the last committed row are truncated by the next
writer. Arrays are stored as https://github.com/huggingface/safetensors describes; reading executes nothing.
"""

import hashlib
import json
import mmap
import os
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from registry.core.model.listing import SearchUnavailable
from registry.core.ranking import CandidateSet, Capabilities, CorpusStats, Record
from registry.core.ranking.copies import Copies, FoldedHosts, Standings, standing_of
from registry.core.ranking.record import counted
from registry.core.ranking.vocabulary import MOST_WORDS, Vocabulary, is_kept
from registry.core.search_filters import NUMBERS, numbers_of, values_of
from registry.search.backend import SearchDocument

Rows = NDArray[np.int64]

_FILES: Final[Mapping[str, tuple[str, np.dtype[Any]]]] = {
    "hosts": ("hosts", np.dtype("u1")),
    "facets": ("facets", np.dtype("<u8")),
    "terms": ("terms", np.dtype("<u4")),
    "scales": ("scales", np.dtype("<f4")),
    "capabilities": ("capabilities", np.dtype("u1")),
    "counts": ("terms", np.dtype("u1")),
}
"""File -> (the file with whose ends its own agree, dtype of its values). `vectors` likewise follows `scales`, with
`dims` numbers per value."""

_ENDS: Final = tuple(name for name, (ends_of, _) in _FILES.items() if ends_of == name)  # stored in each row

ROW: Final = np.dtype(
    [(name, "<u8") for name in _ENDS]
    + [("hash", "V32"), ("length", "<u4"), ("spread", "<f4")]
    + [("offer", "<u8"), ("offered", "<u4"), ("listed", "<u4"), ("level", "<u4")]
    + [(name, "<u2" if number.top < 2**16 else "<u8") for name, number in NUMBERS.items()]
)


class DamagedIndex(ValueError):
    """The files do not match the commit."""


class ColumnStoreWriter:
    """Append rows. They are visible to readers once `flush` has returned and a commit names the number of rows."""

    def __init__(self, folder: Path, rows: int, dims: int) -> None:
        """Continue after row `rows` and truncate the rest. Raise DamagedIndex if that row is missing."""
        self._dims = dims
        self._files: dict[str, BinaryIO] = {}
        self.rows = rows
        if rows == 0:
            (folder / "rows.bin").write_bytes(bytes(ROW.itemsize))
        with (folder / "rows.bin").open("rb") as file:
            file.seek(rows * ROW.itemsize)
            raw = file.read(ROW.itemsize)
        if len(raw) < ROW.itemsize:
            raise DamagedIndex("rows.bin is too short")
        last = np.frombuffer(raw, ROW)[0]
        self._ends = {name: int(last[name]) for name in _ENDS}
        self._open("rows", folder, (rows + 1) * ROW.itemsize)
        for name, (ends_of, dtype) in _FILES.items():
            self._open(name, folder, self._ends[ends_of] * dtype.itemsize)
        self._open("vectors", folder, self._ends["scales"] * dims)

    def _open(self, name: str, folder: Path, size: int) -> None:
        path = folder / f"{name}.bin"
        path.touch(mode=0o600)
        if path.stat().st_size < size:
            raise DamagedIndex(f"{path.name} is too short")
        os.truncate(path, size)
        self._files[name] = path.open("ab")

    def add(self, document: SearchDocument) -> int:
        """Append a row and return its number. Raise ValueError for vectors of other dimensions."""
        listing, record = document.listing, document.record
        if len(record.vectors) and record.vectors.shape[1] != self._dims:
            raise ValueError(f"vectors of {record.vectors.shape[1]} dimensions in an index of {self._dims}")
        parts: dict[str, NDArray[Any]] = {
            "hosts": np.frombuffer(listing.host.encode("utf-8", "surrogatepass"), np.uint8),
            "facets": np.array([facet_id(facet, value) for facet, value in values_of(listing)], np.uint64),
            "terms": record.terms,
            "scales": record.scales,
            "capabilities": np.frombuffer(record.capabilities.encode(), np.uint8),
        }
        row = np.zeros((), ROW)
        for name, part in parts.items():
            self._ends[name] += len(part)
            row[name] = self._ends[name]
            self._files[name].write(part.astype(_FILES[name][1]).tobytes())
        self._files["counts"].write(record.counts.tobytes())
        self._files["vectors"].write(record.vectors.tobytes())
        row["hash"] = np.void(document.hash)
        row["length"], row["spread"] = record.length, record.spread
        for name, number in standing_of(listing)._asdict().items():
            row[name] = number
        for name, number in numbers_of(listing):
            row[name] = number
        self._files["rows"].write(row.tobytes())
        self.rows += 1
        return self.rows

    def flush(self) -> None:
        """Flush and fsync all files."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())

    def close(self) -> None:
        for file in self._files.values():
            file.close()


class ColumnStore:
    """Rows 1 to `count`, mapped into memory: pages are loaded on demand and shared by all processes."""

    def __init__(self, folder: Path, count: int, dims: int) -> None:
        """Map the files. Raise DamagedIndex or FileNotFoundError."""
        self.count = count
        self.dims = dims
        self.table: NDArray[Any] = _mapped(folder / "rows.bin", ROW, count + 1)
        last = self.table[-1]
        self._values: dict[str, NDArray[Any]] = {}
        for name, (ends_of, dtype) in _FILES.items():
            self._values[name] = _mapped(folder / f"{name}.bin", dtype, int(last[ends_of]))
        count_of_vectors = int(last["scales"])
        vectors = _mapped(folder / "vectors.bin", np.dtype(np.int8), count_of_vectors * dims)
        self.vectors: NDArray[np.int8] = vectors.reshape(count_of_vectors, dims)
        for name in _ENDS:
            if count and (np.diff(self.table[name].astype(np.int64)) < 0).any():
                raise DamagedIndex(f"rows.bin: the ends of {name} are not in order")

    # ndarray.take needs a third of the time of indexing for vectors, a seventh for the table.

    def gather(
        self, rows: Rows, model: str, copies: Callable[[int], FoldedHosts], named: Sequence[int] = ()
    ) -> CandidateSet:
        """Return these rows as the ranker's candidates; `copies` and `named` as there."""
        before, entries = self.table.take(rows - 1, axis=0), self.table.take(rows, axis=0)
        term_indexes, term_starts = _spans(before["terms"], entries["terms"])
        vector_indexes, row_starts = _spans(before["scales"], entries["scales"])
        capability_spans = list(zip(before["capabilities"].tolist(), entries["capabilities"].tolist(), strict=True))
        return CandidateSet(
            hosts=self._hosts(before["hosts"], entries["hosts"]),
            scores=entries["score"].astype(np.int64),
            lengths=entries["length"].astype(np.int64),
            term_starts=term_starts,
            terms=self._values["terms"].take(term_indexes, axis=0),
            counts=self._values["counts"].take(term_indexes, axis=0),
            row_starts=row_starts,
            vectors=self.vectors.take(vector_indexes, axis=0),
            scales=self._values["scales"].take(vector_indexes, axis=0),
            spreads=entries["spread"],
            model=model,
            standings=_standings(entries),
            capabilities=lambda index: self._capabilities(*capability_spans[index]),
            copies=copies,
            named=named,
        )

    def copies(self, alive: NDArray[np.bool_]) -> Copies:
        """Return the copies among the rows marked in `alive`, of shape (count + 1,)."""
        standings = replace(_standings(self.table), offers=np.where(alive, self.table["offer"], np.uint64(0)))
        return Copies(standings, self.table["score"], self.hosts)

    def _capabilities(self, start: int, end: int) -> Capabilities:
        """Decode the capabilities. Raise SearchUnavailable, because the ranker calls this after the search has
        ended."""
        try:
            return Capabilities.decode(self._values["capabilities"][start:end].data)
        except ValueError as error:
            raise SearchUnavailable("the index cannot be read") from error

    def hosts(self, rows: Rows) -> list[str]:
        return self._hosts(*self._bounds("hosts", rows))

    def _hosts(self, starts: NDArray[Any], ends: NDArray[Any]) -> list[str]:
        indexes, bounds = _spans(starts, ends)
        encoded = self._values["hosts"].take(indexes, axis=0).tobytes()
        spans = pairwise(bounds.tolist())
        if encoded.isascii():
            text = encoded.decode("ascii")
            return [text[start:end] for start, end in spans]
        return [encoded[start:end].decode("utf-8", "surrogatepass") for start, end in spans]

    def hash(self, row: int) -> bytes:
        return bytes(self.table["hash"][row].tobytes())

    def terms(self, row: int) -> NDArray[np.uint32]:
        start, end = self.table["terms"][row - 1 : row + 1].tolist()
        terms: NDArray[np.uint32] = self._values["terms"][start:end]
        return terms

    def first_vectors(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the rows whose first vector (the whole service's) exists and is not zero, and its positions."""
        starts, ends = self._bounds("scales", rows)
        rows, positions = rows[ends > starts], starts[ends > starts]
        is_nonzero = self._values["scales"].take(positions, axis=0) > 0
        return rows[is_nonzero], positions[is_nonzero]

    def scales(self, positions: Rows) -> NDArray[np.float32]:
        return self._values["scales"].take(positions, axis=0)

    def having(self, facet: str, values: Iterable[str]) -> NDArray[np.bool_]:
        """Return the mask, shape (count + 1,), of rows with any of the values."""
        ids = np.array([facet_id(facet, value) for value in values], np.uint64)
        indexes = np.flatnonzero(np.isin(self._values["facets"], ids))
        mask = np.zeros(self.count + 1, np.bool_)
        mask[np.searchsorted(self.table["facets"], indexes, side="right")] = True
        return mask

    def _bounds(self, name: str, rows: Rows) -> tuple[Rows, Rows]:
        ends = self.table[name]  # indexed, because np.take would first copy the whole column out of the table
        return ends[rows - 1].astype(np.int64), ends[rows].astype(np.int64)


@lru_cache(maxsize=10_000)
def facet_id(facet: str, value: str) -> int:
    """Return a 64-bit hash of the facet's value, wide enough that no other value passes a filter by collision."""
    key = f"{facet}\0{value}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")


def _standings(table: NDArray[Any]) -> Standings:
    return Standings(table["offer"], table["level"], table["offered"], table["listed"])


def _spans(starts: NDArray[Any], ends: NDArray[Any]) -> tuple[Rows, Rows]:
    """Return the indexes of all values in all spans, and the offsets of each span in their concatenation."""
    first = starts.astype(np.int64)
    lengths = ends.astype(np.int64) - first
    bounds = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    return np.repeat(first - bounds[:-1], lengths) + np.arange(int(bounds[-1])), bounds


def _mapped(path: Path, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    size = count * dtype.itemsize
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size < size:
            raise DamagedIndex(f"{path.name} is too short")
        if not size:
            return np.zeros(0, dtype)
        return np.frombuffer(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ), dtype, count)


DTYPES: Final[dict[str, np.dtype[Any]]] = {
    "I8": np.dtype("<i1"),
    "U8": np.dtype("<u1"),
    "U16": np.dtype("<u2"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
}
_MAX_HEADER_BYTES = 100_000


class ArrayFileError(ValueError):
    """The bytes are not a valid file of arrays."""


def read_arrays(raw: memoryview) -> dict[str, NDArray[Any]]:
    """Return the arrays by name, as views of the bytes. Raise ArrayFileError if the bytes are not in safetensors
    layout."""
    try:
        size = int.from_bytes(raw[:8], "little")
        if len(raw) < 8 or size > min(_MAX_HEADER_BYTES, len(raw) - 8):
            raise ValueError("the header does not fit")
        header: dict[str, Any] = json.loads(bytes(raw[8 : 8 + size]))
        header.pop("__metadata__", None)
        return {name: _array(raw[8 + size :], entry) for name, entry in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ArrayFileError(f"not a file of arrays: {error}") from error


def _array(data: memoryview, entry: Mapping[str, Any]) -> NDArray[Any]:
    start, end = entry["data_offsets"]
    dtype, shape = DTYPES[entry["dtype"]], tuple(entry["shape"])
    if not 0 <= start <= end <= len(data):
        raise ValueError("an array lies outside the file")
    array: NDArray[Any] = np.frombuffer(data[start:end], dtype)
    return array.reshape(shape)


_NUMBERS: Final = struct.Struct("<QQQI")


class OutdatedIndex(Exception):
    """The index was written with another layout or ranker record."""


@dataclass(slots=True)
class CorpusCounts:
    """Counts of a collection, updated incrementally and stored with the counted services. `commit`: number of the
    commit in its build. `length`: sum of lengths, for CorpusStats.mean_length. `df`: word -> number of services with
    it. `words`: as written; a word stays until the next build. `ordered`: the words as of the last commit, sorted, and
    behind them the later ones: sorting all MOST_WORDS takes 0.18 s."""

    commit: int = 0
    services: int = 0
    length: int = 0
    df: Counter[int] = field(default_factory=Counter)
    words: set[str] = field(default_factory=set)
    ordered: list[str] = field(default_factory=list)

    def add(self, record: Record) -> None:
        self.services += 1
        self.length += counted(record.length)
        self.df.update(record.terms.tolist())
        if len(self.words) < MOST_WORDS:
            added = set(filter(is_kept, record.words)) - self.words
            self.words |= added
            self.ordered += added

    def remove(self, length: int, terms: NDArray[np.uint32]) -> None:
        """Take back what `add` counted of a record with this length and these terms."""
        self.services -= 1
        self.length -= counted(length)
        for term in terms.tolist():
            self.df[term] -= 1
            if not self.df[term]:
                del self.df[term]

    def stats(self) -> CorpusStats:
        terms = np.fromiter(self.df.keys(), np.uint32, len(self.df))
        counts = np.fromiter(self.df.values(), np.uint32, len(self.df))
        order = np.argsort(terms)
        mean_length = self.length / self.services if self.services else 0.0
        self.ordered.sort()
        return CorpusStats(self.services, mean_length, terms[order], counts[order], Vocabulary.of_sorted(self.ordered))

    def encode(self, layout: str) -> bytes:
        """Return the layout's name and, compressed and little-endian, the numbers, ascending terms, their counts, and
        the words as written."""
        stats = self.stats()
        name = layout.encode()
        head = _NUMBERS.pack(self.commit, self.services, self.length, len(stats.terms))
        numbers = stats.terms.astype("<u4").tobytes() + stats.df.astype("<u4").tobytes()
        return bytes([len(name)]) + name + zlib.compress(head + numbers + stats.vocabulary.encoded, level=1)

    @classmethod
    def decode(cls, raw: bytes, layout: str) -> "CorpusCounts":
        """Return the counts that `encode` wrote. Raise OutdatedIndex for another layout or unknown bytes."""
        commit, services, length, terms, counts, words = _decode(raw, layout)
        df = Counter(dict(zip(terms.tolist(), counts.tolist(), strict=True)))
        ordered = Vocabulary(words).words()
        return cls(commit, services, length, df, set(ordered), ordered)


def read_stats(raw: bytes, layout: str) -> tuple[int, CorpusStats]:
    """Return commit and statistics of encoded counts; needs a tenth of the memory of CorpusCounts."""
    commit, services, length, terms, counts, words = _decode(raw, layout)
    mean_length = length / services if services else 0.0
    return commit, CorpusStats(services, mean_length, terms, counts, Vocabulary(words))


def _decode(raw: bytes, layout: str) -> tuple[int, int, int, NDArray[np.uint32], NDArray[np.uint32], bytes]:
    try:
        name, packed = raw[1 : 1 + raw[0]], raw[1 + raw[0] :]
        if name != layout.encode():
            raise OutdatedIndex(name.decode("ascii", "replace"))
        body = zlib.decompress(packed)
        commit, services, length, count = _NUMBERS.unpack_from(body)
        terms = np.frombuffer(body, "<u4", count, _NUMBERS.size)
        counts = np.frombuffer(body, "<u4", count, _NUMBERS.size + 4 * count)
    except (IndexError, zlib.error, struct.error, ValueError) as error:
        raise OutdatedIndex("not a tally") from error
    return commit, services, length, terms, counts, body[_NUMBERS.size + 8 * count :]
