"""Sentence vectors without a model: the rows of a text's tokens, weighted by a gate and summed.

    u = mean of Q[t]    g[t] = 2 / (1 + exp(-b[t] - K[t] . u))    e(text) = normalise(sum of g[t] E[t])

over the WordPiece tokens t of the text. The gate lets the other words of a text say how much a word counts. The table
ships with the package and was fitted so that e points where a sentence model points (MODEL_CARD.md beside it, made by
benchmarks/embedding). Nothing is downloaded, here or in what is imported.
"""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from registry.core.listing import SearchUnavailable
from registry.search.tables import DamagedTable, mapped, read_arrays

MODEL = Path(__file__).parent / "model"
TABLE = "table.safetensors"
TOKENIZER = "tokenizer.json"
TABLE_SHA256 = "6c5f1a713a46d84d41f44d6dad50e54cd3efa29a405ff61f46aa8c099e64862c"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
"""What this version of the code was measured with; other files are refused."""

RECIPE = "1"
"""Version of what is done with the table, part of the model's id: vectors of two recipes are never compared."""

TOKENS = 256
"""A text is cut after so many tokens."""

TEXT_CHARS = 4_096
"""A text is cut before it is split: more characters than TOKENS tokens of any language have, and a bound on work."""


class ModelFileError(SearchUnavailable):
    """A file of the model is missing, damaged, or not the one that this version of the code was measured with."""


class StaticEmbedder:
    """The table as an Embedder (registry/core/ranking); safe to use from several threads."""

    def __init__(self, table: memoryview, tokenizer: bytes) -> None:
        """Raises ModelFileError on bytes that hold no table or no tokenizer, or two that do not fit each other."""
        try:
            arrays = read_arrays(table)
            self._rows: NDArray[np.int8] = arrays["rows"]
            self._keys: NDArray[np.int8] = arrays["gate_keys"]
            self._queries: NDArray[np.int8] = arrays["gate_queries"]
            self._bias: NDArray[np.float16] = arrays["gate_bias"]
            self._scale = float(arrays["gate_scale"][0])
            self.basis: NDArray[np.float16] = arrays["basis"]
            self._tokenizer = read_tokenizer(tokenizer)
        except (DamagedTable, KeyError, IndexError) as error:
            raise ModelFileError(f"the embedding table cannot be read: {error}") from error
        known = self._tokenizer.get_vocab_size()
        if not known == len(self._rows) == len(self._keys) == len(self._queries) == len(self._bias):
            raise ModelFileError(f"the embedding table has {len(self._rows)} rows, its tokenizer {known} tokens")
        self._id = model_id(table, tokenizer, RECIPE)

    @property
    def id(self) -> str:
        """`wp_` and 12 hex digits: an index keeps vectors of this model and no other."""
        return self._id

    @property
    def dims(self) -> int:
        return int(self._rows.shape[1])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dims) float32. Any text is accepted; what is no Unicode (lone surrogates) is read as unknown."""
        out = np.zeros((len(texts), self.dims), np.float32)
        for place, text in enumerate(texts):
            # One by one: a batch starts threads, and a process that forks later is then warned of deadlocks.
            read = self._tokenizer.encode(unicode_text(text[:TEXT_CHARS]), add_special_tokens=False)
            if read.ids:
                out[place] = self._sum(np.array(read.ids))
        return units(out)

    def encode_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode(texts)

    def _sum(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The gated sum of one text's rows, not normalised. Tokens that mean nothing have rows of zeros."""
        mean = self._queries[ids].mean(axis=0, dtype=np.float32) * (self._scale * self._scale)
        bent = self._bias[ids].astype(np.float32) + self._keys[ids].astype(np.float32) @ mean
        gate = 2 / (1 + np.exp(-bent))
        total: NDArray[np.float32] = gate @ self._rows[ids].astype(np.float32)
        return total


def model_id(table: memoryview | bytes, tokenizer: bytes, recipe: str) -> str:
    """`wp_` and the first 12 hex digits of sha256 of the table, the tokenizer and the recipe's version."""
    digest = hashlib.sha256(table)
    digest.update(tokenizer)
    digest.update(recipe.encode())
    return f"wp_{digest.hexdigest()[:12]}"


def load(folder: Path, table_sha256: str, tokenizer_sha256: str) -> StaticEmbedder:
    """The model in a folder. Raises ModelFileError where a file is missing or its sha256 is another."""
    table = verified(folder / TABLE, table_sha256)
    return StaticEmbedder(table, bytes(verified(folder / TOKENIZER, tokenizer_sha256)))


@cache
def default_embedder() -> StaticEmbedder:
    """The model that ships with the package, loaded and verified once per process. Raises ModelFileError."""
    return load(MODEL, TABLE_SHA256, TOKENIZER_SHA256)


def units(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1; rows of zeros stay as they are."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    out: NDArray[np.float32] = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return out


def unicode_text(text: str) -> str:
    """The text with a question mark for each lone surrogate, which the tokenizer would refuse."""
    return text.encode("utf-8", "replace").decode()


def verified(path: Path, expected: str) -> memoryview:
    """The bytes of a file. Raises ModelFileError where it cannot be read or its sha256 is another."""
    try:
        raw = mapped(path)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path}: cannot be read ({error})") from error
    found = hashlib.sha256(raw).hexdigest()
    if found != expected:
        raise ModelFileError(f"{path}: sha256 is {found}, this version needs {expected}; install the package again")
    return raw


def read_tokenizer(raw: bytes) -> Any:
    """Cuts at TOKENS, pads nothing. Raises ModelFileError."""
    try:
        tokenizer = Tokenizer.from_buffer(raw)
    except Exception as error:  # the library raises bare Exception
        raise ModelFileError(f"the tokenizer cannot be read: {error}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS)
    return tokenizer
