"""Make candidate columns from whole records, in the simplest way; each engine makes them from its own storage."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from registry.core.model.listing import Listing
from registry.core.ranking import (
    CandidateSet,
    CorpusStats,
    Embedder,
    ParsedQuery,
    Ranking,
    Record,
    make_record,
    parse_query,
    rank,
    texts_of,
)
from registry.core.ranking.copies import CopyStanding, Standings
from registry.core.ranking.record import counted
from registry.core.ranking.vocabulary import Vocabulary

UNIQUE = CopyStanding(0, 0, 0, 0)
"""Of a service that is never a copy."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """`score` is the listing's grade, 0 to 100."""

    host: str
    score: int
    record: Record
    standing: CopyStanding = UNIQUE


def side_by_side(candidates: Iterable[Candidate], model: str = "") -> CandidateSet:
    """Return the columns of the candidates; vectors of another model than `model` are left out."""
    candidate_list = list(candidates)
    records = [candidate.record for candidate in candidate_list]
    with_rows = [record for record in records if record.model == model and len(record.vectors)]
    dims = with_rows[0].vectors.shape[1] if with_rows else 0
    rows = [len(record.vectors) if record.model == model else 0 for record in records]
    return CandidateSet(
        hosts=[candidate.host for candidate in candidate_list],
        scores=np.array([candidate.score for candidate in candidate_list], np.int64),
        lengths=np.array([record.length for record in records], np.int64),
        term_starts=np.cumsum([0, *(len(record.terms) for record in records)], dtype=np.int64),
        terms=np.concatenate([np.zeros(0, np.uint32), *(record.terms for record in records)]),
        counts=np.concatenate([np.zeros(0, np.uint8), *(record.counts for record in records)]),
        row_starts=np.cumsum([0, *rows], dtype=np.int64),
        vectors=np.concatenate([np.zeros((0, dims), np.int8), *(record.vectors for record in with_rows)]),
        scales=np.concatenate([np.zeros(0, np.float32), *(record.scales for record in with_rows)]),
        spreads=np.array([record.spread for record in records], np.float32),
        model=model,
        standings=Standings.of([candidate.standing for candidate in candidate_list]),
        capabilities=lambda index: records[index].capabilities,
    )


def record_of(listed: Listing, embedder: Embedder | None = None) -> Record:
    if embedder is None:
        return make_record(listed)
    return make_record(listed, embedder.encode(texts_of(listed)), embedder.id)


def ranking_of(question: ParsedQuery | str, *listings: Listing, embedder: Embedder | None = None) -> Ranking:
    """Return the ranking of the listings, which are the whole collection."""
    candidates = [Candidate(listed.host, listed.score, record_of(listed, embedder)) for listed in listings]
    parsed = parse_query(question, embedder) if isinstance(question, str) else question
    stats = count_corpus(candidate.record for candidate in candidates)
    return rank(parsed, side_by_side(candidates, embedder.id if embedder else ""), stats)


def count_corpus(records: Iterable[Record]) -> CorpusStats:
    """Return the statistics of these records, counted from scratch."""
    all_records = list(records)
    terms, df = np.unique(
        np.concatenate([np.zeros(0, np.uint32), *(record.terms for record in all_records)]), return_counts=True
    )
    total = sum(counted(record.length) for record in all_records)
    words = frozenset[str]().union(*(record.words for record in all_records))
    mean_length = total / len(all_records) if all_records else 0.0
    return CorpusStats(len(all_records), mean_length, terms, df.astype(np.uint32), Vocabulary.of(words))
