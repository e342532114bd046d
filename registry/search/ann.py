"""Finds the rows with the vectors nearest to a question: by a linear scan of few rows, by a graph for many.

The graph (HNSW, Malkov and Yashunin 2018) is a file of the generation, read in place. It holds the rows up to a certain
row number; later rows are scanned linearly until there are enough of them for a new graph. If a filter keeps few rows,
those rows are scanned. If it keeps many, the graph is searched and the results are filtered; if too few remain, more of
the graph is searched, and in the end all rows that pass the filter are scanned.
"""

import mmap
import os
import threading
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from registry.core.ranking.vectors import pack
from registry.search.column_store import ColumnStore, DamagedIndex, Rows

LINEAR_ROWS: Final = 4_000
"""Rows after the graph's last row that are still scanned linearly: 4 MB and 0.1 ms; or a hundredth of the graph's rows
if larger, because rewriting a larger graph costs more."""

SCANS_PER_NEIGHBOUR: Final = 8  # number of rows whose linear scan costs as much as one more neighbour from the graph
_EXPANSION_SEARCH: Final = 64
_OPTIONS: Final[dict[str, Any]] = {
    "metric": "cos", "dtype": "i8", "connectivity": 16, "expansion_add": 128, "expansion_search": _EXPANSION_SEARCH,
}  # fmt: skip
_ROWS_PER_EXPANSION: Final = 4_000
"""The search width of the graph is at least its rows divided by this: a larger graph needs a wider search."""
_REACH: Final = 2_000  # maximum number of neighbours in one search of the graph
_FARTHER: Final = 4
"""How many times as many neighbours are searched next if too few of them pass the filter, as among folded copies."""

_BLOCK: Final = 16_384  # rows converted to float32 at once

Mask = NDArray[np.bool_]


class HnswGraph:
    """A graph file, opened once for all commits that name it."""

    def __init__(self, path: Path, dims: int, check: int) -> None:
        """Check the file's CRC-32 against `check`: the library does not check offsets in a damaged file. Raise
        DamagedIndex, OSError, or RuntimeError (from the library, for bytes that are not a graph)."""
        self.name = path.name
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise DamagedIndex(f"{path.name} is empty")
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if zlib.crc32(self._bytes) != check:
            raise DamagedIndex(f"{path.name} is not what was written")
        self._index = Index(ndim=dims, **_OPTIONS)
        self._index.view(memoryview(self._bytes))  # not the path: if mapping fails, the library closes the file twice
        if self._index.ndim != dims:
            raise DamagedIndex(f"{path.name} is no graph of this index")
        width = max(_EXPANSION_SEARCH, len(self._index) // _ROWS_PER_EXPANSION)
        self._index.expansion_search = width  # type: ignore[misc]  # the checker does not see its setter
        self._search_lock = threading.Lock()  # the library shares one workspace between all callers

    def nearest(self, vector: NDArray[np.float32], limit: int) -> tuple[Rows, NDArray[np.float32]]:
        """Return at most `limit` rows, nearest first, and their cosines."""
        with self._search_lock:
            matches = self._index.search(pack(vector[None, :])[0], limit, threads=1)
        rows: Rows = np.asarray(matches.keys).astype(np.int64)
        cosines: NDArray[np.float32] = np.float32(1) - np.asarray(matches.distances, np.float32)
        return rows, cosines


class NearestNeighbours:
    """`graph` holds the rows 1 to `covered` that have a vector; without a graph all rows are scanned."""

    def __init__(self, columns: ColumnStore, graph: HnswGraph | None, covered: int) -> None:
        self._columns = columns
        self._covered = covered
        self._graph = graph
        self._tail_lock = threading.Lock()
        self._tail: tuple[Rows, NDArray[np.float32]] | None = None

    def rows(self, vector: NDArray[np.float32], mask: Mask, limit: int) -> Rows:
        """Return the nearest rows of the mask, at most `limit`, in arbitrary order."""
        rows, cosines = self._scan_tail(vector, mask)
        if self._graph is not None:
            graph_rows, graph_cosines = self._search_graph(self._graph, vector, mask, limit)
            rows, cosines = np.concatenate([rows, graph_rows]), np.concatenate([cosines, graph_cosines])
        return rows[_best(cosines, limit)]

    def _scan_tail(self, vector: NDArray[np.float32], mask: Mask) -> tuple[Rows, NDArray[np.float32]]:
        with self._tail_lock:
            if self._tail is None:
                tail_rows = np.arange(self._covered + 1, self._columns.count + 1)
                rows, positions = self._columns.first_vectors(tail_rows)
                self._tail = rows, _unit_rows(self._columns, positions)
        rows, units = self._tail
        cosines = np.vecdot(units, vector)  # see core/ranking/vectors.py: no product of matrices
        allowed = mask[rows]
        if not allowed.all():
            rows, cosines = rows[allowed], cosines[allowed]
        return rows, cosines

    def _search_graph(
        self, graph: HnswGraph, vector: NDArray[np.float32], mask: Mask, limit: int
    ) -> tuple[Rows, NDArray[np.float32]]:
        allowed_count = int(np.count_nonzero(mask[1 : self._covered + 1]))
        neighbours = 1 + (limit * self._covered * 5) // (max(1, allowed_count) * 4)
        while SCANS_PER_NEIGHBOUR * neighbours < allowed_count:
            rows, cosines = graph.nearest(vector, min(_REACH, neighbours))
            allowed = mask[rows]
            rows, cosines = rows[allowed][:limit], cosines[allowed][:limit]
            if len(rows) == limit:
                return rows, cosines
            if neighbours >= _REACH:
                break
            neighbours *= _FARTHER
        rows, positions = self._columns.first_vectors(np.flatnonzero(mask[: self._covered + 1]))
        blocks = [np.zeros(0, np.float32)]
        for start in range(0, len(positions), _BLOCK):
            blocks.append(np.vecdot(_unit_rows(self._columns, positions[start : start + _BLOCK]), vector))
        cosines = np.concatenate(blocks)
        best = _best(cosines, limit)
        return rows[best], cosines[best]


def needs_new_graph(rows: int, covered: int) -> bool:
    """Return whether more rows lie after the graph's last row, `covered`, than should be scanned linearly."""
    return rows - covered > max(LINEAR_ROWS, covered // 100)


def extend_graph(columns: ColumnStore, previous: Path | None, covered: int, target: Path) -> int:
    """Write a graph with the rows of `previous`, which ends at row `covered`, and all later rows. Return its CRC-32.
    Takes 0.15 ms CPU per row."""
    graph = Index(ndim=columns.dims, **_OPTIONS)
    if previous:
        graph.load(str(previous))
    rows, positions = columns.first_vectors(np.arange(covered + 1, columns.count + 1))
    for start in range(0, len(rows), _BLOCK):
        part = slice(start, start + _BLOCK)
        graph.add(rows[part].astype(np.uint64), columns.vectors[positions[part]], threads=os.cpu_count() or 1)
    graph.save(str(target))
    with target.open("rb") as file:
        os.fsync(file.fileno())
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
            return zlib.crc32(raw)


def _unit_rows(columns: ColumnStore, positions: Rows) -> NDArray[np.float32]:
    rows: NDArray[np.float32] = np.take(columns.vectors, positions, axis=0).astype(np.float32)
    rows *= columns.scales(positions)[:, None]
    return rows


def _best(cosines: NDArray[np.float32], limit: int) -> Rows:
    if len(cosines) <= limit:
        return np.arange(len(cosines))
    return np.argpartition(-cosines, limit)[:limit]
