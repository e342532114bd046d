"""`waypost check HOST`, `waypost inspect HOST` and the API give the same reasons why a host is not listed."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from crawler.run import crawl
from registry.api.app import create_app
from registry.cli.clean import visible
from registry.cli.inspection import show_account
from registry.cli.terminal import CleanConsole
from tests.flow.test_submission_floods import opened
from tests.support.builders import awp_manifest
from tests.support.sites import Exchange, Reply, Site, moved

pytestmark = pytest.mark.slow  # a crawl and a database

BIKES, MAPS, BROKEN, TEXTS, CLOSED, SHUT, WALLED, EMPTY, ALIAS = HOSTS = (
    "bikes.example", "maps.example", "broken.example", "texts.example", "closed.example", "shut.example",
    "walled.example", "empty.example", "alias.example",
)  # fmt: skip


def sites() -> dict[str, Site]:
    faulty: dict[str, Any] = awp_manifest(MAPS)
    faulty["actions"].append({"id": "other", "intent": "Does what no call is named for."})
    return {
        BIKES: {"/agent.json": Reply(orjson.dumps(awp_manifest(BIKES)))},
        MAPS: {"/agent.json": Reply(orjson.dumps(faulty))},
        BROKEN: {"/agent.json": Reply('{"awp_version": "0.2",\n "domain": }')},
        TEXTS: {"/llms.txt": Reply("# Texts\n\n> About texts.\n\n- [a](/a.md): a\n", type="text/plain")},
        CLOSED: {"/robots.txt": Reply("User-agent: WaypostBot\nDisallow: /\n", type="text/plain")},
        SHUT: Reply("no", 403, "text/plain"),
        WALLED: Reply("no", 403, "text/html", (("CF-Mitigated", "challenge"),)),
        EMPTY: {},
        ALIAS: _to_www,
        f"www.{ALIAS}": {},
    }


async def _to_www(exchange: Exchange) -> None:
    await exchange.send(moved(f"https://www.{ALIAS}{exchange.path}").encode())


async def test_check_inspect_and_the_api_give_the_same_reasons(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with opened(monkeypatch, tmp_path, database_url, sites()) as (web, waypost, config):
        for host in HOSTS:
            await waypost.frontier.submit(host)
        await crawl(waypost, config, until_idle=True)
        transport = httpx2.ASGITransport(create_app(waypost, config))
        async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as client:
            answers = {host: (await client.get(f"/api/services/{host}/status")).json()["data"] for host in HOSTS}
        inspected = {host: await inspect(waypost, host, capsys) for host in HOSTS}
        checked = dict(zip(HOSTS, await check(web, tmp_path), strict=True))
    by_api = {host: answers[host]["reasons"] for host in HOSTS}
    assert {host: reasons for host, (reasons, _) in inspected.items()} == by_api
    by_check = {host: checked[host]["reasons"] for host in HOSTS}
    assert by_check.pop(ALIAS)[0] == by_api.pop(ALIAS)[0] == f"www.{ALIAS} answers for this host."
    assert by_check == by_api
    assert by_api[BIKES] == [] and by_api[CLOSED] == ["The site opted out."]
    assert [reason for reason in by_api[WALLED] if "(Cloudflare)" in reason and "docs/politeness.md" in reason]
    assert [host for host in (MAPS, BROKEN, TEXTS, SHUT, EMPTY) if not by_api[host]] == []
    for host, (reasons, text) in inspected.items():
        assert [reason for reason in reasons if f"reason: {visible(reason)}" not in text] == [], host


async def inspect(waypost: Any, host: str, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    """Return the reasons of `--json`, and the text with every run of spaces as one."""
    capsys.readouterr()
    await show_account(waypost, host, 1, CleanConsole(width=500), as_json=True)
    reasons = json.loads(capsys.readouterr().out.splitlines()[-1])["reasons"]
    await show_account(waypost, host, 1, CleanConsole(width=500), as_json=False)
    return reasons, " ".join(capsys.readouterr().out.split())


async def check(web: Any, folder: Path) -> list[Any]:
    options = [option for entry in web.connect_to() for option in ("--connect-to", entry)]
    command = [sys.executable, "-m", "registry.cli", "check", "--json", *options, *HOSTS]
    environment = {
        **os.environ, "WAYPOST_REQUEST_DELAY": "0", "WAYPOST_RESOLVE": "table", "WAYPOST_DATA": str(folder / "none"),
    }  # fmt: skip
    completed = await asyncio.to_thread(
        subprocess.run, command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    return [json.loads(line) for line in completed.stdout.splitlines()]
