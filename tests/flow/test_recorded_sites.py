"""Real documents of the web, served as the sites they came from: what is crawled agrees with what was expected.

The documents are shared test data; these tests skip, saying so, where it is absent.
"""

import asyncio
import csv
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from registry.core.format import Role
from registry.core.recognise import FORMAT_BY_SLUG
from tests.support.demo import Ran, run_demo
from tests.support.shared import shared

pytestmark = pytest.mark.slow

MANDATORY = frozenset({"awp", "atp", "woa", "awas", "adp", "a2a", "mcp-server-card"})


@dataclass(frozen=True)
class Expected:
    host: str
    path: str
    expect: str
    kind: str


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("recorded") / "sites"
    tool = shared("tools", "corpus_sites.py")
    subprocess.run([sys.executable, str(tool), str(out), "--corpus", str(shared("corpus"))], check=True, timeout=120)
    return out


@pytest.fixture(scope="module")
def expected(sites: Path) -> list[Expected]:
    with (sites / "expected.tsv").open(newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Expected(row["host"], row["path"], row["expect"], row["class"]) for row in rows]


@pytest.fixture(scope="module")
def ran(sites: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    done = run_demo(tmp_path_factory.mktemp("crawl"), "--sites", str(sites))
    yield done
    done.forget()


Ledger = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def asked(ran: Ran, expected: list[Expected]) -> Ledger:
    """What the ledger says of each URL that was asked for."""

    async def read() -> Ledger:
        async with ran.opened() as waypost:
            visits = [(host, await waypost.visits(host, limit=1)) for host in {one.host for one in expected}]
        return {(host, entry["url"]): entry for host, found in visits for visit in found for entry in visit.vector}

    return asyncio.run(read())


def agrees(one: Expected, entry: dict[str, Any]) -> bool:
    """The corpus' columns in our words (its README, "How the columns map to outcomes")."""
    outcome = entry["outcome"]
    if one.kind == "negative":
        return bool(outcome == "negative")
    if one.kind == "foreign":
        return bool(outcome == "not_a_manifest")
    if one.kind == "broken":
        return outcome in ("malformed", "found")
    got = "/".join(filter(None, (entry.get("format"), entry.get("dialect"))))
    return bool(outcome == "found" and got == one.expect)


def test_every_host_ends_with_a_stored_outcome(ran: Ran, expected: list[Expected]) -> None:
    hosts = ran.report["hosts"]
    assert set(hosts) == {one.host for one in expected}
    assert all(one["outcome"] for one in hosts.values()), Counter(one["outcome"] for one in hosts.values())


def test_every_document_that_was_asked_for_is_what_it_is(expected: list[Expected], asked: Ledger) -> None:
    judged = [(one, asked.get((one.host, f"https://{one.host}{one.path}"))) for one in expected]
    assert sum(entry is not None for _, entry in judged) >= len(expected) // 2
    wrong = [(one, entry) for one, entry in judged if entry is not None and not agrees(one, entry)]
    assert not wrong, wrong


async def test_every_host_with_a_format_on_a_path_of_the_plan_is_listed_and_found(
    ran: Ran, expected: list[Expected], asked: Ledger
) -> None:
    speaking = defaultdict(set)
    for one in expected:
        slug = one.expect.split("/")[0]
        served = asked.get((one.host, f"https://{one.host}{one.path}"))
        if slug in MANDATORY and one.kind in ("valid", "dialect") and served is not None:
            assert FORMAT_BY_SLUG[slug].role is Role.SERVICE
            speaking[one.host].add(slug)
    assert len(speaking) > 80
    async with ran.client() as client:
        for host, slugs in speaking.items():
            answer = await client.get(f"/api/services/{host}")
            assert answer.status_code == 200, host
            service = answer.json()["data"]
            assert slugs <= set(service["formats"]), host
            named = service["manifest"]["name"]
            hits = (await client.get("/api/discover", params={"q": named, "limit": 50})).json()["data"]
            assert host in {row["service"]["domain"] for row in hits}, (host, named)


async def test_hosts_without_a_document_are_not_listed(ran: Ran) -> None:
    async with ran.opened() as waypost:
        for host, one in ran.report["hosts"].items():
            if one["outcome"] != "found":
                assert await waypost.service(host) is None, host
