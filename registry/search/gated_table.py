"""A table of rows, one for each token, whose gated sum is the vector of a text.

    u = mean of Q[t]    g[t] = 2 / (1 + exp(-b[t] - K[t] . u))    sum of g[t] E[t]

over the tokens t of the text. The gate weights each token by the other tokens of the text.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


class GatedTable:
    """The arrays `rows` E, `gate_keys` K and `gate_queries` Q (tokens, ...) int8, `gate_bias` b (tokens,) and the
    `gate_scale` of keys and queries, as benchmarks/embedding/pack.py writes them. Safe to use from several threads."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Raise KeyError or IndexError if an array is missing or empty, ValueError if they differ in length."""
        self._rows: NDArray[np.int8] = arrays["rows"]
        self._keys: NDArray[np.int8] = arrays["gate_keys"]
        self._queries: NDArray[np.int8] = arrays["gate_queries"]
        self._bias: NDArray[np.float16] = arrays["gate_bias"]
        self._scale = float(arrays["gate_scale"][0])
        self.tokens, self.dims = len(self._rows), int(self._rows.shape[1])
        lengths = {len(array) for array in (self._keys, self._queries, self._bias)}
        if lengths != {self.tokens}:
            raise ValueError(f"{self.tokens} rows, but a gate of {sorted(lengths)}")

    def sum(self, tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the gated sum (dims,) of a text's tokens, at least one; not normalised."""
        mean = self._queries.take(tokens, axis=0).mean(axis=0, dtype=np.float32) * (self._scale * self._scale)
        logits = self._bias.take(tokens).astype(np.float32) + self._keys.take(tokens, axis=0).astype(np.float32) @ mean
        gate = np.float32(2) / (np.float32(1) + np.exp(-logits))
        total: NDArray[np.float32] = gate @ self._rows.take(tokens, axis=0).astype(np.float32)
        return total
