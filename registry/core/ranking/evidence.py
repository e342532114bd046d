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

    `idf` (T,); `tf` (T, n) weighted; `places` (T, n) where among a candidate's words the word is, -1 where it is not;
    `whole` (R,) cosine with the question; `needs` (R,) the best one with any of its sentences. Both cosines are 0 where
    question or candidate has no vector. `weight` is what all words of the question weigh together, `covers` (n,) the
    share of it that a candidate's words hold, `nearest` (n,) the cosine of its nearest row, 0 at least.
    """

    question: Question
    candidates: Candidates
    stats: CorpusStats
    idf: Numbers
    tf: Numbers
    places: NDArray[np.int64]
    whole: Numbers
    needs: Numbers
    weight: float
    covers: Numbers
    nearest: Numbers

    def of_first_rows(self, rows: Numbers) -> Numbers:
        """(n,) the number of each candidate's first row, the one of the whole service."""
        starts, ends = self.candidates.row_starts[:-1], self.candidates.row_starts[1:]
        return np.where(ends > starts, np.append(rows, 0.0)[starts], 0.0)

    def over_parts(self, rows: Numbers, fold: np.ufunc) -> Numbers:
        """(n,) the rows behind the first one folded (np.maximum, np.add); 0 for a candidate without rows."""
        return _folded(rows, self.candidates.row_starts[:-1] + 1, self.candidates.row_starts[1:], fold)


def gather(question: Question, candidates: Candidates, stats: CorpusStats) -> Evidence:
    asked = term_ids(list(question.terms))
    idf = stats.idf(asked)
    weight = float(idf.sum())
    tf, places = _frequencies(asked, candidates)
    whole, needs = _cosines(question, candidates)
    covers = np.where(places < 0, 0.0, idf[:, None]).sum(axis=0) / (weight or 1.0)
    nearest = _folded(whole, candidates.row_starts[:-1], candidates.row_starts[1:], np.maximum)
    return Evidence(
        question, candidates, stats, idf, tf, places, whole, needs, weight, covers, np.maximum(nearest, 0.0)
    )


def _folded(rows: Numbers, starts: NDArray[np.int64], ends: NDArray[np.int64], fold: np.ufunc) -> Numbers:
    """(n,) the rows from each start to its end folded; 0 where there are none."""
    out = np.zeros(len(starts))
    has = ends > starts
    bounds = np.empty((np.count_nonzero(has), 2), np.int64)
    bounds[:, 0], bounds[:, 1] = starts[has], ends[has]
    if len(bounds):
        out[has] = fold.reduceat(np.append(rows, 0.0), bounds.ravel())[::2]
    return out


def _frequencies(asked: NDArray[np.uint32], candidates: Candidates) -> tuple[Numbers, NDArray[np.int64]]:
    """Both (T, n). Most words of the candidates are not asked for: half of each name tells nearly all of them."""
    tf, places = np.zeros((len(asked), len(candidates))), np.full((len(asked), len(candidates)), -1)
    table = np.zeros(1 << 16, np.bool_)
    table[asked & 0xFFFF] = True
    at = np.flatnonzero(np.take(table, candidates.terms & 0xFFFF))
    same, number = np.nonzero(candidates.terms[at][:, None] == asked)
    at = at[same]
    services = np.searchsorted(candidates.term_starts, at, side="right") - 1
    tf[number, services] = candidates.counts[at] / HALVES
    places[number, services] = at - candidates.term_starts[services]
    return tf, places


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
