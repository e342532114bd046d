"""Questions that nothing answers, and whether the product says so.

Three sorts: real requests whose labelled services are taken out of the index (others may still fit, so this sort can
never be told apart wholly), requests outside of any registry, and nonsense. The threshold is chosen on one half of the
questions and reported on the other, by a hash of the question.
"""

import random
import string
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.relevance.collection import Asked, Collection
from benchmarks.relevance.systems import answered, documents, indexed
from registry.core.ranking import Embedder, explain
from registry.search.backend import Backend

ANSWERED, REMOVED, OUTSIDE, NONSENSE = "answered", "its services removed", "outside of any registry", "nonsense"

_REMOVED_SHARE: Final = 4  # one service in so many
_MADE_UP: Final = 150

_OUTSIDE: Final = (
    "tie my shoes", "hold my hand while I cry", "who am I, really", "scratch my back, lower, a little to the left",
    "make the neighbour's rooster stop", "what did I dream last night", "unburn this toast", "find my left sock",
    "convince my cat that Mondays exist", "be quiet", "tell my grandmother in heaven that I miss her",
    "why do people yawn when others do", "hold the ladder for a moment", "is this seat taken", "bring back the 90s",
    "wash behind my ears", "I stubbed my toe and it hurts", "peel this orange for me", "smell this milk, is it off?",
    "stop the rain on my wedding day by asking it nicely", "raise my children", "remember where I parked yesterday",
    "carry the piano up to the fourth floor with your own hands", "what is the sound of one hand clapping",
    "do I look good in this hat", "forgive me", "swap bodies with my sister for a week", "grow my hair faster tonight",
    "make my boss laugh at my joke", "open this jar, the lid is stuck", "fluff the pillows", "chase away the wasp",
    "count the freckles on my nose", "water is wet, prove me wrong", "blow out the candles", "push me on the swing",
    "turn back time to before I said that", "pass the salt", "teach the goldfish to dance on its tail",
    "bite this thread off", "wake me with a kiss", "is my soup too hot to eat", "shake hands with the president for me",
    "crack my knuckles", "make Tuesday come twice", "unspill the coffee from the carpet", "thread this needle",
    "guess which hand the coin is in", "stand in line for me and hum", "jump over the puddle",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """One question: what the product knows of its best answer. `mark` is what its flag is decided by."""

    qid: str
    sort: str
    cover: float
    similarity: float
    confident: bool

    @property
    def mark(self) -> float:
        return (self.cover + self.similarity) / 2


@dataclass(frozen=True, slots=True)
class Judged:
    """Of the half that chose nothing. `kept`: questions of each sort that count as answered, in per cent."""

    auroc: dict[str, float]
    threshold: float
    kept: dict[str, float]
    flagged: dict[str, float]


async def told(collection: Collection, embedder: Embedder | None, every: int) -> list[Told]:
    gone = {one.host for one in collection.listings if _number(one.host) % _REMOVED_SHARE == 0}
    left = [one for one in collection.listings if one.host not in gone]
    asked: list[tuple[str, str, str]] = []
    for one in collection.queries[::every]:
        if sort := _sort(one, gone):
            asked.append((one.qid, one.text, sort))
    asked += [(f"outside {number}", said, OUTSIDE) for number, said in enumerate(_OUTSIDE)]
    asked += [(f"nonsense {number}", said, NONSENSE) for number, said in enumerate(_nonsense(_MADE_UP))]
    async with indexed(embedder, documents(left, embedder)) as backend:
        return [await _told(backend, qid, said, sort, embedder) for qid, said, sort in asked]


def judged(questions: Sequence[Told]) -> Judged:
    """Chosen on one half: the threshold that keeps nine in ten of the questions that have an answer."""
    chosen = [one for one in questions if _number(one.qid) % 2]
    rest = [one for one in questions if not _number(one.qid) % 2]
    threshold = float(np.quantile([one.mark for one in chosen if one.sort == ANSWERED], 0.1))
    sorts = list(dict.fromkeys(one.sort for one in rest))
    by_sort = {sort: [one for one in rest if one.sort == sort] for sort in sorts}
    marks = {sort: np.array([one.mark for one in some]) for sort, some in by_sort.items()}
    return Judged(
        {sort: auroc(marks[ANSWERED], marks[sort]) for sort in sorts if sort != ANSWERED},
        threshold,
        {sort: 100 * float((values >= threshold).mean()) for sort, values in marks.items()},
        {sort: 100 * float(np.mean([one.confident for one in some])) for sort, some in by_sort.items()},
    )


def auroc(positive: NDArray[np.float64], negative: NDArray[np.float64]) -> float:
    """How often a positive has the higher mark, ties half (Mann and Whitney 1947)."""
    order = np.sort(negative)
    below = np.searchsorted(order, positive, side="left")
    upto = np.searchsorted(order, positive, side="right")
    return float((below + upto).sum() / 2 / (len(positive) * len(negative)))


def _sort(one: Asked, gone: set[str]) -> str | None:
    """None for a question of which some answers are left and some are not."""
    if not one.grades:
        return None
    if gone.isdisjoint(one.grades):
        return ANSWERED
    return REMOVED if gone.issuperset(one.grades) else None


async def _told(backend: Backend, qid: str, said: str, sort: str, embedder: Embedder | None) -> Told:
    ranking = await answered(backend, said, embedder)
    if not len(ranking):
        return Told(qid, sort, 0.0, 0.0, confident=False)
    best = explain(ranking, 0)
    return Told(qid, sort, best.cover, best.similarity, best.confident)


def _nonsense(count: int) -> list[str]:
    """Letters as they come, syllables, and words of no language in the order of a request."""
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
