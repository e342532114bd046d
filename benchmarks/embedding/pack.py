"""Convert the fitted numbers to the file that ships: fewer dimensions, eight bits each."""

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from benchmarks.embedding.arrays import encode_arrays
from benchmarks.embedding.fit import Floats, Gated

DIMS = 256

CLIP = 4.0
"""Rows are scaled so that the largest number divided by CLIP becomes 127; the few above are clipped."""


def packed(table: Gated, dims: int = DIMS) -> bytes:
    """Return the table file of registry/search/embedding.py.

    `rows` (tokens, dims) int8; `gate_keys`, `gate_queries` (tokens, rank) int8 with one `gate_scale`; `gate_bias`
    (tokens,) float16; `basis` (teacher's dims, dims) float16, orthonormal columns: a teacher's vector times `basis`
    can be compared with the table's vectors.
    """
    basis = _basis(table.rows, dims)
    return encode_arrays({**_gated(table, basis), "basis": basis.astype("<f2")})


def packed_languages(table: Gated, dims: int, english: tuple[NDArray[Any], list[str]], reader: Tokenizer) -> bytes:
    """Return the table file of registry/search/other_languages.py.

    As above, but `basis` (dims, dims of the English table) leads to the English table's space. `english` (pieces, 3):
    numbers of lines of `english_words`; `pieces`, one a line, and `piece_scores`: the tokenizer.
    """
    basis = _basis(table.rows, dims)
    vocabulary = json.loads(reader.to_str())["model"]["vocab"]
    return encode_arrays(
        {
            **_gated(table, basis),
            "basis": basis.T.astype("<f2"),
            "english": english[0].astype("<u2"),
            "english_words": _lines(english[1]),
            "pieces": _lines([piece for piece, _ in vocabulary]),
            "piece_scores": np.array([score for _, score in vocabulary], "<f2"),
        }
    )


def _gated(table: Gated, basis: Floats) -> dict[str, NDArray[Any]]:
    """Return the arrays of registry/search/gated_table.py."""
    rows = table.rows @ basis
    gate_scale = max(np.abs(table.keys).max(), np.abs(table.queries).max()) / 127
    return {
        "rows": _int8(rows, np.abs(rows).max() / (127 * CLIP)),
        "gate_keys": _int8(table.keys, gate_scale),
        "gate_queries": _int8(table.queries, gate_scale),
        "gate_bias": table.bias[:, 0].astype("<f2"),
        "gate_scale": np.array([gate_scale], "<f4"),
    }


def _lines(texts: list[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(texts).encode(), "<u1")


def _basis(rows: Floats, dims: int) -> Floats:
    """Return the principal directions of the rows, without centring; signs are fixed, so that runs agree."""
    _, vectors = np.linalg.eigh(rows.T.astype(np.float64) @ rows)
    basis = vectors[:, ::-1][:, :dims]
    signs = np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(dims)])
    result: Floats = (basis * signs).astype(np.float32)
    return result


def _int8(values: Floats, scale: float) -> np.ndarray:
    return np.clip(np.round(values / scale), -127, 127).astype("<i1")
