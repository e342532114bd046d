"""Builds a new index beside the live one. It is not read before the swap; the next build drops an abandoned one.

A bounded number of batches is sent before earlier tasks are done, so that the server can process several at once.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import orjson
import structlog

from registry.core.model.listing import SearchUnavailable
from registry.core.ranking.copies import standing_of
from registry.core.scheduling.bisection import Bisection
from registry.search.backend import SearchDocument
from registry.search.column_store import CorpusCounts
from registry.search.meilisearch import layout
from registry.search.meilisearch.admin import Admin, TaskFailure
from registry.search.meilisearch.index_writer import BATCH, BATCH_BYTES, MAX_QUARANTINED

log = structlog.get_logger(__name__)

IN_FLIGHT: Final = 8  # tasks sent and not yet waited for; together they take some 80 MB on the server's disk
_Lines = list[tuple[SearchDocument, bytes]]


class IndexBuild:
    """Implements `registry.search.backend.BlockingBuild`, in one thread at a time. `on_swap` is called after a swap."""

    def __init__(self, admin: Admin, live: str, build: str, model: str, dims: int, on_swap: Callable[[], None]) -> None:
        for left_over in admin.indexes(f"{live}_b"):
            admin.drop(left_over)
        self._admin = admin
        self._live = live
        self._new_index = f"{live}_b{build}"
        self._build = build
        self._model = model
        self._on_swap = on_swap
        self._corpus_counts = CorpusCounts()
        self._offers: Counter[int] = Counter()
        self._batch: _Lines = []
        self._batch_bytes = 0
        self._sent: deque[tuple[int, _Lines]] = deque()
        self._failed: list[_Lines] = []
        self._refused = 0
        self._swapped = False
        admin.create(self._new_index, layout.index_settings(model, dims), layout.PRIMARY_KEY)

    def add(self, documents: Sequence[SearchDocument]) -> None:
        for document in documents:
            raw = orjson.dumps(layout.service_document(document, self._model))
            self._batch.append((document, raw))
            self._batch_bytes += len(raw)
            if len(self._batch) == BATCH or self._batch_bytes > BATCH_BYTES:
                self._send()
        while len(self._sent) > IN_FLIGHT:
            self._wait_oldest()

    def swap(self) -> None:
        """Wait for all tasks, check the number of documents, swap the indexes and drop the old one."""
        self._send()
        while self._sent:
            self._wait_oldest()
        for lines in self._failed:
            self._send_again(lines)
        self._corpus_counts.commit = 1
        del self._offers[0]
        copied = {offer: services for offer, services in self._offers.items() if services > 1}
        encoded = self._corpus_counts.encode(layout.LAYOUT)
        statistics = layout.statistics_document(f"{self._build}.1", encoded, copied, self._model)
        self._admin.wait(self._admin.add(self._new_index, [orjson.dumps(statistics)], layout.PRIMARY_KEY))
        if self._admin.count(self._new_index) != self._corpus_counts.services + 1:
            raise SearchUnavailable("the new index does not hold what was sent to it")
        self._admin.wait_idle(self._live)
        replaced = self._admin.exists(self._live)
        self._admin.swap(self._new_index, self._live, first=not replaced)
        self._swapped = True
        self._on_swap()
        if replaced:
            self._admin.drop(self._new_index)

    def drop(self) -> None:
        """Remove the unfinished index; do nothing after a swap. If the engine is away, the next build removes it."""
        if not self._swapped:
            with suppress(SearchUnavailable):
                self._admin.drop(self._new_index)

    def _send(self) -> None:
        if self._batch:
            task = self._admin.add(self._new_index, [raw for _, raw in self._batch], layout.PRIMARY_KEY)
            self._sent.append((task, self._batch))
            self._batch, self._batch_bytes = [], 0

    def _wait_oldest(self) -> None:
        """Wait for the oldest sent task. The server may batch tasks, so one failure can fail others with it."""
        task, lines = self._sent.popleft()
        try:
            self._admin.wait(task)
        except TaskFailure as failure:
            if not failure.is_the_documents:
                raise SearchUnavailable(str(failure)) from failure
            self._failed.append(lines)
        else:
            self._count(lines)

    def _send_again(self, lines: _Lines) -> None:
        """Send the lines of a failed task again, bisecting them; leave out the documents that fail alone."""
        parts = Bisection(lines)
        for part in parts:
            try:
                self._admin.wait(self._admin.add(self._new_index, [raw for _, raw in part], layout.PRIMARY_KEY))
            except TaskFailure as failure:
                if parts.split(part):
                    continue
                self._refused += 1
                if self._refused > MAX_QUARANTINED or not failure.is_the_documents:
                    raise SearchUnavailable(str(failure)) from failure
                log.error("meilisearch.quarantined", host=part[0][0].listing.host, code=failure.code)
            else:
                self._count(part)

    def _count(self, lines: Sequence[tuple[SearchDocument, bytes]]) -> None:
        for document, _ in lines:
            self._corpus_counts.add(document.record)
            self._offers[standing_of(document.listing).offer] += 1
