"""Signals end a command in order."""

import asyncio
import os
import signal

import pytest

from registry.cli.shutdown import stop_on_signals
from tests.support.hang import HANG_SECONDS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signals_set_the_stop_event(number: signal.Signals) -> None:
    with stop_on_signals() as stop:
        os.kill(os.getpid(), number)
        async with asyncio.timeout(HANG_SECONDS):
            await stop.wait()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
