"""Changes carried into the live index: each batch is one task with its documents, its tombstones and the new tally.

So documents and statistics can never disagree, whatever dies in between: the task is done, or it is not. Tombstones
are removed by a task of their own behind it, which nobody has to wait for.

Blocking, in one thread at a time; who feeds an index is decided by the caller (a lock of the database).
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from registry.core.listing import SearchUnavailable
from registry.core.ranking import Record
from registry.search.backend import SearchDocument
from registry.search.meilisearch import layout
from registry.search.meilisearch.admin import Admin, TaskFailure, line
from registry.search.tally import Outdated, Tally

log = structlog.get_logger(__name__)

BATCH: Final = 500
BATCH_BYTES: Final = 10_000_000
"""Of one task. The server takes 100 MB; smaller ones are seen sooner and cost less to try again."""

QUARANTINED_AT_MOST: Final = 8
"""More documents than this that are refused one by one are not the documents' fault."""


@dataclass(frozen=True, slots=True)
class _Held:
    """What the index has of a service."""

    hash: bytes
    record: Record


@dataclass(frozen=True, slots=True)
class _Change:
    """What becomes of one service: `document` None = it goes."""

    host: str
    before: _Held | None
    document: SearchDocument | None


class Feeder:
    """The live index as one writer sees it. After any error it must be thrown away, and a new one opened."""

    def __init__(self, admin: Admin, index: str, model: str) -> None:
        """Raises SearchUnavailable where there is no index, Outdated where it is not ours to write."""
        admin.wait_idle(index)
        self._admin = admin
        self._index = index
        self._model = model
        self.generation, self._tally = read_tally(admin, index, model)
        self._changes: dict[str, _Change] = {}

    def is_current(self) -> bool:
        """Whether nobody else has written since: another process may have fed or rebuilt the index.

        With changes that are not committed yet that is asked when they are.
        """
        return bool(self._changes) or self._is_as_left()

    def _is_as_left(self) -> bool:
        known = self._admin.documents(self._index, ["g"], ids=[layout.TALLY])
        return [one.get("g") for one in known] == [self.generation] and not self._admin.is_busy(self._index)

    def replace(self, documents: Sequence[SearchDocument]) -> int:
        """How many are new or different."""
        held = self._held([one.listing.host for one in documents])
        written = 0
        for one in documents:
            host = one.listing.host
            change = self._changes.get(host)
            known = change.document.hash if change and change.document else None
            if not change and host in held:
                known = held[host].hash
            if known != one.hash:
                before = change.before if change else held.get(host)
                self._changes[host] = _Change(host, before, one)
                written += 1
        return written

    def remove(self, hosts: Sequence[str]) -> int:
        """How many were there."""
        held = self._held(hosts)
        gone = 0
        for host in dict.fromkeys(hosts):
            change = self._changes.get(host)
            if change.document if change else host in held:
                self._changes[host] = _Change(host, change.before if change else held[host], None)
                gone += 1
        return gone

    def commit(self) -> None:
        """Raises SearchUnavailable; what was not taken is then tried again by whoever comes next."""
        changes = [one for one in self._changes.values() if one.before or one.document]
        if changes and not self._is_as_left():
            raise SearchUnavailable("the index was changed by somebody else meanwhile")
        refused = 0
        for batch in _batches(changes):
            refused += self._send(batch, refused)
        if any(one.document is None for one in changes):
            self._admin.remove_where(self._index, f'kind = "{layout.Kind.GONE}"')
        self._changes.clear()

    def _held(self, hosts: Sequence[str]) -> Mapping[str, _Held]:
        """What the index has of those that no change is known of yet."""
        asked = {layout.id_of(host): host for host in hosts if host not in self._changes}
        if not asked:
            return {}
        found = self._admin.documents(self._index, ["id", "kind", "h", "r"], ids=list(asked))
        return {
            asked[one["id"]]: _Held(bytes.fromhex(one["h"]), Record.decode(base64.b64decode(one["r"])))
            for one in found
            if one["kind"] == layout.Kind.SERVICE
        }

    def _send(self, changes: Sequence[_Change], refused: int) -> int:
        """One task; where it fails for a document's sake, in halves. Gives how many were refused alone."""
        self._count(changes)
        generation = f"{self.generation.partition('.')[0]}.{self._tally.commit}"
        lines = [line(self._document(one)) for one in changes]
        lines.append(line(layout.tally(generation, self._tally.encode(layout.LAYOUT), self._model)))
        try:
            self._admin.wait(self._admin.add(self._index, lines, layout.PRIMARY_KEY))
        except TaskFailure as failure:
            self._uncount(changes)
            return self._halves(changes, failure, refused)
        self.generation = generation
        return 0

    def _halves(self, changes: Sequence[_Change], failure: TaskFailure, refused: int) -> int:
        if refused >= QUARANTINED_AT_MOST or not failure.is_the_documents:
            raise SearchUnavailable(str(failure)) from failure
        if len(changes) == 1:
            log.error("meilisearch.quarantined", host=changes[0].host, code=failure.code)
            return 1
        middle = len(changes) // 2
        first = self._send(changes[:middle], refused)
        return first + self._send(changes[middle:], refused + first)

    def _document(self, change: _Change) -> layout.Json:
        if change.document is None:
            return layout.gone(change.host, self._model)
        return layout.service(change.document, self._model)

    def _count(self, changes: Sequence[_Change]) -> None:
        self._tally.commit += 1
        for one in changes:
            if one.before:
                self._tally.remove(one.before.record)
            if one.document:
                self._tally.add(one.document.record)

    def _uncount(self, changes: Sequence[_Change]) -> None:
        for one in changes:
            if one.document:
                self._tally.remove(one.document.record)
            if one.before:
                self._tally.add(one.before.record)


def read_tally(admin: Admin, index: str, model: str) -> tuple[str, Tally]:
    """(generation, tally). Raises SearchUnavailable, and Outdated where the index has none that we can go on from."""
    fields = ["h", "g", "model", "r"]
    found = list(admin.documents(index, fields, ids=[layout.TALLY]))
    if not found or found[0].get("model") != model:
        raise Outdated("the index has vectors of another model")
    return str(found[0]["g"]), Tally.decode(base64.b64decode(found[0]["r"]), layout.LAYOUT)


def _batches(changes: Sequence[_Change]) -> Iterator[Sequence[_Change]]:
    """At most BATCH changes and about BATCH_BYTES each; base64 and words are some three times a record."""
    batch: list[_Change] = []
    size = 0
    for one in changes:
        more = 3 * len(one.document.record.encode()) if one.document else 0
        if batch and (len(batch) == BATCH or size + more > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += more
    if batch:
        yield batch
