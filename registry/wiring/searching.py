"""Chooses the search engine, its keys and the sentence vectors, and holds the actions that need them.

Only this module of the wiring imports an engine: NumPy, the engines and the vectors take some 50 MB, and a crawling
process needs none of them.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from registry.actions import indexing
from registry.actions.queries import discover as discovering
from registry.actions.queries import entry_search, inspect
from registry.actions.queries.entries import EntryCounts
from registry.core.model.listing import Filters, Query, SearchUnavailable
from registry.core.ranking import Embedder
from registry.search.backend import IndexHealth
from registry.search.embedded import EmbeddedBackend, has_writer
from registry.search.embedding import default_embedder
from registry.search.meilisearch.admin import Keys, make_keys, read_keys, write_keys
from registry.search.meilisearch.backend import MeiliBackend
from registry.search.minilm import table_and_minilm
from registry.settings import Settings
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now

INDEX_FOLDER: Final = "index"


class SearchActions:
    """The actions that need a search engine: answer queries; feed, rebuild and verify its index."""

    def __init__(self, store: Store, backend: EmbeddedBackend | MeiliBackend, embedder: Embedder | None = None) -> None:
        self._store = store
        self.backend = backend
        self.embedder = embedder
        self.span: Callable[[str], AbstractContextManager[object]] = nullcontext  # of a trace, if configured

    async def discover(
        self, query: Query, cursor: str | None = None, *, facets: Sequence[str] = ()
    ) -> discovering.DiscoverPage:
        with self.span("discover"):
            return await discovering.discover(
                self._store, self.backend, query, cursor=cursor, embedder=self.embedder, facets=facets
            )

    async def search_entries(
        self, text: str, filters: Filters, *, limit: int, token: str | None = None
    ) -> entry_search.EntryPage:
        return await entry_search.search_entries(
            self._store, self.backend, text, filters, limit=limit, token=token, embedder=self.embedder
        )

    async def entry_counts(self, text: str, filters: Filters, facets: Mapping[str, int]) -> EntryCounts:
        return await entry_search.count_found(self._store, self.backend, text, filters, facets, embedder=self.embedder)

    async def drain(self) -> indexing.DrainCounts | None:
        return await indexing.drain(self._store, self.backend, now=utc_now(), embedder=self.embedder)

    async def reindex(self, progress: Callable[[int, int], None] | None = None) -> indexing.ReindexCounts:
        return await indexing.reindex(
            self._store, self.backend, now=utc_now(), progress=progress, embedder=self.embedder
        )

    async def verify_index(self, *, repair: bool = False) -> indexing.IndexComparison:
        model = self.embedder.id if self.embedder else ""
        return await indexing.verify(self._store, self.backend, now=utc_now(), model=model, repair=repair)

    def claim_index(self) -> bool:
        """Become the index's writer until this process ends. Return False while another process is."""
        return self.backend.claim()

    async def index_lag(self) -> int:
        """Return the number of services whose index entry differs from the database."""
        async with self._store.begin() as uow:
            return await uow.search.count(self.backend.target)

    async def index_health(self) -> IndexHealth:
        return await self.backend.health()

    async def queue(self) -> inspect.QueueState:
        return await inspect.queue(self._store, self.backend.target, now=utc_now())

    async def close(self) -> None:
        await self.backend.close()


def open_search(settings: Settings, store: Store) -> SearchActions:
    """Load the model and open the engine; some tenths of a second. Raise SearchUnavailable or OSError."""
    embedder = embedder_of(settings)
    return SearchActions(store, search_engine(settings, embedder), embedder)


def index_is_fed(settings: Settings) -> bool:
    """Return whether some process is the index's writer. A search server always counts as having one."""
    return settings.meili_url is not None or has_writer(settings.data / INDEX_FOLDER)


EMBEDDERS: Final[Mapping[str, Callable[[], Embedder]]] = {
    "table": default_embedder,
    "minilm": table_and_minilm,
}
"""The values of `Settings.embedding`; each function loads its model once per process."""


def embedder_of(settings: Settings) -> Embedder:
    """Return the configured model of sentence vectors. Raise ModelFileError if it cannot be loaded."""
    return EMBEDDERS[settings.embedding]()


def search_engine(settings: Settings, embedder: Embedder | None) -> EmbeddedBackend | MeiliBackend:
    """Return the search server if one is configured, else the index in the data folder."""
    model, dims = (embedder.id, embedder.dims) if embedder else ("", 0)
    if settings.meili_url is None:
        return EmbeddedBackend(settings.data / INDEX_FOLDER, model, dims)
    return MeiliBackend(settings.meili_url, search_keys(settings), settings.meili_index, model=model, dims=dims)


def search_keys(settings: Settings) -> Keys:
    """Return the keys from the settings, else from the folder of keys. Raise OSError for an unreadable key."""
    stored = read_keys(settings.meili_keys, settings.meili_index) if settings.meili_keys else Keys()
    return Keys(
        search=_secret(settings.meili_search_key) or stored.search,
        indexer=_secret(settings.meili_indexer_key) or stored.indexer,
        tasks=_secret(settings.meili_tasks_key) or stored.tasks,
    )


def hand_out_search_keys(settings: Settings, folder: Path) -> list[Path]:
    """Make keys with least privileges from the master key and write them. Raise SearchUnavailable and OSError."""
    master = _secret(settings.meili_master_key)
    if settings.meili_url is None or master is None:
        raise SearchUnavailable("MEILI_URL and MEILI_MASTER_KEY have to be set")
    return write_keys(make_keys(settings.meili_url, master, settings.meili_index), settings.meili_index, folder)


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value else None
