"""Questions without an answer in the index, and whether the product recognises them.

Three sorts: real requests whose labelled services are removed from the index (others may still fit, so this sort cannot
be recognised completely), requests outside of any registry, and nonsense. The threshold is chosen on one half of the
questions and reported on the other; a hash of the question's id assigns the half.
"""

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.relevance.collection import Collection, LabelledQuery
from benchmarks.relevance.measures import Interval
from benchmarks.relevance.systems import documents, indexed, ranking_of
from registry.core.ranking import Embedder, explain
from registry.search.backend import Backend

ANSWERED, REMOVED, OUTSIDE, NONSENSE = "answered", "its services removed", "outside of any registry", "nonsense"

_REMOVED_SHARE: Final = 4  # one service in this many is removed
_MADE_UP: Final = 150

_OUTSIDE: Final = Path(__file__).with_name("outside.txt")
"""One request per line that no registry of services answers: favours, chores, small talk, wishes."""

_RESAMPLES: Final = 1_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """One question, and the product's evidence for its best answer. The flag `confident` depends on its `mark`."""

    qid: str
    sort: str
    mark: float
    confident: bool


@dataclass(frozen=True, slots=True)
class Results:
    """Results on the test half, except `auroc`, for which nothing is chosen: it is of all questions, with its interval.
    `above_threshold`: questions of each sort above it; `flagged`: confident ones; in per cent."""

    auroc: dict[str, Interval]
    threshold: float
    above_threshold: dict[str, float]
    flagged: dict[str, float]


async def collect_evidence(collection: Collection, embedder: Embedder | None, every: int) -> list[Evidence]:
    removed = {listing.host for listing in collection.listings if _number(listing.host) % _REMOVED_SHARE == 0}
    remaining = [listing for listing in collection.listings if listing.host not in removed]
    questions: list[tuple[str, str, str]] = []
    for query in collection.queries[::every]:
        if sort := _sort(query, removed):
            questions.append((query.qid, query.text, sort))
    questions += [(f"outside {number}", text, OUTSIDE) for number, text in enumerate(outside())]
    questions += [(f"nonsense {number}", text, NONSENSE) for number, text in enumerate(_nonsense(_MADE_UP))]
    async with indexed(embedder, documents(remaining, embedder)) as backend:
        return [await _evidence(backend, qid, text, sort, embedder) for qid, text, sort in questions]


def outside() -> list[str]:
    return _OUTSIDE.read_text(encoding="utf-8").splitlines()


def evaluate(questions: Sequence[Evidence]) -> Results:
    """Return the results. The threshold, chosen on one half, keeps nine in ten of the questions with an answer."""
    tuning_half = [question for question in questions if _number(question.qid) % 2]
    test_half = [question for question in questions if not _number(question.qid) % 2]
    threshold = float(np.quantile([question.mark for question in tuning_half if question.sort == ANSWERED], 0.1))
    sorts = list(dict.fromkeys(question.sort for question in test_half))
    by_sort = {sort: [question for question in test_half if question.sort == sort] for sort in sorts}
    all_marks = {sort: np.array([question.mark for question in questions if question.sort == sort]) for sort in sorts}
    marks = {sort: np.array([question.mark for question in group]) for sort, group in by_sort.items()}
    return Results(
        {sort: auroc_interval(all_marks[ANSWERED], all_marks[sort]) for sort in sorts if sort != ANSWERED},
        threshold,
        {sort: 100 * float((values >= threshold).mean()) for sort, values in marks.items()},
        {sort: 100 * float(np.mean([question.confident for question in group])) for sort, group in by_sort.items()},
    )


def auroc(positive: NDArray[np.float64], negative: NDArray[np.float64]) -> float:
    """Return how often a positive has the higher mark; ties count half (Mann and Whitney 1947)."""
    order = np.sort(negative)
    below = np.searchsorted(order, positive, side="left")
    upto = np.searchsorted(order, positive, side="right")
    return float((below + upto).sum() / 2 / (len(positive) * len(negative)))


def auroc_interval(positive: NDArray[np.float64], negative: NDArray[np.float64]) -> Interval:
    """Return the AUROC with its 95 % interval, by bootstrap over the questions of both sorts."""
    chance = np.random.default_rng(0)
    areas = [
        auroc(chance.choice(positive, len(positive)), chance.choice(negative, len(negative))) for _ in range(_RESAMPLES)
    ]
    low, high = np.quantile(areas, [0.025, 0.975])
    return Interval(auroc(positive, negative), float(low), float(high))


def _sort(query: LabelledQuery, removed: set[str]) -> str | None:
    """Return the sort of a question; None without labels, or when only some of its answers were removed."""
    if not query.grades:
        return None
    if removed.isdisjoint(query.grades):
        return ANSWERED
    return REMOVED if removed.issuperset(query.grades) else None


async def _evidence(backend: Backend, qid: str, text: str, sort: str, embedder: Embedder | None) -> Evidence:
    ranking = await ranking_of(backend, text, embedder)
    if not len(ranking):
        return Evidence(qid, sort, 0.0, confident=False)
    best = explain(ranking, 0)
    return Evidence(qid, sort, best.confidence, best.confident)


def _nonsense(count: int) -> list[str]:
    """Return random letters, random syllables, and requests made of invented words."""
    chance = random.Random(6)
    letters = string.ascii_lowercase

    def word() -> str:
        return "".join(
            chance.choice("bcdfghjklmnpqrstvwxz") + chance.choice("aeiouy") for _ in range(chance.randint(2, 4))
        )

    kinds = (
        lambda: "".join(chance.choice(letters) for _ in range(chance.randint(4, 30))),
        lambda: " ".join(word() for _ in range(chance.randint(1, 8))),
        lambda: f"I need to {word()} the {word()} of my {word()}, please",
    )
    return [kinds[number % len(kinds)]() for number in range(count)]


def _number(name: str) -> int:
    return int.from_bytes(sha256(name.encode()).digest()[:4], "big")
