"""Which search engine, with which keys and which sentence vectors."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from registry.core.listing import SearchUnavailable
from registry.core.ranking import Embedder
from registry.search.embedded import EmbeddedBackend
from registry.search.embedding import default_embedder
from registry.search.meilisearch.admin import Keys
from registry.search.meilisearch.backend import MeiliBackend
from registry.search.meilisearch.keys import make_keys, read_keys, write_keys
from registry.search.minilm import documents_by_minilm, minilm
from registry.settings import Settings

INDEX_FOLDER: Final = "index"

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
