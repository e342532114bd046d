"""Chooses the search engine, its keys and the sentence vectors.

Only this module of the wiring imports an engine: NumPy, the engines and the vectors take some 50 MB, and a crawling
process needs none of them.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from registry.actions import Clock
from registry.actions.queries.discover import SearchActions
from registry.core.model.listing import SearchUnavailable
from registry.core.ranking import Embedder
from registry.search.embedded import EmbeddedBackend, has_writer
from registry.search.embedding import default_embedder
from registry.search.meilisearch.admin import Keys, make_keys, read_keys, write_keys
from registry.search.meilisearch.backend import MeiliBackend
from registry.search.minilm import table_and_minilm
from registry.search.multilingual import table_and_e5
from registry.settings import Settings
from registry.store.unit_of_work import Store

INDEX_FOLDER: Final = "index"


def open_search(settings: Settings, store: Store, clock: Clock) -> SearchActions:
    """Load the model and open the search server if one is configured, else the index in the data folder.

    Takes some tenths of a second. Raise SearchUnavailable or OSError.
    """
    embedder = embedder_of(settings)
    model, dims, url = embedder.id, embedder.dims, settings.meili_url
    backend: EmbeddedBackend | MeiliBackend
    if url is None:
        backend = EmbeddedBackend(settings.data / INDEX_FOLDER, model, dims)
    else:
        backend = MeiliBackend(url, search_keys(settings), settings.meili_index, model=model, dims=dims)
    return SearchActions(store, clock, backend, embedder)


def index_is_fed(settings: Settings) -> bool:
    """Return whether some process is the index's writer. A search server always counts as having one."""
    return settings.meili_url is not None or has_writer(settings.data / INDEX_FOLDER)


EMBEDDERS: Final[Mapping[str, Callable[[], Embedder]]] = {
    "table": default_embedder,
    "minilm": table_and_minilm,
    "multilingual": table_and_e5,
}
"""The values of `Settings.embedding`; each function loads its model once per process."""


def embedder_of(settings: Settings) -> Embedder:
    """Return the configured model of sentence vectors. Raise ModelFileError if it cannot be loaded."""
    return EMBEDDERS[settings.embedding]()


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
