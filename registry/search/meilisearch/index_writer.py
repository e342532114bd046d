"""Writes changes to the live index: each batch is one task with its documents, tombstones and new statistics.

A task is applied completely or not at all, so documents and statistics agree even if a process dies. A later task
removes the tombstones; nothing waits for it.

Blocking, in one thread at a time. The caller ensures a single writer per index (a lock in the database).
"""

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson
import structlog

from registry.core.model.listing import SearchUnavailable
from registry.core.ranking import Record
from registry.core.ranking.copies import standing_of
from registry.core.scheduling.bisection import Bisection
from registry.search.backend import SearchDocument
from registry.search.column_store import CorpusCounts, OutdatedIndex
from registry.search.meilisearch import layout, queries
from registry.search.meilisearch.admin import Admin, TaskFailure

log = structlog.get_logger(__name__)

BATCH: Final = 500
BATCH_BYTES: Final = 10_000_000
"""Limits of one task. The server accepts 100 MB; smaller tasks are visible sooner and cost less to retry."""

MAX_QUARANTINED: Final = 8
"""Refused documents that are left out of one commit. More refusals are taken as a fault of the engine."""


@dataclass(frozen=True, slots=True)
class _StoredService:
    """The stored index entry of a service."""

    hash: bytes
    record: Record
    offer: int


@dataclass(frozen=True, slots=True)
class _Change:
    """The pending change of one service. `document`: None removes it."""

    host: str
    before: _StoredService | None
    document: SearchDocument | None


_Counted = _StoredService | SearchDocument | None


class IndexWriter:
    """The writer of the live index. After any error it must be discarded and a new one opened."""

    def __init__(self, admin: Admin, index: str, model: str) -> None:
        """Read the counts. Raise SearchUnavailable without an index, OutdatedIndex for another layout or model."""
        admin.wait_idle(index)
        self._admin = admin
        self._index = index
        self._model = model
        found = list(admin.documents(index, ["h", "g", "model", "copied", "r"], ids=[layout.STATISTICS_ID]))
        if not found or found[0].get("model") != model:
            raise OutdatedIndex("the index has vectors of another model")
        self._corpus_counts = CorpusCounts.decode(base64.b64decode(found[0]["r"]), layout.LAYOUT)
        self.generation = str(found[0]["g"])
        self._copied = layout.copied_from(base64.b64decode(found[0]["copied"]))
        self._changes: dict[str, _Change] = {}

    def is_current(self) -> bool:
        """Return whether the index is unchanged by other processes. With pending changes this is checked by `commit`,
        not here."""
        return bool(self._changes) or self._is_unchanged()

    def _is_unchanged(self) -> bool:
        documents = self._admin.documents(self._index, ["g"], ids=[layout.STATISTICS_ID])
        is_same = [document.get("g") for document in documents] == [self.generation]
        return is_same and not self._admin.is_busy(self._index)

    def replace(self, documents: Sequence[SearchDocument]) -> int:
        """Record the documents as pending changes. Return how many are new or different."""
        stored = self._stored([document.listing.host for document in documents])
        written = 0
        for document in documents:
            host = document.listing.host
            change = self._changes.get(host)
            known = change.document.hash if change and change.document else None
            if not change and host in stored:
                known = stored[host].hash
            if known != document.hash:
                before = change.before if change else stored.get(host)
                self._changes[host] = _Change(host, before, document)
                written += 1
        return written

    def remove(self, hosts: Sequence[str]) -> int:
        """Record removals as pending changes. Return how many of the hosts the index held."""
        stored = self._stored(hosts)
        removed = 0
        for host in dict.fromkeys(hosts):
            change = self._changes.get(host)
            if change.document if change else host in stored:
                self._changes[host] = _Change(host, change.before if change else stored[host], None)
                removed += 1
        return removed

    def commit(self) -> None:
        """Write the pending changes. Raise SearchUnavailable; the next writer then retries the unwritten ones."""
        changes = [change for change in self._changes.values() if change.before or change.document]
        if changes and not self._is_unchanged():
            raise SearchUnavailable("the index was changed by another process")
        refused = 0
        for batch in _batches(changes):
            parts = Bisection(batch)
            for part in parts:
                if (failure := self._send(part)) is None:
                    continue
                if refused >= MAX_QUARANTINED or not failure.is_the_documents:
                    raise SearchUnavailable(str(failure)) from failure
                if not parts.split(part):
                    log.error("meilisearch.quarantined", host=part[0].host, code=failure.code)
                    refused += 1
        if any(change.document is None for change in changes):
            self._admin.remove_where(self._index, f'kind = "{layout.DocumentKind.TOMBSTONE}"')
        self._changes.clear()

    def _stored(self, hosts: Sequence[str]) -> Mapping[str, _StoredService]:
        """Return the stored entries of the hosts that have no pending change."""
        host_by_id = {layout.id_of(host): host for host in hosts if host not in self._changes}
        if not host_by_id:
            return {}
        found = self._admin.documents(self._index, ["id", "kind", "h", "copy", "r"], ids=list(host_by_id))
        return {
            host_by_id[document["id"]]: _StoredService(
                bytes.fromhex(document["h"]),
                Record.decode(base64.b64decode(document["r"])),
                layout.offer_and_level(document["copy"])[0],
            )
            for document in found
            if document["kind"] == layout.DocumentKind.SERVICE
        }

    def _send(self, changes: Sequence[_Change]) -> TaskFailure | None:
        """Send the changes as one task. Return its failure, if any; the counts are then restored."""
        copied = self._copied_after(changes)
        self._corpus_counts.commit += 1
        self._count((change.before, change.document) for change in changes)
        generation = f"{self.generation.partition('.')[0]}.{self._corpus_counts.commit}"
        encoded = self._corpus_counts.encode(layout.LAYOUT)
        lines: list[bytes] = []
        for change in changes:
            if change.document is None:
                lines.append(orjson.dumps(layout.tombstone(change.host, self._model)))
            else:
                lines.append(orjson.dumps(layout.service_document(change.document, self._model)))
        lines.append(orjson.dumps(layout.statistics_document(generation, encoded, copied, self._model)))
        try:
            self._admin.wait(self._admin.add(self._index, lines, layout.PRIMARY_KEY))
        except TaskFailure as failure:
            self._count((change.document, change.before) for change in changes)
            return failure
        self.generation, self._copied = generation, copied
        return None

    def _copied_after(self, changes: Sequence[_Change]) -> dict[int, int]:
        """Return how many services have each fingerprint that several share, after the changes."""
        before = Counter(change.before.offer for change in changes if change.before)
        after = Counter(standing_of(change.document.listing).offer for change in changes if change.document)
        unknown = [offer for offer in after if offer and offer not in self._copied]  # at most one service has it
        counts = Counter(self._copied)
        if unknown:
            condition = queries.is_one_of("copy", queries.copy_keys(unknown))
            for document in self._admin.documents(self._index, ["copy"], filter=condition):
                counts[layout.offer_and_level(document["copy"])[0]] += 1
        counts.update(after)
        counts.subtract(before)
        del counts[0]
        return {offer: services for offer, services in counts.items() if services > 1}

    def _count(self, replaced: Iterable[tuple[_Counted, _Counted]]) -> None:
        for old, new in replaced:
            if old:
                self._corpus_counts.remove(old.record.length, old.record.terms)
            if new:
                self._corpus_counts.add(new.record)


def _batches(changes: Sequence[_Change]) -> Iterator[Sequence[_Change]]:
    """Yield batches of at most BATCH changes and about BATCH_BYTES; a sent document is about three times its record."""
    batch: list[_Change] = []
    size = 0
    for change in changes:
        change_size = 3 * len(change.document.record.encode()) if change.document else 0
        if batch and (len(batch) == BATCH or size + change_size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(change)
        size += change_size
    if batch:
        yield batch
