"""What every signal is computed from: which words of the question each candidate holds, and how near its rows are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking.candidates import Candidates
from registry.core.ranking.corpus import CorpusStats
from registry.core.ranking.fields import HALVES
from registry.core.ranking.question import Question
from registry.core.ranking.record import term_ids
from registry.core.ranking.vectors import cosines

Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Of T words, n candidates and R rows of vectors.

    `asked` (T,) names of the words; `idf` (T,); `tf` (T, n) weighted; `whole` (R,) cosine with the question; `needs`
    (R,) the best one with any of its sentences. Both cosines are 0 where question or candidate has no vector.
    `weight` is what all words of the question weigh together.
    """

    question: Question
    candidates: Candidates
    stats: CorpusStats
    asked: NDArray[np.uint32]
    idf: Numbers
    tf: Numbers
    whole: Numbers
    needs: Numbers
    weight: float

    def of_first_rows(self, rows: Numbers) -> Numbers:
        """(n,) the number of each candidate's first row, the one of the whole service."""
        starts, ends = self.candidates.row_starts[:-1], self.candidates.row_starts[1:]
        return np.where(ends > starts, np.append(rows, 0.0)[starts], 0.0)

    def over_parts(self, rows: Numbers, fold: np.ufunc) -> Numbers:
        """(n,) the rows behind the first one folded (np.maximum, np.add); 0 for a candidate without rows."""
        starts, ends = self.candidates.row_starts[:-1] + 1, self.candidates.row_starts[1:]
        has = ends > starts
        out = np.zeros(len(starts))
        if has.any():
            bounds = np.stack([starts[has], ends[has]], axis=1).ravel()
            out[has] = fold.reduceat(np.append(rows, 0.0), bounds)[::2]
        return out


def gather(question: Question, candidates: Candidates, stats: CorpusStats) -> Evidence:
    asked = term_ids(list(question.terms))
    idf = stats.idf(asked)
    tf = _frequencies(asked, candidates)
    whole, needs = _cosines(question, candidates)
    return Evidence(question, candidates, stats, asked, idf, tf, whole, needs, float(idf.sum()))


def _frequencies(asked: NDArray[np.uint32], candidates: Candidates) -> Numbers:
    """(T, n). Most words of the candidates are not asked for: a look at half of each name tells nearly all of them."""
    out = np.zeros((len(asked), len(candidates)))
    table = np.zeros(1 << 16, np.bool_)
    table[asked & 0xFFFF] = True
    at = np.flatnonzero(np.take(table, candidates.terms & 0xFFFF))
    words, services = candidates.terms[at], np.searchsorted(candidates.term_starts, at, side="right") - 1
    same, number = np.nonzero(words[:, None] == asked)
    out[number, services[same]] = candidates.counts[at[same]] / HALVES
    return out


def _cosines(question: Question, candidates: Candidates) -> tuple[Numbers, Numbers]:
    """(R,) with the whole question, and with the nearest of its sentences."""
    no_rows = question.model != candidates.model or not len(candidates.vectors)
    if question.whole is None or question.needs is None or no_rows:
        nothing = np.zeros(len(candidates.vectors))
        return nothing, nothing
    alone = len(question.needs) == 1 and np.array_equal(question.needs[0], question.whole)
    asked = question.needs if alone else np.vstack([question.whole, question.needs])
    near = cosines(candidates.vectors, candidates.scales, asked)
    return (near[:, 0], near[:, 0]) if alone else (near[:, 0], near[:, 1:].max(axis=1))
