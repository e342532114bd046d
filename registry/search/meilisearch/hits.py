"""Convert the engine's results for the ranker: merge the hits of several queries into one pool of candidates.

A service that several queries found is decoded once, and only as far as needed: its capabilities are decoded only
when it is shown.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking import CandidateSet, Capabilities, CorpusStats, ParsedQuery, browse, rank
from registry.core.ranking.copies import SHOWN_COPIES, Copies, FoldedHosts, Standing, Standings
from registry.core.ranking.naming import MOST_NAMED
from registry.core.ranking.record import Parts, parts
from registry.search.backend import Pool
from registry.search.meilisearch.layout import standing_from
from registry.search.meilisearch.responses import QueryResult, ResponseHit


class Answers(NamedTuple):
    """The results of the queries by words and by vector, of the one for named services, and of the one for copies, if
    there were any among the former. `is_folded`: whether copies are folded."""

    found: Sequence[QueryResult]
    named: Sequence[QueryResult]
    copies: Sequence[QueryResult]
    is_folded: bool


def repeated_offers(results: Iterable[QueryResult]) -> list[int]:
    """Return the fingerprints that several services in the results have."""
    offers = Counter(_standing(hit).offer for hit in _by_host(results).values())
    return sorted(offer for offer, services in offers.items() if offer and services > 1)


def pool(generation: str, stats: CorpusStats, answers: Answers, question: ParsedQuery, limit: int) -> Pool:
    """Return the services found by words, at most the `limit` best, all those found by vector, and those named.

    With copies folded, those that are in front stand for the others, whichever of them were found.
    """
    word_results = [result for result in answers.found if result.near is None]
    by_words = _by_host(word_results)
    nearest = _by_host(result for result in answers.found if result.near is not None)
    named = _named(_by_host(answers.named), question)
    copies = _by_host(answers.copies)
    matching = max([len(by_words), *(result.total for result in word_results)])
    behind: dict[str, list[str]] = {}
    if answers.is_folded:  # guard: copies-are-folded-by-meilisearch
        behind = _behind(list((by_words | nearest | copies).values()))
        folded = {host for hosts in behind.values() for host in hosts}
        by_words, nearest = (
            {host: hit for host, hit in found.items() if host not in folded} for found in (by_words, nearest)
        )
        nearest |= {host: hit for host, hit in copies.items() if host not in folded and host not in by_words}
        matching = max(len(by_words), matching - len(folded))
    if len(by_words) > limit:
        by_words = _best(by_words, question, stats, limit)
    candidates = read((by_words | nearest | named).values(), question.model)
    candidates = replace(
        candidates,
        named=[position for position, host in enumerate(candidates.hosts) if host in named],
        copies=lambda index: _folded_hosts(behind.get(candidates.hosts[index], ()), named),
    )
    return Pool(generation, stats, candidates, max(matching, len(candidates)))


def _best(
    found: Mapping[str, ResponseHit], question: ParsedQuery, stats: CorpusStats, limit: int
) -> dict[str, ResponseHit]:
    """Return the `limit` best of the services found by words; of those found without a question, the best scored."""
    candidates = read(found.values())
    ranking = (
        rank(ParsedQuery(question.text, question.terms), candidates, stats)
        if question.terms
        else browse(candidates, stats)
    )
    return {host: found[host] for host in ranking.hosts[:limit]}


def _named(found: Mapping[str, ResponseHit], question: ParsedQuery) -> dict[str, ResponseHit]:
    """Return the best proven and oldest of the named services, one that is named in full before others."""
    order = sorted(
        found.values(),
        key=lambda hit: (hit.host not in question.names, _standing(hit).level, hit.offered, hit.host),
    )
    return {hit.host: hit for hit in order[:MOST_NAMED]}


def _behind(found: Sequence[ResponseHit]) -> dict[str, list[str]]:
    """Return host -> the hosts that are folded behind it, in the order of precedence."""
    copies = Copies(
        Standings.of([_standing(hit) for hit in found]),
        np.array([hit.score for hit in found], np.int64),
        lambda positions: [found[position].host for position in positions.tolist()],
    )
    positions, fronts = copies.folded(np.ones(len(found), np.bool_))
    behind: dict[str, list[str]] = {}
    for position, front in zip(positions.tolist(), fronts.tolist(), strict=True):
        behind.setdefault(found[front].host, []).append(found[position].host)
    return behind


def _folded_hosts(behind: Sequence[str], named: Container[str]) -> FoldedHosts:
    hosts = [host for host in behind if host not in named]
    return FoldedHosts(tuple(hosts[:SHOWN_COPIES]), len(hosts))


def _standing(hit: ResponseHit) -> Standing:
    return standing_from(hit.copy_key or "", hit.offered, hit.listed)


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
        standings=Standings.of([_standing(hit) for hit in decoded_hits]),
        capabilities=lambda index: Capabilities.decode(records[index].capabilities),
    )


def _by_host(results: Iterable[QueryResult]) -> dict[str, ResponseHit]:
    return {hit.host: hit for result in results for hit in result.hits}


def _starts(lengths: Iterable[int]) -> NDArray[np.int64]:
    """Return the offset of each part in their concatenation, and the total length as the last element."""
    return np.fromiter(accumulate(lengths, initial=0), np.int64)
