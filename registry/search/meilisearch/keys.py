"""The keys with least rights, made once from the master key, and the folder in which they are handed over.

    <folder>/search/key      to every process that answers: may search the one live index
    <folder>/feeding/indexer to those that feed: documents, settings and swaps of our index names
    <folder>/feeding/tasks   to the same: how tasks went, swaps included, and the version; no documents, no search

A key follows from the master key and its own uid, so making them again gives the same ones.
"""

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from meilisearch import Client
from meilisearch.errors import MeilisearchApiError, MeilisearchError

from registry.core.listing import SearchUnavailable
from registry.search.meilisearch.admin import CALL_SECONDS, Keys

_NAMES: Final = uuid.UUID("5b1a2c0e-8f0c-4a57-9b57-5f2f6ad1f6c4")

INDEXER_ACTIONS: Final = (
    "documents.add", "documents.get", "documents.delete", "indexes.create", "indexes.get", "indexes.delete",
    "indexes.swap", "settings.get", "settings.update", "tasks.get", "stats.get",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Right:
    """One key: what it may do, on which indexes, and where it is written."""

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


def rights(index: str) -> Mapping[str, Right]:
    """By the fields of Keys."""
    return {
        "search": Right("search/key", ("search",), (index,)),
        "indexer": Right("feeding/indexer", INDEXER_ACTIONS, (index, f"{index}_*")),
        "tasks": Right("feeding/tasks", ("tasks.get", "version"), ("*",)),
    }


def make_keys(url: str, master: str, index: str) -> Keys:
    """Idempotent: keys that are there and may what they should are taken. Raises SearchUnavailable."""
    client = Client(url, master, timeout=CALL_SECONDS)
    try:
        return Keys(**{role: _ensure(client, right.payload(index)) for role, right in rights(index).items()})
    except MeilisearchApiError as error:
        raise SearchUnavailable(f"the search engine refused to make keys: {error.code}") from error
    except MeilisearchError as error:
        raise SearchUnavailable("the search engine does not answer") from error


def _ensure(client: Client, payload: dict[str, Any]) -> str:
    """What a key may do cannot be changed: one that may something else is replaced."""
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
    """One file each, readable by its owner alone; gives their paths."""
    written = []
    for role, right in rights(index).items():
        path = folder / right.file
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_name(f"{path.name}.new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(getattr(keys, role))
        fresh.replace(path)
        written.append(path)
    return written


def read_keys(folder: Path, index: str) -> Keys:
    """Those of the folder that this process may read; the others are None."""
    found = {}
    for role, right in rights(index).items():
        path = folder / right.file
        found[role] = path.read_text().strip() if os.access(path, os.R_OK) else None
    return Keys(**found)
