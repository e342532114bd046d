"""Real documents of the web, served as the sites they came from: crawl results agree with the recorded expectations.

The documents are shared test data; these tests skip where it is absent.
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

from registry.core.format_support.format import Role
from registry.core.formats import FORMAT_BY_SLUG
from tests.support.demo import DemoRun, run_demo
from tests.support.hang import HANG_SECONDS
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
    folder = tmp_path_factory.mktemp("recorded") / "sites"
    tool = shared("tools", "corpus_sites.py")
    subprocess.run(
        [sys.executable, str(tool), str(folder), "--corpus", str(shared("corpus"))], check=True, timeout=HANG_SECONDS
    )
    return folder


@pytest.fixture(scope="module")
def expected(sites: Path) -> list[Expected]:
    with (sites / "expected.tsv").open(newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Expected(row["host"], row["path"], row["expect"], row["class"]) for row in rows]


@pytest.fixture(scope="module")
def demo_run(sites: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRun]:
    demo = run_demo(tmp_path_factory.mktemp("crawl"), "--sites", str(sites))
    yield demo
    demo.forget()


Ledger = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def ledger(demo_run: DemoRun, expected: list[Expected]) -> Ledger:
    """The ledger entry of each URL that was requested."""

    async def collect() -> Ledger:
        async with demo_run.opened() as waypost:
            visits = [
                (host, await waypost.queries.visits(host, limit=1))
                for host in {expectation.host for expectation in expected}
            ]
        return {
            (host, entry["url"]): entry
            for host, host_visits in visits
            for visit in host_visits
            for entry in visit.vector
        }

    return asyncio.run(collect())


def agrees(expectation: Expected, entry: dict[str, Any]) -> bool:
    """True when the outcome is the one in the corpus (its README, "How the columns map to outcomes")."""
    outcome = entry["outcome"]
    if expectation.kind == "negative":
        return bool(outcome == "negative")
    if expectation.kind == "foreign":
        # a shape that no specification describes may still be read as far as it makes sense
        return outcome == "not_a_manifest" or (outcome == "found" and entry.get("dialect") == "adhoc")
    if expectation.kind == "broken":
        return outcome in ("malformed", "found")
    if expectation.expect.startswith("none") and entry.get("dialect") == "adhoc":
        return True
    recognised = "/".join(filter(None, (entry.get("format"), entry.get("dialect"))))
    return bool(outcome == "found" and recognised == expectation.expect)


def test_every_host_ends_with_a_stored_outcome(demo_run: DemoRun, expected: list[Expected]) -> None:
    hosts = demo_run.report["hosts"]
    assert set(hosts) == {expectation.host for expectation in expected}
    assert all(host_report["outcome"] for host_report in hosts.values()), Counter(
        host_report["outcome"] for host_report in hosts.values()
    )


def test_every_requested_document_has_the_expected_outcome(expected: list[Expected], ledger: Ledger) -> None:
    pairs = [
        (expectation, ledger.get((expectation.host, f"https://{expectation.host}{expectation.path}")))
        for expectation in expected
    ]
    assert sum(entry is not None for _, entry in pairs) >= len(expected) // 2
    disagreeing = [
        (expectation, entry) for expectation, entry in pairs if entry is not None and not agrees(expectation, entry)
    ]
    assert not disagreeing, disagreeing


async def test_every_host_with_a_format_on_a_planned_path_is_listed_and_searchable(
    demo_run: DemoRun, expected: list[Expected], ledger: Ledger
) -> None:
    slugs_by_host = defaultdict(set)
    for expectation in expected:
        slug = expectation.expect.split("/")[0]
        entry = ledger.get((expectation.host, f"https://{expectation.host}{expectation.path}"))
        if slug in MANDATORY and expectation.kind in ("valid", "dialect") and entry is not None:
            assert FORMAT_BY_SLUG[slug].role is Role.SERVICE
            slugs_by_host[expectation.host].add(slug)
    assert len(slugs_by_host) > 80
    unlisted: dict[str, list[str]] = {}
    async with demo_run.client() as client:
        for host, slugs in slugs_by_host.items():
            response = await client.get(f"/api/services/{host}")
            if response.status_code == 404:
                status = (await client.get(f"/api/services/{host}/status")).json()["data"]
                unlisted[host] = status["reasons"]
                continue
            assert response.status_code == 200, host
            service = response.json()["data"]
            assert slugs <= set(service["formats"]), host
            name = service["manifest"]["name"]
            hits = (await client.get("/api/discover", params={"q": name, "limit": 50})).json()["data"]
            assert host in {row["service"]["domain"] for row in hits}, (host, name)
    # samples and cards of localhost, each with its reason
    assert len(unlisted) < 12 and all(unlisted.values()), unlisted


async def test_hosts_without_a_document_are_not_listed(demo_run: DemoRun) -> None:
    async with demo_run.opened() as waypost:
        for host, host_report in demo_run.report["hosts"].items():
            if host_report["outcome"] != "found":
                assert await waypost.queries.service(host) is None, host
