"""Signals end a command in order."""

import signal
import subprocess
import sys

import pytest

from tests.support.hang import HANG_SECONDS

PROGRAM = """
import asyncio, os, signal, sys
from registry.cli.shutdown import stop_on_signals

async def main():
    with stop_on_signals() as stop:
        os.kill(os.getpid(), int(sys.argv[1]))
        await stop.wait()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_set_the_stop_event(number: signal.Signals) -> None:
    command = [sys.executable, "-c", PROGRAM, str(int(number))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
