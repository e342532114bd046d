"""What the registry asks of a search engine: candidates for the ranker, and an index that can be fed and rebuilt.

An engine decides which few hundred services may matter under the filters of a query; it never decides their order
(`registry.core.ranking`). The index is derived: the database can always rebuild it, so nothing in here is truth.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from registry.core.listing import Filters, Listing, SearchUnavailable
from registry.core.ranking import (
    Candidates,
    CorpusStats,
    Embedder,
    Question,
    Record,
    index_hash,
    make_record,
    texts_of,
)


class WriterBusy(SearchUnavailable):
    """Another process feeds this index at the moment; nothing was written."""


class IndexState(StrEnum):
    READY = "ready"
    MISSING = "missing"  # never built, or its files were removed
    OUTDATED = "outdated"  # built with another ranker record or in another layout
    UNREADABLE = "unreadable"
    AWAY = "away"  # the engine does not answer; what it holds may be whole


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """What an index holds of one service; the host is its id. Equal hashes: nothing to write."""

    listing: Listing
    record: Record
    hash: bytes


@dataclass(frozen=True, slots=True)
class Pool:
    """The engine's answer, in no order that means anything.

    `matching` counts the services that hold a word of the question; with vectors every service is near it in a way,
    so it is an estimate, and never less than the candidates.

    `generation` is `<build>.<commit>`: equal generations hold the same documents and the same statistics.
    """

    generation: str
    stats: CorpusStats
    candidates: Candidates
    matching: int


@dataclass(frozen=True, slots=True)
class IndexHealth:
    state: IndexState
    generation: str | None = None
    services: int = 0


class Build(Protocol):
    """An index being built aside. Nobody reads it before `swap`; leaving without `swap` drops it."""

    async def add(self, documents: Sequence[SearchDocument]) -> None:
        """Each host once."""

    async def swap(self) -> None:
        """Make it the index that readers see, in one step; searches that are running end on the old one."""


class Backend(Protocol):
    """One index. Reading raises SearchUnavailable while there is no index to read, never an empty answer."""

    @property
    def target(self) -> str:
        """The name under which changes are noted for this index: `<engine>:<id>`."""

    async def candidates(self, question: Question, filters: Filters, limit: int) -> Pool:
        """Services with any of the question's words, at most `limit`, and those whose vectors are nearest to it.

        A blank text browses: the `limit` services with the best grade. One that has neither words nor a vector
        matches nothing. Filters hold inside both legs.
        """

    async def upsert(self, documents: Sequence[SearchDocument]) -> int:
        """How many were new or different. Seen after `commit`. Raises WriterBusy."""

    async def delete(self, hosts: Sequence[str]) -> int:
        """How many were there. Seen after `commit`. Raises WriterBusy."""

    async def commit(self) -> None:
        """Make upserts and deletions durable and visible together; without any, nothing happens."""

    def hashes(self) -> AsyncIterator[tuple[str, bytes]]:
        """(host, hash) of everything that readers see, in no order."""

    def build(self) -> AbstractAsyncContextManager[Build]:
        """Raises WriterBusy when a build is under way."""

    async def count(self) -> int:
        """Services that readers see."""

    async def health(self) -> IndexHealth:
        """Never raises for what an index can suffer."""

    async def close(self) -> None:
        """Give back the writer's lock; what was not committed is lost, as after a crash."""


def make_document(listing: Listing, embedder: Embedder | None = None) -> SearchDocument:
    return make_documents([listing], embedder)[0]


def make_documents(listings: Sequence[Listing], embedder: Embedder | None = None) -> list[SearchDocument]:
    """All texts go through the embedder at once, which is how it is fast."""
    if embedder is None:
        return [SearchDocument(one, make_record(one), index_hash(one)) for one in listings]
    texts = [texts_of(one) for one in listings]
    rows = embedder.encode_documents([text for each in texts for text in each])
    made: list[SearchDocument] = []
    for one, own in zip(listings, texts, strict=True):
        vectors, rows = rows[: len(own)], rows[len(own) :]
        made.append(SearchDocument(one, make_record(one, vectors, embedder.id), index_hash(one, embedder.id)))
    return made
