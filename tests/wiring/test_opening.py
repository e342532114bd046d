"""What `open_waypost` leaves behind when it is closed: nothing that holds the embedded server."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from registry import wiring
from registry.settings import Settings
from registry.store import embedded
from tests.support.demo import forget_database


async def test_a_look_at_the_server_that_comes_late_does_not_hold_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that is about to look when the registry is closed: it would start the server anew for nobody."""
    looks, looking, looked = 0, threading.Event(), threading.Event()
    start = embedded.start

    def late(folder: Path) -> Any:
        nonlocal looks
        looks += 1
        if looks > 1 and not looking.is_set():
            looking.set()
            looked.wait(0.5)  # nobody sets it yet: closing goes on meanwhile, where it does not wait for us
            found = start(folder)
            looked.set()
            return found
        return start(folder)

    monkeypatch.setattr(embedded, "start", late)
    monkeypatch.setattr(wiring, "LOOK_SECONDS", 0.01)
    before = dict(embedded._holds)  # the tests' own server
    settings = Settings(data=tmp_path / "data", database_url=None)
    async with wiring.open_waypost(settings):
        assert await asyncio.to_thread(looking.wait, 20)
    assert await asyncio.to_thread(looked.wait, 60)
    try:
        assert embedded._holds == before
    finally:
        forget_database(tmp_path / "data")
