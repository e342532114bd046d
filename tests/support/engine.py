"""The real Meilisearch that some tests use, if MEILI_URL and MEILI_MASTER_KEY name one that tests may write to.

`without_engine_settings` (tests/conftest.py) removes these variables, so that every other test gets the embedded engine
on any machine.
"""

import os
from collections.abc import Iterator
from typing import Final

import pytest

from benchmarks.search import scratch
from registry.search.meilisearch import layout, query_client

URL: Final = os.environ.get("MEILI_URL", "")
MASTER: Final = os.environ.get("MEILI_MASTER_KEY", "")

needs_meilisearch = pytest.mark.skipif(
    not (URL and MASTER), reason="no Meilisearch: set MEILI_URL and MEILI_MASTER_KEY"
)


@pytest.fixture(scope="session", autouse=True)
def without_engine_settings() -> Iterator[None]:
    """Remove MEILI_* for the session, not on import: processes of a parallel run inherit the importer's environment."""
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith("MEILI_")]:
            environment.delenv(name)
        yield


@pytest.fixture
def long_time_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise all time limits of the client, so that a slow machine causes no failure."""
    monkeypatch.setattr(query_client, "BUDGET_SECONDS", 120.0)
    monkeypatch.setattr(query_client, "WAIT_SECONDS", 60.0)
    monkeypatch.setattr(query_client, "REST_SECONDS", 600.0)
    monkeypatch.setattr(query_client, "REFUSED_REST_SECONDS", 600.0)
    monkeypatch.setattr(layout, "CUTOFF_MS", 120_000)


def remove_index(index: str) -> None:
    """See `benchmarks.search.scratch.remove_index`."""
    scratch.remove_index(URL, MASTER, index)
