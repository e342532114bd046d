"""The settings select the model of the sentence vectors."""

from typing import get_args

import pytest
from pydantic import ValidationError

from registry.search import minilm, multilingual
from registry.search.embedding import ModelFileError, default_embedder
from registry.settings import Settings
from registry.wiring.searching import EMBEDDERS, embedder_of


def test_the_table_is_the_default() -> None:
    assert embedder_of(Settings()) is default_embedder()


def test_every_value_of_the_setting_has_a_model() -> None:
    assert set(get_args(Settings.model_fields["embedding"].annotation)) == set(EMBEDDERS)


def test_the_removed_value_is_refused_with_its_replacement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYPOST_EMBEDDING", "documents")
    with pytest.raises(ValidationError, match="`documents` was removed: set `minilm`"):
        Settings()


@pytest.mark.parametrize("extra", ["minilm", "multilingual"])
def test_a_missing_extra_is_named_in_the_error(monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package")
    monkeypatch.setattr(multilingual, "PACKAGE", "no_such_package")
    monkeypatch.setenv("WAYPOST_EMBEDDING", extra)
    minilm.table_and_minilm.cache_clear()
    multilingual.table_and_e5.cache_clear()
    with pytest.raises(ModelFileError, match=rf"waypost\[{extra}\]"):
        embedder_of(Settings())
