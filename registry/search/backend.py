"""The interface of a search engine: return candidates for the ranker, accept changes, rebuild the index.

An engine selects a few hundred candidates under the filters of a query; `registry.core.ranking` orders them. The index
is derived data: it can always be rebuilt from the database.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from registry.core import ranking
from registry.core.model.listing import Filters, Listing, SearchUnavailable


class WriterBusy(SearchUnavailable):
    """Another process is the writer of this index; nothing was written."""


class IndexState(StrEnum):
    READY = "ready"
    MISSING = "missing"  # never built, or its files were removed
    OUTDATED = "outdated"  # built with another ranker record or in another layout
    UNREADABLE = "unreadable"
    AWAY = "away"  # the engine does not answer; its index may be intact


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """The content of an index for one service; the host is its id. Equal hashes mean equal content."""

    listing: Listing
    record: ranking.Record
    hash: bytes


@dataclass(frozen=True, slots=True)
class Pool:
    """The engine's candidates, in arbitrary order.

    `matching`: number of services that contain a word of the question, at least the number of candidates. It is an
    estimate, because every service has some vector similarity. For a blank question it is the number of services that
    pass the filters, copies folded if these ask for it; an engine may count copies beyond its first candidates.

    `generation` is `<build>.<commit>`: equal generations hold the same documents and the same statistics.
    """

    generation: str
    stats: ranking.CorpusStats
    candidates: ranking.CandidateSet
    matching: int


@dataclass(frozen=True, slots=True)
class IndexHealth:
    state: IndexState
    generation: str | None = None
    services: int = 0

    @property
    def is_ready(self) -> bool:
        return self.state is IndexState.READY


class Build(Protocol):
    """A new index built beside the live one. It is not read before `swap`; leaving without `swap` drops it."""

    async def add(self, documents: Sequence[SearchDocument]) -> None:
        """Add documents; each host at most once per build."""

    async def swap(self) -> None:
        """Make this the live index atomically; running searches finish on the old one."""


class BlockingBuild(Protocol):
    def add(self, documents: Sequence[SearchDocument]) -> None: ...

    def swap(self) -> None: ...


class ThreadedBuild:
    """A Build that works in threads."""

    def __init__(self, build: BlockingBuild) -> None:
        self._build = build

    async def add(self, documents: Sequence[SearchDocument]) -> None:
        await asyncio.to_thread(self._build.add, documents)

    async def swap(self) -> None:
        await asyncio.to_thread(self._build.swap)


class Backend(Protocol):
    """One index. Reading raises SearchUnavailable if there is no readable index, and never returns an empty result
    instead."""

    @property
    def target(self) -> str:
        """Return the name under which pending changes for this index are recorded: `<engine>:<id>`."""

    async def candidates(self, question: ranking.ParsedQuery, filters: Filters, limit: int) -> Pool:
        """Return at most `limit` services that contain a word of the question, and those with the nearest vectors.

        A blank text returns the `limit` services with the best score. A question with neither words nor a vector
        matches nothing. Filters apply to all searches. With `filters.unique` the copies among the services that pass
        the filters are folded first, so that they take no place in the limits. Services that the question names are
        added, at most naming.MOST_NAMED, whether folded or not.
        """

    async def upsert(self, documents: Sequence[SearchDocument]) -> int:
        """Add or replace documents; return how many were new or different. Visible after `commit`. Raise WriterBusy."""

    async def delete(self, hosts: Sequence[str]) -> int:
        """Delete hosts; return how many the index held. Visible after `commit`. Raise WriterBusy."""

    async def commit(self) -> None:
        """Make pending upserts and deletions durable and visible atomically; do nothing if no change is pending."""

    def hashes(self) -> AsyncIterator[tuple[str, bytes]]:
        """Yield (host, hash) of every service that readers see, in arbitrary order."""

    def build(self) -> AbstractAsyncContextManager[Build]:
        """Start a build. Raise WriterBusy if another is running."""

    async def count(self) -> int:
        """Return the number of services that readers see."""

    def claim(self) -> bool:
        """Become the writer until this process ends. Return False while another process is."""

    async def health(self) -> IndexHealth:
        """Return the state of the index; a missing, outdated or damaged index does not raise."""

    async def close(self) -> None:
        """Release the writer's lock; uncommitted changes are lost, as after a crash."""


def make_document(listing: Listing, embedder: ranking.Embedder | None = None) -> SearchDocument:
    return make_documents([listing], embedder)[0]


def make_documents(listings: Sequence[Listing], embedder: ranking.Embedder | None = None) -> list[SearchDocument]:
    """Return the index documents of the listings; one call embeds all texts, which is faster than one call each."""
    if embedder is None:
        return [SearchDocument(one, ranking.make_record(one), ranking.index_hash(one)) for one in listings]
    texts = [ranking.texts_of(listing) for listing in listings]
    rows = embedder.encode([text for group in texts for text in group])
    documents: list[SearchDocument] = []
    for listing, listing_texts in zip(listings, texts, strict=True):
        vectors, rows = rows[: len(listing_texts)], rows[len(listing_texts) :]
        record = ranking.make_record(listing, vectors, embedder.id)
        documents.append(SearchDocument(listing, record, ranking.index_hash(listing, embedder.id)))
    return documents
