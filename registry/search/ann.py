"""Which rows lie nearest to a question: by looking at all of them while they are few, by a graph when they are many.

The graph (HNSW, Malkov and Yashunin 2018) is a file of the generation, read in place. It holds the rows up to a
certain one; those added since are looked at one by one, until there are enough of them for a new graph. A filter that
leaves few rows is answered by looking at these; one that leaves many takes what the graph says, and looks at all of
them only where that is too little.
"""

import mmap
import os
import threading
import zlib
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from usearch.index import Index

from registry.core.ranking.vectors import pack
from registry.search.columns import Columns, Damaged, Rows

FEW: Final = 4_000
"""So many rows behind the graph, or a hundredth of its own if more, are looked at one by one: 4 MB and a tenth of a
millisecond. The larger a graph is, the more it costs to write it anew."""

LOOKS: Final = 8
"""Rows that can be looked at for what one more neighbour costs that the graph is asked for."""

_CONNECTIVITY: Final = 16
_EXPANSION_ADD: Final = 128
_EXPANSION_SEARCH: Final = 64
_ROWS_PER_EXPANSION: Final = 4_000
"""Places of the graph that are kept in sight while searching it: more in a larger one, which is easier to get lost in.
"""
_REACH: Final = 2_000
"""Neighbours asked of the graph at most."""

_BLOCK: Final = 16_384  # rows that are widened to float32 at once

Mask = NDArray[np.bool_]


class Graph:
    """A file of neighbours, opened once for all commits that name it."""

    def __init__(self, path: Path, dims: int, check: int) -> None:
        """`check` is the CRC-32 of the file: the library follows whatever numbers are in it, also out of its memory.

        Raises Damaged, OSError, RuntimeError (the library, for bytes that are no graph).
        """
        self.name = path.name
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise Damaged(f"{path.name} is empty")
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if zlib.crc32(self._bytes) != check:
            raise Damaged(f"{path.name} is not what was written")
        self._index = _empty(dims)
        self._index.view(memoryview(self._bytes))  # not the path: the library closes a file that it could not map twice
        if self._index.ndim != dims:
            raise Damaged(f"{path.name} is no graph of this index")
        wide = max(_EXPANSION_SEARCH, len(self._index) // _ROWS_PER_EXPANSION)
        self._index.expansion_search = wide  # type: ignore[misc]  # its setter is not seen by the checker
        self._asking = threading.Lock()  # the library gives every caller the same workspace

    def nearest(self, asked: NDArray[np.float32], wanted: int) -> tuple[Rows, NDArray[np.float32]]:
        """Nearest first, with their cosines."""
        with self._asking:
            matches = self._index.search(pack(asked[None, :])[0], wanted, threads=1)
        rows: Rows = np.asarray(matches.keys).astype(np.int64)
        near: NDArray[np.float32] = 1.0 - np.asarray(matches.distances, np.float32)
        return rows, near


class Nearest:
    """`graph` holds the rows 1 to `covered` that have a vector; None = all rows are looked at."""

    def __init__(self, columns: Columns, graph: Graph | None, covered: int) -> None:
        self._columns = columns
        self._covered = covered
        self._graph = graph
        self._loading = threading.Lock()
        self._tail: tuple[Rows, NDArray[np.float32]] | None = None

    def rows(self, asked: NDArray[np.float32], mask: Mask, limit: int) -> Rows:
        """At most `limit` rows of the mask, in no order that means anything."""
        rows, near = self._of_tail(asked, mask)
        if self._graph is not None:
            own, own_near = self._of_graph(self._graph, asked, mask, limit)
            rows, near = np.concatenate([rows, own]), np.concatenate([near, own_near])
        return rows[_best(near, limit)]

    def _of_tail(self, asked: NDArray[np.float32], mask: Mask) -> tuple[Rows, NDArray[np.float32]]:
        with self._loading:
            if self._tail is None:
                behind = np.arange(self._covered + 1, self._columns.count + 1)
                rows, places = self._columns.first_vectors(behind)
                self._tail = rows, _unit_rows(self._columns, places)
        rows, units = self._tail
        near = np.vecdot(units, asked)  # see core/ranking/vectors.py: no product of matrices
        keep = mask[rows]
        if not keep.all():
            rows, near = rows[keep], near[keep]
        return rows, near

    def _of_graph(
        self, graph: Graph, asked: NDArray[np.float32], mask: Mask, limit: int
    ) -> tuple[Rows, NDArray[np.float32]]:
        left = int(np.count_nonzero(mask[1 : self._covered + 1]))
        wanted = 1 + (limit * self._covered * 5) // (max(1, left) * 4)
        if LOOKS * wanted < left:
            rows, near = graph.nearest(asked, min(_REACH, wanted))
            keep = mask[rows]
            rows, near = rows[keep][:limit], near[keep][:limit]
            if len(rows) == limit:
                return rows, near
        return self._look_at_all(asked, np.flatnonzero(mask[: self._covered + 1]), limit)

    def _look_at_all(self, asked: NDArray[np.float32], of: Rows, limit: int) -> tuple[Rows, NDArray[np.float32]]:
        rows, places = self._columns.first_vectors(of)
        near = np.concatenate(
            [np.zeros(0, np.float32)]
            + [
                np.vecdot(_unit_rows(self._columns, places[start : start + _BLOCK]), asked)
                for start in range(0, len(places), _BLOCK)
            ]
        )
        best = _best(near, limit)
        return rows[best], near[best]


def is_due(rows: int, covered: int) -> bool:
    """Whether so many rows need a graph that holds more of them than the first `covered`."""
    return rows - covered > max(FEW, covered // 100)


def extend_graph(columns: Columns, known: Path | None, covered: int, made: Path) -> int:
    """A new file with the rows of `known`, which ends at row `covered`, and all behind it; gives its CRC-32.

    Takes 0.15 ms CPU per row.
    """
    graph = _empty(columns.dims)
    if known:
        graph.load(str(known))
    rows, places = columns.first_vectors(np.arange(covered + 1, columns.count + 1))
    for start in range(0, len(rows), _BLOCK):
        part = slice(start, start + _BLOCK)
        graph.add(rows[part].astype(np.uint64), columns.vectors[places[part]], threads=os.cpu_count() or 1)
    graph.save(str(made))
    with made.open("rb") as file:
        os.fsync(file.fileno())
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
            return zlib.crc32(raw)


def _empty(dims: int) -> Index:
    return Index(
        ndim=dims,
        metric="cos",
        dtype="i8",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
        expansion_search=_EXPANSION_SEARCH,
    )


def _unit_rows(columns: Columns, places: Rows) -> NDArray[np.float32]:
    rows: NDArray[np.float32] = np.take(columns.vectors, places, axis=0).astype(np.float32)
    rows *= columns.scales(places)[:, None]
    return rows


def _best(near: NDArray[np.float32], limit: int) -> Rows:
    if len(near) <= limit:
        return np.arange(len(near))
    return np.argpartition(-near, limit)[:limit]
