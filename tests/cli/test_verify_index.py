"""`waypost verify-index`: its output and exit codes, on the embedded engine and on a real Meilisearch.

tests/actions/test_verify.py tests what it finds. The second engine needs MEILI_URL and MEILI_MASTER_KEY of a server
that tests may write to; without them these tests are skipped.
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
from registry.cli.common import DONE, NO, UNAVAILABLE
from registry.search.backend import make_document
from registry.search.meilisearch.admin import make_keys, write_keys
from registry.settings import Settings
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from registry.wiring import Waypost, open_waypost
from tests.actions.catalogue import put
from tests.search.contract import MAIL, MAPS, SHOP
from tests.search.listings import listing
from tests.support.engine import MASTER, URL, long_time_limits, needs_meilisearch, remove_index

__all__ = ["long_time_limits"]

pytestmark = pytest.mark.slow  # seconds of PostgreSQL and an index


@pytest.fixture(params=["embedded", pytest.param("meilisearch", marks=needs_meilisearch)])
def catalogue(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    database_url: str,
    long_time_limits: None,
) -> Iterator[None]:
    """Three services in the database and the settings of a registry; no index yet."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("WAYPOST_DATA", str(tmp_path / "data"))

    async def put_services() -> None:
        store = Store(make_engine(database_url))
        await put(store, MAIL, SHOP, MAPS)
        await store.close()

    asyncio.run(put_services())
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


def with_waypost(action: Callable[[Waypost], Awaitable[Any]]) -> None:
    async def open_and_run() -> None:
        async with open_waypost(Settings()) as opened_waypost:
            await action(opened_waypost)

    asyncio.run(open_and_run())


async def damage_index(opened_waypost: Waypost) -> None:
    """Damage the index: one service missing, one never listed, one with another text."""
    index = opened_waypost.search.backend
    await index.delete(["mail.example"])
    listings = [listing("ghost.example"), listing("shop.example", "Bakery")]
    await index.upsert([make_document(entry, opened_waypost.search.embedder) for entry in listings])
    await index.commit()


@pytest.mark.usefixtures("catalogue")
def test_differences_are_found_and_repaired() -> None:
    assert waypost("reindex").exit_code == DONE
    intact = waypost("verify-index")
    assert (intact.exit_code, intact.stdout.splitlines()[-1]) == (DONE, "the index matches the database")

    with_waypost(damage_index)
    damaged = waypost("verify-index")
    assert damaged.exit_code == NO
    assert damaged.stdout.splitlines() == [
        "3 services in the database, 0 of them not yet indexed",
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

    with_waypost(lambda opened_waypost: opened_waypost.search.drain())
    after_repair = waypost("verify-index", "--json")
    assert (after_repair.exit_code, json.loads(after_repair.stdout)["equal"]) == (DONE, True)


@pytest.mark.usefixtures("catalogue")
def test_a_missing_index_is_reported() -> None:
    result = waypost("verify-index")
    assert (result.exit_code, result.stdout) == (UNAVAILABLE, "")
    assert "the index has not been built yet" in result.stderr


def test_an_unavailable_engine_is_not_reported_as_a_difference(
    monkeypatch: pytest.MonkeyPatch, database_url: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("MEILI_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("MEILI_SEARCH_KEY", "key")
    result = waypost("verify-index", "--json")
    assert (result.exit_code, result.stdout) == (UNAVAILABLE, "")
    assert "the search engine is away" in result.stderr
