"""Converts the engine's results for the ranker: merges the hits of several queries into one pool of candidates.

A service found by several queries is decoded once; its capabilities are decoded only when it is shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking import CandidateSet, Capabilities, CorpusStats, ParsedQuery, browse, rank
from registry.core.ranking.copies import SHOWN_COPIES, Copies, CopyStanding, FoldedHosts, Standings
from registry.core.ranking.naming import MOST_NAMED
from registry.core.ranking.record import Parts, parts
from registry.search.backend import Pool
from registry.search.meilisearch.admin import QueryResult, ResponseHit
from registry.search.meilisearch.layout import offer_and_level


class Answers(NamedTuple):
    """Results of the queries by words and by vector, and of the query for named services. For found services with
    copies: results of the queries for the oldest ones, and of the query for all copies of each fingerprint."""

    found: Sequence[QueryResult]
    named: Sequence[QueryResult]
    oldest: Sequence[QueryResult] = ()
    copies: Mapping[int, QueryResult] = {}


def distinct(counted: QueryResult) -> int:
    """Return how many services without copies a counting query found; above MAX_FACET_VALUES, return that number."""
    services_by_copy = counted.facets.get("copy", {})
    return counted.total - sum(services_by_copy.values()) + len(services_by_copy)


def offers_in(results: Iterable[QueryResult]) -> set[int]:
    """Return the fingerprints of the services in the results."""
    return {_offer(hit) for hit in _by_host(results).values()}


def pool(generation: str, stats: CorpusStats, answers: Answers, question: ParsedQuery, limit: int) -> Pool:
    """Return the services found by words, at most the `limit` best, all found by vector, and the named ones. Services
    in front stand for their copies, even if only copies were found."""
    word_results = [result for result in answers.found if result.near is None]
    by_words = _by_host(word_results)
    nearest = _by_host(result for result in answers.found if result.near is not None)
    named = _named(_by_host(answers.named), question)
    matching = max([len(by_words), *(result.total for result in word_results)])
    behind: dict[str, FoldedHosts] = {}
    if answers.oldest:  # guard: copies-are-folded-by-meilisearch
        fronts = _fronts(list(_by_host(answers.oldest).values()))
        folded, nearest = _replace_copies(by_words, fronts), _replace_copies(nearest, fronts)
        matching = max(len(folded), matching + len(folded) - len(by_words))
        by_words = folded
        behind = {of[0].host: _behind(of, answers.copies[offer], named) for offer, of in fronts.items()}
    if len(by_words) > limit:
        by_words = _best(by_words, question, stats, limit)
    candidates = read((by_words | nearest | named).values(), question.model)
    candidates = replace(
        candidates,
        named=[position for position, host in enumerate(candidates.hosts) if host in named],
        copies=lambda index: behind.get(candidates.hosts[index], FoldedHosts()),
    )
    return Pool(generation, stats, candidates, max(matching, len(candidates)))


def _best(
    found: Mapping[str, ResponseHit], question: ParsedQuery, stats: CorpusStats, limit: int
) -> dict[str, ResponseHit]:
    """Return the `limit` best of the services found by words; without a question, the best scored."""
    candidates, by_words = read(found.values()), ParsedQuery(question.text, question.terms)
    ranking = rank(by_words, candidates, stats) if question.terms else browse(candidates, stats)
    return {host: found[host] for host in ranking.hosts[:limit]}


def _named(found: Mapping[str, ResponseHit], question: ParsedQuery) -> dict[str, ResponseHit]:
    """Return the best proven and oldest of the named services, those named in full first."""
    order = sorted(
        found.values(), key=lambda hit: (hit.host not in question.names, _standing(hit).level, hit.offered, hit.host)
    )
    return {hit.host: hit for hit in order[:MOST_NAMED]}


def _fronts(oldest: Sequence[ResponseHit]) -> dict[int, list[ResponseHit]]:
    """Return fingerprint -> the services in front, the best proven first, from the oldest of each trust level."""
    standings = Standings.of([_standing(hit) for hit in oldest])
    scores = np.array([hit.score for hit in oldest], np.int64)
    copies = Copies(standings, scores, lambda positions: [oldest[position].host for position in positions.tolist()])
    folded = set(copies.folded(np.ones(len(oldest), np.bool_)).positions.tolist())
    fronts: dict[int, list[ResponseHit]] = {}
    shown = [hit for position, hit in enumerate(oldest) if position not in folded]
    for hit in sorted(shown, key=lambda hit: _standing(hit).level):
        fronts.setdefault(_offer(hit), []).append(hit)
    return fronts


def _replace_copies(
    found: Mapping[str, ResponseHit], fronts: Mapping[int, Sequence[ResponseHit]]
) -> dict[str, ResponseHit]:
    """Return the services found, with copies replaced by those in front."""
    return {front.host: front for hit in found.values() for front in fronts.get(_offer(hit), [hit])}


def _behind(fronts: Sequence[ResponseHit], copies: QueryResult, named: Mapping[str, ResponseHit]) -> FoldedHosts:
    shown = {front.host for front in fronts}
    others = [host for host, hit in named.items() if host not in shown and _offer(hit) == _offer(fronts[0])]
    hosts = [hit.host for hit in copies.hits if hit.host not in shown and hit.host not in others]
    return FoldedHosts(tuple(hosts[:SHOWN_COPIES]), max(len(hosts), copies.total - len(shown) - len(others)))


def _offer(hit: ResponseHit) -> int:
    return _standing(hit).offer


def _standing(hit: ResponseHit) -> CopyStanding:
    return CopyStanding(*offer_and_level(hit.copy_key), hit.offered, hit.listed)


def read(hits: Iterable[ResponseHit], model: str = "") -> CandidateSet:
    """Return the hits as candidates. Skip vectors of other models than `model` and all records of another version:
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
        standings=Standings.of([_standing(hit) for hit in decoded_hits]),
        capabilities=lambda index: Capabilities.decode(records[index].capabilities),
    )


def _by_host(results: Iterable[QueryResult]) -> dict[str, ResponseHit]:
    return {hit.host: hit for result in results for hit in result.hits}


def _starts(lengths: Iterable[int]) -> NDArray[np.int64]:
    """Return the offset of each part in their concatenation, and the total length as the last element."""
    return np.fromiter(accumulate(lengths, initial=0), np.int64)
