"""Multilingual E5 combined with the table. Tests of the model itself need the extra `multilingual`."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from registry.search import multilingual as module
from registry.search.embedding import ModelFileError, default_embedder
from registry.search.multilingual import E5, MODEL_LENGTH, PACKAGE, TableAndE5, table_and_e5

needs_the_extra = pytest.mark.skipif(
    importlib.util.find_spec(PACKAGE) is None or importlib.util.find_spec("threadpoolctl") is None,
    reason="the extra `multilingual` is not installed",
)

QUESTIONS = [
    "ein Auto mieten",
    "combien de livres font cent francs",
    "enviar un aviso al móvil de mis clientes",
    "契約書を英訳する",
]
ANSWERS = [
    "Car hire",
    "Currency exchange rates",
    "Text messages to phones",
    "Translation of documents",
]


@pytest.fixture(scope="module")
def embedder() -> TableAndE5:
    return table_and_e5()


@needs_the_extra
def test_questions_find_answers_in_another_language(embedder: TableAndE5) -> None:
    cosines = embedder.encode(QUESTIONS) @ embedder.encode(ANSWERS).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2, 3]


@needs_the_extra
@pytest.mark.parametrize("text", ["\ud800", "\ufdfa" * 1_200, "w" * 10_000, "\x00", "\U0010ffff", "漢" * 900])
def test_any_text_has_a_vector_of_length_one(embedder: TableAndE5, text: str) -> None:
    (row,) = embedder.encode([text])
    assert row.shape == (embedder.dims,)
    assert row.dtype == np.float32
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


@needs_the_extra
def test_a_text_without_tokens_is_a_row_of_zeros(embedder: TableAndE5) -> None:
    assert not embedder.encode(["", " \t\n", "\u2581"]).any()
    assert embedder.encode([]).shape == (0, embedder.dims)


@needs_the_extra
def test_a_cosine_is_a_mean_of_both_models(embedder: TableAndE5) -> None:
    table = default_embedder().encode(ANSWERS)
    both = embedder.encode(ANSWERS)
    model = both[:, table.shape[1] :] / np.linalg.norm(both[:, table.shape[1] :], axis=1, keepdims=True)
    share = MODEL_LENGTH**2 / (1 + MODEL_LENGTH**2)
    assert np.allclose(both @ both.T, (1 - share) * table @ table.T + share * model @ model.T, atol=1e-5)


@needs_the_extra
def test_no_two_models_share_an_id(embedder: TableAndE5) -> None:
    names = {default_embedder().id, E5().id, embedder.id}
    assert len(names) == 3
    assert all(name.startswith("wp_") and len(name) == 15 for name in names)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGE", "no_such_package")
    with pytest.raises(ModelFileError, match=r"waypost\[multilingual\]"):
        E5()


def test_another_model_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "another_model"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / module.MODEL_FILE).write_bytes(b"another")
    monkeypatch.setattr(module, "PACKAGE", "another_model")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ModelFileError, match=r"q4\.bin: sha256"):
        E5()
