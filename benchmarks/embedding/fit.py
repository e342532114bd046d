"""Fit rows and a gate on them, so that their gated sum over a text approximates the teacher's sentence vector.

Needs scipy. All randomness comes from one seed and the order is fixed, so the same inputs give the same table on the
same machine with the same thread count.
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


def initial_rows(alone: Floats, corpus: Corpus, aims: Floats) -> Floats:
    """Return the initial rows: the teacher's vector of each token alone, mapped towards the aims by ridge regression
    and weighted by the token's rarity (BM25's idf over the texts)."""
    total = len(aims)
    df = np.bincount(corpus.tokens, minlength=len(alone)).astype(np.float32)
    weights = np.log1p((total - df + 0.5) / (df + 0.5))[:, None].astype(np.float32)
    centred = alone - alone.mean(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True) + 1e-9
    pairs = sparse.csr_matrix((corpus.counts, corpus.tokens, corpus.starts), shape=(total, len(alone)))
    sums = pairs @ (centred * weights)
    sums /= np.linalg.norm(sums, axis=1, keepdims=True) + 1e-9
    rotation = np.linalg.solve(sums.T @ sums + RIDGE * np.eye(sums.shape[1]), sums.T @ aims)
    rows: Floats = (centred @ rotation * weights).astype(np.float32)
    return rows


class _Adam:
    """Adam that updates only the rows touched by a step; the moments of the others stay unchanged."""

    def __init__(self, values: Floats, rate: float) -> None:
        self._values, self._rate = values, rate
        self._mean, self._square = np.zeros_like(values), np.zeros_like(values)

    def step(self, number: int, rate_factor: float, touched: NDArray[np.int64], gradient: Floats) -> None:
        mean = 0.9 * self._mean[touched] + 0.1 * gradient
        square = 0.999 * self._square[touched] + 0.001 * gradient * gradient
        self._mean[touched], self._square[touched] = mean, square
        size = self._rate * rate_factor * np.sqrt(1 - 0.999**number) / (1 - 0.9**number)
        self._values[touched] -= size * mean / (np.sqrt(square) + 1e-8)


class Fit:
    """The fit of one table, one epoch at a time; the learning rates fall linearly to zero over `epochs`."""

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
        self._optimizers = [_Adam(self.table.rows, ROWS_RATE), *(_Adam(part, GATE_RATE) for part in gate)]
        self._steps, self._done = epochs * -(-len(aims) // BATCH), 0

    def epoch(self) -> float:
        """Use every text once. Return the mean cosine to the teacher during the epoch."""
        order, cosines = self._draw.permutation(len(self._aims)), 0.0
        for start in range(0, len(order), BATCH):
            tokens, gradients, cosine = _gradients(self.table, self._corpus, self._aims, order[start : start + BATCH])
            self._done += 1
            for optimizer, gradient in zip(self._optimizers, gradients, strict=True):
                optimizer.step(self._done, 1 - (self._done - 1) / self._steps, tokens, gradient)
            cosines += cosine
        return cosines / len(order)


def _gradients(
    table: Gated, corpus: Corpus, aims: Floats, texts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[Floats], float]:
    """For the loss, the sum of 1 - cos over some texts, return their tokens, the gradients at the tokens' rows (E, K,
    Q, b), and the sum of the cosines."""
    begins, lengths = corpus.starts[texts], corpus.starts[texts + 1] - corpus.starts[texts]
    ends = np.cumsum(lengths)
    places = np.arange(ends[-1]) + np.repeat(begins - (ends - lengths), lengths)
    tokens, column = np.unique(corpus.tokens[places], return_inverse=True)
    counts = corpus.counts[places]
    pointers = np.concatenate([[0], ends])
    row = np.repeat(np.arange(len(texts)), lengths)
    shape = (len(texts), len(tokens))

    shares = counts / np.add.reduceat(counts, ends - lengths)[row]
    means = sparse.csr_matrix((shares, column, pointers), shape=shape)
    keys, rows = table.keys[tokens], table.rows[tokens]
    context = (means @ table.queries[tokens])[row]
    gate = 2 / (1 + np.exp(-(table.bias[tokens][column, 0] + np.einsum("ij,ij->i", keys[column], context))))
    gates = sparse.csr_matrix((gate * counts, column, pointers), shape=shape)
    sums = gates @ rows
    norms = np.linalg.norm(sums, axis=1, keepdims=True) + 1e-9
    units = sums / norms
    cosines = np.einsum("ij,ij->i", units, aims[texts])[:, None]
    pull = (cosines * units - aims[texts]) / norms  # d(1 - cos) / d sums

    slope = np.einsum("ij,ij->i", rows[column], pull[row]) * counts * gate * (1 - gate / 2)
    slopes = sparse.csr_matrix((slope, column, pointers), shape=shape)
    to_keys = sparse.csr_matrix((slope, (column, np.arange(len(column)))), shape=(len(tokens), len(column))) @ context
    to_queries = means.T @ (slopes @ keys)
    to_bias = np.bincount(column, slope, len(tokens))[:, None]
    gradients = [gates.T @ pull, to_keys, to_queries, to_bias]
    return tokens, [gradient.astype(np.float32) for gradient in gradients], float(cosines.sum())
