"""The plan on recorded real sites: every host has an outcome, every requested document its expected class."""

import csv
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from registry.core.model.documents import Outcome, Purpose
from registry.core.visiting.visits import ProbeResult, Visit
from tests.core.test_corpus import AD_HOC_CARDS
from tests.support.hang import HANG_SECONDS
from tests.support.shared import shared
from tests.support.web import Page, Web, page, visit

TYPES = {".json": "application/json", ".txt": "text/plain", ".md": "text/markdown", ".yaml": "application/yaml"}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tool = shared("tools", "corpus_sites.py")
    shared("corpus", "INDEX.tsv")
    out = tmp_path_factory.mktemp("recorded") / "sites"
    subprocess.run([sys.executable, str(tool), str(out)], check=True, capture_output=True, timeout=HANG_SECONDS)
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


def answer_to(visit: Visit, path: str) -> ProbeResult | None:
    url = f"https://{visit.host}{path}"
    return next((a for a in visit.answers if a.probe.url == url and a.probe.purpose is not Purpose.ROBOTS), None)


def outcome_name(answer: ProbeResult) -> str:
    assessment = answer.assessment
    if assessment.outcome is Outcome.FOUND:
        return f"{assessment.format}/{assessment.dialect}" if assessment.dialect else str(assessment.format)
    return assessment.outcome.value


def agrees(row: dict[str, str], answer: ProbeResult) -> bool:
    assessment, document_class = answer.assessment, row["class"]
    if document_class == "broken":
        return assessment.outcome in (Outcome.MALFORMED, Outcome.FOUND)
    if document_class == "negative":
        return assessment.outcome is Outcome.NEGATIVE
    if row["file"] in AD_HOC_CARDS:
        return (assessment.format, assessment.dialect) == ("agent-json", "adhoc")
    if document_class == "foreign" or row["expect"].startswith("none"):
        # a shape that no specification describes may still be read as far as it makes sense
        is_loose = assessment.outcome is Outcome.FOUND and assessment.dialect == "adhoc"
        return assessment.outcome is Outcome.NOT_A_MANIFEST or is_loose
    return assessment.outcome is Outcome.FOUND and assessment.format == row["expect"].partition("/")[0]


def test_every_host_ends_with_an_outcome_within_its_budget(visits: dict[str, Visit]) -> None:
    outcomes = [host_visit.outcome for host_visit in visits.values()]
    assert Outcome.SKIPPED not in outcomes and all(isinstance(outcome, Outcome) for outcome in outcomes)
    assert max(host_visit.requests for host_visit in visits.values()) <= 40 + 25


def test_every_document_that_was_asked_for_gets_its_class(sites: Path, visits: dict[str, Visit]) -> None:
    rows = [(row, answer_to(visits[row["host"]], row["path"])) for row in expected(sites)]
    answered_rows = [(row, answer) for row, answer in rows if answer is not None]
    mismatches = [
        f"{row['host']}{row['path']}: {row['class']} {row['expect']}, not {outcome_name(answer)}"
        for row, answer in answered_rows
        if not agrees(row, answer)
    ]
    assert mismatches == []
    assert len(answered_rows) >= 215


def test_hosts_with_a_document_on_a_path_of_the_plan_are_seen(sites: Path, visits: dict[str, Visit]) -> None:
    """Other documents are at paths that the plan does not request: those of about a third of the recorded hosts."""
    others = Counter(
        one.outcome for one in visits.values() if not any(a.assessment.outcome is Outcome.FOUND for a in one.answers)
    )
    assert others.total() <= 105, others
