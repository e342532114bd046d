"""Vectors as they are stored: eight bits per number, each row with its own scale, compared exactly.

Sums of integers below 2^24 are exact in float32, in any order of addition. So the cosine of two texts
is the same in every pool, on every engine and every machine, and equal texts stay equal.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

_TOP: Final = 127
_EXACT: Final = 2.0**24

Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]


def units(rows: Floats) -> Floats:
    """Return the rows scaled to length 1; rows of zeros stay unchanged."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    out: Floats = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return out


def pack(rows: Floats) -> Bytes:
    """Return rows (n, dims) of any length as int8: the largest number of each row becomes 127; zero rows stay zero."""
    clean = np.where(np.isfinite(rows), rows, 0.0).astype(np.float64)
    top = np.abs(clean).max(axis=1, initial=0.0, keepdims=True)
    return np.rint(clean * (_TOP / np.where(top > 0, top, 1.0))).astype(np.int8)


def scales(packed: Bytes) -> Floats:
    """Return the factor that gives each packed row the length 1; 0 for a zero row."""
    wide = packed.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    inverse: Floats = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)
    return inverse


def spread(packed: Bytes, scale: Floats) -> float:
    """Return the length of the sum of the rows, each of length 1: n if all point the same way."""
    total = (packed.astype(np.float64) * scale[:, None].astype(np.float64)).sum(axis=0)
    return float(np.float32(np.sqrt(total @ total)))


def cosines(packed: Bytes, scale: Floats, query_rows: Floats) -> NDArray[np.float64]:
    """Return (rows, k): the cosine of each packed row with each of the k rows of the query; 0 if either is zero."""
    max_length = _EXACT / (_TOP * np.sqrt(max(1, packed.shape[1])))
    slack = float(np.sqrt(packed.shape[1])) / 2 + 1  # rounding may lengthen a row by half a step in each dimension
    lengths = np.sqrt(np.einsum("ij,ij->i", query_rows, query_rows, dtype=np.float64))[:, None]
    nonzero = np.isfinite(lengths) & (lengths > 0)
    units = np.divide(query_rows, lengths, out=np.zeros(query_rows.shape), where=nonzero)
    quantised = np.rint(units * (max_length - slack))
    norms = np.sqrt(np.einsum("ij,ij->i", quantised, quantised))
    inverse_norms = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    # Not a matrix product: its library starts threads even for one this small, and they wait in a busy loop for the
    # next, which costs more than the product.
    rows = packed.astype(np.float32)
    similarities = np.stack([np.vecdot(rows, row) for row in quantised.astype(np.float32)]).astype(np.float64)
    similarities *= scale
    similarities *= inverse_norms[:, None]
    return similarities.T
