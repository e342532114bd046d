"""`waypost changes` prints the feed, goes on from a cursor, and follows it."""

import asyncio
import io
import json

import pytest

from registry.cli.changes import show_changes, types_of
from registry.cli.common import DONE, USAGE
from registry.cli.terminal import CleanConsole
from registry.core.changes.kinds import ALL
from tests.support.api import Api
from tests.support.database import until_true


async def test_events_are_lines_and_end_with_the_cursor(own_api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    output = io.StringIO()
    console = CleanConsole(file=output, width=200)
    arguments = {"follow": False, "as_json": False}
    assert await show_changes(own_api.waypost, ALL, None, console, **arguments) == DONE
    *lines, last = output.getvalue().splitlines()
    assert len(lines) > 5
    assert all("Z  service." in line for line in lines)
    cursor = last.rpartition(" ")[2]
    assert await show_changes(own_api.waypost, ALL, cursor, console, follow=False, as_json=True) == DONE
    assert capsys.readouterr().out == ""
    assert await show_changes(own_api.waypost, types_of("host.*"), cursor, console, **arguments) == USAGE


async def test_json_lines_are_events_of_the_feed(own_api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    await show_changes(own_api.waypost, ALL, None, CleanConsole(), follow=False, as_json=True)
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert printed == (await own_api.json("/api/feed", limit=1000))["events"]


async def test_it_follows(own_api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.api.test_feed import add

    following = asyncio.create_task(show_changes(own_api.waypost, ALL, None, CleanConsole(), follow=True, as_json=True))

    async def waits() -> bool:
        return own_api.waypost.feed._waiting == 1

    await until_true(waits)
    await add(own_api, "news.example")
    printed = ""

    async def is_printed() -> bool:
        nonlocal printed
        printed += capsys.readouterr().out
        return bool(printed)

    await until_true(is_printed)
    assert json.loads(printed)["entity"]["id"] == "news.example"
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following


def test_an_unknown_type_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        types_of("service.exploded")
    assert refused.value.code == USAGE
    assert "service.listed" in capsys.readouterr().err
