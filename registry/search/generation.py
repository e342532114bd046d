"""One generation of the embedded index: a tantivy index in a directory of its own, its writer and its snapshots.

Statistics of the collection lie in the index itself, as the one document that is no service: so they change in the
same commit as the services they describe, and a reader can never hold the one without the other.

Terms are put together as queries by hand; text from outside never meets a query parser.
"""

import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import numpy as np
from tantivy import Document, FieldType, Index, Occur, Query, Schema, SchemaBuilder, Searcher

from registry.core.listing import Filters, TrustLevel
from registry.core.ranking import RANKER_VERSION, Candidate, Candidates, CorpusStats, Question, Record, indexed_text
from registry.search.backend import Pool, SearchDocument

LAYOUT = f"1:{RANKER_VERSION}"
"""Version of what a generation holds; another one is built again."""

_WRITER_BYTES = 32_000_000
_FACETS = ("format", "auth", "pricing", "trust", "protocol")
_SERVICE, _STATS = "service", "stats"


class Outdated(Exception):
    """The generation was written with another layout or ranker record."""


def _make_schema() -> Schema:
    builder = SchemaBuilder()
    builder.add_text_field("kind", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("host", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", tokenizer_name="whitespace", index_option="freq")
    for facet in _FACETS:
        builder.add_text_field(facet, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("score", stored=True, indexed=True, fast=True)
    builder.add_bytes_field("hash", stored=True)
    builder.add_bytes_field("record", stored=True)
    return builder.build()


SCHEMA = _make_schema()


@dataclass
class Tally:
    """Counts of the collection, kept while services come and go."""

    commit: int
    services: int
    length: int
    df: Counter[int]

    def add(self, record: Record) -> None:
        self.services += 1
        self.length += record.length
        self.df.update(record.terms.tolist())

    def remove(self, record: Record) -> None:
        self.services -= 1
        self.length -= record.length
        for stem in record.terms.tolist():
            self.df[stem] -= 1
            if not self.df[stem]:
                del self.df[stem]

    def stats(self) -> CorpusStats:
        terms = np.array(sorted(self.df), np.uint32)
        df = np.array([self.df[term] for term in terms.tolist()], np.uint32)
        return CorpusStats(self.services, self.length / self.services if self.services else 0.0, terms, df)

    def encode(self) -> bytes:
        return zlib.compress(
            orjson.dumps([LAYOUT, self.commit, self.services, self.length, list(self.df.items())]), level=1
        )

    @classmethod
    def decode(cls, raw: bytes) -> "Tally":
        layout, commit, services, length, df = orjson.loads(zlib.decompress(raw))
        if layout != LAYOUT:
            raise Outdated(layout)
        return cls(commit, services, length, Counter(dict(df)))


class Snapshot:
    """What a reader sees of a generation: one commit, whatever is written meanwhile."""

    def __init__(self, build: str, searcher: Searcher) -> None:
        self._searcher: Any = searcher  # the stubs know neither `count` nor what a schema promises to be stored
        tally = read_tally(searcher)
        self.generation = f"{build}.{tally.commit}"
        self.stats = tally.stats()

    def candidates(self, question: Question, filters: Filters, limit: int) -> Pool:
        blank = not question.text.strip()
        if not question.terms and not blank:
            return Pool(self.generation, self.stats, Candidates.of([]), 0)
        wanted = _by_grade() if blank else _any_of(list(question.terms))
        query = Query.boolean_query([(Occur.Must, wanted), *_filter_clauses(filters)])
        result = self._searcher.search(query, limit, count=True, order_by_field="score" if blank else None)
        candidates = Candidates.of((self._candidate(address) for _, address in result.hits), question.model)
        return Pool(self.generation, self.stats, candidates, result.count)

    def _candidate(self, address: Any) -> Candidate:
        document = self._searcher.doc(address)
        record = Record.decode(document.get_first("record"))
        return Candidate(document.get_first("host"), document.get_first("score"), record)

    def stored(self, host: str) -> tuple[bytes, Record] | None:
        """Hash and record of one host."""
        hits = self._searcher.search(Query.term_query(SCHEMA, "host", host, "basic"), 1, count=False).hits
        if not hits:
            return None
        document = self._searcher.doc(hits[0][1])
        return document.get_first("hash"), Record.decode(document.get_first("record"))

    def hashes(self) -> Iterator[tuple[str, bytes]]:
        services = Query.term_query(SCHEMA, "kind", _SERVICE, "basic")
        for _, address in self._searcher.search(services, max(1, self._searcher.num_docs), count=False).hits:
            document = self._searcher.doc(address)
            yield document.get_first("host"), document.get_first("hash")

    def count(self) -> int:
        services = Query.term_query(SCHEMA, "kind", _SERVICE, "basic")
        found: int = self._searcher.search(services, 1, count=True).count
        return found


def read_tally(searcher: Searcher) -> Tally:
    """Raises Outdated where the generation has no statistics that we can read."""
    hits = searcher.search(Query.term_query(SCHEMA, "kind", _STATS, "basic"), 1, count=False).hits
    raw = searcher.doc(hits[0][1]).get_first("record") if hits else None
    if raw is None:
        raise Outdated("no statistics")
    return Tally.decode(raw)


def _any_of(terms: Sequence[str]) -> Query:
    clauses = [(Occur.Should, Query.term_query(SCHEMA, "text", term, "freq")) for term in terms]
    return Query.boolean_query(clauses)


def _by_grade() -> Query:
    return Query.term_query(SCHEMA, "kind", _SERVICE, "basic")


def _filter_clauses(filters: Filters) -> Iterator[tuple[Occur, Query]]:
    """Inside the query, so that a pool is never emptied afterwards; without weight, so that the order is the text's."""
    chosen = {
        "format": filters.formats,
        "auth": filters.auth_types,
        "pricing": filters.pricing_types,
        "protocol": filters.protocols,
    }
    for field, values in chosen.items():
        if values:
            yield Occur.Must, Query.const_score_query(Query.term_set_query(SCHEMA, field, list(values)), 0.0)
    if filters.min_score is not None:
        enough = Query.range_query(SCHEMA, "score", FieldType.Unsigned, lower_bound=max(0, filters.min_score))
        yield Occur.Must, Query.const_score_query(enough, 0.0)
    if not filters.include_unverified:
        yield Occur.MustNot, Query.term_query(SCHEMA, "trust", TrustLevel.UNVERIFIED, "basic")


def open_reader(directory: Path) -> Index:
    """The committed index; `reload` decides when it looks again."""
    index = Index.open(str(directory))
    index.config_reader("manual")
    return index


class GenerationWriter:
    """The one writer of a generation. Not safe for threads; after any error it must be thrown away."""

    def __init__(self, directory: Path, build: str) -> None:
        self.build = build
        fresh = not Index.exists(str(directory))
        self._index = Index(SCHEMA, path=str(directory), reuse=True)
        self._index.config_reader("manual")
        self._writer = self._index.writer(heap_size=_WRITER_BYTES, num_threads=1)
        self._tally = Tally(0, 0, 0, Counter()) if fresh else read_tally(self._index.searcher())
        self._committed = None if fresh else Snapshot(build, self._index.searcher())
        self._pending: dict[str, tuple[bytes, Record] | None] = {}

    def add(self, document: SearchDocument) -> None:
        """A host that is not there yet, as when building."""
        self._tally.add(document.record)
        self._writer.add_document(_to_tantivy(document))

    def replace(self, document: SearchDocument) -> bool:
        """False where the index holds exactly this already."""
        host = document.listing.host
        held = self._held(host)
        if held and held[0] == document.hash:
            return False
        if held:
            self._tally.remove(held[1])
        self._writer.delete_documents_by_term("host", host)
        self.add(document)
        self._pending[host] = (document.hash, document.record)
        return True

    def remove(self, host: str) -> bool:
        """False where the host was not there."""
        held = self._held(host)
        if held is None:
            return False
        self._tally.remove(held[1])
        self._writer.delete_documents_by_term("host", host)
        self._pending[host] = None
        return True

    def _held(self, host: str) -> tuple[bytes, Record] | None:
        if host in self._pending:
            return self._pending[host]
        return self._committed.stored(host) if self._committed else None

    @property
    def changed(self) -> bool:
        return bool(self._pending)

    def commit(self) -> None:
        self._tally.commit += 1
        self._writer.delete_documents_by_term("kind", _STATS)
        stats = Document()
        stats.add_text("kind", _STATS)
        stats.add_bytes("record", self._tally.encode())
        self._writer.add_document(stats)
        self._writer.commit()
        self._index.reload()
        self._committed = Snapshot(self.build, self._index.searcher())
        self._pending.clear()

    def close(self) -> None:
        """Give tantivy's lock back; merges under way are finished."""
        self._writer.wait_merging_threads()


def _to_tantivy(document: SearchDocument) -> Document:
    """Field by field: a keyword argument would make a signed number, which stops the indexing thread."""
    listing = document.listing
    made = Document()
    made.add_text("kind", _SERVICE)
    made.add_text("host", listing.host)
    made.add_text("text", indexed_text(listing))
    facets = (
        ("format", listing.formats),
        ("auth", (listing.auth_type,)),
        ("pricing", (listing.pricing_type,)),
        ("trust", (listing.trust_level,)),
        ("protocol", listing.protocols),
    )
    for field, values in facets:
        for value in values:
            made.add_text(field, value)
    made.add_unsigned("score", listing.score)
    made.add_bytes("hash", document.hash)
    made.add_bytes("record", document.record.encode())
    return made
