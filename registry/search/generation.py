"""One generation of the embedded index: a directory with a tantivy index, columns and vectors; its writer, its readers.

tantivy finds words and knows which row of the columns a service is in; everything that the ranker reads comes from the
columns. What belongs to a commit is named by one document of the tantivy index that is no service: the statistics of
the collection, the number of rows, the list of those that are alive, the graph of the vectors. All files are on the
disk before that document is, so a reader can never hold the one without the other, wherever a writer was killed.

    rows.bin, hosts.bin, ...   columns.py
    alive-<commit>.bin         a bit for each row
    graph-<commit>.bin         ann.py; none while there are few services

Terms are put together as queries by hand; text from outside never meets a query parser. Longer than most modules,
because writer and reader have to agree on every line of the layout.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray
from tantivy import Document, FieldType, Index, Occur, Query, Schema, SchemaBuilder, Searcher

from registry.core.listing import Filters
from registry.core.ranking import RANKER_VERSION, Question, indexed_text, term_ids
from registry.search.ann import FEW, Graph, Mask, Nearest, extend_graph, is_due
from registry.search.backend import Pool, SearchDocument
from registry.search.columns import Columns, ColumnsWriter, Damaged, Rows
from registry.search.facets import FACETS, NUMBERS, ranges, values_of, wanted
from registry.search.tally import Outdated, Tally, read_stats

LAYOUT = f"3:{RANKER_VERSION}"
"""Version of what a generation holds; another one is built again."""

NEAREST: Final = 64
"""Services that the vectors propose. On 3,095 services, with 100 by words, ranking these gives the same ten as ranking
all; with 200 by words, on 100,000, 9.8 of them."""

_MOST: Final = 0.5
"""A filter that leaves at least this share of the services is applied to what tantivy found."""

_WRITER_BYTES = 32_000_000
_MASKS = 64  # filters whose rows are remembered while a commit stands; one is a byte per row
_SERVICE, _STATS = "service", "stats"


class Model(NamedTuple):
    """Whose vectors a generation holds; no id and 0 dimensions: it holds none."""

    id: str = ""
    dims: int = 0


def _make_schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("host", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    for facet in FACETS:
        builder.add_text_field(facet, tokenizer_name="raw", index_option="basic")
    for number in NUMBERS:
        builder.add_unsigned_field(number, indexed=True, fast=True)
    builder.add_unsigned_field("row", fast=True)
    builder.add_bytes_field("tally", stored=True)
    builder.add_bytes_field("state", stored=True)
    return builder.build()


SCHEMA = _make_schema()


@dataclass(frozen=True, slots=True)
class _State:
    """What a commit names. The file `graph`, with the CRC-32 `check`, holds the rows up to `covered`."""

    rows: int = 0
    graph: str | None = None
    covered: int = 0
    check: int = 0

    def encode(self) -> bytes:
        return orjson.dumps([self.rows, self.graph, self.covered, self.check])

    @classmethod
    def decode(cls, raw: bytes) -> "_State":
        return cls(*orjson.loads(raw))


class Held(NamedTuple):
    """What the index holds of a host."""

    hash: bytes
    row: int
    length: int
    terms: NDArray[np.uint32]


class Snapshot:
    """What a reader sees of a generation: one commit, whatever is written meanwhile."""

    def __init__(
        self, directory: Path, build: str, model: Model, searcher: Searcher, before: Graph | None = None
    ) -> None:
        """`before` is the graph of the commit before, which this one may go on with.

        Raises Outdated, Damaged, FileNotFoundError and what tantivy and usearch have for broken files."""
        self._searcher: Any = searcher  # the stubs know neither `count` nor what a schema promises to be stored
        self._model = model
        tally, state = _committed(searcher)
        self.commit, self.stats = read_stats(tally, layout(model))
        self.generation = f"{build}.{self.commit}"
        self.state = _State.decode(state)
        self.columns = Columns(directory, self.state.rows, model.dims)
        self.alive = _read_alive(_alive(directory, self.commit), self.state.rows)
        self.graph = before
        if before is None or before.name != self.state.graph:
            name = self.state.graph
            self.graph = Graph(directory / name, model.dims, self.state.check) if name else None
        self._nearest = Nearest(self.columns, self.graph, self.state.covered)
        self._masks: dict[Filters, tuple[Mask, float]] = {}

    @property
    def is_worn(self) -> bool:
        """More rows are dead than alive: the files should be written anew."""
        return self.state.rows > 2 * self.stats.services + FEW

    def candidates(self, question: Question, filters: Filters, limit: int) -> Pool:
        if not question.text.strip():
            rows, matching = self._search(_services(), filters, limit, order_by="score")
        else:
            named, matching = self._by_words(question, filters, limit)
            rows = _united(named, self._by_vectors(question, filters))
            matching = max(matching, len(rows))
        return Pool(self.generation, self.stats, self.columns.gather(rows, self._model.id), matching)

    def _by_words(self, question: Question, filters: Filters, limit: int) -> tuple[Rows, int]:
        """Where most services pass the filters, tantivy is asked without them: it can then leave out whole blocks of
        services that cannot be among the best, which with a filter it cannot."""
        if not question.terms:
            return np.zeros(0, np.int64), 0
        query = _any_of(list(question.terms))
        mask, share = self._mask(filters)
        if share >= _MOST:
            wanted = int(limit * 1.1 / share) + 10
            hits = self._searcher.search(query, wanted, count=False).hits
            rows = self._rows([address for _, address in hits])
            rows = rows[mask[rows]]
            if len(hits) < wanted:
                return rows[:limit], len(rows)
            if len(rows) >= limit:
                return rows[:limit], max(len(rows), self._estimate(question, share))
        return self._search(query, filters, limit)

    def _estimate(self, question: Question, share: float) -> int:
        """How many services hold a word, were words spread by chance."""
        df = self.stats.document_frequency(term_ids(list(question.terms)))
        without = np.prod(1 - df / max(1, self.stats.services))
        return round(share * self.stats.services * float(1 - without))

    def _by_vectors(self, question: Question, filters: Filters) -> Rows:
        if question.whole is None or question.model != self._model.id:
            return np.zeros(0, np.int64)
        return self._nearest.rows(question.whole, self._mask(filters)[0], NEAREST)

    def _search(self, query: Query, filters: Filters, limit: int, order_by: str | None = None) -> tuple[Rows, int]:
        narrowed = Query.boolean_query([(Occur.Must, query), *_filter_clauses(filters)])
        result = self._searcher.search(narrowed, limit, count=True, order_by_field=order_by)
        return self._rows([address for _, address in result.hits]), result.count

    def _rows(self, addresses: Sequence[Any]) -> Rows:
        found: Rows = np.array(self._searcher.fast_field_values("row", list(addresses)), np.int64)
        if len(found) and not 0 < int(found.min()) <= int(found.max()) <= self.state.rows:
            raise Damaged("the index names rows that are not there")
        return found

    def _mask(self, filters: Filters) -> tuple[Mask, float]:
        """(rows + 1,): the living rows that pass; and their share of the living."""
        known = self._masks.get(filters)
        if known is None:
            mask = self.alive.copy()
            for facet, values in wanted(filters).items():
                mask &= self.columns.having(facet, values)
            for number, (least, most) in ranges(filters).items():
                mask &= (self.columns.table[number] >= least) & (self.columns.table[number] <= most)
            known = mask, np.count_nonzero(mask) / max(1, self.stats.services)
            if len(self._masks) >= _MASKS:
                self._masks = {}
            self._masks[filters] = known
        return known

    def held(self, host: str) -> Held | None:
        hits = self._searcher.search(Query.term_query(SCHEMA, "host", host, "basic"), 1, count=False).hits
        if not hits:
            return None
        (row,) = self._rows([hits[0][1]]).tolist()
        return Held(self.columns.hash(row), row, self.columns.length(row), self.columns.terms(row))

    def hashes(self) -> Iterator[tuple[str, bytes]]:
        rows = np.flatnonzero(self.alive)
        for host, row in zip(self.columns.hosts(rows), rows.tolist(), strict=True):
            yield host, self.columns.hash(row)

    def count(self) -> int:
        return self.stats.services


def _united(rows: Rows, others: Rows) -> Rows:
    """Rising, each once."""
    both = np.sort(np.concatenate([rows, others]))
    fresh = np.ones(len(both), np.bool_)
    fresh[1:] = both[1:] != both[:-1]
    return both[fresh]


def layout(model: Model) -> str:
    return f"{LAYOUT}:{model.id}:{model.dims}"


def _committed(searcher: Searcher) -> tuple[bytes, bytes]:
    """Tally and state. Raises Outdated where the generation has none that we can read."""
    reader: Any = searcher
    hits = reader.search(Query.term_query(SCHEMA, "kind", _STATS, "basic"), 1, count=False).hits
    document = reader.doc(hits[0][1]) if hits else None
    tally, state = (document.get_first(name) if document else None for name in ("tally", "state"))
    if tally is None or state is None:
        raise Outdated("no statistics")
    return tally, state


def _any_of(terms: Sequence[str]) -> Query:
    clauses = [(Occur.Should, Query.term_query(SCHEMA, "text", term, "freq")) for term in terms]
    return Query.boolean_query(clauses)


def _services() -> Query:
    return Query.term_query(SCHEMA, "kind", _SERVICE, "basic")


def _filter_clauses(filters: Filters) -> Iterator[tuple[Occur, Query]]:
    """Inside the query, so that a pool is never emptied afterwards; without weight, so that the order is the text's."""
    for facet, values in wanted(filters).items():
        any_of = [(Occur.Should, Query.term_query(SCHEMA, facet, value, "basic")) for value in values]
        yield Occur.Must, Query.const_score_query(Query.boolean_query(any_of), 0.0)
    for number, (least, most) in ranges(filters).items():
        between = Query.range_query(SCHEMA, number, FieldType.Unsigned, lower_bound=least, upper_bound=most)
        yield Occur.Must, Query.const_score_query(between, 0.0)


def open_reader(directory: Path) -> Index:
    """The committed index; `reload` decides when it looks again."""
    index = Index.open(str(directory))
    index.config_reader("manual")
    return index


class GenerationWriter:
    """The one writer of a generation. Not safe for threads; after any error it must be thrown away."""

    def __init__(self, directory: Path, build: str, model: Model) -> None:
        self.build = build
        self._directory = directory
        self._model = model
        fresh = not Index.exists(str(directory))
        self._index = Index(SCHEMA, path=str(directory), reuse=True)
        self._index.config_reader("manual")
        self._writer = self._index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        self._committed = None if fresh else Snapshot(directory, build, model, self._index.searcher())
        self._tally = Tally() if fresh else Tally.decode(_committed(self._index.searcher())[0], layout(model))
        self._columns = ColumnsWriter(directory, self._committed.state.rows if self._committed else 0, model.dims)
        self._pending: dict[str, Held | None] = {}
        self._dead: list[int] = []

    def add(self, document: SearchDocument) -> Held:
        """A host that is not there yet, as when building."""
        record = document.record
        row = self._columns.add(document)
        self._tally.add(record)
        self._writer.add_document(_to_tantivy(document, row))
        return Held(document.hash, row, record.length, record.terms)

    def replace(self, document: SearchDocument) -> bool:
        """False where the index holds exactly this already."""
        host = document.listing.host
        held = self._held(host)
        if held and held.hash == document.hash:
            return False
        self._drop(host, held)
        self._pending[host] = self.add(document)
        return True

    def remove(self, host: str) -> bool:
        """False where the host was not there."""
        held = self._held(host)
        if held is None:
            return False
        self._drop(host, held)
        self._pending[host] = None
        return True

    def _drop(self, host: str, held: Held | None) -> None:
        if held:
            self._tally.remove(held)
            self._dead.append(held.row)
        self._writer.delete_documents_by_term("host", host)

    def _held(self, host: str) -> Held | None:
        if host in self._pending:
            return self._pending[host]
        return self._committed.held(host) if self._committed else None

    @property
    def changed(self) -> bool:
        return bool(self._pending)

    def commit(self) -> None:
        """First all files, then the document that names them; files that no reader opens any more go last."""
        self._tally.commit += 1
        self._columns.flush()
        self._write_alive()
        known = self._committed.state if self._committed else _State()
        state = self._with_graph(replace(known, rows=self._columns.rows))
        _sync(self._directory)
        self._writer.delete_documents_by_term("kind", _STATS)
        stats = Document()
        stats.add_text("kind", _STATS)
        stats.add_bytes("tally", self._tally.encode(layout(self._model)))
        stats.add_bytes("state", state.encode())
        self._writer.add_document(stats)
        self._writer.commit()
        self._index.reload()
        before = self._committed.graph if self._committed else None
        self._committed = Snapshot(self._directory, self.build, self._model, self._index.searcher(), before)
        self._pending.clear()
        self._dead.clear()
        self._sweep(state)

    def _write_alive(self) -> None:
        alive = np.ones(self._columns.rows + 1, np.bool_)
        alive[0] = False
        if self._committed:
            alive[: len(self._committed.alive)] = self._committed.alive
        alive[self._dead] = False
        with _alive(self._directory, self._tally.commit).open("wb") as file:
            file.write(np.packbits(alive).tobytes())
            file.flush()
            os.fsync(file.fileno())

    def _with_graph(self, state: _State) -> _State:
        """A new graph where too many rows have to be looked at one by one."""
        if not self._model.id or not is_due(state.rows, state.covered):
            return state
        made = f"graph-{self._tally.commit}.bin"
        known = self._directory / state.graph if state.graph else None
        columns = Columns(self._directory, state.rows, self._model.dims)
        check = extend_graph(columns, known, state.covered, self._directory / made)
        return _State(state.rows, made, state.rows, check)

    def _sweep(self, state: _State) -> None:
        """A reader that opens the commit before this one finds nothing and looks again."""
        keep = {_alive(self._directory, self._tally.commit).name, state.graph}
        for path in _of_commits(self._directory):
            if path.name not in keep:
                with suppress(FileNotFoundError):
                    path.unlink()

    def close(self) -> None:
        """Give tantivy's lock back; merges under way are finished."""
        self._columns.close()
        self._writer.wait_merging_threads()


def _alive(directory: Path, commit: int) -> Path:
    return directory / f"alive-{commit}.bin"


def _of_commits(directory: Path) -> Iterable[Path]:
    yield from directory.glob("alive-*.bin")
    yield from directory.glob("graph-*.bin")


def _read_alive(path: Path, rows: int) -> Mask:
    raw = path.read_bytes()
    if len(raw) != (rows + 8) // 8:
        raise Damaged(f"{path.name} is of another length")
    return np.unpackbits(np.frombuffer(raw, np.uint8), count=rows + 1).astype(np.bool_)


def _sync(directory: Path) -> None:
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _to_tantivy(document: SearchDocument, row: int) -> Document:
    """Field by field: a keyword argument would make a signed number, which stops the indexing thread."""
    made = Document()
    made.add_text("kind", _SERVICE)
    made.add_text("host", document.listing.host)
    made.add_text("text", indexed_text(document.listing))
    for facet, value in values_of(document.listing):
        made.add_text(facet, value)
    for number, read in NUMBERS.items():
        made.add_unsigned(number, read(document.listing))
    made.add_unsigned("row", row)
    return made
