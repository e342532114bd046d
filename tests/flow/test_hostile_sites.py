"""Malicious and careless sites through the whole flow: crawled, stored, listed, searched, shown.

tests/crawler tests the transport alone against hostile servers, tests/api the API against hostile clients. Here the
texts and sizes of sites travel from the wire to the terminal and into URLs.
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

from registry.actions.queries.inspect import HostReport
from registry.api.app import create_app
from tests.support.consistency import faults
from tests.support.hang import HANG_SECONDS
from tests.support.running import DataFolder, new_data_folder
from tests.support.sites import Reply, Site, Sites, moved

pytestmark = pytest.mark.slow

AGENT = "/.well-known/agent"
NAMES = ["a/b", "100%", "%2e%2e", "..", ".", "a//b", "/", "a?b#c", "ü 😀", "a b ", "back\\slash", "q" * 5_000, "send",
         "send", "SEND", "\u202esdrawkcab", "\u0301\u0301\u0301", "\x1b[2J", "\u009b31m", "a\nb", "a;b=c",
         "+", "&"]  # fmt: skip
STEERING = "\x1b[31mred\x1b]0;title\x07 \u009b5m \u202egnp.exe \u2066x \u200bzero \U000e0041tag \r\n\x00"


def adp(host: str, **members: Any) -> dict[str, Any]:
    return {
        "aid_version": "0.1",
        "name": f"Service of {host}",
        "domain": host,
        "description": "Folds paper cranes",
        "base_url": f"https://{host}",
        "auth": {"type": "none"},
        "capabilities": [{"name": "fold", "description": "Folds a crane", "detail_url": "/fold"}],
    } | members


def manifest_site(host: str, body: bytes | str, *headers: tuple[str, str]) -> Site:
    return {AGENT: Reply(body, headers=headers)}


def capability(name: str, number: int = 0) -> dict[str, str]:
    return {"name": name, "description": f"Folds by {name}", "detail_url": f"/details/{number}"}


def detail(name: str) -> Reply:
    return Reply(json.dumps({"name": name, "endpoint": "/fold", "method": "POST", "parameters": []}))


def adp_site(host: str, **members: Any) -> Site:
    return manifest_site(host, json.dumps(adp(host, **members)))


def site_with_raw_member(host: str, raw: str) -> Site:
    """Return a valid manifest with one member that a JSON library would not write."""
    return manifest_site(host, json.dumps(adp(host))[:-1] + f', "more": {raw}}}')


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
    "nul.example": adp_site("nul.example", name="a\x00b"),
    "surrogate.example": site_with_raw_member("surrogate.example", '"\\ud800"'),
    "huge-number.example": site_with_raw_member("huge-number.example", "1e5000"),
    "infinite.example": site_with_raw_member("infinite.example", "1e999"),
    "long-number.example": site_with_raw_member("long-number.example", "9" * 5_000),
    "not-a-number.example": site_with_raw_member("not-a-number.example", "NaN"),
    "deep.example": site_with_raw_member("deep.example", "[" * 1_000 + "]" * 1_000),
    "deeper.example": site_with_raw_member("deeper.example", "[" * 100_000 + "]" * 100_000),
    "twice.example": site_with_raw_member("twice.example", '1, "name": "Another"'),
    "utf16.example": manifest_site("utf16.example", json.dumps(adp("utf16.example")).encode("utf-16")),
    "three-megabytes.example": adp_site("three-megabytes.example", padding="x" * 3_000_000),
    "ten-thousand.example": adp_site("ten-thousand.example", capabilities=[capability(f"f{n}") for n in range(10_000)]),
    "thousands.example": adp_site(
        "thousands.example", capabilities=[capability(f"fold {n}") for n in range(4_900)], description="x" * 90_000
    ),
    "names.example": {
        AGENT: Reply(
            json.dumps(adp("names.example", capabilities=[capability(name, n) for n, name in enumerate(NAMES)]))
        ),
        **{f"/details/{n}": detail(name) for n, name in enumerate(NAMES)},
    },
    "steering.example": adp_site(
        "steering.example",
        name=f"Steering {STEERING}"[:-1],
        description=STEERING[:-1],
        capabilities=[capability(f"fold {STEERING[:-1]}")],
        provider={"name": STEERING[:-1], "url": "javascript:alert(1)"},
    ),
    "markup.example": adp_site("markup.example", name="[bold red]x[/] [link=http://x]", description="[/]" * 50),
    "pointers.example": {
        "/.well-known/ard.json": Reply(json.dumps(CATALOGUE)),
        "/llms.txt": Reply("\n".join(f"[x](https://pointers.example/{n})" for n in range(5_000)), 200, "text/plain"),
        AGENT: Reply(json.dumps(adp("pointers.example"))),
    },
    "loop.example": {AGENT: moved(AGENT), "/agent.json": moved("/a"), "/a": moved("/b"), "/b": moved("/a")},
    "all-loops.example": lambda exchange: exchange.send(moved(f"{exchange.path}x").encode()),
    "bomb.example": manifest_site("bomb.example", BOMB, ("Content-Encoding", "gzip")),
    "double-bomb.example": manifest_site(
        "double-bomb.example", gzip.compress(BOMB), ("Content-Encoding", "gzip, gzip")
    ),
    "long-robots.example": {
        "/robots.txt": Reply("User-agent: *\n" + "Disallow: /x\n" * 800_000, type="text/plain"),
        AGENT: Reply(json.dumps(adp("long-robots.example"))),
    },
    "html-robots.example": {
        "/robots.txt": Reply("<html>" * 10_000, type="text/html"),
        AGENT: Reply(json.dumps(adp("html-robots.example"))),
    },
    "everything.example": Reply(json.dumps(adp("everything.example"))),
    "honest.example": adp_site("honest.example"),
}  # fmt: skip
LISTED = {"names.example", "steering.example", "markup.example", "pointers.example", "thousands.example",
          "long-robots.example", "html-robots.example", "everything.example", "honest.example"}  # fmt: skip


@asynccontextmanager
async def crawled(folder: Path, database_url: str) -> AsyncIterator[tuple[DataFolder, str]]:
    """Visit every site with `waypost crawl`; yield the data folder and the output."""
    async with Sites(SITES) as web, asyncio.timeout(HANG_SECONDS):
        with new_data_folder(folder / "data", web, web.write_authority(folder), database_url) as data_folder:
            command = data_folder.start("crawl", *SITES)
            assert await command.exit_code() == 0, command.output
            yield data_folder, command.output


def assert_harmless(text: str) -> None:
    """Assert that no character moves the cursor, changes a colour or reverses a line."""
    harmful = {
        f"U+{ord(character):04X}"
        for character in text
        if character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co")
    }
    assert not harmful


async def test_hostile_content_is_crawled_stored_and_shown_safely(tmp_path: Path, database_url: str) -> None:
    async with crawled(tmp_path, database_url) as (data_folder, output):
        assert "Traceback" not in output
        assert "crashed" not in output and "failed" not in output and "impossible" not in output, output
        assert_harmless(output)
        async with data_folder.opened() as waypost:
            assert await faults(waypost, SITES) == {}
            statuses = {host: await waypost.queries.status(host) for host in SITES}
            listed = {host for host, status in statuses.items() if status and status.state == "listed"}
            assert reasons(statuses, "bomb.example") == {"too large (body)"}
            assert reasons(statuses, "double-bomb.example") == {"unsupported encoding (encoding:other)"}
            assert listed >= LISTED, {h: (o.outcome, o.reason, o.reasons) for h, o in statuses.items() if o}
            unlimited = waypost.settings.model_copy(update={"read_rate": 1_000_000, "page_rate": 1_000_000})
            transport = httpx2.ASGITransport(create_app(waypost, unlimited))
            async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as client:
                for host in SITES:
                    await assert_api_responses(client, host, host in listed)
                shown = {"q": "fold paper cranes", "limit": 50, "unique": "false"}  # several sites say the same
                response = await client.get("/api/discover", params=shown)
                assert response.status_code == 200
                assert "honest.example" in {row["service"]["domain"] for row in response.json()["data"]}
        for arguments in (("search", "fold paper cranes", "--limit", "50"), ("search", "--json", "fold")):
            search = data_folder.start(*arguments)
            assert await search.exit_code() == 0, search.output
            assert_harmless(search.output)


def reasons(statuses: dict[str, HostReport | None], host: str) -> set[str]:
    """Return the reasons of the manifest; those of other paths only report that they are absent."""
    status = statuses[host]
    assert status is not None
    return {reason.removeprefix(f"{AGENT}: ") for reason in status.reasons if reason.startswith(AGENT)}


async def assert_api_responses(client: httpx2.AsyncClient, host: str, is_listed: bool) -> None:
    """Get the service, and its capabilities by name as one URL segment."""
    response = await client.get(f"/api/services/{host}")
    if not is_listed:
        assert response.status_code == 404, host
        assert response.headers["content-type"] == "application/problem+json"
        return
    assert response.status_code == 200, host
    capabilities = response.json()["data"]["manifest"]["capabilities"]
    names = [entry["name"] for entry in capabilities]
    assert names and len(names) == len(set(names)), host
    for name in names[:30] + names[-5:]:
        detail_response = await client.get(f"/api/services/{host}/capabilities/{quote(name, safe='')}")
        body = detail_response.json()
        if host == "names.example":
            assert (detail_response.status_code, body.get("name")) == (200, name)
        else:  # the capability is known, but the site serves no detail
            assert (detail_response.status_code, body["call"]) == (200, None), (host, name)
            assert body["missing"]["reason"], (host, name)


@pytest.mark.long
async def test_check_shows_hostile_content_safely(tmp_path: Path, database_url: str) -> None:
    async with Sites(SITES) as web, asyncio.timeout(HANG_SECONDS):
        with new_data_folder(tmp_path / "data", web, web.write_authority(tmp_path), database_url) as data_folder:
            for arguments in (("check", *SITES), ("check", "--json", *SITES)):
                command = data_folder.start(*arguments)
                assert await command.exit_code() == 1, command.output
                assert "Traceback" not in command.output
                assert_harmless(command.output)
            lines = [json.loads(line) for line in command.output.splitlines() if line.startswith('{"target"')]
            assert [entry["target"] for entry in lines] == list(SITES)
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\U0010ffff]", "".join(command.output))
