"""The settings decide which sentence vectors are used."""

from typing import get_args

import pytest

from registry.search import minilm
from registry.search.embedding import ModelFileError, default_embedder
from registry.settings import Settings
from registry.wiring.searching import EMBEDDERS, embedder_of


def test_the_table_is_what_nobody_has_to_ask_for() -> None:
    assert embedder_of(Settings()) is default_embedder()


def test_every_way_that_can_be_set_has_a_model() -> None:
    assert set(get_args(Settings.model_fields["embedding"].annotation)) == set(EMBEDDERS)


@pytest.mark.parametrize("way", ["documents", "minilm"])
def test_a_way_that_is_not_installed_says_what_to_install(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    monkeypatch.setenv("WAYPOST_EMBEDDING", way)
    minilm.minilm.cache_clear()
    minilm.documents_by_minilm.cache_clear()
    with pytest.raises(ModelFileError, match=r"waypost\[minilm\]"):
        embedder_of(Settings())
