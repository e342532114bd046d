"""`POST /api/validate`: ADP's answer to a draft, and beside it what the command would say, place by place."""

import json
from typing import Any

import pytest

from registry.core.findings import Reason
from registry.core.reader import BOM
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.scoring.rubric import RUBRIC, SECTION_POINTS
from tests.api.conftest import Api
from tests.api.sites import BIKES, CARD, PIGEON, SLOPPY
from tests.support import shapes
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
    said = await validated(api, BOM + "\n".join(source).encode())
    places = {one["path"]: source[one["line"] - 1][one["column"] - 1 :] for one in said["errors"] + said["notes"]}
    assert places["base_url"] == '"https://paste.pigeonpost.dev/",'
    assert places["capabilities[1].name"] == "{"
    assert places["capabilities[0].name"] == '"größe",'
    assert said["valid"] is False


async def test_an_error_is_told_in_adps_keys_and_in_ours(api: Api) -> None:
    said = await validated(api, adp_manifest("paste.pigeonpost.dev", "a", description="short"))
    (error,) = said["errors"]
    rule = RUBRIC[Reason.ADP_DESCRIPTION_LENGTH]
    assert (error["path"], error["message"], error["pointer"]) == ("description", rule.says, "/description")
    assert (error["severity"], error["fix"], error["spec"]) == ("error", rule.fix, rule.spec)
    same = next(one for one in said["findings"] if one["reason"] == error["reason"])
    assert (same["says"], same["line"], same["column"]) == (error["message"], error["line"], error["column"])
    assert len(said["findings"]) == len(said["errors"]) + len(said["notes"])


async def test_the_score_is_told_with_every_point_that_it_lacks(api: Api) -> None:
    said = await validated(api, awp_manifest("bikes.example"), at="/agent.json")
    assert said["valid"] is True
    assert said["score"] == round(sum(said["sections"].values()))
    for section, points in SECTION_POINTS.items():
        lost = sum(line["points"] for line in said["score_lines"] if line["section"] == section)
        assert said["sections"][section] == pytest.approx(max(0, points - lost))
    nothing = await validated(api, {"hello": "world"})
    assert (nothing["score"], nothing["sections"], nothing["score_lines"]) == (None, None, [])


async def test_a_detail_is_recognised_without_its_manifest(api: Api) -> None:
    said = await validated(api, adp_detail("create_parcel"))
    assert (said["valid"], said["format"], said["score"]) == (True, "adp-detail", None)
    broken = adp_detail("create_parcel") | {"method": None}
    assert (await validated(api, broken))["errors"][0]["path"] == "method"


async def test_what_it_is_meant_to_be_can_be_said(api: Api) -> None:
    assert (await validated(api, BOOKSHOP))["format"] is None
    meant = await validated(api, BOOKSHOP, format="awas")
    assert (meant["valid"], meant["format"]) == (True, "awas")
    other = await validated(api, adp_manifest("paste.pigeonpost.dev", "a"), format="awas")
    assert (other["valid"], other["format"], other["errors"][0]["path"]) == (False, "adp", "$")
    assert "not awas" in other["errors"][0]["message"]


async def test_an_unknown_format_names_the_known_ones(api: Api) -> None:
    for wrong in ("nothing", "", "ADP"):
        response = await api.post("/api/validate", json={}, params={"format": wrong})
        assert response.status_code == 400
        assert response.json()["accepted"] == list(FORMAT_BY_SLUG)


@pytest.mark.parametrize(
    ("raw", "reason", "line", "column"),
    [
        (b"", "document.empty", 1, 1),
        ('{\n  "ключ": "значение",\n  }'.encode(), "document.trailing_comma", 3, 3),
        ('{"ключ": "значение" 1}'.encode(), "document.not_json", 1, 21),
        (b'{"a":\n  "\xff"}', "document.encoding", 2, 4),
        (b'{"a":\n  99999999999999999}', "document.number", 2, 3),
        (b'{"a": 1,\n"a": 2}', "document.duplicate_key", 2, 5),
        (b"[" * 150, "document.truncated", 1, 150),
        (b"[" * 100 + b"]" * 100, "document.depth", 1, 33),
    ],
)
async def test_bad_json_is_told_with_its_place(api: Api, raw: bytes, reason: str, line: int, column: int) -> None:
    response = await api.post("/api/validate", content=raw)
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/problem+json"
    said = response.json()
    assert (said["valid"], said["reason"]) == (False, reason)
    (fault,) = said["errors"]
    assert (fault["path"], fault["line"], fault["column"]) == ("$", line, column)
    assert f"(line {line}, column {column})" in fault["message"]


async def test_nothing_that_was_sent_is_echoed_as_markup_or_stored(api: Api) -> None:
    hostile = {"\x1b]0;x\x07</script>": "<script>alert(1)</script>", "awp_version": "0.2", "domain": "evil.example"}
    response = await api.post("/api/validate", json=hostile)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "\x1b" not in response.text
    assert (await api.get("/api/services/evil.example")).status_code == 404


async def test_each_line_of_a_score_names_its_document(api: Api) -> None:
    traced = 0
    for host in (PIGEON, BIKES, CARD, SLOPPY):
        data = (await api.json(f"/api/services/{host}"))["data"]
        known = {one["url"] for one in data["documents"]}
        for line in data["score"]["lines"]:
            assert line.keys() >= {"document", "pointer", "evidence", "count", "section", "severity"}
            assert line["document"] is None or line["document"] in known
            if line["document"] is None:
                assert line["reason"].partition(".")[0] in {"service", "conflict", "endpoint", "capability"}
            traced += line["document"] is not None
    assert traced > 4


async def test_the_rubric_tells_how_a_score_is_made(api: Api) -> None:
    rubric = await api.json("/api/rubric")
    assert {one["section"]: one["points"] for one in rubric["about_sections"]} == rubric["sections"]
    assert all(one["question"].endswith("?") for one in rubric["about_sections"])
    assert len(rubric["method"]) >= 4
    assert any("freshness" in one for one in rubric["beside"])
