"""What the registry asks of a search engine: candidates for the ranker, and an index that can be fed and rebuilt.

An engine decides which few hundred services may matter under the filters of a query; it never decides their order
(`registry.core.ranking`). The index is derived: the database can always rebuild it, so nothing in here is truth.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from registry.core.listing import Filters, Listing
from registry.core.ranking import Candidate, CorpusStats, Record, index_hash, make_record


class WriterBusy(RuntimeError):
    """Another process feeds this index at the moment; nothing was written."""


class IndexState(StrEnum):
    READY = "ready"
    MISSING = "missing"  # never built, or its files were removed
    OUTDATED = "outdated"  # built with another ranker record or in another layout
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class SearchDocument:
    """What an index holds of one service; the host is its id. Equal hashes: nothing to write."""

    listing: Listing
    record: Record
    hash: bytes


@dataclass(frozen=True, slots=True)
class Pool:
    """The engine's answer, in no order that means anything. `matching` counts all services that the query matched.

    `generation` is `<build>.<commit>`: equal generations hold the same documents and the same statistics.
    """

    generation: str
    stats: CorpusStats
    candidates: tuple[Candidate, ...]
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

    async def candidates(self, terms: Sequence[str], filters: Filters, limit: int) -> Pool:
        """Services with any of the terms (stems of core/text.py), or, without terms, those with the best grade."""

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


def make_document(listing: Listing) -> SearchDocument:
    return SearchDocument(listing, make_record(listing), index_hash(listing))
