"""What the engine answers, as the ranker reads it: hits of several legs become one pool of candidates, side by side.

A service that several legs found is read once, and nothing of it but what is needed: its capabilities are taken from
its record when it is shown.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking import Candidates, Capabilities, CorpusStats, Question, rank
from registry.core.ranking.record import Parts, parts
from registry.search.backend import Pool
from registry.search.meilisearch.answers import Hit, Result


def pool(generation: str, stats: CorpusStats, results: Sequence[Result], question: Question, limit: int) -> Pool:
    """The words' services, at most `limit`, and the vectors'."""
    legs = [result for result in results if result.near is None]
    worded = _by_host(legs)
    nearest = _by_host(result for result in results if result.near is not None)
    matching = max([len(worded), *(result.total for result in legs)])
    if len(worded) > limit:
        by_words = rank(Question(question.text, question.terms), read(worded.values()), stats)
        worded = {host: worded[host] for host in by_words.hosts[:limit]}
    candidates = read((worded | nearest).values(), question.model)
    return Pool(generation, stats, candidates, max(matching, len(candidates)))


def read(hits: Iterable[Hit], model: str = "") -> Candidates:
    """Vectors of another model than `model` are left out, and records of another version altogether: while an index is
    rebuilt, legs may answer from either."""
    kept: list[Hit] = []
    held: list[Parts] = []
    for one in hits:
        with suppress(ValueError):
            held.append(parts(one.r))
            kept.append(one)
    near = [one for one in held if one.model == model]
    row_starts = _starts(one.rows if one.model == model else 0 for one in held)
    shape = int(row_starts[-1]), max((one.dims for one in near), default=0)
    return Candidates(
        hosts=[one.host for one in kept],
        scores=np.array([one.score for one in kept], np.int64),
        lengths=np.array([one.length for one in held], np.int64),
        term_starts=_starts(len(one.counts) for one in held),
        terms=np.frombuffer(b"".join([one.terms for one in held]), "<u4"),
        counts=np.frombuffer(b"".join([one.counts for one in held]), np.uint8),
        row_starts=row_starts,
        vectors=np.frombuffer(b"".join([one.vectors for one in near]), np.int8).reshape(shape),
        scales=np.frombuffer(b"".join([one.scales for one in near]), "<f4"),
        spreads=np.array([one.spread for one in held], np.float32),
        model=model,
        capabilities=lambda place: Capabilities.decode(held[place].capabilities),
    )


def _by_host(results: Iterable[Result]) -> dict[str, Hit]:
    return {one.host: one for result in results for one in result.hits}


def _starts(lengths: Iterable[int]) -> NDArray[np.int64]:
    """Where each begins when they lie side by side, and where the last one ends."""
    return np.fromiter(accumulate(lengths, initial=0), np.int64)
