"""Which search engine, with which keys and which sentence vectors, and the verbs that need them.

Nothing else in the wiring imports an engine: NumPy, the engines and the vectors take some 50 MB, and a process that
crawls needs none of them.
"""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from registry.actions.answering import discover as discovering
from registry.actions.answering import inspect
from registry.actions.answering.standing import Standing
from registry.actions.indexing import drain as draining
from registry.actions.indexing import reindex as reindexing
from registry.actions.indexing import verify as verifying
from registry.core.listing import Query, SearchUnavailable
from registry.core.ranking import Embedder
from registry.search.backend import IndexHealth
from registry.search.embedded import EmbeddedBackend, is_fed
from registry.search.embedding import default_embedder
from registry.search.meilisearch.admin import Keys
from registry.search.meilisearch.backend import MeiliBackend
from registry.search.meilisearch.keys import make_keys, read_keys, write_keys
from registry.search.minilm import documents_by_minilm, minilm
from registry.settings import Settings
from registry.store.unit_of_work import Store

INDEX_FOLDER: Final = "index"


class Searching:
    """The verbs of the registry that need the search engine, bound to one; the clock is the caller's."""

    def __init__(self, store: Store, backend: EmbeddedBackend | MeiliBackend, embedder: Embedder | None = None) -> None:
        self._store = store
        self.backend = backend
        self.embedder = embedder
        self._standing = Standing(store, backend, time.monotonic)

    async def drain(self, now: datetime) -> draining.Drained | None:
        return await draining.drain(self._store, self.backend, now=now, embedder=self.embedder)

    async def reindex(self, now: datetime, progress: Callable[[int, int], None] | None) -> reindexing.Reindexed:
        return await reindexing.reindex(self._store, self.backend, now=now, progress=progress, embedder=self.embedder)

    async def verify(self, now: datetime, *, repair: bool) -> verifying.Verified:
        model = self.embedder.id if self.embedder else ""
        return await verifying.verify(self._store, self.backend, now=now, model=model, repair=repair)

    async def lag(self) -> int:
        async with self._store.begin() as uow:
            return await uow.search.count(self.backend.target)

    async def health(self) -> IndexHealth:
        return await self.backend.health()

    async def queue(self, now: datetime) -> inspect.Queue:
        return await inspect.queue(self._store, self.backend.target, now=now)

    async def discover(self, query: Query, cursor: str | None, facets: Sequence[str]) -> discovering.DiscoverPage:
        return await discovering.discover(
            self._store, self.backend, query, cursor=cursor, embedder=self.embedder, facets=facets
        )

    def standing(self) -> Hashable | None:
        return self._standing.token()

    async def close(self) -> None:
        await self._standing.close()
        await self.backend.close()


def open_searching(settings: Settings, store: Store) -> Searching:
    """Loads the model and opens the engine; some tenths of a second. Raises SearchUnavailable and OSError."""
    embedder = embedder_of(settings)
    return Searching(store, search_engine(settings, embedder), embedder)


def index_is_fed(settings: Settings) -> bool:
    """Whether some process is the index's writer. That of a search server is not this machine's business."""
    return settings.meili_url is not None or is_fed(settings.data / INDEX_FOLDER)


EMBEDDERS: Final[Mapping[str, Callable[[], Embedder]]] = {
    "table": default_embedder,
    "documents": documents_by_minilm,
    "minilm": minilm,
}
"""The ways of `Settings.embedding`; each loads its model once per process."""


def embedder_of(settings: Settings) -> Embedder:
    """The model of sentence vectors that the settings ask for. Raises ModelFileError where it cannot be had."""
    return EMBEDDERS[settings.embedding]()


def search_engine(settings: Settings, embedder: Embedder | None) -> EmbeddedBackend | MeiliBackend:
    """The search server where one is named, else the index in the data folder."""
    model, dims = (embedder.id, embedder.dims) if embedder else ("", 0)
    if settings.meili_url is None:
        return EmbeddedBackend(settings.data / INDEX_FOLDER, model, dims)
    return MeiliBackend(settings.meili_url, search_keys(settings), settings.meili_index, model=model, dims=dims)


def search_keys(settings: Settings) -> Keys:
    """Those that are set, before those in the folder of keys. Raises OSError where one cannot be read."""
    kept = read_keys(settings.meili_keys, settings.meili_index) if settings.meili_keys else Keys()
    return Keys(
        search=_secret(settings.meili_search_key) or kept.search,
        indexer=_secret(settings.meili_indexer_key) or kept.indexer,
        tasks=_secret(settings.meili_tasks_key) or kept.tasks,
    )


def hand_out_search_keys(settings: Settings, folder: Path) -> list[Path]:
    """Make the keys with least rights from the master key, and write them. Raises SearchUnavailable and OSError."""
    master = _secret(settings.meili_master_key)
    if settings.meili_url is None or master is None:
        raise SearchUnavailable("MEILI_URL and MEILI_MASTER_KEY have to be set")
    return write_keys(make_keys(settings.meili_url, master, settings.meili_index), settings.meili_index, folder)


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value else None
