"""Closing `open_waypost` leaves no hold on the embedded server."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from registry import wiring
from registry.settings import Settings
from registry.store.embedded_postgres import server as embedded
from registry.wiring import embedded_database
from tests.support.demo import forget_database


async def test_a_late_check_of_the_server_does_not_hold_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that checks the server while the registry is closed must not start or hold the server again."""
    check_count, check_started, check_ended = 0, threading.Event(), threading.Event()
    start = embedded.start

    def start_late(folder: Path) -> Any:
        nonlocal check_count
        check_count += 1
        if check_count > 1 and not check_started.is_set():
            check_started.set()
            check_ended.wait(0.5)  # closing goes on meanwhile, unless it waits for this check
            server = start(folder)
            check_ended.set()
            return server
        return start(folder)

    monkeypatch.setattr(embedded, "start", start_late)
    monkeypatch.setattr(embedded_database, "CHECK_SECONDS", 0.01)
    before = dict(embedded._holds)  # the tests' own server
    settings = Settings(data=tmp_path / "data", database_url=None)
    async with wiring.open_waypost(settings):
        assert await asyncio.to_thread(check_started.wait, 20)
    assert await asyncio.to_thread(check_ended.wait, 60)
    try:
        assert embedded._holds == before
    finally:
        forget_database(tmp_path / "data")
