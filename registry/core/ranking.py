"""The one ranker: which of an engine's candidates answers a query best, and with which of its capabilities.

Engines only say which services may matter; the order is decided here, from a record of each candidate that was made
when it was indexed and from statistics of the whole collection, so that every engine gives the same answer. BM25F in
one weighted field (Robertson and Zaragoza 2009, section 3.6.2), no sum over fields: summed, a word that is rare in a
short field wins over everything.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson

from registry.core.listing import CapabilityMatch, Hit, Listing
from registry.core.text import RECIPE, name_text, query_terms, stems

RANKER_VERSION = f"1.{RECIPE}"
"""Version of the record. Records of another version are never scored; the index is built again."""

NAME_CHARS = 200
DESCRIPTION_CHARS = 4_000
CAPABILITY_CHARS = 2_000
CAPABILITIES = 200
CAPABILITIES_CHARS = 40_000
"""Bounds per service, so that nobody ranks by writing more: characters of a name, of the description, of one
capability's description, number of capabilities, and characters of all their descriptions together."""

# Weights in halves, so that counts are whole numbers: name 2, description 1, capability name 1, its description 0.5.
_NAME, _DESCRIPTION, _CAPABILITY_NAME, _CAPABILITY_DESCRIPTION = 4, 2, 2, 1
_HALVES = 2.0
_K1, _B = 1.2, 0.75

_SHOWN_FROM = 0.6  # of the best capability's share
_SHOWN_AT_MOST = 3


@dataclass(frozen=True, slots=True)
class Record:
    """What the ranker keeps of one service. `counts` (stem -> count) and `length` are weighted, in halves.

    `capabilities` are pairs in the listing's order: the name, cut to NAME_CHARS, and the positions in `counts` of the
    stems in its name and description.
    """

    counts: Mapping[str, int]
    length: int
    capabilities: Sequence[tuple[str, Sequence[int]]]

    def encode(self) -> bytes:
        return orjson.dumps([self.counts, self.length, self.capabilities])

    @classmethod
    def decode(cls, raw: bytes) -> "Record":
        """The inverse of `encode`. Raises ValueError on what is no JSON list of three."""
        counts, length, capabilities = orjson.loads(raw)
        return cls(counts, length, capabilities)


@dataclass(frozen=True, slots=True)
class CorpusStats:
    """Of the whole collection of one index generation, never of the candidates: `df` counts services per stem."""

    services: int
    df: Mapping[str, int]
    mean_length: float  # weighted, in halves as in Record

    def idf(self, stem: str) -> float:
        df = self.df.get(stem, 0)
        return math.log1p((max(self.services, df) - df + 0.5) / (df + 0.5))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A service that an engine proposes. `score` is the listing's grade, 0 to 100."""

    host: str
    score: int
    record: Record


def index_hash(listing: Listing) -> bytes:
    """sha256 that names what the index holds of a listing: equal hashes, nothing to write."""
    return hashlib.sha256(RANKER_VERSION.encode() + listing.content_hash()).digest()


def make_record(listing: Listing) -> Record:
    """Read a listing once, within the bounds above."""
    counts: Counter[str] = Counter()
    length = 0
    for weight, text in _fields(listing):
        for stem in stems(text):
            counts[stem] += weight
            length += weight
    place = {stem: number for number, stem in enumerate(counts)}
    capabilities = [
        (name, sorted({place[stem] for stem in (*stems(name_text(name)), *stems(text))}))
        for name, text in _capabilities(listing)
    ]
    return Record(counts, length, capabilities)


def indexed_text(listing: Listing) -> str:
    """What an engine's single text field holds: stems, the name twice, separated by spaces."""
    repeated = ((2 if weight == _NAME else 1, text) for weight, text in _fields(listing))
    return " ".join(stem for times, text in repeated for stem in stems(text) * times)


def _fields(listing: Listing) -> Iterator[tuple[int, str]]:
    yield _NAME, name_text(listing.name[:NAME_CHARS])
    yield _DESCRIPTION, listing.description[:DESCRIPTION_CHARS]
    for name, text in _capabilities(listing):
        yield _CAPABILITY_NAME, name_text(name)
        yield _CAPABILITY_DESCRIPTION, text


def _capabilities(listing: Listing) -> Iterator[tuple[str, str]]:
    left = CAPABILITIES_CHARS
    for capability in listing.capabilities[:CAPABILITIES]:
        text = capability.description[: min(CAPABILITY_CHARS, left)]
        left -= len(text)
        yield capability.name[:NAME_CHARS], text


def rank(query_text: str, candidates: Iterable[Candidate], stats: CorpusStats) -> list[tuple[float, Candidate]]:
    """The candidates that share a term with the query, best first, each with its relevance.

    The order is total: relevance, then the listing's grade (both falling), then the host. It depends on neither the
    order of the candidates nor on which others are among them.
    """
    idf = {stem: stats.idf(stem) for stem in query_terms(query_text)}
    scored = ((_relevance(candidate.record, idf, stats.mean_length), candidate) for candidate in candidates)
    matching = [pair for pair in scored if pair[0] > 0]
    matching.sort(key=lambda pair: (-pair[0], -pair[1].score, pair[1].host))
    return matching


def _relevance(record: Record, idf: Mapping[str, float], mean_length: float) -> float:
    """BM25F; idf is never 0 or less, so 0 means that no term matched. Rounded: equal texts must stay equal."""
    shrink = _K1 * (1 - _B + _B * record.length / (mean_length or 1.0))
    total = 0.0
    for stem, weight in idf.items():
        if stem in record.counts:
            tf = record.counts[stem] / _HALVES
            total += weight * tf * (_K1 + 1) / (tf + shrink)
    return round(total, 9)


def explain(query_text: str, relevance: float, candidate: Candidate, stats: CorpusStats) -> Hit:
    """Why a candidate was ranked: the query's words that it holds, and the capabilities that hold most of them."""
    terms = query_terms(query_text)
    matched = tuple(word for stem, word in terms.items() if stem in candidate.record.counts)
    return Hit(candidate.host, relevance, matched, _matching_capabilities(candidate.record, terms, stats))


def _matching_capabilities(record: Record, terms: Mapping[str, str], stats: CorpusStats) -> tuple[CapabilityMatch, ...]:
    """Those that cover nearly as much of the query as the best one; none where only the service's own text matched.

    `score` is the share of the query's weight that the capability's name and description hold, 0 to 1.
    """
    idf = {stem: stats.idf(stem) for stem in terms}
    place = {stem: number for number, stem in enumerate(record.counts)}
    wanted = {place[stem]: stem for stem in terms if stem in place}
    covers: list[CapabilityMatch] = []
    for name, places in record.capabilities:
        held = {wanted[number] for number in places if number in wanted}
        if held:
            matched = [stem for stem in terms if stem in held]
            cover = sum(idf[stem] for stem in matched) / sum(idf.values())
            covers.append(CapabilityMatch(name, tuple(terms[stem] for stem in matched), round(cover, 6)))
    best = max((match.score for match in covers), default=0.0)
    near = [match for match in covers if match.score >= _SHOWN_FROM * best]
    return tuple(sorted(near, key=lambda match: -match.score)[:_SHOWN_AT_MOST])
