from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from registry.search.embedded import EmbeddedBackend
from tests.support.database import database_server, database_template, database_url, empty_database_url, store

__all__ = ["database_server", "database_template", "database_url", "empty_database_url", "store"]


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[EmbeddedBackend]:
    engine = EmbeddedBackend(tmp_path / "index")
    yield engine
    await engine.close()
