"""A site leaves: it puts a file there, somebody asks, a worker looks, and it is out; with the commands and a worker."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from crawler.run import crawl
from registry.cli.leaving import show_forgotten, show_opt_out
from registry.cli.porch import console
from tests.flow.test_many_submissions import opened
from tests.support.builders import adp_manifest
from tests.support.database import database_server, database_template, database_url, until_true
from tests.support.sites import Answer, Reply

__all__ = ["database_server", "database_template", "database_url"]

pytestmark = pytest.mark.slow  # a crawl and a database

HOST = "pigeons.example"
FILE = "/.well-known/waypost-optout.txt"


def site() -> dict[str, Answer]:
    return {"/.well-known/agent": Reply(orjson.dumps(adp_manifest(HOST, "create_parcel")))}


async def test_a_worker_takes_out_the_site_that_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    pages = site()
    async with opened(monkeypatch, tmp_path, database_url, {HOST: pages}) as (served, waypost, chosen):
        await waypost.submit(HOST)
        await crawl(waypost, chosen, until_idle=True)
        assert await waypost.service(HOST) is not None
        before = len(served.seen)
        pages[FILE] = Reply("opt-out\n", type="text/plain")
        await waypost.ask_opt_out(HOST, "out")
        stop = asyncio.Event()
        working = asyncio.create_task(crawl(waypost, chosen, until_idle=False, stop=stop))

        async def is_out() -> bool:
            return (await waypost.opt_out_standing(HOST)).opt_out is not None

        await until_true(is_out)
        stop.set()
        await working
        assert await waypost.service(HOST) is None
        assert served.paths(HOST)[before:] == ["/robots.txt", FILE], "that is all that asking costs"
        assert (await waypost.submit(HOST)).state == "opted_out"


async def test_the_commands_of_an_operator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = site()
    async with opened(monkeypatch, tmp_path, database_url, {HOST: pages}) as (_, waypost, chosen):

        async def optout(**how: bool) -> tuple[int, str]:
            how = {"undo": False, "force": False, **how}
            code = await show_opt_out(waypost, chosen, HOST, console, as_json=True, **how)
            return code, told()["verdict"]

        def told() -> dict[str, Any]:
            answer: dict[str, Any] = orjson.loads(capsys.readouterr().out.splitlines()[-1])  # behind lines of the log
            return answer

        await waypost.submit(HOST)
        await crawl(waypost, chosen, until_idle=True)
        assert await optout() == (1, "no_proof")
        pages[FILE] = Reply("opt-out", type="text/plain")
        assert await optout() == (0, "opted_out")
        assert await optout(undo=True) == (1, "still_says_so")
        del pages[FILE]
        assert await optout(undo=True) == (0, "readmitted")
        await crawl(waypost, chosen, until_idle=True)
        assert await waypost.service(HOST) is not None, "it is back"
        code = await show_forgotten(waypost, HOST, console, opt_out=True, reason="mail", as_json=True)
        gone = told()
        assert (code, gone["services"], gone["stays_out"]) == (0, [HOST], True)
        assert await optout(undo=True) == (1, "by_operator")
        assert await optout(undo=True, force=True) == (0, "readmitted")
