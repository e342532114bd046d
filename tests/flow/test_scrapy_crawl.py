"""`scrapy crawl waypost` from a checkout does what `waypost crawl` does."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flow.test_kill import HOSTS, at_work, requests
from tests.support.running import Command, DataFolder
from tests.support.shared import ROOT

pytestmark = [pytest.mark.slow]


def crawl(data_folder: DataFolder, *arguments: str) -> Command:
    log = data_folder.data.parent / f"{data_folder.data.name}-{len(data_folder.commands)}-scrapy.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "scrapy", "crawl", "waypost", *arguments],
            env=data_folder.environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
    data_folder.commands.append(Command(process, log))
    return data_folder.commands[-1]


async def test_named_domains_are_visited_recorded_and_indexed(tmp_path: Path, database_url: str) -> None:
    async with at_work(tmp_path, database_url) as (web, data_folder):
        command = crawl(data_folder, "-a", f"only={HOSTS[0]},{HOSTS[1]}", "-s", "WAYPOST_LEASE_BATCH=1")
        assert await command.exit_code() == 0, command.output
        assert {exchange.host for exchange in web.seen} == set(HOSTS[:2])
        assert "'item_scraped_count': 2" in command.output and "'waypost/outcome/found': 2" in command.output
        assert "Traceback" not in command.output
        async with data_folder.opened() as waypost:
            assert not await waypost.frontier.waiting(waypost.frontier.hosts_of(HOSTS[:2]))
            assert await waypost.search.index_lag() == 0
            assert (await waypost.queries.overview()).services == 2


async def test_a_signal_stops_the_crawl_and_releases_its_leases(tmp_path: Path, database_url: str) -> None:
    async with at_work(tmp_path, database_url) as (web, data_folder):
        command = crawl(data_folder)
        await requests(web, 100)
        command.send_signal(signal.SIGTERM)
        assert await command.exit_code() == 0, command.output
        assert "'finish_reason': 'shutdown'" in command.output and "Traceback" not in command.output
        async with data_folder.opened() as waypost:
            assert (await waypost.search.queue()).domains["leased"] == 0


async def test_the_crawl_fails_without_a_database(tmp_path: Path, database_url: str) -> None:
    async with at_work(tmp_path, database_url) as (web, data_folder):
        command = crawl(data_folder, "-s", "DATABASE_URL=postgresql://nobody@127.0.0.1:1/nothing")
        assert await command.exit_code() == 1
        assert web.seen == []
