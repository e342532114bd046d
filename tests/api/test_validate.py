"""`POST /api/validate`: ADP's response to a draft, with all that `waypost check` would report, with positions."""

import json
from typing import Any

import pytest

from registry.core.formats import FORMAT_BY_SLUG
from registry.core.formats.adp import rules as adp_rules
from registry.core.reading.reader import BOM
from registry.core.scoring.rubric import SECTION_POINTS
from tests.api.sites import BIKES, CARD, PIGEON, SLOPPY
from tests.support import shapes
from tests.support.api import Api
from tests.support.builders import adp_detail, adp_manifest, awp_manifest
from tests.support.shapes import assert_shape

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOOKSHOP = {
    "version": "1.0",
    "name": "Bookshop",
    "description": "Sells second-hand books.",
    "actions": [{"id": "find", "name": "Find", "description": "Finds a book.", "path": "/find", "method": "GET"}],
}


async def validated(api: Api, body: Any, **params: str) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body, indent=2, ensure_ascii=False).encode()
    response = await api.post("/api/validate", content=raw, params=params)
    assert response.status_code == 200, response.text
    assert_shape(shapes.VALIDATED, response.json())
    return response.json()


async def test_findings_have_line_and_column(api: Api) -> None:
    manifest = adp_manifest("paste.pigeonpost.dev", "größe", base_url="https://paste.pigeonpost.dev/")
    manifest["capabilities"].append({"description": "Has no name.", "detail_url": "/x"})
    source = json.dumps(manifest, indent=2, ensure_ascii=False).split("\n")
    validation = await validated(api, BOM + "\n".join(source).encode())
    source_by_path = {
        finding["path"]: source[finding["line"] - 1][finding["column"] - 1 :]
        for finding in validation["errors"] + validation["notes"]
    }
    assert source_by_path["base_url"] == '"https://paste.pigeonpost.dev/",'
    assert source_by_path["capabilities[1].name"] == "{"
    assert source_by_path["capabilities[0].name"] == '"größe",'
    assert validation["valid"] is False


async def test_an_error_has_the_keys_of_adp_and_of_findings(api: Api) -> None:
    validation = await validated(api, adp_manifest("paste.pigeonpost.dev", "a", description="short"))
    (error,) = validation["errors"]
    rule = adp_rules.DESCRIPTION_LENGTH
    assert (error["path"], error["message"], error["pointer"]) == ("description", rule.says, "/description")
    assert (error["severity"], error["fix"], error["spec"]) == ("error", rule.fix, rule.spec)
    matching_finding = next(finding for finding in validation["findings"] if finding["reason"] == error["reason"])
    assert (matching_finding["says"], matching_finding["line"], matching_finding["column"]) == (
        error["message"],
        error["line"],
        error["column"],
    )
    assert len(validation["findings"]) == len(validation["errors"]) + len(validation["notes"])


async def test_the_score_has_a_line_for_every_lost_point(api: Api) -> None:
    validation = await validated(api, awp_manifest("bikes.example"), at="/agent.json")
    assert validation["valid"] is True
    assert validation["score"] == round(sum(validation["sections"].values()))
    for section, points in SECTION_POINTS.items():
        lost_points = sum(line["points"] for line in validation["score_lines"] if line["section"] == section)
        assert validation["sections"][section] == pytest.approx(max(0, points - lost_points))
    unrecognised = await validated(api, {"hello": "world"})
    assert (unrecognised["score"], unrecognised["sections"], unrecognised["score_lines"]) == (None, None, [])


async def test_a_detail_is_recognised_without_its_manifest(api: Api) -> None:
    validation = await validated(api, adp_detail("create_parcel"))
    assert (validation["valid"], validation["format"], validation["score"]) == (True, "adp-detail", None)
    broken = adp_detail("create_parcel") | {"method": None}
    assert (await validated(api, broken))["errors"][0]["path"] == "method"


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (adp_manifest("paste.pigeonpost.dev", "a"), "adp"),
        (awp_manifest("bikes.example"), "awp"),
        (BOOKSHOP, "awas"),
    ],
    ids=["adp", "awp", "awas"],
)
async def test_without_a_path_nothing_is_said_about_it(api: Api, body: Any, form: str) -> None:
    validation = await validated(api, body)
    assert (validation["valid"], validation["format"]) == (True, form)
    assert f"{form}.path" not in {finding["reason"] for finding in validation["findings"]}
    elsewhere = await validated(api, body, at="/x.json", format=form)
    assert f"{form}.path" in {finding["reason"] for finding in elsewhere["findings"]}


async def test_actions_in_a_shape_that_no_version_describes_need_their_path(api: Api) -> None:
    unspecific = BOOKSHOP | {"actions": [{"name": "Find", "url": "/find"}]}
    assert (await validated(api, unspecific))["format"] is None
    assert (await validated(api, unspecific, at="/.well-known/ai-actions.json"))["format"] == "awas"


async def test_the_expected_format_can_be_given(api: Api) -> None:
    assert (await validated(api, BOOKSHOP, at="/x.json"))["format"] is None
    with_format = await validated(api, BOOKSHOP, at="/x.json", format="awas")
    assert (with_format["valid"], with_format["format"]) == (True, "awas")
    wrong_format = await validated(api, adp_manifest("paste.pigeonpost.dev", "a"), format="awas")
    assert (wrong_format["valid"], wrong_format["format"], wrong_format["errors"][0]["path"]) == (False, "adp", "$")
    assert "not awas" in wrong_format["errors"][0]["message"]


async def test_an_unknown_format_names_the_known_ones(api: Api) -> None:
    for unknown_format in ("nothing", "", "ADP"):
        response = await api.post("/api/validate", json={}, params={"format": unknown_format})
        assert response.status_code == 400
        assert response.json()["accepted"] == list(FORMAT_BY_SLUG)


@pytest.mark.parametrize(
    ("raw", "reason", "line", "column"),
    [
        (b"", "document.empty", 1, 1),
        ('{\n  "ключ": "значение",\n  }'.encode(), "document.trailing_comma", 3, 3),
        ('{"ключ": "значение" 1}'.encode(), "document.not_json", 1, 21),
        (b'{"a":\n  "\xff"}', "document.encoding", 2, 4),
        (b'{"a": 1,\n"a": 2}', "document.duplicate_key", 2, 5),
        (b"[" * 150, "document.truncated", 1, 150),
        (b"[" * 600 + b"]" * 600, "document.depth", 1, 202),
    ],
)
async def test_bad_json_is_reported_with_its_position(
    api: Api, raw: bytes, reason: str, line: int, column: int
) -> None:
    response = await api.post("/api/validate", content=raw)
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert (problem["valid"], problem["reason"]) == (False, reason)
    (error,) = problem["errors"]
    assert (error["path"], error["line"], error["column"]) == ("$", line, column)
    assert f"(line {line}, column {column})" in error["message"]


async def test_input_is_neither_echoed_as_markup_nor_stored(api: Api) -> None:
    hostile = {"\x1b]0;x\x07</script>": "<script>alert(1)</script>", "awp_version": "0.2", "domain": "evil.example"}
    response = await api.post("/api/validate", json=hostile)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "\x1b" not in response.text
    assert (await api.get("/api/services/evil.example")).status_code == 404


async def test_each_line_of_a_score_names_its_document(api: Api) -> None:
    traced = 0
    for host in (PIGEON, BIKES, CARD, SLOPPY):
        data = (await api.json(f"/api/services/{host}"))["data"]
        document_urls = {document["url"] for document in data["documents"]}
        for line in data["score"]["lines"]:
            assert line.keys() >= {"document", "pointer", "evidence", "count", "section", "severity"}
            assert line["document"] is None or line["document"] in document_urls
            if line["document"] is None:
                assert line["reason"].partition(".")[0] in {"service", "conflict", "endpoint", "capability", "advice"}
            traced += line["document"] is not None
    assert traced > 4


async def test_the_rubric_explains_how_a_score_is_computed(api: Api) -> None:
    rubric = await api.json("/api/rubric")
    assert {section["section"]: section["points"] for section in rubric["about_sections"]} == rubric["sections"]
    assert all(section["question"].endswith("?") for section in rubric["about_sections"])
    assert len(rubric["method"]) >= 4
    assert any("freshness" in remark for remark in rubric["beside"])
