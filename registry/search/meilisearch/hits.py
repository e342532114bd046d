"""Convert the engine's results for the ranker: merge the hits of several queries into one pool of candidates.

A service that several queries found is decoded once, and only as far as needed: its capabilities are decoded only
when it is shown.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking import CandidateSet, Capabilities, CorpusStats, ParsedQuery, rank
from registry.core.ranking.record import Parts, parts
from registry.search.backend import Pool
from registry.search.meilisearch.responses import QueryResult, ResponseHit


def pool(
    generation: str, stats: CorpusStats, results: Sequence[QueryResult], question: ParsedQuery, limit: int
) -> Pool:
    """Return the services found by words, at most the `limit` best, and all those found by vector."""
    word_results = [result for result in results if result.near is None]
    by_words = _by_host(word_results)
    nearest = _by_host(result for result in results if result.near is not None)
    matching = max([len(by_words), *(result.total for result in word_results)])
    if len(by_words) > limit:
        ranking = rank(ParsedQuery(question.text, question.terms), read(by_words.values()), stats)
        by_words = {host: by_words[host] for host in ranking.hosts[:limit]}
    candidates = read((by_words | nearest).values(), question.model)
    return Pool(generation, stats, candidates, max(matching, len(candidates)))


def read(hits: Iterable[ResponseHit], model: str = "") -> CandidateSet:
    """Return the hits as candidates. Skip vectors of another model than `model` and all records of another version:
    during a swap, some queries may answer from the old index and some from the new one."""
    decoded_hits: list[ResponseHit] = []
    records: list[Parts] = []
    for hit in hits:
        with suppress(ValueError):
            records.append(parts(hit.r))
            decoded_hits.append(hit)
    with_vectors = [record for record in records if record.model == model]
    row_starts = _starts(record.rows if record.model == model else 0 for record in records)
    shape = int(row_starts[-1]), max((record.dims for record in with_vectors), default=0)
    return CandidateSet(
        hosts=[hit.host for hit in decoded_hits],
        scores=np.array([hit.score for hit in decoded_hits], np.int64),
        lengths=np.array([record.length for record in records], np.int64),
        term_starts=_starts(len(record.counts) for record in records),
        terms=np.frombuffer(b"".join([record.terms for record in records]), "<u4"),
        counts=np.frombuffer(b"".join([record.counts for record in records]), np.uint8),
        row_starts=row_starts,
        vectors=np.frombuffer(b"".join([record.vectors for record in with_vectors]), np.int8).reshape(shape),
        scales=np.frombuffer(b"".join([record.scales for record in with_vectors]), "<f4"),
        spreads=np.array([record.spread for record in records], np.float32),
        model=model,
        capabilities=lambda index: Capabilities.decode(records[index].capabilities),
    )


def _by_host(results: Iterable[QueryResult]) -> dict[str, ResponseHit]:
    return {hit.host: hit for result in results for hit in result.hits}


def _starts(lengths: Iterable[int]) -> NDArray[np.int64]:
    """Return the offset of each part in their concatenation, and the total length as the last element."""
    return np.fromiter(accumulate(lengths, initial=0), np.int64)
