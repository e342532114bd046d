from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from registry.search.embedded import EmbeddedBackend


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[EmbeddedBackend]:
    engine = EmbeddedBackend(tmp_path / "index")
    yield engine
    await engine.close()
