"""The compared systems: the product as shipped, the product with a part removed, and plain BM25.

The product runs its own code: listings become documents in an embedded index in a temporary folder, the engine returns
candidates for a question, and the ranker orders them. Only the service rows that the API loads from the database are
left out.
"""

import asyncio
import importlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Final

import numpy as np

from benchmarks.relevance.collection import Collection
from benchmarks.relevance.measures import Scores, score
from benchmarks.relevance.plain import PlainBM25
from registry.actions.queries.discover import POOL, ranked
from registry.core.model.listing import Filters, Listing, Query
from registry.core.ranking import (
    CandidateSet,
    CorpusStats,
    Embedder,
    ParsedQuery,
    Ranking,
    answers,
    collapse,
    parse_query,
    parsed_query,
    record,
)
from registry.core.ranking.signals import SIGNALS
from registry.core.ranking.spelling import corrected, corrections
from registry.core.wording import fields, text
from registry.search.backend import Backend, SearchDocument, make_documents
from registry.search.embedded import EmbeddedBackend
from registry.search.embedding import default_embedder

DEFAULT: Final = "default"
WITHOUT_VECTORS: Final = "without vectors"
PLAIN: Final = "plain BM25"
_DEPTH: Final = 10
_BATCH: Final = 500
_RRF: Final = 60
_MODULE: Final = importlib.import_module("registry.core.ranking.rank")  # the package exports a function of that name

Change = tuple[ModuleType, str, object]
Embedding = Callable[[], Embedder | None]


@dataclass(frozen=True, slots=True)
class Variant:
    """The product with one change: another embedder, patches during indexing or during parsing of a question, a signal
    of the ranker removed, or rank fusion instead of score fusion."""

    name: str
    embedder: Embedding = default_embedder
    while_indexing: tuple[Change, ...] = ()
    while_asking: tuple[Change, ...] = ()
    without: str | None = None
    by_ranks: bool = False


def _as_it_is(name: str) -> str:
    return name


def _one_need(question: str, language: str) -> list[str]:
    return [question] if question.strip() else []


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
    Variant("no sentences", while_asking=((parsed_query, "sentences", _one_need),)),
    *(Variant(f"no signal `{signal.name}`", without=signal.name) for signal in SIGNALS),
    Variant("no vectors at all", embedder=no_embedder),
    Variant("ranks fused, not scores", by_ranks=True),
)
"""Each part removed once. The signal `need` is the best capability per sentence, `topic` all text, `words` BM25F."""


def plain(collection: Collection) -> Scores:
    """Return the measures of plain BM25 on all queries."""
    baseline = PlainBM25(collection.listings)
    return np.array([score(baseline.ranked(query.text, _DEPTH), query.grades) for query in collection.queries])


def product(collection: Collection, variants: Sequence[Variant], every: int = 1) -> dict[str, Scores]:
    """Return variant -> measures of each query, or of every n-th."""
    return asyncio.run(_product(collection, variants, every))


async def _product(collection: Collection, variants: Sequence[Variant], every: int) -> dict[str, Scores]:
    scores: dict[str, list[tuple[float, ...]]] = {variant.name: [] for variant in variants}
    for embedder, changes in dict.fromkeys((variant.embedder, variant.while_indexing) for variant in variants):
        alike = [variant for variant in variants if (variant.embedder, variant.while_indexing) == (embedder, changes)]
        with _changed(changes):
            async with indexed(embedder(), documents(collection.listings, embedder())) as backend:
                for query in collection.queries[::every]:
                    for name, hosts in await _answers(backend, query.text, alike):
                        scores[name].append(score(hosts, query.grades))
    return {name: np.array(rows) for name, rows in scores.items()}


async def _answers(backend: Backend, question_text: str, variants: Sequence[Variant]) -> list[tuple[str, list[str]]]:
    """Return (variant, hosts) pairs; variants that parse the question alike share one search of the engine."""
    answers: list[tuple[str, list[str]]] = []
    for changes in dict.fromkeys(each_variant.while_asking for each_variant in variants):
        with _changed(changes):
            embedder = variants[0].embedder()
            question = parse_query(question_text, embedder)
            pool = await backend.candidates(question, Filters(), POOL)
            if replaced := corrections(question, pool.stats, embedder):
                question = replace(parse_query(corrected(question, replaced), embedder), proper=question.proper)
                pool = await backend.candidates(question, Filters(), POOL)
            for variant in variants:
                if variant.while_asking == changes:
                    answers.append((variant.name, _order(variant, question, pool.candidates, pool.stats)[:_DEPTH]))
    return answers


def _order(variant: Variant, question: ParsedQuery, candidates: CandidateSet, stats: CorpusStats) -> list[str]:
    signals = tuple(signal for signal in SIGNALS if signal.name != variant.without)
    with _changed(((_MODULE, "SIGNALS", signals),)):
        ranking = collapse(answers(_MODULE.rank(question, candidates, stats)))
    return _by_ranks(ranking) if variant.by_ranks else ranking.hosts


def _by_ranks(ranking: Ranking) -> list[str]:
    """Return the order by reciprocal rank fusion (Cormack et al. 2009) of the same signals."""
    hosts = ranking.features.candidates.hosts
    marks = np.zeros(len(hosts))
    for values in ranking.parts.values():
        order = sorted(np.flatnonzero(values > 0).tolist(), key=lambda place: (-values[place], hosts[place]))
        for number, place in enumerate(order, start=1):
            marks[place] += 1 / (_RRF + number)
    return [hosts[place] for place in sorted(ranking.order, key=lambda place: (-marks[place], hosts[place]))]


async def ranking_of(backend: Backend, question_text: str, embedder: Embedder | None) -> Ranking:
    """Return the product's ranking for a question."""
    return (await ranked(backend, Query(question_text), embedder)).ranking


def documents(listings: Sequence[Listing], embedder: Embedder | None) -> list[SearchDocument]:
    starts = range(0, len(listings), _BATCH)
    return [document for start in starts for document in make_documents(listings[start : start + _BATCH], embedder)]


@asynccontextmanager
async def indexed(embedder: Embedder | None, *parts: Sequence[SearchDocument]) -> AsyncIterator[EmbeddedBackend]:
    """Yield an embedded engine with exactly these services, built with the embedder."""
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
    """Patch module attributes while the block runs, then restore them."""
    with ExitStack() as stack:
        for module, name, value in changes:
            stack.callback(setattr, module, name, getattr(module, name))  # an unknown name is an error
            setattr(module, name, value)
        yield
