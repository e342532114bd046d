"""A site opts out: it publishes the file, a request is made, a worker checks it. With the commands and a worker."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from crawler.run import crawl
from registry.cli.removal import show_forgotten, show_opt_out
from registry.cli.terminal import console
from tests.flow.test_many_submissions import opened
from tests.support.builders import adp_manifest
from tests.support.database import until_true
from tests.support.sites import Answer, Reply

pytestmark = pytest.mark.slow  # a crawl and a database

HOST = "pigeons.example"
FILE = "/.well-known/waypost-optout.txt"


def site() -> dict[str, Answer]:
    return {"/.well-known/agent": Reply(orjson.dumps(adp_manifest(HOST, "create_parcel")))}


async def test_a_worker_removes_a_site_that_publishes_the_opt_out_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    pages = site()
    async with opened(monkeypatch, tmp_path, database_url, {HOST: pages}) as (web, waypost, config):
        await waypost.frontier.submit(HOST)
        await crawl(waypost, config, until_idle=True)
        assert await waypost.queries.service(HOST) is not None
        requests_before = len(web.seen)
        pages[FILE] = Reply("opt-out\n", type="text/plain")
        await waypost.opt_outs.request(HOST, "out")
        stop = asyncio.Event()
        working = asyncio.create_task(crawl(waypost, config, until_idle=False, stop=stop))

        async def is_out() -> bool:
            return (await waypost.opt_outs.status(HOST)).opt_out is not None

        await until_true(is_out)
        stop.set()
        await working
        assert await waypost.queries.service(HOST) is None
        assert web.paths(HOST)[requests_before:] == ["/robots.txt", FILE], "that is all that asking costs"
        assert (await waypost.frontier.submit(HOST)).state == "opted_out"


async def test_an_operator_can_opt_a_site_out_and_readmit_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = site()
    async with opened(monkeypatch, tmp_path, database_url, {HOST: pages}) as (_, waypost, config):

        async def optout(**options: bool) -> tuple[int, str]:
            options = {"undo": False, "force": False, **options}
            code = await show_opt_out(waypost, config, HOST, console, as_json=True, **options)
            return code, last_output()["verdict"]

        def last_output() -> dict[str, Any]:
            output: dict[str, Any] = orjson.loads(capsys.readouterr().out.splitlines()[-1])  # log lines come before it
            return output

        await waypost.frontier.submit(HOST)
        await crawl(waypost, config, until_idle=True)
        assert await optout() == (1, "no_proof")
        pages[FILE] = Reply("opt-out", type="text/plain")
        assert await optout() == (0, "opted_out")
        assert await optout(undo=True) == (1, "still_says_so")
        del pages[FILE]
        assert await optout(undo=True) == (0, "readmitted")
        await crawl(waypost, config, until_idle=True)
        assert await waypost.queries.service(HOST) is not None, "it is back"
        code = await show_forgotten(waypost, HOST, console, opt_out=True, reason="mail", as_json=True)
        forgotten = last_output()
        assert (code, forgotten["services"], forgotten["stays_out"]) == (0, [HOST], True)
        assert await optout(undo=True) == (1, "by_operator")
        assert await optout(undo=True, force=True) == (0, "readmitted")
