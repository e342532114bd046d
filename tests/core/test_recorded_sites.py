"""The plan over recorded real sites: every host ends with an outcome, every document asked for gets its class."""

import csv
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from registry.core.documents import Outcome, Purpose
from registry.core.visits import Answer, Visit
from tests.support.shared import shared
from tests.support.web import Page, Web, page, visit

TYPES = {".json": "application/json", ".txt": "text/plain", ".md": "text/markdown", ".yaml": "application/yaml"}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tool = shared("tools", "corpus_sites.py")
    shared("corpus", "INDEX.tsv")
    out = tmp_path_factory.mktemp("recorded") / "sites"
    subprocess.run([sys.executable, str(tool), str(out)], check=True, capture_output=True, timeout=180)
    return out


@pytest.fixture(scope="module")
def visits(sites: Path) -> dict[str, Visit]:
    web = Web({folder.name: serve(folder) for folder in sites.iterdir() if folder.is_dir()})
    return {host: visit(web, host) for host in web.sites}


def serve(folder: Path) -> Callable[[str], Page]:
    def answer(path: str) -> Page:
        file = folder / path.partition("?")[0].strip("/")
        if file.is_dir():
            file = file / "_index"
        if not file.is_file():
            return page("not here", "text/plain", 404)
        return page(file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream"))

    return answer


def expected(sites: Path) -> list[dict[str, str]]:
    with (sites / "expected.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def answered(visit: Visit, path: str) -> Answer | None:
    url = f"https://{visit.host}{path}"
    return next((a for a in visit.answers if a.probe.url == url and a.probe.purpose is not Purpose.ROBOTS), None)


def classified(answer: Answer) -> str:
    judged = answer.assessment
    if judged.outcome is Outcome.FOUND:
        return f"{judged.format}/{judged.dialect}" if judged.dialect else str(judged.format)
    return judged.outcome.value


def agrees(row: dict[str, str], answer: Answer) -> bool:
    judged, wanted = answer.assessment, row["class"]
    if wanted == "broken":
        return judged.outcome in (Outcome.MALFORMED, Outcome.FOUND)
    if wanted == "negative":
        return judged.outcome is Outcome.NEGATIVE
    if wanted == "foreign" or row["expect"].startswith("none"):
        return judged.outcome is Outcome.NOT_A_MANIFEST
    return judged.outcome is Outcome.FOUND and judged.format == row["expect"].partition("/")[0]


def test_every_host_ends_with_an_outcome_within_its_budget(visits: dict[str, Visit]) -> None:
    assert all(isinstance(done.outcome, Outcome) and done.outcome is not Outcome.SKIPPED for done in visits.values())
    assert max(done.requests for done in visits.values()) <= 40 + 25


def test_every_document_that_was_asked_for_gets_its_class(sites: Path, visits: dict[str, Visit]) -> None:
    rows = [(row, answered(visits[row["host"]], row["path"])) for row in expected(sites)]
    asked = [(row, answer) for row, answer in rows if answer is not None]
    wrong = [
        f"{row['host']}{row['path']}: {row['class']} {row['expect']}, not {classified(answer)}"
        for row, answer in asked
        if not agrees(row, answer)
    ]
    assert wrong == []
    assert len(asked) >= 215


def test_hosts_with_a_document_on_a_path_of_the_plan_are_seen(sites: Path, visits: dict[str, Visit]) -> None:
    """What is not seen lies at paths nobody asks for: about a third of the recorded hosts."""
    seen = {host for host, done in visits.items() if any(a.assessment.outcome is Outcome.FOUND for a in done.answers)}
    silent = Counter(done.outcome for host, done in visits.items() if host not in seen)
    assert len(visits) - len(seen) <= 105, silent
