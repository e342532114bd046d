"""Indexes, documents and tasks, through the official client. Blocking: called in threads.

The official client keeps one set of headers for all calls, so each thread has one of its own; it has no timeout unless
told; its own wait for tasks has no patience and no backing off, so the waiting is ours.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import orjson
from meilisearch import Client
from meilisearch.errors import MeilisearchApiError, MeilisearchError

from registry.core.listing import SearchUnavailable

_T = TypeVar("_T")
Json = dict[str, Any]

CALL_SECONDS: Final = 30
"""One call: sending some megabytes of documents is the longest."""

TASK_SECONDS: Final = 600.0
"""A task behind a full queue on a slow disk. Who waits longer gives up; the task itself may still be done."""

_NOT_THE_DOCUMENTS: Final = frozenset(
    {"index_not_found", "no_space_left_on_device", "database_size_limit_reached", "too_many_open_files", "io_error",
     "canceled", "internal"}
)  # fmt: skip

_FIRST_LOOK, _LONGEST_LOOK, _SLOWER = 0.01, 0.5, 1.5
_PAGE: Final = 10_000


class KeyMissing(SearchUnavailable):
    """This process was given no key for what it was asked to do."""


@dataclass(frozen=True, slots=True)
class Keys:
    """`search` asks; `indexer` writes documents and indexes of our names; `tasks` sees how tasks went, swaps included,
    which no key limited to indexes may see. One unlimited key may be all three."""

    search: str | None = None
    indexer: str | None = None
    tasks: str | None = None


@dataclass(frozen=True, slots=True)
class TaskFailure(Exception):
    """A task that ended without success, by the code of its error."""

    code: str

    @property
    def is_the_documents(self) -> bool:
        """Other documents might have been taken: the codes that speak of one of them."""
        return self.code not in _NOT_THE_DOCUMENTS

    def __str__(self) -> str:
        return f"a task of the search engine failed: {self.code}"


class Admin:
    """Raises SearchUnavailable where the engine does not answer or refuses; codes decide, messages never do."""

    def __init__(self, url: str, keys: Keys) -> None:
        self._url = url
        self._keys = keys
        self._local = threading.local()
        self._closing = threading.Event()

    def close(self) -> None:
        """Whoever waits in a thread stops waiting."""
        self._closing.set()

    def version(self) -> str:
        """`<major>.<minor>.<patch>`."""
        return str(self._call(lambda: self._tasks_client().get_version())["pkgVersion"])

    def exists(self, index: str) -> bool:
        return index in self.indexes(index)

    def indexes(self, prefix: str) -> list[str]:
        """The names of all indexes that begin so."""
        found: Any = self._call(lambda: self._client().get_raw_indexes({"limit": 1_000}))
        return sorted(str(one["uid"]) for one in found["results"] if str(one["uid"]).startswith(prefix))

    def create(self, index: str, settings: Mapping[str, Any], primary_key: str) -> None:
        created = self._call(lambda: self._client().create_index(index, {"primaryKey": primary_key}))
        told = self._call(lambda: self._client().index(index).update_settings(dict(settings)))
        try:
            self.wait(created.task_uid)
            self.wait(told.task_uid)
        except TaskFailure as failure:
            raise SearchUnavailable(str(failure)) from failure

    def drop(self, index: str) -> int:
        """The task that does it."""
        return int(self._call(lambda: self._client().delete_index(index)).task_uid)

    def swap(self, fresh: str, live: str, *, first: bool) -> None:
        """Readers go from one to the other without an error between; the `first` one is given the name."""
        swapped = self._call(lambda: self._client().swap_indexes([{"indexes": [fresh, live], "rename": first}]))
        try:
            self.wait(swapped.task_uid)
        except TaskFailure as failure:
            raise SearchUnavailable(str(failure)) from failure

    def add(self, index: str, lines: Sequence[bytes], primary_key: str) -> int:
        """Documents, one JSON object each; gives the task."""
        body = b"\n".join(lines)
        told = self._call(
            lambda: self._client().index(index).add_documents_raw(body, primary_key, "application/x-ndjson")
        )
        return int(told.task_uid)

    def remove_where(self, index: str, condition: str) -> int:
        """The task that does it."""
        return int(self._call(lambda: self._client().index(index).delete_documents(filter=condition)).task_uid)

    def documents(self, index: str, fields: Sequence[str], **which: Any) -> Iterator[Json]:
        """`which` is `ids` or `filter`. In no order."""
        offset = 0
        while True:
            asked = {"fields": list(fields), "limit": _PAGE, "offset": offset, **which}
            path = f"indexes/{index}/documents/fetch"
            page = self._call(lambda: self._client().http.post(path, asked))  # noqa: B023  (called at once)
            yield from page["results"]
            offset += _PAGE
            if offset >= page["total"]:
                return

    def count(self, index: str) -> int:
        return int(self._call(lambda: self._client().index(index).get_stats()).number_of_documents)

    def is_busy(self, index: str) -> bool:
        """Whether a task of this index, or a swap, has yet to be done: perhaps by a process that died meanwhile."""
        return any(self._pending(**{which: what}) for which, what in (("indexUids", index), ("types", "indexSwap")))

    def _pending(self, **which: str) -> int:
        asked = "&".join(f"{name}={value}" for name, value in {**which, "limit": "1"}.items())
        path = f"tasks?statuses=enqueued,processing&{asked}"
        return int(self._call(lambda: self._tasks_client().http.get(path))["total"])

    def wait_idle(self, index: str, seconds: float = TASK_SECONDS) -> None:
        """Until nothing of earlier times can change the index under us."""
        for _ in self._looks(seconds):
            if not self.is_busy(index):
                return
        raise SearchUnavailable("the search engine is behind with its tasks")

    def wait(self, task: int, seconds: float = TASK_SECONDS) -> None:
        """Until the task is done. Raises TaskFailure, and SearchUnavailable when that takes too long."""
        for _ in self._looks(seconds):
            state = self._call(lambda: self._tasks_client().http.get(f"tasks/{task}"))
            if state["status"] == "succeeded":
                return
            if state["status"] not in ("enqueued", "processing"):
                raise TaskFailure(str((state.get("error") or {}).get("code", state["status"])))
        raise SearchUnavailable("the search engine is behind with its tasks")

    def _looks(self, seconds: float) -> Iterator[None]:
        """At once, then after longer and longer pauses, until the time is over or the process stops."""
        end = time.monotonic() + seconds
        pause = _FIRST_LOOK
        while True:
            yield
            if time.monotonic() + pause > end or self._closing.wait(pause):
                return
            pause = min(_LONGEST_LOOK, pause * _SLOWER)

    def _client(self) -> Client:
        return self._of_this_thread("indexer", self._keys.indexer)

    def _tasks_client(self) -> Client:
        return self._of_this_thread("tasks", self._keys.tasks)

    def _of_this_thread(self, role: str, key: str | None) -> Client:
        if key is None:
            raise KeyMissing(f"this process has no {role} key of the search engine")
        client: Client | None = getattr(self._local, role, None)
        if client is None:
            client = Client(self._url, key, timeout=CALL_SECONDS)
            setattr(self._local, role, client)
        return client

    def _call(self, call: Callable[[], _T]) -> _T:
        try:
            return call()
        except MeilisearchError as error:
            raise _unavailable(error) from error


def line(document: Mapping[str, Any]) -> bytes:
    return orjson.dumps(document)


def _unavailable(error: MeilisearchError) -> SearchUnavailable:
    if isinstance(error, MeilisearchApiError):
        return SearchUnavailable(f"the search engine refused a call: {error.code or error.status_code}")
    return SearchUnavailable("the search engine does not answer")
