"""Write the files that `registry.search.column_store.read_arrays` reads."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from registry.search.column_store import DTYPES


def encode_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the file's bytes, the same for the same arrays. Raise ValueError for an unsupported dtype."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    header, parts, offset = {}, [], 0
    for name, array in arrays.items():
        if array.dtype not in names:
            raise ValueError(f"{name}: no {array.dtype} in this file")
        part = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": names[array.dtype], "shape": array.shape, "data_offsets": (offset, offset + len(part))}
        parts.append(part)
        offset += len(part)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)  # aligns the arrays to 8 bytes
    return len(head).to_bytes(8, "little") + head + b"".join(parts)
