"""Real documents: each has the outcome that the corpus expects, or its difference is explained below.

`class` and `expect` of the index come from a prototype of the rules plus review; the corpus' README explains how they
map to outcomes. The documents are foreign texts: they stay in the corpus, and the tests skip where it is absent.
"""

import csv
from collections.abc import Iterator

import pytest

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.format_support import common_rules
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.model.documents import Outcome
from registry.core.model.findings import Severity
from tests.support.shared import SHARED

INDEX = SHARED / "corpus" / "INDEX.tsv"

ARGUED = {
    "aid/AID_examples.yml": "TXT records in a test file of AID's authors: no document that a host would serve",
    "mcp-server-card/110kc3__seo__well-known_mcp.json": "a registry record where a card is usual: nothing is missing",
    "other/MarceloEyer__djzeneyer__public_wk_ai-bots.txt": "a text of no format at a path of no format",
}

TEMPLATES = {"mcp-server-json/modelcontextprotocol__registry__tools_publisher_server.json"}
"""Templates that the index calls valid: their names are places to fill in, `<owner>/<server-name>`."""

NOW_READ = {"none/frans": "agent-json"}
"""Schemes that the index calls foreign because no format read them when it was made, with the format that does now."""

AD_HOC_CARDS = {
    "agents-json/Timwal78__SML_Portfolio__agents.json",
    "collision-agent-json/abhikb2005__vcard-qr-generator__agent.json",
    "collision-agent-json/abhikb2005__vcard-qr-generator__wk_agent.json",
    "collision-agent-json/agentdiscovery.io.json",
    "collision-agent-json/anteroslogos.json",
    "collision-agent-json/campos-root.json",
    "collision-agent-json/hbhqq9__bde-score__agent.json",
    "collision-agent-json/hbhqq9__bde-score__docs_wk_agent.json",
    "collision-agent-json/marczak.json",
    "collision-agent-json/notaprompt__acampos.dev__public_wk_agent.json",
    "collision-well-known-agent/clawforce.ca.json",
}
"""Cards of no specification, foreign by the index, that name something to call: read as agent-json, dialect adhoc."""

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
"""Dialects described by a specification, for the formats that also have others; `lax` of `atp` is not one."""


def rows() -> Iterator[dict[str, str]]:
    if INDEX.exists():
        with INDEX.open(newline="") as lines:
            yield from csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


ROWS = list(rows())


def path_of(row: dict[str, str]) -> str:
    """Return the path where the document is served; if unknown, the path at which its format counts."""
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


def format_and_dialect(assessment: Assessment) -> str:
    """Return the assessment in the terms of the column `expect`."""
    if assessment.outcome is Outcome.NEGATIVE:
        return "negative"
    if assessment.outcome is not Outcome.FOUND:
        name = assessment.reason.removeprefix("foreign:") if assessment.reason.startswith("foreign:") else ""
        return {"": "none", "agents-md": "agents-md"}.get(name, f"none/{name}")
    return f"{assessment.format}/{assessment.dialect}" if assessment.dialect else str(assessment.format)


def severities(assessment: Assessment) -> set[Severity]:
    return {finding.rule.severity for finding in assessment.findings}


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
    assessment = judge(row)
    kind = "broken" if row["file"] in TEMPLATES else row["class"]
    if kind == "broken":
        unrendered = any(finding.rule is common_rules.TEMPLATE for finding in assessment.findings)
        assert assessment.outcome is Outcome.MALFORMED or (assessment.outcome is Outcome.FOUND and unrendered)
        return
    if row["file"] in AD_HOC_CARDS:
        assert format_and_dialect(assessment) == "agent-json/adhoc"
        return
    if row["expect"] in NOW_READ:
        assert (assessment.outcome, assessment.format) == (Outcome.FOUND, NOW_READ[row["expect"]])
        assert assessment.dialect != "other" and Severity.ERROR not in severities(assessment)
        return
    if row["expect"] != "none":
        assert format_and_dialect(assessment) == row["expect"]
    if kind == "foreign":
        assert assessment.outcome is Outcome.NOT_A_MANIFEST
    elif kind == "negative":
        assert assessment.outcome is Outcome.NEGATIVE
    elif kind == "valid":
        assert assessment.outcome is Outcome.FOUND
        assert Severity.ERROR not in severities(assessment)
    else:
        assert assessment.outcome is Outcome.FOUND
        assert deviates(assessment)


@pytest.mark.skipif(not ROWS, reason="shared test data absent: corpus (set WAYPOST_SHARED)")
@pytest.mark.parametrize("file", sorted(ARGUED))
def test_every_explained_difference_still_exists(file: str) -> None:
    row = next(row for row in ROWS if row["file"] == file)
    assessment = judge(row)
    assert format_and_dialect(assessment) != row["expect"] or (row["class"] == "dialect" and not deviates(assessment))
