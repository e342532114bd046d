"""Indexes, documents, tasks, keys and responses of the engine. Blocking: called in threads.

The official client shares one set of headers between calls, so each thread has a separate client. It has no default
timeout, so one is set; its wait for tasks has no back-off, so `Admin.wait` polls instead. The keys have least
privileges and are made once with the master key (see `key_roles`). Responses of POST /multi-search are parsed in one
step, with base64 records decoded: the standard library needs several times as long for the base64 alone.
"""

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from meilisearch import Client
from meilisearch.errors import MeilisearchApiError, MeilisearchError
from pydantic import BaseModel, ConfigDict, Field

from registry.core.model.listing import SearchAway, SearchUnavailable
from registry.outages import Outage

_T = TypeVar("_T")
Json = dict[str, Any]

AWAY: Final = Outage("meilisearch.unavailable", "meilisearch.available")

CALL_SECONDS: Final = 30  # timeout of one call; the longest sends some megabytes of documents
TASK_SECONDS: Final = 600.0
"""Timeout for a task, enough for a full queue on a slow disk. After it the wait ends; the task may still succeed."""

_NOT_THE_DOCUMENTS: Final = frozenset(
    {"index_not_found", "no_space_left_on_device", "database_size_limit_reached", "too_many_open_files", "io_error",
     "canceled", "internal"}
)  # fmt: skip

_FIRST_LOOK, _LONGEST_LOOK, _SLOWER = 0.01, 0.5, 1.5
_PAGE: Final = 10_000


class KeyMissing(SearchUnavailable):
    """This process has no key for the requested operation."""


@dataclass(frozen=True, slots=True)
class Keys:
    """`search` may search; `indexer` may write documents and the registry's indexes; `tasks` may read the results of
    tasks, including swaps, which no key limited to indexes may read. One unlimited key can serve as all three."""

    search: str | None = None
    indexer: str | None = None
    tasks: str | None = None


@dataclass(frozen=True, slots=True)
class TaskFailure(Exception):
    """A task ended without success; `code` is its error code."""

    code: str

    @property
    def is_the_documents(self) -> bool:
        """Return whether the error code concerns a single document, so that a task without it might succeed."""
        return self.code not in _NOT_THE_DOCUMENTS

    def __str__(self) -> str:
        return f"a task of the search engine failed: {self.code}"


class Admin:
    """Calls the engine. Raises SearchUnavailable if it does not answer or refuses; decides by error codes, never
    messages."""

    def __init__(self, url: str, keys: Keys) -> None:
        self._url = url
        self._keys = keys
        self._local = threading.local()
        self.closing = threading.Event()  # ends all waits in other threads

    def version(self) -> str:
        """Return the engine's version, `<major>.<minor>.<patch>`."""
        return str(self._call(lambda: self._client("tasks").get_version())["pkgVersion"])

    def exists(self, index: str) -> bool:
        return index in self.indexes(index)

    def indexes(self, prefix: str) -> list[str]:
        """Return the names of all indexes with this prefix, sorted."""
        found: Any = self._call(lambda: self._client().get_raw_indexes({"limit": 1_000}))
        return sorted(str(index["uid"]) for index in found["results"] if str(index["uid"]).startswith(prefix))

    def create(self, index: str, settings: Mapping[str, Any], primary_key: str) -> None:
        created = self._call(lambda: self._client().create_index(index, {"primaryKey": primary_key}))
        updated = self._call(lambda: self._client().index(index).update_settings(dict(settings)))
        self._finish(created.task_uid, updated.task_uid)

    def drop(self, index: str) -> int:
        """Delete an index. Return the task's id; does not wait for it."""
        return int(self._call(lambda: self._client().delete_index(index)).task_uid)

    def swap(self, fresh: str, live: str, *, first: bool) -> None:
        """Swap the two indexes atomically. With `first` there is no live index yet, so `fresh` is renamed to `live`."""
        swapped = self._call(lambda: self._client().swap_indexes([{"indexes": [fresh, live], "rename": first}]))
        self._finish(swapped.task_uid)

    def _finish(self, *tasks: int) -> None:
        try:
            for task in tasks:
                self.wait(task)
        except TaskFailure as failure:
            raise SearchUnavailable(str(failure)) from failure

    def add(self, index: str, lines: Sequence[bytes], primary_key: str) -> int:
        """Send documents, one JSON object per line. Return the task's id; does not wait for it."""
        body = b"\n".join(lines)
        task = self._call(
            lambda: self._client().index(index).add_documents_raw(body, primary_key, "application/x-ndjson")
        )
        return int(task.task_uid)

    def remove_where(self, index: str, condition: str) -> int:
        """Delete the documents that match the filter. Return the task's id; does not wait for it."""
        return int(self._call(lambda: self._client().index(index).delete_documents(filter=condition)).task_uid)

    def documents(self, index: str, fields: Sequence[str], **selection: Any) -> Iterator[Json]:
        """Yield documents, selected by `ids` or `filter`, in arbitrary order."""
        offset = 0
        while True:
            request = {"fields": list(fields), "limit": _PAGE, "offset": offset, **selection}
            path = f"indexes/{index}/documents/fetch"
            page = self._call(lambda: self._client().http.post(path, request))  # noqa: B023  (called at once)
            yield from page["results"]
            offset += _PAGE
            if offset >= page["total"]:
                return

    def count(self, index: str) -> int:
        return int(self._call(lambda: self._client().index(index).get_stats()).number_of_documents)

    def is_busy(self, index: str) -> bool:
        """Return whether a task of this index, or a swap, is pending, possibly sent by a process that has since
        died."""
        return any(self._pending(condition) for condition in (f"indexUids={index}", "types=indexSwap"))

    def _pending(self, condition: str) -> int:
        path = f"tasks?statuses=enqueued,processing&{condition}&limit=1"
        return int(self._call(lambda: self._client("tasks").http.get(path))["total"])

    def wait_idle(self, index: str, seconds: float = TASK_SECONDS) -> None:
        """Wait until no earlier task can still change the index. Raise SearchUnavailable after `seconds`."""
        for _ in self._polls(seconds):
            if not self.is_busy(index):
                return
        raise SearchUnavailable("the search engine is behind with its tasks")

    def wait(self, task: int, seconds: float = TASK_SECONDS) -> None:
        """Wait until the task has succeeded. Raise TaskFailure, or SearchUnavailable after `seconds`."""
        for _ in self._polls(seconds):
            state = self._call(lambda: self._client("tasks").http.get(f"tasks/{task}"))
            if state["status"] == "succeeded":
                return
            if state["status"] not in ("enqueued", "processing"):
                raise TaskFailure(str((state.get("error") or {}).get("code", state["status"])))
        raise SearchUnavailable("the search engine is behind with its tasks")

    def _polls(self, seconds: float) -> Iterator[None]:
        """Yield at once, then after growing pauses, until the time is over or `closing` is set."""
        end = time.monotonic() + seconds
        pause = _FIRST_LOOK
        while True:
            yield
            if time.monotonic() + pause > end or self.closing.wait(pause):
                return
            pause = min(_LONGEST_LOOK, pause * _SLOWER)

    def _client(self, role: str = "indexer") -> Client:
        """Return this thread's client with the key of the role."""
        key: str | None = getattr(self._keys, role)
        if key is None:
            raise KeyMissing(f"this process has no {role} key of the search engine")
        client: Client | None = getattr(self._local, role, None)
        if client is None:
            client = Client(self._url, key, timeout=CALL_SECONDS)
            setattr(self._local, role, client)
        return client

    def _call(self, call: Callable[[], _T]) -> _T:
        try:
            answer = call()
            AWAY.worked()
            return answer
        except MeilisearchApiError as error:
            raise SearchUnavailable(f"the search engine refused a call: {error.code or error.status_code}") from error
        except MeilisearchError as error:
            AWAY.failed(type(error).__name__)
            raise SearchAway("the search engine does not answer") from error


_NAMES: Final = uuid.UUID("5b1a2c0e-8f0c-4a57-9b57-5f2f6ad1f6c4")

INDEXER_ACTIONS: Final = (
    "documents.add", "documents.get", "documents.delete", "indexes.create", "indexes.get", "indexes.delete",
    "indexes.swap", "settings.get", "settings.update", "tasks.get", "stats.get",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeyRole:
    """One key: its actions, its indexes, and its file."""

    file: str
    actions: Sequence[str]
    indexes: Sequence[str]

    def payload(self, index: str) -> dict[str, Any]:
        role = self.file.rpartition("/")[2]
        return {
            "uid": str(uuid.uuid5(_NAMES, f"{index}/{self.file}")),
            "name": f"waypost {index} {role}",
            "description": None,
            "actions": list(self.actions),
            "indexes": list(self.indexes),
            "expiresAt": None,
        }


def key_roles(index: str) -> Mapping[str, KeyRole]:
    """Return the role of each field of Keys."""
    return {
        "search": KeyRole("search/key", ("search",), (index,)),
        "indexer": KeyRole("feeding/indexer", INDEXER_ACTIONS, (index, f"{index}_*")),
        "tasks": KeyRole("feeding/tasks", ("tasks.get", "version"), ("*",)),
    }


def make_keys(url: str, master: str, index: str) -> Keys:
    """Return the keys; existing keys with the right permissions are kept. Raise SearchUnavailable. The engine derives a
    key from the master key and the key's uid, so making the keys again returns the same ones."""
    client = Client(url, master, timeout=CALL_SECONDS)
    try:
        return Keys(**{role: _ensure(client, key_role.payload(index)) for role, key_role in key_roles(index).items()})
    except MeilisearchApiError as error:
        raise SearchUnavailable(f"the search engine refused to make keys: {error.code}") from error
    except MeilisearchError as error:
        raise SearchUnavailable("the search engine does not answer") from error


def _ensure(client: Client, payload: dict[str, Any]) -> str:
    """Return the key. Permissions of a key cannot be changed, so a key with other permissions is replaced."""
    path = f"keys/{payload['uid']}"
    try:
        known = client.http.get(path)
    except MeilisearchApiError as error:
        if error.code != "api_key_not_found":
            raise
    else:
        if all(sorted(known[part]) == sorted(payload[part]) for part in ("actions", "indexes")):
            return str(known["key"])
        client.http.delete(path)
    return str(client.http.post("keys", payload)["key"])


def write_keys(keys: Keys, index: str, folder: Path) -> list[Path]:
    """Write each key to its file, readable only by the owner. Return the paths."""
    written = []
    for role, key_role in key_roles(index).items():
        path = folder / key_role.file
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new_path = path.with_name(f"{path.name}.new")
        with os.fdopen(os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(getattr(keys, role))
        new_path.replace(path)
        written.append(path)
    return written


def read_keys(folder: Path, index: str) -> Keys:
    """Return the keys in the folder that this process may read; None for the others."""
    paths = {role: folder / key_role.file for role, key_role in key_roles(index).items()}
    return Keys(**{role: path.read_text().strip() for role, path in paths.items() if os.access(path, os.R_OK)})


class ResponseHit(BaseModel):
    """The retrieved fields of one document (layout.py)."""

    model_config = ConfigDict(val_json_bytes="base64")

    host: str = ""
    score: int = 0
    copy_key: str | None = Field(default=None, alias="copy")
    offered: int = 0
    listed: int = 0
    h: str = ""
    g: str = ""
    model: str = ""
    copied: bytes = b""
    r: bytes = b""


class QueryResult(BaseModel):
    """The result of one query. `near` is set only for a vector query."""

    hits: list[ResponseHit]
    total: int = Field(alias="estimatedTotalHits")
    near: int | None = Field(default=None, alias="semanticHitCount")
    facets: dict[str, dict[str, int]] = Field(default={}, alias="facetDistribution")


class MultiSearchResponse(BaseModel):
    """The results, in the order of the queries."""

    results: list[QueryResult]
