"""Short questions asked of the sample web: what is not offered must not be answered with confidence."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from benchmarks.relevance.recorded import listings_of
from benchmarks.relevance.systems import documents, indexed
from registry.actions.queries.discover import SearchAnswer, ranked
from registry.core.model.listing import Query
from registry.core.ranking import explain
from registry.demo.sites import SAMPLE_WEB
from registry.search.embedded import EmbeddedBackend
from registry.search.embedding import default_embedder
from registry.web.figures import QUESTIONS

SUGGESTED_HOSTS = (
    "parcelhop.example", "tablefor.example", "weatherglass.example", "babelfold.example",
    "greenbasket.example", "mailroom.example",
)  # fmt: skip
"""The answers to the questions that the start page suggests."""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backend() -> AsyncIterator[EmbeddedBackend]:
    embedder = default_embedder()
    async with indexed(embedder, documents(listings_of(SAMPLE_WEB), embedder)) as built:
        yield built


async def ask(backend: EmbeddedBackend, text: str) -> SearchAnswer:
    return await ranked(backend, Query(text), default_embedder())


@pytest.mark.parametrize(
    "text",
    [
        "play chess",
        "reserve a hotel room",
        "rent a bike",
        "book a hotel",
        "order a taxi",
        "learn Spanish",
        "mp4 to gif",
    ],
)
async def test_what_nobody_offers_is_not_answered_with_confidence(backend: EmbeddedBackend, text: str) -> None:
    assert not (await ask(backend, text)).is_confident


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("play music", "tuneful.example"),
        ("reserve a table", "tablefor.example"),
        ("rent a van", "www.movedhouse.example"),
        ("send a parcel", "parcelhop.example"),
        ("weather tomorrow", "weatherglass.example"),
        ("wether forcast", "weatherglass.example"),
        ("resreve a tabel", "tablefor.example"),
        ("rent machinrey", "oldcrane.example"),
        ("send an e mail", "mailroom.example"),
        ("translatetext", "babelfold.example"),
        ("book a table for two tonight", "tablefor.example"),
        ("weather in Lisbon tomorrow", "weatherglass.example"),
        ("translate into Japanese", "babelfold.example"),
        ("how much does shipping a 2 kg parcel to Berlin cost?", "parcelhop.example"),
        ("flights on 3 March", "skylark-air.example"),
        ("invoice 4711", "ledgerly.example"),
        *zip(QUESTIONS, SUGGESTED_HOSTS, strict=True),
    ],
)
async def test_what_is_offered_is_answered_with_confidence(backend: EmbeddedBackend, text: str, host: str) -> None:
    answer = await ask(backend, text)
    assert (answer.ranking.hosts[0], answer.is_confident) == (host, True)


@pytest.mark.parametrize(
    ("text", "capability"),
    [
        ("apply for a resident parking permit", "Register a move"),
        ("send money to a supplier", "create_invoice"),
        ("book a table for two", "Reserve a book"),
        ("search for an appointment", "Cancel appointment"),
    ],
)
async def test_what_another_capability_does_is_not_confident(
    backend: EmbeddedBackend, text: str, capability: str
) -> None:
    ranking = (await ask(backend, text)).ranking
    hits = [explain(ranking, position) for position in range(len(ranking))]
    assert [match.confident for hit in hits for match in hit.capabilities if match.name == capability] == [False]


async def test_the_total_is_not_the_whole_index(backend: EmbeddedBackend) -> None:
    answer = await ask(backend, "rent a van")
    assert len(answer.ranking) < answer.pool.stats.services / 2
