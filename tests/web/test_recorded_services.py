"""Pages about real documents of the web: the recorded sites of the shared test data, crawled, listed and looked at."""

import csv
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser

from registry.demo.tour import QUESTIONS
from tests.support.demo import served_demo
from tests.support.hang import HANG_SECONDS
from tests.support.shared import shared
from tests.web.looking import THEMES, WIDTHS, Look, Theme, chromium, launched, looking
from tests.web.paths import LINKS

pytestmark = pytest.mark.long  # tests/web/test_in_browser.py and test_hostile_texts.py open sample pages

HOSTS_OF_A_FORMAT = 2
MAX_BYTES = 50_000


@dataclass(frozen=True)
class Recorded:
    """A registry that serves at `base`. `services`: what its API says about each listed service."""

    base: str
    services: list[dict[str, Any]]

    def looks(self) -> dict[str, list[tuple[int, Theme]]]:
        """Return the widths and themes in which a page is judged, by host: all for the services with the most or the
        longest of something, and for one service of each format one in turn."""
        extremes = {
            max(self.services, key=size)["domain"]
            for size in (
                lambda one: len(one["manifest"]["capabilities"]),
                lambda one: len(one["manifest"]["name"]),
                lambda one: len(one["manifest"]["description"]),
                lambda one: len(one["documents"]),
                lambda one: len(one["domain"]),
            )
        }
        one_of_format = {slug: one["domain"] for one in self.services for slug in one["formats"]}
        others = sorted(set(one_of_format.values()) - extremes)
        every = list(product(WIDTHS, THEMES))
        return dict.fromkeys(extremes, every) | {host: [every[i % len(every)]] for i, host in enumerate(others)}


def _sampled(folder: Path) -> Path:
    """Lay out the first hosts of each format of the corpus."""
    tool, labels = shared("tools", "corpus_sites.py"), shared("fidelity", "expected.jsonl")
    arguments = [str(folder), "--corpus", str(shared("corpus")), "--labels", str(labels)]
    subprocess.run([sys.executable, str(tool), *arguments], check=True, capture_output=True, timeout=HANG_SECONDS)
    hosts_by_format: dict[str, list[str]] = defaultdict(list)
    with (folder / "expected.tsv").open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            hosts_by_format[row["expect"].split("/")[0]].append(row["host"])
    sample = {host for hosts in hosts_by_format.values() for host in list(dict.fromkeys(hosts))[:HOSTS_OF_A_FORMAT]}
    for site in folder.iterdir():
        if site.is_dir() and site.name not in sample:
            shutil.rmtree(site)
    return folder


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    if chromium() is None:
        pytest.skip("no Chromium is installed")
    folder = tmp_path_factory.mktemp("recorded")
    with (
        served_demo(folder, _sampled(folder / "sites")) as base,
        httpx2.Client(base_url=base, timeout=HANG_SECONDS) as client,
    ):
        listed = client.get("/api/services", params={"limit": 100}).json()["data"]
        yield Recorded(base, [client.get(f"/api/services/{one['domain']}").json()["data"] for one in listed])


@pytest.fixture(scope="module")
def window(recorded: Recorded) -> Iterator[Browser]:
    with launched() as opened:
        yield opened


def faults(look: Look, path: str) -> list[str]:
    """Open a page in the open window and return what is wrong with it."""
    look.complaints.clear()
    look.asked.clear()
    look.open(path)
    look.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = look.complaints + look.foreign()
    if look.status != 200:
        found.append(f"status {look.status}")
    if look.overflows():
        found.append("wider than the window")
    if (size := look.compressed_bytes()) > MAX_BYTES:
        found.append(f"{size} bytes")
    return found


def test_the_pages_of_every_service_are_sound(window: Browser, recorded: Recorded) -> None:
    assert len(recorded.services) > 25
    found = {}
    with looking(window, recorded.base, width=min(WIDTHS)) as look:
        for service in recorded.services:
            host = service["domain"]
            paths = [LINKS.to(f"/s/{{host}}{page}", host=host) for page in ("", "/evidence", "/history", "/crawl")]
            paths += [LINKS.capability(host, one["name"]) for one in service["manifest"]["capabilities"][:1]]
            found |= {path: faults(look, path) for path in paths}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_the_pages_over_all_services_are_sound(window: Browser, recorded: Recorded) -> None:
    questions = [*QUESTIONS, *(one["manifest"]["name"] for one in recorded.services[:5])]
    paths = ["/", "/search", "/stats", "/formats", "/changes", *(LINKS.search(q=question) for question in questions)]
    with looking(window, recorded.base, width=min(WIDTHS)) as look:
        found = {path: faults(look, path) for path in paths}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_the_pages_of_varied_services_are_accessible(window: Browser, recorded: Recorded) -> None:
    found = {}
    with looking(window, recorded.base) as look:
        for host, looks in recorded.looks().items():
            look.open(LINKS.service(host))
            look.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            for width, theme in looks:
                look.appear(theme, width)
                found[host, width, theme] = look.violations()
    assert {judged: wrong for judged, wrong in found.items() if wrong} == {}
