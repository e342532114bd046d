"""Read and write a file of named arrays in the safetensors layout; reading executes nothing.

    8 bytes   length of the header, little-endian
    header    JSON: name -> {"dtype", "shape", "data_offsets"}, offsets from the end of the header
    data      the arrays, row after row

https://github.com/huggingface/safetensors (format section). The file is mapped into memory, so all processes of one
machine share one copy.
"""

import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DTYPES: dict[str, np.dtype[Any]] = {"I8": np.dtype("<i1"), "F16": np.dtype("<f2"), "F32": np.dtype("<f4")}
_HEADER_AT_MOST = 100_000


class ArrayFileError(ValueError):
    """The bytes are not a valid file of arrays."""


def map_file(path: Path) -> memoryview:
    """Return a file as a read-only memory map. Raise OSError, or ValueError for an empty file."""
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def read_arrays(raw: memoryview) -> dict[str, NDArray[Any]]:
    """Return the arrays by name, as views of the bytes. Raise ArrayFileError when the layout is not the one above."""
    try:
        size = int.from_bytes(raw[:8], "little")
        if len(raw) < 8 or size > min(_HEADER_AT_MOST, len(raw) - 8):
            raise ValueError("the header does not fit")
        header: dict[str, Any] = json.loads(bytes(raw[8 : 8 + size]))
        header.pop("__metadata__", None)
        return {name: _array(raw[8 + size :], entry) for name, entry in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ArrayFileError(f"not a file of arrays: {error}") from error


def _array(data: memoryview, entry: Mapping[str, Any]) -> NDArray[Any]:
    start, end = entry["data_offsets"]
    dtype, shape = _DTYPES[entry["dtype"]], tuple(entry["shape"])
    if not 0 <= start <= end <= len(data):
        raise ValueError("an array lies outside the file")
    array: NDArray[Any] = np.frombuffer(data[start:end], dtype)
    return array.reshape(shape)


def encode_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the file's bytes, the same for the same arrays. Raise ValueError for an unsupported dtype."""
    names = {dtype: name for name, dtype in _DTYPES.items()}
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
