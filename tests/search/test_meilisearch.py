"""The Meilisearch engine on a real server: the contract of every backend, and what is specific to this engine.

These tests need MEILI_URL and MEILI_MASTER_KEY of a server that they may write to, and are skipped without. Each test
uses its own index there and removes it. tests/search/test_meilisearch_calls.py needs no server.
"""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator

import pytest

from registry.core.model.listing import Filters, SearchUnavailable
from registry.core.ranking import parse_query, rank
from registry.search.backend import Backend, IndexState, SearchDocument, make_document, make_documents
from registry.search.meilisearch import layout
from registry.search.meilisearch.admin import Admin, Keys, make_keys
from registry.search.meilisearch.backend import MeiliBackend
from tests.search.contract import MAIL, MAPS, SHOP, BackendContract, fill, found, pool, stats_of, upsert
from tests.search.folding_contract import FoldingContract
from tests.search.listings import listing
from tests.search.vector_contract import _VOCABULARY as VOCABULARY
from tests.search.vector_contract import WORDS, VectorContract, random_services
from tests.support.candidates import Candidate, count_corpus, side_by_side
from tests.support.embedder import WordEmbedder
from tests.support.engine import MASTER, URL, needs_meilisearch, remove_index

pytestmark = [pytest.mark.slow, needs_meilisearch, pytest.mark.usefixtures("long_time_limits")]


@pytest.fixture
def index() -> str:
    return f"t{uuid.uuid4().hex[:12]}"


@pytest.fixture
def keys(index: str) -> Keys:
    return make_keys(URL, MASTER, index)


@pytest.fixture
async def backend(index: str, keys: Keys) -> AsyncIterator[MeiliBackend]:
    engine = MeiliBackend(URL, keys, index, model=WORDS.id, dims=WORDS.dims)
    yield engine
    await engine.close()
    await asyncio.to_thread(remove_index, index)


class TestMeilisearch(BackendContract):
    pass


class TestMeilisearchFolding(FoldingContract):
    pass


class TestMeilisearchVectors(VectorContract):
    async def test_the_first_ten_are_those_of_ranking_everything(self, backend: Backend) -> None:
        """Nearly: if most services hold every word, this engine cannot tell which of them hold it most often."""
        services = random_services(160, seed=7)
        documents = make_documents(services, WORDS)
        await write(backend, documents)
        all_candidates = side_by_side(
            (Candidate(document.listing.host, document.listing.score, document.record) for document in documents),
            WORDS.id,
        )
        stats = count_corpus(document.record for document in documents)
        dice = random.Random(8)
        shared = 0
        for _ in range(25):
            question = parse_query(
                f"{dice.choice(VOCABULARY)} {dice.choice(VOCABULARY)}. {dice.choice(VOCABULARY)}.", WORDS
            )
            answer = await backend.candidates(question, Filters(), 200)
            first = rank(question, answer.candidates, answer.stats).hosts[:10]
            shared += len(set(first) & set(rank(question, all_candidates, stats).hosts[:10]))
        assert shared >= 240


async def test_another_process_sees_commits_and_swaps(backend: MeiliBackend, index: str, keys: Keys) -> None:
    reader = MeiliBackend(URL, Keys(search=keys.search), index, model=WORDS.id)
    await fill(backend, [MAIL])
    assert await found(reader, "email stamps") == ["mail.example"]
    await upsert(backend, SHOP)
    assert await found(reader, "email stamps") == ["mail.example", "shop.example"]
    await fill(backend, [MAPS])
    assert await found(reader, "email stamps route") == ["maps.example"]
    assert (await reader.health()).state is IndexState.READY
    await reader.close()


async def test_alternating_writers_keep_the_counts(backend: MeiliBackend, index: str, keys: Keys) -> None:
    other = MeiliBackend(URL, keys, index, model=WORDS.id, dims=WORDS.dims)
    await fill(backend, [MAIL])
    await upsert(backend, SHOP)
    await upsert(other, MAPS)
    await backend.delete(["maps.example"])
    await backend.commit()
    assert (await pool(other, "email")).stats == stats_of([MAIL, SHOP])
    await fill(other, [MAPS])
    assert await upsert(backend, MAIL) == 1
    assert (await pool(other, "email")).stats == stats_of([MAIL, MAPS])
    await other.close()


async def test_pending_writes_do_not_overwrite_a_rebuild_by_another_process(
    backend: MeiliBackend, index: str, keys: Keys
) -> None:
    other = MeiliBackend(URL, keys, index, model=WORDS.id, dims=WORDS.dims)
    await fill(backend, [MAIL])
    await backend.upsert([make_document(SHOP)])
    await fill(other, [MAIL, SHOP, MAPS])
    with pytest.raises(SearchUnavailable, match="another process"):
        await backend.commit()
    assert await upsert(backend, SHOP) == 0
    assert (await pool(backend, "email")).stats == stats_of([MAIL, SHOP, MAPS])
    await other.close()


async def test_a_service_without_its_old_vector_is_not_found_by_it(backend: MeiliBackend) -> None:
    await write(backend, make_documents([listing("a.example", "Post: letter")], WORDS))
    assert (await backend.candidates(parse_query("mail", WORDS), Filters(), 10)).candidates.hosts == ["a.example"]
    assert await backend.upsert(make_documents([listing("a.example", "Zzz: zz")], WORDS)) == 1
    await backend.commit()
    assert (await backend.candidates(parse_query("mail", WORDS), Filters(), 10)).candidates.hosts == []


async def test_an_index_of_another_model_is_searched_by_words_until_it_is_rebuilt(
    backend: MeiliBackend, index: str, keys: Keys
) -> None:
    await write(backend, make_documents([MAIL, MAPS], WORDS))
    other = MeiliBackend(URL, keys, index, model="wp_other", dims=WORDS.dims)
    assert (await other.health()).state is IndexState.OUTDATED
    question = parse_query("email", WordEmbedder("wp_other"))
    assert (await other.candidates(question, Filters(), 10)).candidates.hosts == ["mail.example"]
    with pytest.raises(SearchUnavailable, match="built again"):
        await upsert(other, MAIL)
    await other.close()


async def test_common_words_are_queried_together(backend: MeiliBackend) -> None:
    """More services than any leg returns: those with several words of the query must be in the pool."""
    crowd = [listing(f"h{n}.example", "Weather" if n % 2 else "Forecast") for n in range(300)]
    both = [listing(f"b{n}.example", "Weather forecast") for n in range(3)]
    await fill(backend, [*crowd, *both])
    answer = await backend.candidates(parse_query("weather forecast"), Filters(), 200)
    assert {"b0.example", "b1.example", "b2.example"} <= set(answer.candidates.hosts)
    assert answer.matching >= len(answer.candidates)


async def test_the_rarest_words_of_a_long_query_are_searched(backend: MeiliBackend) -> None:
    """The engine reads ten words of a query; the rarest must be among them, wherever they are in the text."""
    common = " ".join(f"common{n}" for n in range(14))
    await fill(
        backend, [listing(f"h{n}.example", f"x: {common}") for n in range(70)] + [listing("a.example", "Unique")]
    )
    answer = await backend.candidates(parse_query(f"{common} unique"), Filters(), 200)
    assert "a.example" in answer.candidates.hosts


async def test_a_refused_document_does_not_block_the_others(backend: MeiliBackend, index: str) -> None:
    """A vector of the wrong length fails the whole task; all its other documents must be stored and counted."""
    good = make_documents([listing(f"h{n}.example", "Arctic: north") for n in range(5)], WORDS)
    await write(backend, good[:1])
    assert await backend.upsert([*good, bad_document("bad.example")]) == 5
    await backend.commit()
    assert await found(backend, "arctic") == [f"h{n}.example" for n in range(5)]
    assert (await pool(backend, "arctic")).stats.services == 5


async def test_a_refused_document_does_not_stop_a_rebuild(backend: MeiliBackend) -> None:
    good = make_documents([listing(f"h{n}.example", "Arctic: north") for n in range(5)], WORDS)
    await write(backend, [*good[:2], bad_document("bad.example"), *good[2:]])
    assert await found(backend, "arctic") == [f"h{n}.example" for n in range(5)]
    assert await backend.count() == 5


async def test_the_leftovers_of_a_killed_build_are_removed(backend: MeiliBackend, index: str, keys: Keys) -> None:
    admin = Admin(URL, keys)
    await asyncio.to_thread(admin.create, f"{index}_bleftover", layout.index_settings("", 0), layout.PRIMARY_KEY)
    await fill(backend, [MAIL])
    await fill(backend, [SHOP])
    await asyncio.to_thread(admin.wait_idle, f"{index}_bleftover")
    await asyncio.to_thread(admin.wait_idle, index)
    assert [uid for uid in await asyncio.to_thread(admin.indexes, index) if uid == f"{index}_bleftover"] == []


async def test_tombstones_are_removed(backend: MeiliBackend, index: str, keys: Keys) -> None:
    await fill(backend, [MAIL, SHOP])
    await backend.delete(["mail.example"])
    await backend.commit()
    admin = Admin(URL, keys)
    await asyncio.to_thread(admin.wait_idle, index)
    ids = await asyncio.to_thread(lambda: [document["id"] for document in admin.documents(index, ["id"])])
    assert sorted(ids) == [layout.STATISTICS_ID, "shop_example"]


async def test_each_key_has_only_its_own_rights(backend: MeiliBackend, index: str, keys: Keys) -> None:
    await fill(backend, [MAIL])
    searching = MeiliBackend(URL, Keys(keys.search, keys.search, keys.search), index, model=WORDS.id)
    assert await found(searching, "email") == ["mail.example"]
    for forbidden in (upsert(searching, SHOP), fill(searching, [SHOP]), _all_hashes(searching)):
        with pytest.raises(SearchUnavailable):
            await forbidden
    await searching.close()
    with_tasks_key = MeiliBackend(URL, Keys(search=keys.tasks), index, model=WORDS.id)
    with pytest.raises(SearchUnavailable):
        await found(with_tasks_key, "email")
    await with_tasks_key.close()


async def test_making_the_keys_again_returns_the_same(index: str, keys: Keys) -> None:
    assert make_keys(URL, MASTER, index) == keys
    remove_index(index)


async def test_a_process_without_writing_keys_can_only_search(backend: MeiliBackend, index: str, keys: Keys) -> None:
    await fill(backend, [MAIL])
    reader = MeiliBackend(URL, Keys(search=keys.search), index, model=WORDS.id)
    assert await reader.count() == 1
    with pytest.raises(SearchUnavailable, match=r"no indexer key|no tasks key"):
        await upsert(reader, SHOP)
    await reader.close()


async def write(backend: Backend, documents: list[SearchDocument]) -> None:
    async with backend.build() as build:
        await build.add(documents)
        await build.swap()


async def _all_hashes(backend: Backend) -> list[tuple[str, bytes]]:
    return [entry async for entry in backend.hashes()]


def bad_document(host: str) -> SearchDocument:
    """Return a document whose vector has one number too many."""

    return make_document(listing(host, "Arctic"), WordEmbedder(WORDS.id, WORDS.dims + 1))
