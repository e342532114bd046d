"""The one ranker: it finds the candidates of an engine that answer a query best, and their best capabilities.

Engines only propose services. The order is decided here, from a record of each candidate that was made when it was
indexed and from statistics of the whole collection, so that every engine returns the same answer. The files in reading
order, for a service: record; for a query: parsed_query, naming, features, signals, capabilities, rank, copies,
collapsing. The package `wording` reads the words of both.
"""

from registry.core.ranking.collapsing import collapse
from registry.core.ranking.parsed_query import Embedder, ParsedQuery, parse_query
from registry.core.ranking.rank import Ranking, answers, browse, evidence, explain, rank, with_named
from registry.core.ranking.record import (
    RANKER_VERSION,
    CandidateSet,
    Capabilities,
    CorpusStats,
    Record,
    index_hash,
    make_record,
    term_ids,
)
from registry.core.wording.fields import indexed_text, texts_of

__all__ = [
    "RANKER_VERSION", "CandidateSet", "Capabilities", "CorpusStats", "Embedder", "ParsedQuery", "Ranking", "Record",
    "answers", "browse", "collapse", "evidence", "explain", "index_hash", "indexed_text", "make_record", "parse_query",
    "rank", "term_ids", "texts_of", "with_named",
]  # fmt: skip
