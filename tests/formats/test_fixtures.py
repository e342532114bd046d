"""Every folder tests/formats/<slug>/<case>/ is one test: a recorded response and the expected assessment.

`response.json` has url, status, headers and now, and `expected` if a pointer promised a format; `body` holds the
bytes. `expected.json` is written by `pytest --update-expected` and reviewed by hand.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.model.findings import Severity
from registry.core.model.services import to_json

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
    result: dict[str, Any] = {
        "outcome": assessment.outcome.value,
        "reason": assessment.reason,
        "format": assessment.format,
        "dialect": assessment.dialect,
        "findings": [
            {"reason": finding.rule.code, "pointer": finding.pointer, "evidence": finding.evidence}
            for finding in assessment.findings
        ],
        "service": to_json(assessment.service) if assessment.service else None,
    }
    if assessment.service is None and assessment.pointers:
        result["pointers"] = [
            {"url": pointer.url, "rel": pointer.rel, "pointer": pointer.pointer} for pointer in assessment.pointers
        ]
    return result


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_fixture(case: Path, request: pytest.FixtureRequest) -> None:
    result = as_json(assess_case(case))
    expected = case / "expected.json"
    if request.config.getoption("--update-expected"):
        expected.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n")
    assert result == json.loads(expected.read_text())


@pytest.mark.parametrize("case", [case for case in CASES if case.name.startswith("error-")], ids=case_name)
def test_an_error_case_breaks_exactly_the_rules_it_is_named_after(case: Path) -> None:
    """An `error-<what>` folder has errors of one rule only, so that a rule that is no longer reported is noticed."""
    errors = {finding.rule for finding in assess_case(case).findings if finding.rule.severity is Severity.ERROR}
    assert len(errors) == 1
