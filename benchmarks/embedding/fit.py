"""Fitting: rows, and a gate on them, whose sum over a text points where the teacher's sentence vector points.

Needs scipy. Everything is drawn from one seed and runs in one order, so the same inputs give the same table on the
same machine and thread count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse  # type: ignore[import-untyped]  # the package ships no types

Floats = NDArray[np.float32]

RANK = 16
EPOCHS = 10
BATCH = 256
ROWS_RATE = 4e-3
GATE_RATE = 8e-3
RIDGE = 10.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts as pairs (text, token, how often), sorted by text: `starts[i]:starts[i + 1]` are those of text i."""

    starts: NDArray[np.int64]
    tokens: NDArray[np.int64]
    counts: Floats

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]]) -> "Corpus":
        starts, tokens, counts = [0], [], []
        for text in texts:
            distinct, times = np.unique(np.array(text, np.int64), return_counts=True)
            tokens.append(distinct)
            counts.append(times)
            starts.append(starts[-1] + len(distinct))
        return cls(np.array(starts), np.concatenate(tokens), np.concatenate(counts).astype(np.float32))


@dataclass(slots=True)
class Gated:
    """`rows` (n, dims); `keys`, `queries` (n, RANK) and `bias` (n, 1) of the gate."""

    rows: Floats
    keys: Floats
    queries: Floats
    bias: Floats


def started(alone: Floats, corpus: Corpus, aims: Floats) -> Floats:
    """Rows to begin with: what the teacher says of each token alone, turned towards the aims by ridge regression and
    weighted by how rare the token is (BM25's idf over the texts)."""
    total = len(aims)
    df = np.bincount(corpus.tokens, minlength=len(alone)).astype(np.float32)
    weights = np.log1p((total - df + 0.5) / (df + 0.5))[:, None].astype(np.float32)
    centred = alone - alone.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True) + 1e-9
    pairs = sparse.csr_matrix((corpus.counts, corpus.tokens, corpus.starts), shape=(total, len(alone)))
    sums = pairs @ (centred * weights)
    sums /= np.linalg.norm(sums, axis=1, keepdims=True) + 1e-9
    turn = np.linalg.solve(sums.T @ sums + RIDGE * np.eye(sums.shape[1]), sums.T @ aims)
    rows: Floats = (centred @ turn * weights).astype(np.float32)
    return rows


class _Adam:
    """Adam that moves the rows a step has touched and leaves the moments of the others alone."""

    def __init__(self, values: Floats, rate: float) -> None:
        self._values, self._rate = values, rate
        self._mean, self._square = np.zeros_like(values), np.zeros_like(values)

    def step(self, number: int, left: float, at: NDArray[np.int64], gradient: Floats) -> None:
        mean = 0.9 * self._mean[at] + 0.1 * gradient
        square = 0.999 * self._square[at] + 0.001 * gradient * gradient
        self._mean[at], self._square[at] = mean, square
        size = self._rate * left * np.sqrt(1 - 0.999**number) / (1 - 0.9**number)
        self._values[at] -= size * mean / (np.sqrt(square) + 1e-8)


class Fit:
    """The fit of one table, an epoch at a time; the rates fall linearly to zero over `epochs`."""

    def __init__(self, rows: Floats, corpus: Corpus, aims: Floats, seed: int, epochs: int = EPOCHS) -> None:
        self._corpus, self._aims = corpus, aims
        self._draw = np.random.default_rng(seed)
        shape = (len(rows), RANK)
        self.table = Gated(
            rows.copy(),
            np.zeros(shape, np.float32),
            self._draw.normal(0, 0.1, shape).astype(np.float32),
            np.zeros((len(rows), 1), np.float32),
        )
        gate = (self.table.keys, self.table.queries, self.table.bias)
        self._movers = [_Adam(self.table.rows, ROWS_RATE), *(_Adam(part, GATE_RATE) for part in gate)]
        self._steps, self._done = epochs * -(-len(aims) // BATCH), 0

    def epoch(self) -> float:
        """Every text once. The mean cosine to the teacher while that went on."""
        order, cosines = self._draw.permutation(len(self._aims)), 0.0
        for start in range(0, len(order), BATCH):
            at, gradients, cosine = _gradients(self.table, self._corpus, self._aims, order[start : start + BATCH])
            self._done += 1
            for mover, gradient in zip(self._movers, gradients, strict=True):
                mover.step(self._done, 1 - (self._done - 1) / self._steps, at, gradient)
            cosines += cosine
        return cosines / len(order)


def _gradients(
    table: Gated, corpus: Corpus, aims: Floats, texts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[Floats], float]:
    """Of the sum of 1 - cos over some texts: the tokens in them, the gradients at their rows (E, K, Q, b), and the
    sum of the cosines."""
    begins, lengths = corpus.starts[texts], corpus.starts[texts + 1] - corpus.starts[texts]
    ends = np.cumsum(lengths)
    places = np.arange(ends[-1]) + np.repeat(begins - (ends - lengths), lengths)
    at, column = np.unique(corpus.tokens[places], return_inverse=True)
    counts = corpus.counts[places]
    pointers = np.concatenate([[0], ends])
    row = np.repeat(np.arange(len(texts)), lengths)
    shape = (len(texts), len(at))

    shares = counts / np.add.reduceat(counts, ends - lengths)[row]
    means = sparse.csr_matrix((shares, column, pointers), shape=shape)
    keys, rows = table.keys[at], table.rows[at]
    context = (means @ table.queries[at])[row]
    gate = 2 / (1 + np.exp(-(table.bias[at][column, 0] + np.einsum("ij,ij->i", keys[column], context))))
    gates = sparse.csr_matrix((gate * counts, column, pointers), shape=shape)
    sums = gates @ rows
    norms = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-9
    units = sums / norms
    cosines = np.einsum("ij,ij->i", units, aims[texts])[:, None]
    pull = (cosines * units - aims[texts]) / norms  # d(1 - cos) / d sums

    slope = np.einsum("ij,ij->i", rows[column], pull[row]) * counts * gate * (1 - gate / 2)
    slopes = sparse.csr_matrix((slope, column, pointers), shape=shape)
    to_keys = sparse.csr_matrix((slope, (column, np.arange(len(column)))), shape=(len(at), len(column))) @ context
    to_queries = means.T @ (slopes @ keys)
    to_bias = np.bincount(column, slope, len(at))[:, None]
    gradients = [gates.T @ pull, to_keys, to_queries, to_bias]
    return at, [gradient.astype(np.float32) for gradient in gradients], float(cosines.sum())
