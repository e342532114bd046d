"""`waypost verify-index`: what it says and its exit codes, on the embedded engine and on a real Meilisearch.

What is found is decided by tests/actions/test_verify.py. The second engine where MEILI_URL and MEILI_MASTER_KEY name a
server that may be written to; skipped aloud elsewhere.
"""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from registry.cli import app
from registry.cli.porch import DONE, NO, UNAVAILABLE
from registry.search.backend import make_document
from registry.search.meilisearch.keys import make_keys, write_keys
from registry.settings import Settings
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from registry.wiring import Waypost, open_waypost
from tests.actions.catalogue import put
from tests.search.contract import MAIL, MAPS, SHOP
from tests.search.listings import listing
from tests.support.database import database_server, database_template, database_url
from tests.support.engine import MASTER, URL, needs_meilisearch, patient, remove_index

__all__ = ["database_server", "database_template", "database_url", "patient"]

pytestmark = pytest.mark.slow  # seconds of PostgreSQL and an index


@pytest.fixture(params=["embedded", pytest.param("meilisearch", marks=needs_meilisearch)])
def catalogue(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str, patient: None
) -> Iterator[None]:
    """Three services in the database, the settings of a registry around them, no index yet."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("WAYPOST_DATA", str(tmp_path / "data"))

    async def three() -> None:
        store = Store(make_engine(database_url))
        await put(store, MAIL, SHOP, MAPS)
        await store.close()

    asyncio.run(three())
    if request.param == "embedded":
        yield
        return
    index = f"t{uuid.uuid4().hex[:12]}"
    write_keys(make_keys(URL, MASTER, index), index, tmp_path / "keys")
    for name, value in {"URL": URL, "INDEX": index, "KEYS": str(tmp_path / "keys")}.items():
        monkeypatch.setenv(f"MEILI_{name}", value)
    yield
    remove_index(index)


def waypost(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


def inside(work: Callable[[Waypost], Awaitable[Any]]) -> None:
    async def carry_out() -> None:
        async with open_waypost(Settings()) as opened:
            await work(opened)

    asyncio.run(carry_out())


async def damage(opened: Waypost) -> None:
    """One service lost, one that nobody listed, one with another text: as no drain would leave it."""
    index = opened.search.backend
    await index.delete(["mail.example"])
    made = [listing("ghost.example"), listing("shop.example", "Bakery")]
    await index.upsert([make_document(one, opened.search.embedder) for one in made])
    await index.commit()


@pytest.mark.usefixtures("catalogue")
def test_it_finds_what_is_wrong_has_it_mended_and_says_when_all_is_well() -> None:
    assert waypost("reindex").exit_code == DONE
    well = waypost("verify-index")
    assert (well.exit_code, well.stdout.splitlines()[-1]) == (DONE, "the index holds what the database says")

    inside(damage)
    found = waypost("verify-index")
    assert found.exit_code == NO
    assert found.stdout.splitlines() == [
        "3 services in the database, 0 of them not yet told to the index",
        "missing: mail.example",
        "extra: ghost.example",
        "different: shop.example",
    ]
    repaired = waypost("verify-index", "--repair", "--json")
    assert (repaired.exit_code, json.loads(repaired.stdout)) == (
        NO,
        {
            "equal": False,
            "services": 3,
            "pending": 0,
            "missing": ["mail.example"],
            "extra": ["ghost.example"],
            "different": ["shop.example"],
            "repaired": True,
        },
    )

    inside(lambda opened: opened.drain())
    mended = waypost("verify-index", "--json")
    assert (mended.exit_code, json.loads(mended.stdout)["equal"]) == (DONE, True)


@pytest.mark.usefixtures("catalogue")
def test_without_an_index_it_says_so() -> None:
    answer = waypost("verify-index")
    assert (answer.exit_code, answer.stdout) == (UNAVAILABLE, "")
    assert "the index has not been built yet" in answer.stderr


def test_an_engine_that_is_away_is_no_difference(monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("MEILI_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("MEILI_SEARCH_KEY", "key")
    answer = waypost("verify-index", "--json")
    assert (answer.exit_code, answer.stdout) == (UNAVAILABLE, "")
    assert "the search engine is away" in answer.stderr
