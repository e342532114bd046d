"""The two ways with the sentence model itself; they run where the extra `minilm` is installed."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from registry.core.ranking import Embedder
from registry.search import minilm as module
from registry.search.embedding import ModelFileError, default_embedder
from registry.search.minilm import PACKAGE, MiniLM, documents_by_minilm, minilm

needs_the_extra = pytest.mark.skipif(
    importlib.util.find_spec(PACKAGE) is None or importlib.util.find_spec("onnxruntime") is None,
    reason="the extra `minilm` is not installed",
)

ASKED = [
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


@pytest.fixture(params=["minilm", "documents"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return minilm() if request.param == "minilm" else documents_by_minilm()


@needs_the_extra
def test_requests_find_their_answers(embedder: Embedder) -> None:
    scores = embedder.encode(ASKED) @ embedder.encode_documents(ANSWERS).T
    assert scores.argmax(axis=1).tolist() == [0, 1, 2, 3]


@needs_the_extra
def test_vectors_have_length_one_or_none(embedder: Embedder) -> None:
    texts = ["", "\ud800", "weather " * 10_000, "漢字", "a\x00b", *ASKED]
    for rows in (embedder.encode(texts), embedder.encode_documents(texts)):
        assert rows.shape == (len(texts), embedder.dims)
        assert rows.dtype == np.float32
        assert np.allclose(np.linalg.norm(rows[2:], axis=1), 1, atol=1e-5)
        assert not rows[0].any()
    assert embedder.encode([]).shape == (0, embedder.dims)


@needs_the_extra
def test_the_company_of_a_text_hardly_matters(embedder: Embedder) -> None:
    together = embedder.encode_documents([*ASKED, *ANSWERS])
    alone = np.concatenate([embedder.encode_documents([text]) for text in (*ASKED, *ANSWERS)])
    assert np.einsum("ij,ij->i", together, alone).min() > 0.999


@needs_the_extra
def test_no_two_models_share_a_name() -> None:
    names = {default_embedder().id, MiniLM().id, documents_by_minilm().id}
    assert len(names) == 3
    assert all(name.startswith("wp_") and len(name) == 15 for name in names)


@needs_the_extra
def test_both_ways_index_the_same() -> None:
    """Which is why they share a name, and why nobody has to index again who goes over from one to the other."""
    assert minilm().id == documents_by_minilm().id
    assert np.array_equal(minilm().encode_documents(ANSWERS), documents_by_minilm().encode_documents(ANSWERS))


@needs_the_extra
def test_the_way_on_both_sides_reads_queries_as_documents() -> None:
    way = minilm()
    assert np.array_equal(way.encode(ASKED), way.encode_documents(ASKED))
    assert not np.allclose(way.encode(ASKED), documents_by_minilm().encode(ASKED))


@needs_the_extra
def test_a_sum_of_both_models_is_near_either() -> None:
    table, model = default_embedder(), MiniLM()
    both = minilm().encode(ASKED)
    alone = model.encode(ASKED) @ table.basis.astype(np.float32)
    to_table = np.einsum("ij,ij->i", both, table.encode(ASKED))
    to_model = np.einsum("ij,ij->i", both, alone / np.linalg.norm(alone, axis=1, keepdims=True))
    apart = np.einsum("ij,ij->i", table.encode(ASKED), alone / np.linalg.norm(alone, axis=1, keepdims=True))
    assert (np.minimum(to_table, to_model) > apart).all()


@needs_the_extra
def test_the_way_with_documents_asks_the_table_alone() -> None:
    assert np.array_equal(documents_by_minilm().encode(ASKED), default_embedder().encode(ASKED))


@needs_the_extra
def test_the_table_lies_in_the_models_space() -> None:
    """A text's two vectors point the same way, which is what makes their scores a sum."""
    ours = default_embedder().encode(ASKED)
    theirs = MiniLM().encode(ASKED) @ default_embedder().basis.astype(np.float32)
    cosines = np.einsum("ij,ij->i", ours, theirs / np.linalg.norm(theirs, axis=1, keepdims=True))
    assert cosines.min() > 0.6


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
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
