"""An interrupt ends a command as an interrupt, whatever error the cancelled work ends with."""

import subprocess
import sys

from registry.cli.common import INTERRUPTED
from tests.support.hang import HANG_SECONDS

WORK = """
import asyncio, os, signal, sys
from registry.cli.common import INTERRUPTED, run_async

async def work():
    os.kill(os.getpid(), signal.SIGINT)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        raise ConnectionError("in the middle of a query") from None

try:
    run_async(work())
except KeyboardInterrupt:
    sys.exit(INTERRUPTED)
"""


def test_an_error_of_cancelled_work_is_the_interrupt() -> None:
    ended = subprocess.run([sys.executable, "-c", WORK], capture_output=True, text=True, timeout=HANG_SECONDS)
    assert (ended.returncode, ended.stderr) == (INTERRUPTED, "")
