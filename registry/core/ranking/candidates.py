"""The services that an engine proposes, as columns: what the ranker reads lies side by side, not service by service."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking.record import Capabilities, Record


@dataclass(frozen=True, slots=True)
class Candidate:
    """`score` is the listing's grade, 0 to 100."""

    host: str
    score: int
    record: Record


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """n services. Words of service i are `terms[term_starts[i]:term_starts[i + 1]]` with their `counts`, its vectors
    `vectors[row_starts[i]:row_starts[i + 1]]` with their `scales`: all of the model `model`, or none.

    See Record for each number; `capabilities(i)` is read when a hit is explained.
    """

    hosts: Sequence[str]
    scores: NDArray[np.int64]
    lengths: NDArray[np.int64]
    term_starts: NDArray[np.int64]
    terms: NDArray[np.uint32]
    counts: NDArray[np.uint8]
    row_starts: NDArray[np.int64]
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]
    spreads: NDArray[np.float32]
    model: str
    capabilities: Callable[[int], Capabilities]

    def __len__(self) -> int:
        return len(self.hosts)

    @classmethod
    def of(cls, candidates: Iterable[Candidate], model: str = "") -> "Candidates":
        """Side by side; vectors of another model than `model` are left out."""
        held = list(candidates)
        records = [one.record for one in held]
        with_rows = [one for one in records if one.model == model and len(one.vectors)]
        dims = with_rows[0].vectors.shape[1] if with_rows else 0
        rows = [len(one.vectors) if one.model == model else 0 for one in records]
        return cls(
            hosts=[one.host for one in held],
            scores=np.array([one.score for one in held], np.int64),
            lengths=np.array([one.length for one in records], np.int64),
            term_starts=np.cumsum([0, *(len(one.terms) for one in records)], dtype=np.int64),
            terms=np.concatenate([np.zeros(0, np.uint32), *(one.terms for one in records)]),
            counts=np.concatenate([np.zeros(0, np.uint8), *(one.counts for one in records)]),
            row_starts=np.cumsum([0, *rows], dtype=np.int64),
            vectors=np.concatenate([np.zeros((0, dims), np.int8), *(one.vectors for one in with_rows)]),
            scales=np.concatenate([np.zeros(0, np.float32), *(one.scales for one in with_rows)]),
            spreads=np.array([one.spread for one in records], np.float32),
            model=model,
            capabilities=lambda place: records[place].capabilities,
        )
