"""The first weeks of `python -m tests.flow.year`: its sites, clients and jobs work together, and all copies agree."""

from pathlib import Path

import pytest

from tests.flow.year import year_of

pytestmark = pytest.mark.long


async def test_weeks_of_a_registry_leave_all_copies_equal(database_server: str, tmp_path: Path) -> None:
    lines: list[str] = []
    visits, faults = await year_of(database_server, tmp_path, domains=20, days=25, log=lines.append)
    assert faults == [], lines
    assert visits > 20
