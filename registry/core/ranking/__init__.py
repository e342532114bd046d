"""The one ranker: which of an engine's candidates answers a question best, and with which of its capabilities.

Engines only say which services may matter; the order is decided here, from a record of each candidate that was made
when it was indexed and from statistics of the whole collection, so that every engine gives the same answer. The way
through the files, for a service: fields, record; for a question: question, evidence, signals/, rank, explain.
"""

from registry.core.ranking.candidates import Candidates
from registry.core.ranking.confidence import confident
from registry.core.ranking.corpus import CorpusStats
from registry.core.ranking.explain import explain
from registry.core.ranking.fields import indexed_text, texts_of
from registry.core.ranking.folding import fold
from registry.core.ranking.question import Embedder, Question, ask
from registry.core.ranking.rank import Ranking, browse, rank
from registry.core.ranking.record import RANKER_VERSION, Capabilities, Record, index_hash, make_record, term_ids

__all__ = [
    "RANKER_VERSION",
    "Candidates",
    "Capabilities",
    "CorpusStats",
    "Embedder",
    "Question",
    "Ranking",
    "Record",
    "ask",
    "browse",
    "confident",
    "explain",
    "fold",
    "index_hash",
    "indexed_text",
    "make_record",
    "rank",
    "term_ids",
    "texts_of",
]
