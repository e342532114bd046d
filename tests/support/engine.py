"""The real Meilisearch that some tests use where MEILI_URL and MEILI_MASTER_KEY name one that may be written to.

`unset` (tests/conftest.py): a registry whose test says nothing of a search server has the embedded engine, whatever the
machine has set.
"""

import os
from collections.abc import Iterator
from typing import Final

import pytest

from benchmarks.search import scratch
from registry.search.meilisearch import asking, layout

URL: Final = os.environ.get("MEILI_URL", "")
MASTER: Final = os.environ.get("MEILI_MASTER_KEY", "")

needs_meilisearch = pytest.mark.skipif(
    not (URL and MASTER), reason="no Meilisearch: set MEILI_URL and MEILI_MASTER_KEY"
)


@pytest.fixture(scope="session", autouse=True)
def unset() -> Iterator[None]:
    """Not when this module is read: the processes of a parallel run inherit the environment of the one that reads."""
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith("MEILI_")]:
            environment.delenv(name)
        yield


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is given up for being late: that a machine is slow is no fault of what is tested on it."""
    monkeypatch.setattr(asking, "BUDGET_SECONDS", 120.0)
    monkeypatch.setattr(asking, "WAIT_SECONDS", 60.0)
    monkeypatch.setattr(asking, "REST_SECONDS", 600.0)
    monkeypatch.setattr(asking, "REFUSED_REST_SECONDS", 600.0)
    monkeypatch.setattr(layout, "CUTOFF_MS", 120_000)


def remove_index(index: str) -> None:
    """See `benchmarks.search.scratch.remove_index`."""
    scratch.remove_index(URL, MASTER, index)
