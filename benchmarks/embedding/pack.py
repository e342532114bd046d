"""Convert the fitted numbers to the file that ships: fewer dimensions, eight bits each."""

import numpy as np

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
    rows = table.rows @ basis
    gate_scale = max(np.abs(table.keys).max(), np.abs(table.queries).max()) / 127
    return encode_arrays(
        {
            "rows": _int8(rows, np.abs(rows).max() / (127 * CLIP)),
            "gate_keys": _int8(table.keys, gate_scale),
            "gate_queries": _int8(table.queries, gate_scale),
            "gate_bias": table.bias[:, 0].astype("<f2"),
            "gate_scale": np.array([gate_scale], "<f4"),
            "basis": basis.astype("<f2"),
        }
    )


def _basis(rows: Floats, dims: int) -> Floats:
    """Return the principal directions of the rows, without centring; signs are fixed, so that runs agree."""
    _, vectors = np.linalg.eigh(rows.T.astype(np.float64) @ rows)
    basis = vectors[:, ::-1][:, :dims]
    signs = np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(dims)])
    result: Floats = (basis * signs).astype(np.float32)
    return result


def _int8(values: Floats, scale: float) -> np.ndarray:
    return np.clip(np.round(values / scale), -127, 127).astype("<i1")
