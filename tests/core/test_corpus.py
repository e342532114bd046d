"""Real documents, judged: each ends as the corpus says, or the difference is argued below.

`class` and `expect` of the index come from a prototype of the rules plus review; the corpus' README tells how they map
to outcomes. The documents are other people's texts: they are read where they lie and skipped where they are absent.
"""

import csv
from collections.abc import Iterator

import pytest

from registry.core.assess import Assessment, assess_body
from registry.core.documents import Outcome
from registry.core.findings import Reason, Severity
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.scoring.rubric import RUBRIC
from tests.support.shared import SHARED

INDEX = SHARED / "corpus" / "INDEX.tsv"

ARGUED = {
    "aid/AID_examples.yml": "TXT records in a test file of AID's authors: no document that a host would serve",
    "mcp-server-card/110kc3__seo__well-known_mcp.json": "a registry record where a card is usual: nothing is missing",
    "other/MarceloEyer__djzeneyer__public_wk_ai-bots.txt": "a text of no format at a path of no format",
}

STANDARD = {
    "a2a": {"0.1", "0.1/0.2", "0.2", "0.2.1", "0.3.0", "1.0"},
    "awas": {"1.0", "1.1", "bridge"},
    "awp": {"0.1", "0.2"},
    "agent-skills-index": {"0.1.0", "0.2.0"},
    "ai-catalog": {"type", "mediaType"},
    "mcp-server-card": {"v1"},
    "mcp-json": set(),
    "ucp": {"map", "list"},
    "x402": {"1", "2"},
}
"""Dialects that a specification describes, for the formats that have others; `atp` in dialect `lax` is none."""


def rows() -> Iterator[dict[str, str]]:
    if INDEX.exists():
        with INDEX.open(newline="") as lines:
            yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


ROWS = list(rows())


def path_of(row: dict[str, str]) -> str:
    """Where the document is served; where nobody knows, the path at which its format counts."""
    if row["served_path"] != "-":
        return row["served_path"]
    if row["format"] == "agents-md":
        return "/AGENTS.md"
    if row["file"].endswith(".yaml"):
        return "/openapi.yaml"
    form = FORMAT_BY_SLUG.get(row["format"])
    return form.paths[0] if form and form.paths else "/document.json"


def judge(row: dict[str, str]) -> Assessment:
    raw = (INDEX.parent / row["file"]).read_bytes()
    expected = row["format"] if row["format"] == "adp-detail" else None
    return assess_body(raw, f"https://www.shop.com{path_of(row)}", None, {}, expected=expected)


def named(assessment: Assessment) -> str:
    """The assessment in the words of the column `expect`."""
    if assessment.outcome is Outcome.NEGATIVE:
        return "negative"
    if assessment.outcome is not Outcome.FOUND:
        name = assessment.reason.removeprefix("foreign:") if assessment.reason.startswith("foreign:") else ""
        return {"": "none", "agents-md": "agents-md"}.get(name, f"none/{name}")
    return f"{assessment.format}/{assessment.dialect}" if assessment.dialect else str(assessment.format)


def severities(assessment: Assessment) -> set[Severity]:
    return {RUBRIC[one.reason].severity for one in assessment.findings}


def deviates(assessment: Assessment) -> bool:
    """A required part missing, or a shape that no specification describes. Which of the missing parts are errors is
    the rules' business: the index calls a document `dialect` for some that formats.md grades as warnings."""
    if severities(assessment) & {Severity.ERROR, Severity.WARNING}:
        return True
    standard = STANDARD.get(assessment.format or "")
    return assessment.dialect == "lax" or (standard is not None and assessment.dialect not in standard)


@pytest.mark.skipif(not ROWS, reason="shared test data absent: corpus (set WAYPOST_SHARED)")
@pytest.mark.parametrize("row", [row for row in ROWS if row["file"] not in ARGUED], ids=lambda row: row["file"])
def test_a_real_document_ends_as_expected(row: dict[str, str]) -> None:
    judged = judge(row)
    kind = row["class"]
    if kind == "broken":
        unrendered = any(one.reason is Reason.TEMPLATE for one in judged.findings)
        assert judged.outcome is Outcome.MALFORMED or (judged.outcome is Outcome.FOUND and unrendered)
        return
    if row["expect"] != "none":
        assert named(judged) == row["expect"]
    if kind == "foreign":
        assert judged.outcome is Outcome.NOT_A_MANIFEST
    elif kind == "negative":
        assert judged.outcome is Outcome.NEGATIVE
    elif kind == "valid":
        assert judged.outcome is Outcome.FOUND
        assert Severity.ERROR not in severities(judged)
    else:
        assert judged.outcome is Outcome.FOUND
        assert deviates(judged)


@pytest.mark.skipif(not ROWS, reason="shared test data absent: corpus (set WAYPOST_SHARED)")
@pytest.mark.parametrize("file", sorted(ARGUED))
def test_an_argued_difference_is_still_one(file: str) -> None:
    row = next(row for row in ROWS if row["file"] == file)
    judged = judge(row)
    assert named(judged) != row["expect"] or (row["class"] == "dialect" and not deviates(judged))
