"""In maintenance a worker visits nothing and the schedule starts nothing; both go on by themselves afterwards."""

import asyncio
from pathlib import Path

import pytest

from tests.flow.test_kill import all_visited, at_work

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


async def test_workers_and_the_schedule_pause(tmp_path: Path, database_url: str) -> None:
    async with at_work(tmp_path, database_url, seconds=200) as (web, data_folder):
        assert await data_folder.start("maintenance", "on", "Back at noon.").exit_code() == 0
        worker, schedule = data_folder.start("worker"), data_folder.start("schedule")
        await worker.line_with("worker.started")
        await schedule.line_with("leader.elected")
        await asyncio.sleep(5)
        assert not web.seen
        assert "Back at noon." in worker.output and "job.started" not in schedule.output
        assert await data_folder.start("maintenance", "off").exit_code() == 0
        await all_visited(data_folder)
        await schedule.line_with("job.started")
        assert "failed" not in worker.output
