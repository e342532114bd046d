"""Candidates as columns, made of whole records: what every engine makes of its own storage, in the plainest way."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from registry.core.ranking import Candidates, Record


@dataclass(frozen=True, slots=True)
class Candidate:
    """`score` is the listing's grade, 0 to 100."""

    host: str
    score: int
    record: Record


def side_by_side(candidates: Iterable[Candidate], model: str = "") -> Candidates:
    """Their columns; vectors of another model than `model` are left out."""
    held = list(candidates)
    records = [one.record for one in held]
    with_rows = [one for one in records if one.model == model and len(one.vectors)]
    dims = with_rows[0].vectors.shape[1] if with_rows else 0
    rows = [len(one.vectors) if one.model == model else 0 for one in records]
    return Candidates(
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
