"""The table of requirements is compared with the specifications, and each demand is broken once.

`tests/formats/<slug>/breaches.json` has, for each row that findings report, changes of a valid fixture that break it:
`set` and `remove` (JSON Pointers), `url`, `headers` (null removes one), `raw`, `cut`, `pad` (bytes), `encoding`,
`answers` (another response of a URL in the manifest), `observed` (what other answers of the host showed); `base` names
another fixture to change.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.format_support.requirements import Requirement, RequirementLevel
from registry.core.formats.awas.checks import is_selector
from registry.core.merging.merge import HeldDocument, LocatedFinding, merge
from registry.core.model.documents import Observation, Outcome, Via
from registry.core.model.findings import Rule
from registry.core.scoring.checks import gaps
from registry.core.scoring.rubric import RUBRIC
from registry.core.scoring.score import checks, score, specified
from tests.support.shared import ROOT, shared

FIXTURES = ROOT / "tests" / "formats"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
REQUIREMENTS = {form.slug: form.requirements for form in specified()}
CHECKED_BY = {demand: set(rules) for form in specified() for demand, rules in checks(form).items()}
ROWS = [(slug, row) for slug, rows in REQUIREMENTS.items() for row in rows]
SEEN = [pytest.param(slug, row, id=row.id) for slug, row in ROWS if CHECKED_BY[row.id]]
FAMILIES = {"awp", "atp", "woa", "awas", "adp", "adp_detail"}
TEXTS = {
    "awp": "awp-0.2.md",
    "atp": "atp-0.1.md",
    "woa": "woa-draft-00.txt",
    "awas": "awas-1.0.md",
    "adp": "adp-1.0.md",
}


@cache
def breaches(slug: str) -> dict[str, list[dict[str, Any]]]:
    breaches_by_row: dict[str, list[dict[str, Any]]] = json.loads(
        (FIXTURES / slug / "breaches.json").read_text(encoding="utf-8")
    )
    return breaches_by_row


def folder(slug: str, breach: dict[str, Any]) -> Path:
    base = breach.get("base", "valid")
    return FIXTURES / (base if "/" in base else f"{slug}/{base}")


def assessed(slug: str, breach: dict[str, Any]) -> Assessment:
    case = folder(slug, breach)
    response = json.loads((case / "response.json").read_text())
    headers = {**response["headers"], **breach.get("headers", {})}
    headers = {name: value for name, value in headers.items() if value is not None}
    media_type = headers.get("content-type", "").partition(";")[0].strip() or None
    raw = changed((case / "body").read_bytes(), breach)
    return assess_body(raw, breach.get("url", response["url"]), media_type, headers, expected=response.get("expected"))


def changed(raw: bytes, breach: dict[str, Any]) -> bytes:
    if "raw" in breach:
        return str(breach["raw"]).encode()
    value = json.loads(raw)
    for pointer in breach.get("remove", []):
        container, key = place(value, pointer)
        del container[key]
    for pointer, new in breach.get("set", {}).items():
        container, key = place(value, pointer)
        container[key] = deepcopy(new)
    if "encoding" in breach:
        return json.dumps({**value, "x-note": "caf\u00e9"}, ensure_ascii=False).encode(breach["encoding"])
    if "pad" in breach:
        value["x-note"] = ["padding " * 100] * (breach["pad"] // 800)
    text = json.dumps(value)
    return text[: len(text) // 2].encode() if breach.get("cut") else text.encode()


def place(value: Any, pointer: str) -> tuple[Any, Any]:
    """Return the container and the key that a JSON Pointer leads to."""
    *path, last = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    for part in path:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value, int(last) if isinstance(value, list) else last


def findings(slug: str, breach: dict[str, Any]) -> set[Rule]:
    """Return the rules that a visit with this document reports, of the document and of the merged service."""
    assessment = assessed(slug, breach)
    rules = {finding.rule for finding in assessment.findings}
    if assessment.service is not None:
        rules |= {finding.rule for finding in gaps(assessment.service)}
        rules |= {located.finding.rule for located in merge("", list(held(assessment, breach))).findings}
    return rules


def held(assessment: Assessment, breach: dict[str, Any]) -> Iterator[HeldDocument]:
    url = next(
        (origin.document for origin in (assessment.service.provenance if assessment.service else {}).values()), ""
    )
    seen = frozenset(map(Observation, breach.get("observed", ())))
    yield HeldDocument(url, url, assessment, b"manifest", NOW, observed=seen)
    for pointer in assessment.pointers:
        answer = breach.get("answers", {}).get(f"/{(pointer.url or '').split('/', 3)[-1]}")
        if answer is not None and pointer.url is not None:
            via = Via(url, pointer.pointer, pointer.rel, pointer.expected)
            yield HeldDocument(
                pointer.url, pointer.url, assess_body(answer.encode(), pointer.url, via=via), b"", NOW, via
            )


def test_every_row_is_unique_and_complete() -> None:
    assert [id for id, occurrences in Counter(row.id for _, row in ROWS).items() if occurrences > 1] == []
    assert [row.id for slug, row in ROWS if not row.id.startswith(f"{slug}-")] == []
    assert [
        row.id
        for _, row in ROWS
        if bool(CHECKED_BY[row.id]) == (row.remark is not None) or not row.says or not row.section
    ] == []


def test_every_rule_of_the_five_formats_has_a_demand_behind_it_or_an_argument() -> None:
    own = {rule.code: rule.rationale for rule in RUBRIC.values() if rule.code.partition(".")[0] in FAMILIES}
    codes = {code for _, row in ROWS for code in row.checked_by}
    assert [code for code, rationale in own.items() if (code in codes) == bool(rationale)] == []
    assert codes <= set(RUBRIC), "rows name rules of other modules by strings that nothing else checks"


@pytest.mark.parametrize("slug", REQUIREMENTS)
def test_every_demand_that_is_seen_is_broken_once(slug: str) -> None:
    assert set(breaches(slug)) == {row.id for row in REQUIREMENTS[slug] if CHECKED_BY[row.id]}


@pytest.mark.parametrize(("slug", "row"), SEEN)
def test_a_broken_demand_is_reported_and_a_kept_one_is_not(slug: str, row: Requirement) -> None:
    reported: set[Rule] = set()
    for breach in breaches(slug)[row.id]:
        untouched = {"base": breach["base"]} if "base" in breach else {}
        assert findings(slug, untouched) & CHECKED_BY[row.id] == set()
        found = findings(slug, breach) & CHECKED_BY[row.id]
        assert found, f"not reported: {breach}"
        reported |= found
    assert reported == CHECKED_BY[row.id], "a rule that no breach gives"


@pytest.mark.parametrize("slug", REQUIREMENTS)
def test_a_valid_document_breaks_no_demand(slug: str) -> None:
    demanded = set().union(*(CHECKED_BY[row.id] for row in REQUIREMENTS[slug]))
    assert findings(slug, {}) & demanded == set()


@pytest.mark.parametrize("slug", REQUIREMENTS)
def test_a_minimal_document_still_has_a_good_score(slug: str) -> None:
    assessment = assessed(slug, {"base": "minimal"})
    assert assessment.outcome is Outcome.FOUND and assessment.service is not None
    codes = {finding.rule.code for finding in assessment.findings}
    assert score(assessment.service, [LocatedFinding(finding, None) for finding in assessment.findings]).value > 75, (
        codes
    )


# --- against the texts ----------------------------------------------------------------------------------------------

WORD = re.compile(r"\b(?:MUST|SHALL|SHOULD)(?:\s+NOT)?\b|\b(?:REQUIRED|RECOMMENDED|RECOMMENDS)\b")
COLUMN = re.compile(r"\| (?:[Yy]es|conditional) \||\(required\)")
RULE = re.compile(r"^\d\. ", re.MULTILINE)
DEFINING = {("atp", "1.4"), ("woa", "2")}
"""Sections that define the key words."""

HEADING = {
    "woa": re.compile(r"^(?P<number>\d+(?:\.\d+)*)\.  \S", re.MULTILINE),
    "awas": re.compile(r"^#{2,4} (?P<title>.+)$", re.MULTILINE),
}
NUMBERED = re.compile(r"^#{2,4} (?:(?P<number>\d+(?:\.\d+)*)\.? .*|(?P<title>.+))$", re.MULTILINE)


def sections(slug: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield each heading's number, or its title below the last number, with the text up to the next heading."""
    found = list(HEADING.get(slug, NUMBERED).finditer(text))
    number = None
    for heading, after in zip(found, [*found[1:], None], strict=True):
        groups = heading.groupdict()
        number = groups.get("number") or number
        name = ", ".join(filter(None, (number, groups.get("title"))))
        yield name, text[heading.end() : after.start() if after else None]


@pytest.mark.parametrize("slug", REQUIREMENTS)
def test_no_section_demands_more_than_the_table_has(slug: str) -> None:
    text = shared("specs", TEXTS[slug]).read_text(encoding="utf-8")
    rows = Counter(row.section for row in REQUIREMENTS[slug])
    demands = {}
    for name, body in sections(slug, text):
        numbered = len(RULE.findall(body)) if name in ("Validation", "Best Practices") else 0
        demands[name] = len(WORD.findall(body)) + len(COLUMN.findall(body)) + numbered
    assert sum(demands.values()) > 10, "the texts are not read as they are written"
    uncovered = {name: (count, rows[name]) for name, count in demands.items() if count > rows[name]}
    assert {name: counts for name, counts in uncovered.items() if (slug, name) not in DEFINING} == {}
    assert set(rows) <= set(demands), "rows of sections that the text does not have"


@pytest.mark.parametrize("slug", REQUIREMENTS)
def test_no_row_quotes_the_specification(slug: str) -> None:
    """No row repeats a sentence of the specification: eight equal words in sequence count as one."""
    specification = " ".join(re.findall(r"\w+", shared("specs", TEXTS[slug]).read_text(encoding="utf-8").lower()))
    for row in REQUIREMENTS[slug]:
        words = re.findall(r"\w+", row.says.lower())
        runs = [" ".join(words[start : start + 8]) for start in range(len(words) - 7)]
        assert [run for run in runs if run in specification] == [], row.id


def test_levels_are_used() -> None:
    assert {row.level for _, row in ROWS} == set(RequirementLevel)


# --- selectors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["input[name='q']", ".book-results", "a[href]", "[data-isbn]", "#main > li:nth-child(2n + 1) .price", "ul, ol",
     "a:not(.off, [rel~=\"next\"])::after", "\u00e9t\u00e9.caf\u00e9", "svg|a", "h1 + p ~ p", "td:has(> a)", "*"],
)  # fmt: skip
def test_selectors_are_recognised(text: str) -> None:
    assert is_selector(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "//a[@href]", "a[", "a]", "a[x='y]", "> a", "a >", "a,,b", ".", "#", "a{color:red}", "<a>", "a:", "a(", 7,
     None, "a" * 501, "(" * 400 + ")" * 400, "\u00e9" * 400 + "{"],
)  # fmt: skip
def test_other_texts_are_no_selectors(text: Any) -> None:
    assert not is_selector(text)
