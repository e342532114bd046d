"""`GET /api/services/{domain}/manifest/{format}` over the small crawled web of these tests."""

import json
from typing import Any

import pytest

from registry.core.assessing.assess import assess_body
from registry.core.model.documents import Outcome
from registry.core.model.findings import Severity
from registry.core.translating import TARGETS
from tests.api.sites import AWKWARD, BIKES, CARD, NOTHING, PIGEON, SITES, TOOLS
from tests.support.api import PUBLIC_URL, Api

pytestmark = pytest.mark.asyncio(loop_scope="module")

LISTED = sorted(set(SITES) - {NOTHING})


def url(host: str, target: str) -> str:
    return f"/api/services/{host}/manifest/{target}"


async def document(api: Api, host: str, target: str) -> dict[str, Any]:
    translated: dict[str, Any] = (await api.json(url(host, target)))["document"]
    return translated


async def test_an_awp_host_is_translated_to_atp_with_its_losses(api: Api) -> None:
    translation = await api.json(url(BIKES, "atp"), version="2.1.0")
    assert translation["source_formats"] == ["awp"]
    assert translation["synthetic"] is True
    assert translation["native_url"] is None
    (capability,) = translation["document"]["capabilities"]
    assert capability["endpoint"] == f"https://{BIKES}/rent"
    assert capability["parameters"] == [{"name": "station", "type": "string", "required": True}]
    assert translation["document"]["version"] == "2.1.0"
    assert translation["compared_with"] == "documents"
    losses = {row["what"]: row for row in translation["losses"]}
    assert losses["id"]["document"] == f"https://{BIKES}/agent.json"
    assert losses["id"]["pointers"] == ["/actions/0/id"]  # rent_bike becomes rent-bike in ATP
    assert losses["id"]["count"] == 1


async def test_no_version_is_made_up(api: Api) -> None:
    refusal = await api.get(url(BIKES, "atp"))
    assert refusal.status_code == 409
    assert "no document of the host names one" in refusal.json()["reasons"][0]


async def test_an_awp_document_is_marked_as_section_14_demands(api: Api) -> None:
    manifest = await document(api, PIGEON, "awp")
    service = (await api.json(f"/api/services/{PIGEON}"))["data"]
    assert (manifest["source"], manifest["generated_by"]) == ("synthetic", "waypost")
    assert manifest["last_verified"] == service["freshness"]["seen_at"].replace(".000Z", "Z")
    carried_share = len(manifest["actions"]) / len(service["manifest"]["capabilities"])
    assert manifest["confidence"] == pytest.approx(service["score"]["value"] / 100 * carried_share, abs=0.006)
    assert 0 < carried_share < 1  # the detail of one capability is missing


async def test_the_document_that_a_host_serves_itself_is_returned_as_it_is(api: Api) -> None:
    translation = await api.json(url(BIKES, "awp"))
    assert translation["native_url"] == f"https://{BIKES}/agent.json"
    assert (translation["synthetic"], translation["source_formats"]) == (False, ["awp"])
    assert translation["document"] == SITES[BIKES]["/agent.json"].body
    assert translation["losses"] == []


async def test_details_of_other_formats_are_served_by_the_registry(api: Api) -> None:
    manifest = await document(api, BIKES, "adp")
    (capability,) = manifest["capabilities"]
    assert capability["detail_url"] == f"{PUBLIC_URL}/api/services/{BIKES}/capabilities/rent_bike"
    assert manifest["auth"] == {"type": "none"}
    detail = await api.json(capability["detail_url"].removeprefix(PUBLIC_URL))
    assert detail["endpoint"] == f"https://{BIKES}/rent"


async def test_a_raw_document_has_its_own_media_type(api: Api) -> None:
    response = await api.get(url(CARD, "a2a"), params={"raw": "true"})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == await document(api, CARD, "a2a")
    repeated = await api.get(
        url(CARD, "a2a"), params={"raw": "true"}, headers={"If-None-Match": response.headers["etag"]}
    )
    assert repeated.status_code == 304


@pytest.mark.parametrize("host", LISTED)
async def test_every_document_is_valid_or_refused_with_reasons(api: Api, host: str) -> None:
    for target in TARGETS:
        response = await api.get(url(host, target))
        body = response.json()
        if response.status_code == 409:
            assert body["type"] == "/api/problems/untranslatable"
            assert body["success"] is False
            assert body["reasons"]
            continue
        assert response.status_code == 200
        raw = await api.get(url(host, target), params={"raw": "true"})
        path = "/.well-known/ai-actions.json" if target == "awas" else "/.well-known/x"
        assessed = assess_body(raw.content, f"https://{host}{path}", raw.headers["content-type"])
        assert (assessed.outcome, assessed.format) == (Outcome.FOUND, target)
        errors = [finding for finding in assessed.findings if finding.rule.severity is Severity.ERROR]
        assert not errors or not body["synthetic"]  # a document of the host itself keeps its errors
        assert all(row["count"] >= len(row["pointers"]) >= 1 for row in body["losses"])


async def test_tools_of_mcp_are_not_translated_to_plain_http(api: Api) -> None:
    refusal = (await api.get(url(TOOLS, "atp"))).json()
    assert refusal["reasons"] == [
        "an ATP capability is an HTTP call; 1 of 1 capabilities: called through MCP, not by plain HTTP"
    ]
    manifest = await document(api, TOOLS, "awp")
    (action,) = manifest["actions"]
    assert (action["via"], action["operation"]) == ("mcp", "get_forecast")
    assert manifest["protocols"]["mcp"]["endpoint"] == f"https://{TOOLS}/mcp"
    assert "endpoint" not in action


async def test_hidden_instructions_are_removed(api: Api) -> None:
    translation = await api.json(url(AWKWARD, "atp"), version="1.0.0")
    text = json.dumps(translation["document"], ensure_ascii=False)
    assert not [char for char in text if 0xE0000 <= ord(char) <= 0xE007F]
    assert "visitors politely." in text


async def test_unknown_hosts_formats_and_parameters_are_problems(api: Api) -> None:
    unknown_host = await api.get(url(NOTHING, "awp"))
    assert (unknown_host.status_code, unknown_host.json()["type"]) == (404, "/api/problems/unknown-service")
    unknown_format = await api.get(url(BIKES, "openapi"))
    assert (unknown_format.status_code, unknown_format.json()["accepted"]) == (400, list(TARGETS))
    unknown_parameter = await api.get(url(BIKES, "awp"), params={"native": "true"})
    assert (unknown_parameter.status_code, unknown_parameter.json()["accepted"]) == (400, ["raw", "version"])
