"""Every folder below tests/formats/<slug>/<case>/ is one test: what came in, what must come out.

`response.json` has url, status, headers and now, and `expected` where a pointer promised a format; `body` holds the
bytes. `expected.json` is written by `pytest --update-expected` and reviewed by eye.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from registry.core.assess import Assessment, assess_body
from registry.core.findings import Severity
from registry.core.scoring.rubric import RUBRIC
from registry.core.services import to_json

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/*/response.json"))


def case_name(case: Path) -> str:
    return f"{case.parent.name}/{case.name}"


def assess_case(case: Path) -> Assessment:
    response = json.loads((case / "response.json").read_text())
    headers = response["headers"]
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower() or None
    body = (case / "body").read_bytes()
    return assess_body(body, response["url"], media_type, headers, expected=response.get("expected"))


def as_json(assessment: Assessment) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "outcome": assessment.outcome.value,
        "reason": assessment.reason,
        "format": assessment.format,
        "dialect": assessment.dialect,
        "findings": [
            {"reason": one.reason.value, "pointer": one.pointer, "evidence": one.evidence}
            for one in assessment.findings
        ],
        "service": to_json(assessment.service) if assessment.service else None,
    }
    if assessment.service is None and assessment.pointers:
        shown["pointers"] = [{"url": one.url, "rel": one.rel, "pointer": one.pointer} for one in assessment.pointers]
    return shown


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_fixture(case: Path, request: pytest.FixtureRequest) -> None:
    shown = as_json(assess_case(case))
    expected = case / "expected.json"
    if request.config.getoption("--update-expected"):
        expected.write_text(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
    assert shown == json.loads(expected.read_text())


@pytest.mark.parametrize("case", [case for case in CASES if case.name.startswith("error-")], ids=case_name)
def test_an_error_case_breaks_exactly_the_rules_it_is_named_after(case: Path) -> None:
    """`error-<what>` folders hold one kind of error each, so that a rule that stops firing is noticed by name."""
    errors = {one.reason for one in assess_case(case).findings if RUBRIC[one.reason].severity is Severity.ERROR}
    assert len(errors) == 1
