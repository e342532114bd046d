"""A hard time limit for every test, so that a test that hangs costs minutes and says where it hung.

pytest-timeout sends SIGALRM, which fails the test with its stack and lets the run go on. It stops there: a failure
cancels its timer, an event loop can swallow the exception, and C code that holds the interpreter never sees the signal.
So the alarm repeats, the teardown has a timer of its own, and after HARD_EXIT times the limit faulthandler writes all
stacks and ends the process. Under xdist that is one worker, which is replaced.
"""

import faulthandler
import os
import signal
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.depth import DEPTH

SLOW_SECONDS: Final = 300
"""The limit of a test that is marked `slow`, unless it declares its own. The limit of all others: pyproject.toml."""

MAX_SECONDS: Final = 600
"""The limit of a test that is marked `long`, and the longest that a test may declare."""

REPEAT: Final = 0.25
HARD_EXIT: Final = 1.5
"""Both times the limit."""

EXIT_SECONDS: Final = float(os.environ.get("WAYPOST_TEST_EXIT_SECONDS", 60))
"""Seconds from the end of the run to a forced exit: the interpreter waits for threads, also for those that hang."""

_settings = pytest.StashKey[Any]()
_stderr = pytest.StashKey[int]()


def limit_of(item: pytest.Item) -> float:
    """Return the seconds after which this test fails, counted separately for the teardown."""
    if (own := item.get_closest_marker("timeout")) is not None:
        return float(own.args[0])
    if item.config.getoption("timeout") is not None:
        return float(item.config.getoption("timeout"))
    if item.get_closest_marker("long"):
        return MAX_SECONDS
    return SLOW_SECONDS if item.get_closest_marker("slow") else float(item.config.getini("timeout"))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_stderr] = os.dup(2)  # while tests run, their output is captured
    # For .ci/deadline.py: this process writes its stacks when the whole run takes too long.
    faulthandler.register(signal.SIGUSR1, file=config.stash[_stderr], all_threads=True)
    if config.getoption("dist", "no") == "no" or hasattr(config, "workerinput"):
        catch_ignored_signals()


def catch_ignored_signals() -> None:
    """Catch the signals that this process was told to ignore: programs inherit what is ignored, not what is caught.

    A shell starts background jobs with SIGINT ignored, nohup ignores SIGHUP. Both go on to have no effect here, but the
    programs that tests start have to hear them. xdist's controller starts no programs but workers, which inherit.
    """
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.timeout(limit_of(item) * DEPTH), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> Iterator[None]:
    item.stash[_settings] = settings
    result = yield
    signal.setitimer(signal.ITIMER_REAL, settings.timeout, settings.timeout * REPEAT)
    faulthandler.dump_traceback_later(settings.timeout * HARD_EXIT, exit=True, file=item.config.stash[_stderr])
    return result


@pytest.hookimpl(wrapper=True)
def pytest_timeout_cancel_timer() -> Iterator[None]:
    faulthandler.cancel_dump_traceback_later()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    if (settings := item.stash.get(_settings, None)) is not None:
        item.config.pluginmanager.hook.pytest_timeout_set_timer(item=item, settings=settings)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> None:
    """Stop the alarm while pytest reports a failure: an exception there would end the whole run."""
    if call.excinfo is not None:
        signal.setitimer(signal.ITIMER_REAL, 0)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # a worker waits for the others, and xdist ends it
        faulthandler.dump_traceback_later(EXIT_SECONDS, exit=True, file=config.stash[_stderr])
