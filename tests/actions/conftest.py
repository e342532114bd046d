from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from registry.search.embedded import EmbeddedBackend
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.support.database import MigratedDatabases


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[EmbeddedBackend]:
    engine = EmbeddedBackend(tmp_path / "index")
    yield engine
    await engine.close()


@pytest.fixture
async def copy(migrated_databases: MigratedDatabases) -> AsyncIterator[Store]:
    """A second, empty database."""
    with migrated_databases.borrowed() as url:
        opened = Store(make_engine(url, pool_size=3))
        yield opened
        await opened.close()
