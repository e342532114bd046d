"""Sites that mean harm, or know no better, through the whole flow: crawled, stored, listed, searched, shown.

What the transport alone does with hostile servers is told by tests/crawler; what the API does with hostile clients by
tests/api. Here their texts and sizes travel from the wire to the terminal and into URLs.
"""

import asyncio
import gzip
import json
import re
import unicodedata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from registry.actions.answering.inspect import HostStatus
from registry.api.app import create_app
from tests.support.consistency import faults
from tests.support.running import PATIENCE, House, house
from tests.support.sites import Reply, Site, Sites, moved

pytestmark = pytest.mark.slow

AGENT = "/.well-known/agent"
NAMES = ["a/b", "100%", "%2e%2e", "..", ".", "a//b", "/", "a?b#c", "ü 😀", "a b ", "back\\slash", "q" * 5_000, "send",
         "send", "SEND", "\u202esdrawkcab", "\u0301\u0301\u0301", "\x1b[2J", "\u009b31m", "a\nb", "a;b=c",
         "+", "&"]  # fmt: skip
STEERING = "\x1b[31mred\x1b]0;title\x07 \u009b5m \u202egnp.exe \u2066x \u200bzero \U000e0041tag \r\n\x00"


def adp(host: str, **more: Any) -> dict[str, Any]:
    return {
        "aid_version": "0.1",
        "name": f"Service of {host}",
        "domain": host,
        "description": "Folds paper cranes",
        "base_url": f"https://{host}",
        "auth": {"type": "none"},
        "capabilities": [{"name": "fold", "description": "Folds a crane", "detail_url": "/fold"}],
    } | more


def served(host: str, body: bytes | str, *headers: tuple[str, str]) -> Site:
    return {AGENT: Reply(body, headers=headers)}


def capability(name: str, number: int = 0) -> dict[str, str]:
    return {"name": name, "description": f"Folds by {name}", "detail_url": f"/details/{number}"}


def detail(name: str) -> Reply:
    return Reply(json.dumps({"name": name, "endpoint": "/fold", "method": "POST", "parameters": []}))


def plain(host: str, **more: Any) -> Site:
    return served(host, json.dumps(adp(host, **more)))


def spliced(host: str, raw: str) -> Site:
    """A good manifest with one member that no JSON library of ours would write."""
    return served(host, json.dumps(adp(host))[:-1] + f', "more": {raw}}}')


CATALOGUE = {
    "specVersion": "1.0",
    "host": {"displayName": "Many"},
    "entries": [
        {"identifier": f"urn:air:x{n}", "type": "application/a2a-agent-card+json", "url": f"https://h{n}.example/card"}
        for n in range(5_000)
    ],
}
BOMB = gzip.compress(b"[" * 20_000_000)

SITES: dict[str, Site] = {
    "nul.example": plain("nul.example", name="a\x00b"),
    "surrogate.example": spliced("surrogate.example", '"\\ud800"'),
    "huge-number.example": spliced("huge-number.example", "1e5000"),
    "infinite.example": spliced("infinite.example", "1e999"),
    "long-number.example": spliced("long-number.example", "9" * 5_000),
    "not-a-number.example": spliced("not-a-number.example", "NaN"),
    "deep.example": spliced("deep.example", "[" * 1_000 + "]" * 1_000),
    "deeper.example": spliced("deeper.example", "[" * 100_000 + "]" * 100_000),
    "twice.example": spliced("twice.example", '1, "name": "Another"'),
    "utf16.example": served("utf16.example", json.dumps(adp("utf16.example")).encode("utf-16")),
    "three-megabytes.example": plain("three-megabytes.example", padding="x" * 3_000_000),
    "ten-thousand.example": plain("ten-thousand.example", capabilities=[capability(f"f{n}") for n in range(10_000)]),
    "thousands.example": plain(
        "thousands.example", capabilities=[capability(f"fold {n}") for n in range(4_900)], description="x" * 90_000
    ),
    "names.example": {
        AGENT: Reply(
            json.dumps(adp("names.example", capabilities=[capability(name, n) for n, name in enumerate(NAMES)]))
        ),
        **{f"/details/{n}": detail(name) for n, name in enumerate(NAMES)},
    },
    "steering.example": plain(
        "steering.example",
        name=f"Steering {STEERING}"[:-1],
        description=STEERING[:-1],
        capabilities=[capability(f"fold {STEERING[:-1]}")],
        provider={"name": STEERING[:-1], "url": "javascript:alert(1)"},
    ),
    "markup.example": plain("markup.example", name="[bold red]x[/] [link=http://x]", description="[/]" * 50),
    "pointers.example": {
        "/.well-known/ard.json": Reply(json.dumps(CATALOGUE)),
        "/llms.txt": Reply("\n".join(f"[x](https://pointers.example/{n})" for n in range(5_000)), 200, "text/plain"),
        AGENT: Reply(json.dumps(adp("pointers.example"))),
    },
    "loop.example": {AGENT: moved(AGENT), "/agent.json": moved("/a"), "/a": moved("/b"), "/b": moved("/a")},
    "all-loops.example": lambda exchange: exchange.send(moved(f"{exchange.path}x").encode()),
    "bomb.example": served("bomb.example", BOMB, ("Content-Encoding", "gzip")),
    "double-bomb.example": served("double-bomb.example", gzip.compress(BOMB), ("Content-Encoding", "gzip, gzip")),
    "long-robots.example": {
        "/robots.txt": Reply("User-agent: *\n" + "Disallow: /x\n" * 800_000, type="text/plain"),
        AGENT: Reply(json.dumps(adp("long-robots.example"))),
    },
    "html-robots.example": {
        "/robots.txt": Reply("<html>" * 10_000, type="text/html"),
        AGENT: Reply(json.dumps(adp("html-robots.example"))),
    },
    "everything.example": Reply(json.dumps(adp("everything.example"))),
    "honest.example": plain("honest.example"),
}  # fmt: skip
LISTED = {"names.example", "steering.example", "markup.example", "pointers.example", "thousands.example",
          "long-robots.example", "html-robots.example", "everything.example", "honest.example"}  # fmt: skip


@asynccontextmanager
async def crawled(folder: Path) -> AsyncIterator[tuple[House, str]]:
    """Every site visited by `waypost crawl`, and what it printed."""
    async with Sites(SITES) as web, asyncio.timeout(3 * PATIENCE):
        with house(folder / "data", web, web.write_authority(folder)) as made:
            command = made.start("crawl", *SITES)
            assert await command.ended() == 0, command.said
            yield made, command.said


def harmless(text: str) -> None:
    """Nothing in it moves a cursor, changes a colour or turns a line around."""
    bad = {f"U+{ord(one):04X}" for one in text if one != "\n" and unicodedata.category(one) in ("Cc", "Cf", "Cs", "Co")}
    assert not bad


async def test_whatever_they_serve_is_judged_stored_and_shown(tmp_path: Path) -> None:
    async with crawled(tmp_path) as (made, said):
        assert "Traceback" not in said
        assert "crashed" not in said and "failed" not in said and "impossible" not in said, said
        harmless(said)
        async with made.opened() as waypost:
            assert await faults(waypost, SITES) == {}
            outcomes = {host: await waypost.status(host) for host in SITES}
            listed = {host for host, one in outcomes.items() if one and one.state == "listed"}
            assert reasons(outcomes, "bomb.example") == {"too large (body)"}
            assert reasons(outcomes, "double-bomb.example") == {"unsupported encoding (encoding:other)"}
            assert listed >= LISTED, {h: (o.outcome, o.reason, o.reasons) for h, o in outcomes.items() if o}
            transport = httpx2.ASGITransport(create_app(waypost, waypost.settings))
            async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as client:
                for host in SITES:
                    await read(client, host, host in listed)
                found = await client.get("/api/discover", params={"q": "fold paper cranes", "limit": 50})
                assert found.status_code == 200
                assert "honest.example" in {row["service"]["domain"] for row in found.json()["data"]}
        for arguments in (("search", "fold paper cranes", "--limit", "50"), ("search", "--json", "fold")):
            search = made.start(*arguments)
            assert await search.ended() == 0, search.said
            harmless(search.said)


def reasons(outcomes: dict[str, HostStatus | None], host: str) -> set[str]:
    """What is said of the manifest, where that of other paths is only that they are not there."""
    status = outcomes[host]
    assert status is not None
    return {reason.removeprefix(f"{AGENT}: ") for reason in status.reasons if reason.startswith(AGENT)}


async def read(client: httpx2.AsyncClient, host: str, is_listed: bool) -> None:
    """The service, and every capability of it by its name as one segment of a URL."""
    answer = await client.get(f"/api/services/{host}")
    if not is_listed:
        assert answer.status_code == 404, host
        assert answer.headers["content-type"] == "application/problem+json"
        return
    assert answer.status_code == 200, host
    capabilities = answer.json()["data"]["manifest"]["capabilities"]
    names = [one["name"] for one in capabilities]
    assert names and len(names) == len(set(names)), host
    for name in names[:30] + names[-5:]:
        shown = await client.get(f"/api/services/{host}/capabilities/{quote(name, safe='')}")
        told = shown.json()
        if host == "names.example":
            assert (shown.status_code, told.get("name")) == (200, name)
        else:  # known, but their sites answer no detail
            assert told["type"] == "/api/problems/no-detail", (host, name)


async def test_check_shows_the_same_without_storing_anything(tmp_path: Path) -> None:
    async with Sites(SITES) as web, asyncio.timeout(3 * PATIENCE):
        with house(tmp_path / "data", web, web.write_authority(tmp_path)) as made:
            for arguments in (("check", *SITES), ("check", "--json", *SITES)):
                command = made.start(*arguments)
                assert await command.ended() == 1, command.said
                assert "Traceback" not in command.said
                harmless(command.said)
            lines = [json.loads(line) for line in command.said.splitlines() if line.startswith('{"target"')]
            assert [one["target"] for one in lines] == list(SITES)
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\U0010ffff]", "".join(command.said))
