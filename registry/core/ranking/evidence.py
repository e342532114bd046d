"""What every signal is computed from: which words of the question each candidate holds, and how near its rows are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from registry.core.ranking.candidates import Candidates
from registry.core.ranking.corpus import CorpusStats
from registry.core.ranking.fields import HALVES
from registry.core.ranking.question import Question
from registry.core.ranking.record import term_ids
from registry.core.ranking.vectors import cosines

DECIMALS: Final = 6
"""Of what is shown."""

_SOME_BITS: Final = 0xFFF
"""Of a word's name: few enough for a table that stays in the processor's first cache."""

Numbers = NDArray[np.float64]

Asked = Mapping[int, tuple[str, float]]
"""Of the question's words that a candidate has, in the order of asking: where it stands among the candidate's words ->
the word, and what share of the question's weight it is."""


class Spans:
    """Of n candidates, where each one's rows begin and end; some have none."""

    def __init__(self, starts: NDArray[np.int64], ends: NDArray[np.int64], rows: int) -> None:
        self._has = ends > starts
        self._all = bool(self._has.all())
        bounds = np.empty((len(starts), 2), np.int64)
        bounds[:, 0], bounds[:, 1] = starts, ends
        flat = (bounds if self._all else bounds[self._has]).ravel()
        self._bounds = flat[:-1] if len(flat) and flat[-1] == rows else flat  # the last one then ends with the rows

    def folded(self, rows: Numbers, fold: np.ufunc) -> Numbers:
        """(n,) each one's rows folded (np.maximum, np.add); 0 where there are none."""
        if self._all and len(self._bounds):
            every: Numbers = fold.reduceat(rows, self._bounds)[::2]
            return every
        out = np.zeros(len(self._has))
        if len(self._bounds):
            out[self._has] = fold.reduceat(rows, self._bounds)[::2]
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Of T words, n candidates and R rows of vectors.

    `idf` (T,); `shares` T times a word and what part of the question's weight it is; `tf` (T, n) weighted; `places`
    (T, n) where among a candidate's words the word is, -1 where it is not; `whole` (R,) cosine with the question;
    `needs` (R,) the best one with any of its sentences. Both cosines are 0 where question or candidate has no vector.
    `covers` (n,) is the share of the question's weight that a candidate's words hold, `nearest` (n,) the cosine of its
    nearest row, 0 at least. `parts`: the rows of each candidate behind the first one.
    """

    question: Question
    candidates: Candidates
    stats: CorpusStats
    idf: Numbers
    shares: Sequence[tuple[str, float]]
    tf: Numbers
    places: NDArray[np.int64]
    whole: Numbers
    needs: Numbers
    covers: Numbers
    nearest: Numbers
    parts: Spans

    def asked_of(self, place: int) -> Asked:
        held_at = self.places[:, place].tolist()
        return {at: said for at, said in zip(held_at, self.shares, strict=True) if at >= 0}

    def of_first_rows(self, rows: Numbers) -> Numbers:
        """(n,) the number of each candidate's first row, the one of the whole service."""
        starts, ends = self.candidates.row_starts[:-1], self.candidates.row_starts[1:]
        return np.where(ends > starts, np.append(rows, 0.0)[starts], 0.0)

    def over_parts(self, rows: Numbers, fold: np.ufunc) -> Numbers:
        """(n,) the rows behind the first one folded (np.maximum, np.add); 0 for a candidate without rows."""
        return self.parts.folded(rows, fold)


def gather(question: Question, candidates: Candidates, stats: CorpusStats) -> Evidence:
    asked = term_ids(list(question.terms))
    idf = stats.idf(asked)
    weight = float(idf.sum()) or 1.0
    tf, places = _frequencies(asked, candidates)
    whole, needs = _cosines(question, candidates)
    starts, ends = candidates.row_starts[:-1], candidates.row_starts[1:]
    nearest: Numbers = Spans(starts, ends, len(whole)).folded(whole, np.maximum)
    return Evidence(
        question,
        candidates,
        stats,
        idf,
        shares=list(zip(question.terms.values(), (idf / weight).tolist(), strict=True)),
        tf=tf,
        places=places,
        whole=whole,
        needs=needs,
        covers=np.round(np.where(places < 0, 0.0, idf[:, None]).sum(axis=0) / weight, DECIMALS),
        nearest=np.round(nearest.clip(0.0), DECIMALS),
        parts=Spans(starts + 1, ends, len(whole)),
    )


def _frequencies(asked: NDArray[np.uint32], candidates: Candidates) -> tuple[Numbers, NDArray[np.int64]]:
    """Both (T, n). Most words of the candidates are not asked for: a few bits of each name tell nearly all of them."""
    tf, places = np.zeros((len(asked), len(candidates))), np.full((len(asked), len(candidates)), -1)
    table = np.zeros(_SOME_BITS + 1, np.bool_)
    table[asked & _SOME_BITS] = True
    at = np.flatnonzero(np.take(table, candidates.terms & _SOME_BITS))
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
