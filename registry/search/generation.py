"""One generation of the embedded index: a directory with a tantivy index, columns and vectors; its writer and readers.

tantivy finds words and stores the column row of each service; everything that the ranker reads comes from the columns.
One document of the tantivy index is not a service: it stores the collection statistics, the number of rows and the name
of the vector graph. The commit number in its statistics names the file of live rows. All files are synced to disk
before this document is committed, so a reader never sees a commit without its files, even after a writer crash.

    rows.bin, hosts.bin, ...   column_store.py
    alive-<commit>.bin         one bit per row
    graph-<commit>.bin         ann.py; absent while there are few services

Queries are built from term objects; external text never reaches a query parser. Longer than most modules, because
writer and reader have to agree on every line of the layout.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray
from tantivy import Document, FieldType, Index, Occur, Query, Schema, SchemaBuilder, Searcher

from registry.core import search_filters
from registry.core.model.listing import Filters
from registry.core.ranking import RANKER_VERSION, ParsedQuery, indexed_text, term_ids
from registry.core.ranking.copies import NONE_FOLDED, SHOWN_COPIES, FoldedCopies, FoldedHosts, no_copies
from registry.core.ranking.naming import MOST_NAMED, sought
from registry.search import column_store
from registry.search.ann import LINEAR_ROWS, HnswGraph, Mask, NearestNeighbours, extend_graph, needs_new_graph
from registry.search.backend import Pool, SearchDocument
from registry.search.column_store import ColumnStore, ColumnStoreWriter, CorpusCounts, Rows

LAYOUT = f"5:{RANKER_VERSION}:{search_filters.INDEX_FIELDS}"
"""Version of a generation's content; an index of another version is rebuilt."""

VECTOR_CANDIDATES: Final = 64
"""Candidates retrieved by vector. On 3,095 services, with 100 candidates by words, ranking them returns the same top
ten as ranking all services; on 100,000 services, with 100 by words, 9.7 of the ten."""

_POST_FILTER_SHARE: Final = 0.5
"""A filter that keeps at least this share of the services is applied after the tantivy search, not inside it."""

_MAX_FETCHED: Final = 64  # maximum hits to fetch, as a multiple of the requested ones, if many are copies of others
_NAMED_FETCHED: Final = 50
_HASHED_ROWS: Final = 10_000

_WRITER_BYTES = 32_000_000
_MASKS = 64  # filters whose row masks are cached per commit; a mask takes one byte per row
_STATS = "stats"


class EmbeddingModel(NamedTuple):
    """The embedding model of a generation's vectors; an empty id and 0 dimensions without vectors."""

    id: str = ""
    dims: int = 0


def _make_schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    for facet in (*search_filters.NAMES, *search_filters.FACETS):
        builder.add_text_field(facet, tokenizer_name="raw", index_option="basic")
    for number in search_filters.NUMBERS:
        builder.add_unsigned_field(number, indexed=True, fast=True)
    builder.add_unsigned_field("row", fast=True)
    builder.add_bytes_field("tally", stored=True)
    builder.add_bytes_field("state", stored=True)
    return builder.build()


SCHEMA = _make_schema()


@dataclass(frozen=True, slots=True)
class _State:
    """The state document of a commit. The file `graph`, with the CRC-32 `check`, holds the rows up to `covered`."""

    rows: int = 0
    graph: str | None = None
    covered: int = 0
    check: int = 0

    def encode(self) -> bytes:
        return orjson.dumps([self.rows, self.graph, self.covered, self.check])

    @classmethod
    def decode(cls, raw: bytes) -> "_State":
        return cls(*orjson.loads(raw))


class _Passing(NamedTuple):
    """The rows that pass filters. `mask`: of shape (rows + 1,), without the `folded` ones. `share`: part of the live
    rows that pass, including the folded ones."""

    mask: Mask
    folded: FoldedCopies
    share: float


class IndexedService(NamedTuple):
    """The stored index entry of one host."""

    hash: bytes
    row: int
    length: int
    terms: NDArray[np.uint32]


class Snapshot:
    """A reader's view of a generation: one commit, unaffected by later writes."""

    def __init__(
        self,
        directory: Path,
        build: str,
        model: EmbeddingModel,
        searcher: Searcher,
        previous_graph: HnswGraph | None = None,
    ) -> None:
        """Open the searcher's commit; reuse the previous commit's graph if this commit names the same file. Raise
        OutdatedIndex, DamagedIndex, FileNotFoundError, and the errors of tantivy and usearch for broken files."""
        self._searcher: Any = searcher  # the stubs lack `count` and do not know which fields are stored
        self._model = model
        counts, state = _committed(searcher)
        self.commit, self.stats = column_store.read_stats(counts, layout(model))
        self.generation = f"{build}.{self.commit}"
        self.state = _State.decode(state)
        self.columns = ColumnStore(directory, self.state.rows, model.dims)
        alive = _alive(directory, self.commit).read_bytes()
        if len(alive) != (self.state.rows + 8) // 8:
            raise column_store.DamagedIndex(f"alive-{self.commit}.bin is of another length")
        self.alive = np.unpackbits(np.frombuffer(alive, np.uint8), count=self.state.rows + 1).astype(np.bool_)
        self.graph = previous_graph
        if previous_graph is None or previous_graph.name != self.state.graph:
            name = self.state.graph
            self.graph = HnswGraph(directory / name, model.dims, self.state.check) if name else None
        self._nearest = NearestNeighbours(self.columns, self.graph, self.state.covered)
        self._copies = self.columns.copies(self.alive)
        self._masks: dict[Filters, _Passing] = {}

    @property
    def needs_rebuild(self) -> bool:
        """Return whether more rows are dead than alive, so the generation should be rebuilt."""
        return self.state.rows > 2 * self.stats.services + LINEAR_ROWS

    def candidates(self, question: ParsedQuery, filters: Filters, limit: int) -> Pool:
        passing = self._passing(filters)
        if not question.text.strip():
            rows, matching = self._best(passing.mask, limit)
        else:
            word_rows, matching = self._by_words(question, filters, passing, limit)
            near_rows = np.zeros(0, np.int64)
            if question.whole is not None and question.model == self._model.id:
                near_rows = self._nearest.rows(question.whole, passing.mask, VECTOR_CANDIDATES)
            rows = _union(word_rows, near_rows)
            matching = max(matching, len(rows))
        named = self._named(question, passing)
        if len(named):
            rows = _union(rows, named)
            matching = max(matching, len(rows))
        has_folded = len(passing.folded.positions) > 0
        candidates = self.columns.gather(
            rows,
            self._model.id,
            copies=(lambda index: self._behind(int(rows[index]), passing.folded, named)) if has_folded else no_copies,
            named=np.flatnonzero(np.isin(rows, named)).tolist() if len(named) else (),
        )
        return Pool(self.generation, self.stats, candidates, matching)

    def _best(self, mask: Mask, limit: int) -> tuple[Rows, int]:
        """Return the rows with the best score, and the number of all rows."""
        rows = np.flatnonzero(mask)
        scores = self.columns.table["score"][rows].astype(np.int32)
        return rows[np.argsort(-scores, kind="stable")[:limit]], len(rows)

    def _by_words(self, question: ParsedQuery, filters: Filters, passing: _Passing, limit: int) -> tuple[Rows, int]:
        """Return the best rows by words and an estimate of all matching ones. If most services pass the filters, search
        without filters: tantivy can skip whole blocks of low-scoring services only in an unfiltered query."""
        if not question.terms:
            return np.zeros(0, np.int64), 0
        any_word = [(Occur.Should, Query.term_query(SCHEMA, "text", term, "freq")) for term in question.terms]
        query = Query.boolean_query(any_word)
        if passing.share >= _POST_FILTER_SHARE:
            rows, matching = self._fetch(query, passing.mask, limit, int(limit * 1.1 / passing.share) + 10)
            if matching is not None:
                return rows, matching
            if len(rows) == limit:
                return rows, max(limit, self._estimate(question, passing.share))
        filtered_query = Query.boolean_query([(Occur.Must, query), *_filter_clauses(filters)])
        rows, matching = self._fetch(filtered_query, passing.mask, limit, limit, count=True)
        return rows, matching or 0

    def _fetch(
        self, query: Query, mask: Mask, limit: int, fetch_limit: int, *, count: bool = False
    ) -> tuple[Rows, int | None]:
        """Return the best `limit` rows of the mask, and how many rows match: exactly if all hits were fetched, else all
        hits if `count`, else None. Fetch more if too few of the hits are in the mask, as when many are folded
        copies."""
        while True:
            result = self._searcher.search(query, fetch_limit, count=count)
            rows = self._rows([address for _, address in result.hits])
            rows = rows[mask[rows]]
            if len(result.hits) < fetch_limit:
                return rows[:limit], len(rows)
            if len(rows) >= limit or fetch_limit >= _MAX_FETCHED * limit:
                return rows[:limit], result.count if count else None
            fetch_limit *= 4

    def _estimate(self, question: ParsedQuery, share: float) -> int:
        """Estimate how many services hold any of the words, assuming that words are independent."""
        df = self.stats.document_frequency(term_ids(list(question.terms)))
        share_without = np.prod(1 - df / max(1, self.stats.services))
        return round(share * self.stats.services * float(1 - share_without))

    def _named(self, question: ParsedQuery, passing: _Passing) -> Rows:
        """Return the rows that the question names and that pass the filters, the best proven and oldest first."""
        names = sought(question.names, question.terms, self.stats)
        if not names:  # guard: named-copies-are-shown
            return np.zeros(0, np.int64)
        fields = ((field, name) for name in names for field in search_filters.fields_of_name(name))
        rows = self._having_any(fields, _NAMED_FETCHED)
        rows = rows[passing.mask[rows] | np.isin(rows, passing.folded.positions)]
        table = self.columns.table
        is_other = np.array([host not in names for host in self.columns.hosts(rows)])
        return rows[np.lexsort((rows, table["offered"][rows], table["level"][rows], is_other))][:MOST_NAMED]

    def _behind(self, row: int, folded: FoldedCopies, named: Rows) -> FoldedHosts:
        """Return the hosts of the copies folded behind the row, except hosts that the question names."""
        rows = np.setdiff1d(folded.behind(row), named, assume_unique=True)
        return FoldedHosts(tuple(self.columns.hosts(rows[:SHOWN_COPIES])), len(rows))

    def _having_any(self, terms: Iterable[tuple[str, str]], limit: int) -> Rows:
        """Return the rows with any of the (field, value) pairs."""
        clauses = [(Occur.Should, Query.term_query(SCHEMA, field, value, "basic")) for field, value in terms]
        hits = self._searcher.search(Query.boolean_query(clauses), limit, count=False).hits
        return self._rows([address for _, address in hits])

    def _rows(self, addresses: Sequence[Any]) -> Rows:
        rows: Rows = np.array(self._searcher.fast_field_values("row", list(addresses)), np.int64)
        if len(rows) and not 0 < int(rows.min()) <= int(rows.max()) <= self.state.rows:
            raise column_store.DamagedIndex("the index names rows that are not there")
        return rows

    def _passing(self, filters: Filters) -> _Passing:
        cached = self._masks.get(filters)
        if cached is None:
            mask = self.alive.copy()
            for facet, values in search_filters.facet_filters(filters).items():
                mask &= self._on_hosts(values) if facet == "host" else self.columns.having(facet, values)
            for number, (minimum, maximum) in search_filters.ranges(filters).items():
                mask &= (self.columns.table[number] >= minimum) & (self.columns.table[number] <= maximum)
            share = np.count_nonzero(mask) / max(1, self.stats.services)
            folded = self._copies.folded(mask) if filters.unique else NONE_FOLDED  # guard: copies-are-folded
            mask[folded.positions] = False
            cached = _Passing(mask, folded, share)
            if len(self._masks) >= _MASKS:
                self._masks = {}
            self._masks[filters] = cached
        return cached

    def _on_hosts(self, hosts: Sequence[str]) -> Mask:
        """Return the mask of the rows of these hosts; hosts are only in the text index, not in the columns."""
        mask = np.zeros_like(self.alive)
        mask[self._having_any((("host", host) for host in hosts), len(hosts))] = True
        return mask

    def held(self, host: str) -> IndexedService | None:
        hits = self._searcher.search(Query.term_query(SCHEMA, "host", host, "basic"), 1, count=False).hits
        if not hits:
            return None
        (row,) = self._rows([hits[0][1]]).tolist()
        length = int(self.columns.table["length"][row])
        return IndexedService(self.columns.hash(row), row, length, self.columns.terms(row))

    def hashes(self) -> Iterator[tuple[str, bytes]]:
        alive = np.flatnonzero(self.alive)
        for start in range(0, len(alive), _HASHED_ROWS):
            rows = alive[start : start + _HASHED_ROWS]
            for host, row in zip(self.columns.hosts(rows), rows.tolist(), strict=True):
                yield host, self.columns.hash(row)

    def count(self) -> int:
        return self.stats.services


def _union(rows: Rows, others: Rows) -> Rows:
    """Return the union of both, ascending and without duplicates."""
    combined = np.sort(np.concatenate([rows, others]))
    is_first = np.ones(len(combined), np.bool_)
    is_first[1:] = combined[1:] != combined[:-1]
    return combined[is_first]


def layout(model: EmbeddingModel) -> str:
    return f"{LAYOUT}:{model.id}:{model.dims}"


def _committed(searcher: Searcher) -> tuple[bytes, bytes]:
    """Return the encoded counts and state. Raise OutdatedIndex if the generation has no readable ones."""
    reader: Any = searcher
    hits = reader.search(Query.term_query(SCHEMA, "kind", _STATS, "basic"), 1, count=False).hits
    document = reader.doc(hits[0][1]) if hits else None
    counts, state = (document.get_first(name) if document else None for name in ("tally", "state"))
    if counts is None or state is None:
        raise column_store.OutdatedIndex("no statistics")
    return counts, state


def _filter_clauses(filters: Filters) -> Iterator[tuple[Occur, Query]]:
    """Yield the filters as clauses of weight 0, so that text alone decides the order. They are part of the query, so
    filtering cannot shrink the pool afterwards."""
    for facet, values in search_filters.facet_filters(filters).items():
        any_of = [(Occur.Should, Query.term_query(SCHEMA, facet, value, "basic")) for value in values]
        yield Occur.Must, Query.const_score_query(Query.boolean_query(any_of), 0.0)
    for number, (minimum, maximum) in search_filters.ranges(filters).items():
        between = Query.range_query(SCHEMA, number, FieldType.Unsigned, lower_bound=minimum, upper_bound=maximum)
        yield Occur.Must, Query.const_score_query(between, 0.0)


class GenerationWriter:
    """The only writer of a generation. Not thread-safe; must be discarded after any error."""

    def __init__(self, directory: Path, build: str, model: EmbeddingModel) -> None:
        self.build = build
        self._directory = directory
        self._model = model
        is_new = not Index.exists(str(directory))
        self._index = Index(SCHEMA, path=str(directory), reuse=True)
        self._index.config_reader("manual")
        self._writer = self._index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        self._committed = None if is_new else Snapshot(directory, build, model, self._index.searcher())
        encoded = None if is_new else _committed(self._index.searcher())[0]
        self._counts = CorpusCounts() if encoded is None else CorpusCounts.decode(encoded, layout(model))
        self._columns = ColumnStoreWriter(directory, self._committed.state.rows if self._committed else 0, model.dims)
        self._pending: dict[str, IndexedService | None] = {}
        self._dead: list[int] = []

    def add(self, document: SearchDocument) -> IndexedService:
        """Add a host that the index does not hold yet, as in a build."""
        record = document.record
        row = self._columns.add(document)
        self._counts.add(record)
        self._writer.add_document(_to_tantivy(document, row))
        return IndexedService(document.hash, row, record.length, record.terms)

    def replace(self, document: SearchDocument) -> bool:
        """Write the document. Return False if the index already holds exactly this one."""
        host = document.listing.host
        indexed = self._indexed(host)
        if indexed and indexed.hash == document.hash:
            return False
        self._drop(host, indexed)
        self._pending[host] = self.add(document)
        return True

    def remove(self, host: str) -> bool:
        """Remove a host. Return False if the index does not hold it."""
        indexed = self._indexed(host)
        if indexed is None:
            return False
        self._drop(host, indexed)
        self._pending[host] = None
        return True

    def _drop(self, host: str, indexed: IndexedService | None) -> None:
        if indexed:
            self._counts.remove(indexed.length, indexed.terms)
            self._dead.append(indexed.row)
        self._writer.delete_documents_by_term("host", host)

    def _indexed(self, host: str) -> IndexedService | None:
        if host in self._pending:
            return self._pending[host]
        return self._committed.held(host) if self._committed else None

    @property
    def changed(self) -> bool:
        return bool(self._pending)

    def commit(self) -> None:
        """Write all files, then the document that names them, then delete the files of older commits."""
        self._counts.commit += 1
        self._columns.flush()
        self._write_alive()
        previous_state = self._committed.state if self._committed else _State()
        state = self._with_graph(replace(previous_state, rows=self._columns.rows))
        sync_folder(self._directory)
        self._writer.delete_documents_by_term("kind", _STATS)
        stats = Document()
        stats.add_text("kind", _STATS)
        stats.add_bytes("tally", self._counts.encode(layout(self._model)))
        stats.add_bytes("state", state.encode())
        self._writer.add_document(stats)
        self._writer.commit()
        self._index.reload()
        previous_graph = self._committed.graph if self._committed else None
        self._committed = Snapshot(self._directory, self.build, self._model, self._index.searcher(), previous_graph)
        self._pending.clear()
        self._dead.clear()
        self._sweep(state)

    def _write_alive(self) -> None:
        alive = np.ones(self._columns.rows + 1, np.bool_)
        alive[0] = False
        if self._committed:
            alive[: len(self._committed.alive)] = self._committed.alive
        alive[self._dead] = False
        with _alive(self._directory, self._counts.commit).open("wb") as file:
            file.write(np.packbits(alive).tobytes())
            file.flush()
            os.fsync(file.fileno())

    def _with_graph(self, state: _State) -> _State:
        """Build a new graph if too many rows would have to be scanned linearly; otherwise return the state
        unchanged."""
        if not self._model.id or not needs_new_graph(state.rows, state.covered):
            return state
        graph_name = f"graph-{self._counts.commit}.bin"
        previous_graph = self._directory / state.graph if state.graph else None
        columns = ColumnStore(self._directory, state.rows, self._model.dims)
        check = extend_graph(columns, previous_graph, state.covered, self._directory / graph_name)
        return _State(state.rows, graph_name, state.rows, check)

    def _sweep(self, state: _State) -> None:
        """Delete the files of older commits; a reader that was opening one gets FileNotFoundError and retries."""
        keep = {_alive(self._directory, self._counts.commit).name, state.graph}
        for path in (*self._directory.glob("alive-*.bin"), *self._directory.glob("graph-*.bin")):
            if path.name not in keep:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Wait for running merges, then release tantivy's lock."""
        self._columns.close()
        self._writer.wait_merging_threads()


def _alive(directory: Path, commit: int) -> Path:
    return directory / f"alive-{commit}.bin"


def sync_folder(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _to_tantivy(document: SearchDocument, row: int) -> Document:
    """Build the document field by field: keyword arguments make signed numbers, which stop the indexing thread."""
    tantivy_document = Document()
    tantivy_document.add_text("text", indexed_text(document.listing))
    for field, read in search_filters.NAMES.items():
        for name in read(document.listing):
            tantivy_document.add_text(field, name)
    for facet, value in search_filters.values_of(document.listing):
        tantivy_document.add_text(facet, value)
    for name, number in search_filters.numbers_of(document.listing):
        tantivy_document.add_unsigned(name, number)
    tantivy_document.add_unsigned("row", row)
    return tantivy_document
