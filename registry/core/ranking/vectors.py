"""Vectors as they are kept: eight bits per number, each row on its own scale, compared exactly.

Sums of whole numbers below 2^24 are exact in float32, whatever the order in which a processor adds them up. So the
cosine of two texts is the same in every pool, on every engine and every machine, and equal texts stay equal.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

_TOP: Final = 127
_EXACT: Final = 2.0**24

Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]


def pack(rows: Floats) -> Bytes:
    """(n, dims) of any length to int8: the largest number of each row becomes 127; zero rows stay zero."""
    clean = np.where(np.isfinite(rows), rows, 0.0).astype(np.float64)
    top = np.abs(clean).max(axis=1, initial=0.0, keepdims=True)
    return np.rint(clean * (_TOP / np.where(top > 0, top, 1.0))).astype(np.int8)


def scales(packed: Bytes) -> Floats:
    """What makes each packed row one of length 1; 0 for a zero row."""
    wide = packed.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    inverse: Floats = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0).astype(np.float32)
    return inverse


def spread(packed: Bytes, scale: Floats) -> float:
    """The length of the sum of the rows, each of length 1: n where all point the same way."""
    total = (packed.astype(np.float64) * scale[:, None].astype(np.float64)).sum(axis=0)
    return float(np.float32(np.sqrt(total @ total)))


def cosines(packed: Bytes, scale: Floats, asked: Floats) -> NDArray[np.float64]:
    """(rows, k): the cosine of each packed row with each of the k rows asked for; 0 where either is zero."""
    room = _EXACT / (_TOP * np.sqrt(max(1, packed.shape[1])))
    lengths = np.sqrt(np.einsum("ij,ij->i", asked, asked, dtype=np.float64))[:, None]
    known = np.isfinite(lengths) & (lengths > 0)
    whole = np.rint(
        np.divide(asked, lengths, out=np.zeros(asked.shape), where=known) * (room - _slack(packed.shape[1]))
    )
    norms = np.sqrt(np.einsum("ij,ij->i", whole, whole))
    per = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    near = dots(packed.astype(np.float32), whole.astype(np.float32)).astype(np.float64)
    near *= scale
    near *= per[:, None]
    return near.T


def dots(rows: Floats, asked: Floats) -> Floats:
    """(k, rows): each of the k rows asked for times each row.

    Not a product of matrices: its library starts threads for one as small as this, and they wait in a busy loop for
    the next one, which costs more than the product.
    """
    return np.stack([np.vecdot(rows, one) for one in asked])


def _slack(dims: int) -> float:
    """Rounding may lengthen a row by half a step in each dimension."""
    return float(np.sqrt(dims)) / 2 + 1
