"""What a worker does beside crawling."""

from datetime import timedelta
from pathlib import Path

from registry.actions.frontier.submit import REMEMBERED
from registry.wiring import open_waypost, utc_now
from registry.wiring.upkeep import upkeep
from tests.crawler.support import settings
from tests.support.builders import on
from tests.support.database import rows, until_true


async def test_a_worker_erases_which_client_submitted_what(tmp_path: Path, database_url: str) -> None:
    """Also when nobody submits anything any more."""
    async with open_waypost(settings(database_url=database_url, data=tmp_path)) as waypost:
        store, yesterday = waypost._store, utc_now() - REMEMBERED - timedelta(minutes=1)
        await on(store, yesterday).frontier.submit("shop.com", client="198.51.100.1")
        await on(store, yesterday + timedelta(hours=1)).frontier.submit("other.com", client="198.51.100.2")

        async def is_erased() -> bool:
            return await rows(store, "SELECT client FROM submissions") == [("198.51.100.2",)]

        assert not await is_erased()
        async with upkeep(waypost):
            await until_true(is_erased)
