"""The demo as a user of its folder."""

import fcntl
from pathlib import Path

import pytest
from rich.console import Console

from registry.demo.sites import SAMPLE_WEB
from registry.demo.tour import DemoFailed, crawled, demo_settings


async def test_a_folder_has_one_demo_at_a_time(tmp_path: Path) -> None:
    """Each serves a web of its own, and workers take whatever is due."""
    with (tmp_path / "demo.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(DemoFailed, match="another demo"):
            async with crawled(demo_settings(tmp_path, 0), SAMPLE_WEB, Console(quiet=True)):
                pytest.fail("it runs")


def test_the_demo_may_be_run_all_day(tmp_path: Path) -> None:
    """The budget of a domain and day is for strangers: after a few runs the hosts of the demo would be left out."""
    settings = demo_settings(tmp_path, 0)
    assert settings.domain_daily_budget >= 100 * (settings.request_budget + settings.detail_budget)
