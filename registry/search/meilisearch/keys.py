"""The least-privileged keys, made once with the master key, and the folder through which processes receive them.

    <folder>/search/key       for processes that serve searches: may search the live index only
    <folder>/feeding/indexer  for writers: documents, settings and swaps of the registry's index names
    <folder>/feeding/tasks    for writers: outcome of tasks, including swaps, and the version; no documents, no search

The engine derives a key from the master key and the key's uid, so making the keys again returns the same ones.
"""

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from meilisearch import Client
from meilisearch.errors import MeilisearchApiError, MeilisearchError

from registry.core.model.listing import SearchUnavailable
from registry.search.meilisearch.admin import CALL_SECONDS, Keys

_NAMES: Final = uuid.UUID("5b1a2c0e-8f0c-4a57-9b57-5f2f6ad1f6c4")

INDEXER_ACTIONS: Final = (
    "documents.add", "documents.get", "documents.delete", "indexes.create", "indexes.get", "indexes.delete",
    "indexes.swap", "settings.get", "settings.update", "tasks.get", "stats.get",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeyRole:
    """One key: its actions, its indexes, and the file it is written to."""

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
    """Return the keys. Idempotent: existing keys with the right permissions are kept. Raise SearchUnavailable."""
    client = Client(url, master, timeout=CALL_SECONDS)
    try:
        return Keys(**{role: _ensure(client, key_role.payload(index)) for role, key_role in key_roles(index).items()})
    except MeilisearchApiError as error:
        raise SearchUnavailable(f"the search engine refused to make keys: {error.code}") from error
    except MeilisearchError as error:
        raise SearchUnavailable("the search engine does not answer") from error


def _ensure(client: Client, payload: dict[str, Any]) -> str:
    """Return the key. A key's permissions cannot be changed, so one with other permissions is replaced."""
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
    """Return the keys in the folder that this process may read; the others are None."""
    key_by_role = {}
    for role, key_role in key_roles(index).items():
        path = folder / key_role.file
        key_by_role[role] = path.read_text().strip() if os.access(path, os.R_OK) else None
    return Keys(**key_by_role)
