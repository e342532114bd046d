"""MiniLM combined with the table. Tests of the model itself need the extra `minilm`."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from registry.core.ranking import Embedder
from registry.search import minilm as module
from registry.search.embedding import ModelFileError, default_embedder
from registry.search.minilm import PACKAGE, MiniLM, table_and_minilm

needs_the_extra = pytest.mark.skipif(
    importlib.util.find_spec(PACKAGE) is None or importlib.util.find_spec("onnxruntime") is None,
    reason="the extra `minilm` is not installed",
)

QUERIES = [
    "I have to tell my customers by text message that the driver is late",
    "how much is 50 euros in yen",
    "a quiet hotel near the station for two nights",
    "translate my contract into German",
]
ANSWERS = [
    "SMS sending gateway",
    "Currency exchange rates",
    "Accommodation booking",
    "Machine translation of documents",
]


@pytest.fixture
def embedder() -> Embedder:
    return table_and_minilm()


@needs_the_extra
def test_requests_find_their_answers(embedder: Embedder) -> None:
    scores = embedder.encode(QUERIES) @ embedder.encode(ANSWERS).T
    assert scores.argmax(axis=1).tolist() == [0, 1, 2, 3]


@needs_the_extra
def test_vectors_have_length_one_or_zero(embedder: Embedder) -> None:
    texts = ["", "\ud800", "weather " * 10_000, "漢字", "a\x00b", *QUERIES]
    rows = embedder.encode(texts)
    assert rows.shape == (len(texts), embedder.dims)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows[2:], axis=1), 1, atol=1e-5)
    assert not rows[0].any()
    assert not np.allclose(rows[-1], default_embedder().encode(QUERIES)[-1])
    assert embedder.encode([]).shape == (0, embedder.dims)


@needs_the_extra
def test_batching_hardly_changes_a_vector(embedder: Embedder) -> None:
    together = embedder.encode([*QUERIES, *ANSWERS])
    alone = np.concatenate([embedder.encode([text]) for text in (*QUERIES, *ANSWERS)])
    assert np.einsum("ij,ij->i", together, alone).min() > 0.999


@needs_the_extra
def test_no_two_models_share_an_id() -> None:
    names = {default_embedder().id, MiniLM().id, table_and_minilm().id}
    assert len(names) == 3
    assert all(name.startswith("wp_") and len(name) == 15 for name in names)


@needs_the_extra
def test_the_sum_is_nearer_to_each_model_than_they_are_to_each_other() -> None:
    table, model = default_embedder(), MiniLM()
    summed = table_and_minilm().encode(QUERIES)
    model_rows = model.encode(QUERIES) @ table.basis.astype(np.float32)
    to_table = np.einsum("ij,ij->i", summed, table.encode(QUERIES))
    to_model = np.einsum("ij,ij->i", summed, model_rows / np.linalg.norm(model_rows, axis=1, keepdims=True))
    table_to_model = np.einsum(
        "ij,ij->i", table.encode(QUERIES), model_rows / np.linalg.norm(model_rows, axis=1, keepdims=True)
    )
    assert (np.minimum(to_table, to_model) > table_to_model).all()


@needs_the_extra
def test_table_and_model_vectors_are_similar() -> None:
    """A text's two vectors point in similar directions, which is why they can be added."""
    table_rows = default_embedder().encode(QUERIES)
    model_rows = MiniLM().encode(QUERIES) @ default_embedder().basis.astype(np.float32)
    cosines = np.einsum("ij,ij->i", table_rows, model_rows / np.linalg.norm(model_rows, axis=1, keepdims=True))
    assert cosines.min() > 0.6


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGE", "no_such_package")
    with pytest.raises(ModelFileError, match=r"waypost\[minilm\]"):
        MiniLM()


def test_another_model_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "another_model"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "model.onnx").write_bytes(b"another")
    monkeypatch.setattr(module, "PACKAGE", "another_model")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ModelFileError, match=r"model\.onnx: sha256"):
        MiniLM()
