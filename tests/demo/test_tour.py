"""The demo: one at a time in a folder, and any number of runs."""

import fcntl
from pathlib import Path

import pytest
from rich.console import Console

from registry.demo import DemoError
from registry.demo.sites import SAMPLE_WEB
from registry.demo.tour import crawled, demo_settings


async def test_a_folder_has_one_demo_at_a_time(tmp_path: Path) -> None:
    """Each demo serves its own web, and its workers visit everything due."""
    with (tmp_path / "demo.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DemoError, match="another demo"):
            async with crawled(demo_settings(tmp_path, 0), SAMPLE_WEB, Console(quiet=True)):
                pytest.fail("it runs")


def test_the_daily_budget_allows_many_runs_of_the_demo(tmp_path: Path) -> None:
    """The daily budget of a domain protects foreign sites; in the demo it would skip hosts after a few runs."""
    settings = demo_settings(tmp_path, 0)
    assert settings.domain_daily_budget >= 100 * (settings.request_budget + settings.detail_budget)
