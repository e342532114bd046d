"""An index built aside: nobody reads it before the swap, and one that is left behind is dropped by the next build.

Documents are sent ahead of their tasks, a bounded number of them, so that the server can take several at once.
"""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import structlog

from registry.core.listing import SearchUnavailable
from registry.search.backend import SearchDocument
from registry.search.meilisearch import layout
from registry.search.meilisearch.admin import Admin, TaskFailure, line
from registry.search.meilisearch.feeding import BATCH, BATCH_BYTES, QUARANTINED_AT_MOST
from registry.search.tally import Tally

log = structlog.get_logger(__name__)

IN_FLIGHT: Final = 8
"""Tasks sent ahead; they hold some 80 MB on the server's disk."""

_Lines = list[tuple[SearchDocument, bytes]]


class MeiliBuild:
    """See `registry.search.backend.Build`, in one thread at a time."""

    def __init__(self, admin: Admin, live: str, build: str, model: str, dims: int) -> None:
        for left_over in admin.indexes(f"{live}_b"):
            admin.drop(left_over)
        self._admin = admin
        self._live = live
        self._aside = f"{live}_b{build}"
        self._build = build
        self._model = model
        self._tally = Tally()
        self._next: _Lines = []
        self._next_bytes = 0
        self._sent: deque[tuple[int, _Lines]] = deque()
        self._failed: list[_Lines] = []
        self._refused = 0
        self._swapped = False
        admin.create(self._aside, layout.index_settings(model, dims), layout.PRIMARY_KEY)

    def add(self, documents: Sequence[SearchDocument]) -> None:
        for one in documents:
            raw = line(layout.service(one, self._model))
            self._next.append((one, raw))
            self._next_bytes += len(raw)
            if len(self._next) == BATCH or self._next_bytes > BATCH_BYTES:
                self._send()
        while len(self._sent) > IN_FLIGHT:
            self._settle()

    def swap(self) -> None:
        """All is there and nothing is on its way to either index: they change places, and the old one goes."""
        self._send()
        while self._sent:
            self._settle()
        for lines in self._failed:
            self._again(lines)
        self._tally.commit = 1
        told = layout.tally(f"{self._build}.1", self._tally.encode(layout.LAYOUT), self._model)
        self._admin.wait(self._admin.add(self._aside, [line(told)], layout.PRIMARY_KEY))
        if self._admin.count(self._aside) != self._tally.services + 1:
            raise SearchUnavailable("the new index does not hold what was sent to it")
        self._admin.wait_idle(self._live)
        replaced = self._admin.exists(self._live)
        self._admin.swap(self._aside, self._live, first=not replaced)
        self._swapped = True
        if replaced:
            self._admin.drop(self._aside)

    def drop(self) -> None:
        """Remove what nobody will read; without effect after a swap. What cannot be reached the next build removes."""
        if not self._swapped:
            with suppress(SearchUnavailable):
                self._admin.drop(self._aside)

    def _send(self) -> None:
        if self._next:
            task = self._admin.add(self._aside, [raw for _, raw in self._next], layout.PRIMARY_KEY)
            self._sent.append((task, self._next))
            self._next, self._next_bytes = [], 0

    def _settle(self) -> None:
        """The oldest of those on their way. One that fails takes down those that the server did together with it."""
        task, lines = self._sent.popleft()
        try:
            self._admin.wait(task)
        except TaskFailure as failure:
            if not failure.is_the_documents:
                raise SearchUnavailable(str(failure)) from failure
            self._failed.append(lines)
        else:
            self._count(lines)

    def _again(self, lines: _Lines) -> None:
        """With nothing else on its way; where it fails again, in halves."""
        try:
            self._admin.wait(self._admin.add(self._aside, [raw for _, raw in lines], layout.PRIMARY_KEY))
        except TaskFailure as failure:
            self._halves(lines, failure)
        else:
            self._count(lines)

    def _halves(self, lines: _Lines, failure: TaskFailure) -> None:
        if len(lines) > 1:
            middle = len(lines) // 2
            self._again(lines[:middle])
            self._again(lines[middle:])
            return
        self._refused += 1
        if self._refused > QUARANTINED_AT_MOST or not failure.is_the_documents:
            raise SearchUnavailable(str(failure)) from failure
        log.error("meilisearch.quarantined", host=lines[0][0].listing.host, code=failure.code)

    def _count(self, lines: _Lines) -> None:
        for document, _ in lines:
            self._tally.add(document.record)
