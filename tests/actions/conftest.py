from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from registry.actions.queries.discover import SearchActions
from registry.search.embedded import EmbeddedBackend
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.support.builders import on
from tests.support.database import MigratedDatabases


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[EmbeddedBackend]:
    engine = EmbeddedBackend(tmp_path / "index")
    yield engine
    await engine.close()


@pytest.fixture
def search(store: Store, backend: EmbeddedBackend) -> SearchActions:
    """The use cases of an index, at NOW."""
    return on(store, backend=backend).search


@pytest.fixture
async def copy(migrated_databases: MigratedDatabases) -> AsyncIterator[Store]:
    """A second, empty database."""
    with migrated_databases.borrowed() as url:
        opened = Store(make_engine(url, pool_size=3))
        yield opened
        await opened.close()
