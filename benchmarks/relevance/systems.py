"""What is compared: the product as a user gets it, the product with a part left out, and plain BM25.

The product answers by its own code: listings become documents, documents an index of the embedded engine in a folder
of its own, a question goes to the engine for candidates and to the ranker for their order. Left out is only what the
doors add to that, the cards of the database.
"""

import asyncio
import importlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

import numpy as np

from benchmarks.relevance.collection import Collection
from benchmarks.relevance.measures import Scores, score
from benchmarks.relevance.plain import PlainBM25
from registry.actions.answering.discover import POOL
from registry.core import text
from registry.core.listing import Filters, Listing
from registry.core.ranking import (
    Candidates,
    CorpusStats,
    Embedder,
    Question,
    Ranking,
    ask,
    fields,
    fold,
    question,
    rank,
    record,
)
from registry.core.ranking.signals import SIGNALS
from registry.search.backend import Backend, SearchDocument, make_documents
from registry.search.embedded import EmbeddedBackend
from registry.search.embedding import default_embedder

DEFAULT: Final = "default"
WITHOUT_VECTORS: Final = "without vectors"
PLAIN: Final = "plain BM25"
_DEPTH: Final = 10
_BATCH: Final = 500
_RRF: Final = 60
_MODULE: Final = importlib.import_module("registry.core.ranking.rank")  # the package names its function alike

Change = tuple[ModuleType, str, object]
Embedding = Callable[[], Embedder | None]


@dataclass(frozen=True, slots=True)
class Variant:
    """The product, changed in one respect: how texts are embedded, what is different while documents are made or
    while a question is read, which signals of the ranker count, and whether ranks are fused instead of scores."""

    name: str
    embedder: Embedding = default_embedder
    while_indexing: tuple[Change, ...] = ()
    while_asking: tuple[Change, ...] = ()
    without: str | None = None
    by_ranks: bool = False


def _as_it_is(name: str) -> str:
    return name


def _one_need(said: str) -> list[str]:
    return [said] if said.strip() else []


def no_embedder() -> None:
    return None


COMPARED: Final = (Variant(DEFAULT), Variant(WITHOUT_VECTORS, embedder=no_embedder))

_UNSPLIT: Final = (
    (fields, "split_name", _as_it_is),
    (fields, "name_text", _as_it_is),
    (record, "name_text", _as_it_is),
)

PARTS: Final = (
    Variant("no stop list", while_asking=((text, "REQUEST_WORDS", frozenset()),)),
    Variant("names not taken apart", while_indexing=_UNSPLIT),
    Variant("no sentences", while_asking=((question, "sentences", _one_need),)),
    *(Variant(f"no signal `{signal.name}`", without=signal.name) for signal in SIGNALS),
    Variant("no vectors at all", embedder=no_embedder),
    Variant("ranks fused, not scores", by_ranks=True),
)
"""Each part removed once. `need` is the best capability for a sentence, `topic` all text at once, `words` BM25F."""


def plain(collection: Collection) -> Scores:
    """Plain BM25 on all queries."""
    baseline = PlainBM25(collection.listings)
    return np.array([score(baseline.ranked(one.text, _DEPTH), one.grades) for one in collection.queries])


def product(collection: Collection, variants: Sequence[Variant], every: int = 1) -> dict[str, Scores]:
    """Variant -> measures of each query, or of every n-th."""
    return asyncio.run(_product(collection, variants, every))


async def _product(collection: Collection, variants: Sequence[Variant], every: int) -> dict[str, Scores]:
    found: dict[str, list[tuple[float, ...]]] = {one.name: [] for one in variants}
    for embedder, changes in dict.fromkeys((one.embedder, one.while_indexing) for one in variants):
        alike = [one for one in variants if (one.embedder, one.while_indexing) == (embedder, changes)]
        with _changed(changes):
            async with indexed(embedder(), documents(collection.listings, embedder())) as backend:
                for asked in collection.queries[::every]:
                    for name, hosts in await _answers(backend, asked.text, alike):
                        found[name].append(score(hosts, asked.grades))
    return {name: np.array(rows) for name, rows in found.items()}


async def _answers(backend: Backend, said: str, variants: Sequence[Variant]) -> list[tuple[str, list[str]]]:
    """The engine is asked once for each way to read the question."""
    made: list[tuple[str, list[str]]] = []
    for asking in dict.fromkeys(one.while_asking for one in variants):
        with _changed(asking):
            asked = ask(said, variants[0].embedder())
            pool = await backend.candidates(asked, Filters(), POOL)
            for one in variants:
                if one.while_asking == asking:
                    made.append((one.name, _order(one, asked, pool.candidates, pool.stats)[:_DEPTH]))
    return made


def _order(variant: Variant, asked: Question, candidates: Candidates, stats: CorpusStats) -> list[str]:
    signals = tuple(one for one in SIGNALS if one.name != variant.without)
    with _changed(((_MODULE, "SIGNALS", signals),)):
        ranking = fold(_MODULE.rank(asked, candidates, stats))
    return _by_ranks(ranking) if variant.by_ranks else ranking.hosts


def _by_ranks(ranking: Ranking) -> list[str]:
    """Reciprocal rank fusion (Cormack et al. 2009) of the same signals."""
    hosts = ranking.evidence.candidates.hosts
    marks = np.zeros(len(hosts))
    for values in ranking.parts.values():
        order = sorted(np.flatnonzero(values > 0).tolist(), key=lambda place: (-values[place], hosts[place]))
        for number, place in enumerate(order, start=1):
            marks[place] += 1 / (_RRF + number)
    return [hosts[place] for place in sorted(ranking.order, key=lambda place: (-marks[place], hosts[place]))]


async def answered(backend: Backend, said: str, embedder: Embedder | None) -> Ranking:
    """What a user gets who asks this."""
    asked = ask(said, embedder)
    pool = await backend.candidates(asked, Filters(), POOL)
    return fold(rank(asked, pool.candidates, pool.stats))


def documents(listings: Sequence[Listing], embedder: Embedder | None) -> list[SearchDocument]:
    starts = range(0, len(listings), _BATCH)
    return [one for start in starts for one in make_documents(listings[start : start + _BATCH], embedder)]


@asynccontextmanager
async def indexed(embedder: Embedder | None, *parts: Sequence[SearchDocument]) -> AsyncIterator[EmbeddedBackend]:
    """The embedded engine with exactly these services, made with that embedder."""
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as folder:
        model, dims = (embedder.id, embedder.dims) if embedder else ("", 0)
        backend = EmbeddedBackend(Path(folder), model, dims)
        async with backend.build() as build:
            for part in parts:
                await build.add(part)
            await build.swap()
        try:
            yield backend
        finally:
            await backend.close()


@contextmanager
def _changed(changes: Sequence[Change]) -> Iterator[None]:
    """A part of the product is another one for a while. What it was is restored."""
    with ExitStack() as stack:
        for module, name, value in changes:
            stack.callback(setattr, module, name, getattr(module, name))  # an unknown name is an error
            setattr(module, name, value)
        yield
