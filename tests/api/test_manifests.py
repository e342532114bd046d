"""`GET /api/services/{domain}/manifest/{format}` over the small crawled web of these tests."""

import json
from typing import Any

import pytest

from registry.core.assess import assess_body
from registry.core.documents import Outcome
from registry.core.findings import Severity
from registry.core.scoring.rubric import RUBRIC
from registry.core.translate import TARGETS
from tests.api.conftest import PUBLIC_URL, Api
from tests.api.sites import AWKWARD, BIKES, CARD, NOTHING, PIGEON, SITES, TOOLS

pytestmark = pytest.mark.asyncio(loop_scope="module")

LISTED = sorted(set(SITES) - {NOTHING})


def url(host: str, target: str) -> str:
    return f"/api/services/{host}/manifest/{target}"


async def document(api: Api, host: str, target: str) -> dict[str, Any]:
    found: dict[str, Any] = (await api.json(url(host, target)))["document"]
    return found


async def test_an_awp_host_is_told_in_atp_with_what_atp_does_not_say(api: Api) -> None:
    answer = await api.json(url(BIKES, "atp"))
    assert answer["source_formats"] == ["awp"]
    assert answer["synthetic"] is True
    assert answer["native_url"] is None
    (capability,) = answer["document"]["capabilities"]
    assert capability["endpoint"] == f"https://{BIKES}/rent"
    assert capability["parameters"] == [{"name": "station", "type": "string", "required": True}]
    lost = {row["what"]: row for row in answer["losses"]}
    assert lost["id"]["pointers"] == ["/capabilities/0/id"]  # rent_bike is rent-bike in ATP
    assert lost["id"]["count"] == 1


async def test_an_awp_document_is_marked_as_section_14_demands(api: Api) -> None:
    made = await document(api, PIGEON, "awp")
    service = (await api.json(f"/api/services/{PIGEON}"))["data"]
    assert (made["source"], made["generated_by"]) == ("synthetic", "waypost")
    assert made["last_verified"] == service["freshness"]["seen_at"].replace(".000Z", "Z")
    carried = len(made["actions"]) / len(service["manifest"]["capabilities"])
    assert made["confidence"] == pytest.approx(service["score"]["value"] / 100 * carried, abs=0.006)
    assert 0 < carried < 1  # the detail of one capability does not answer


async def test_the_format_that_the_host_serves_itself_is_named(api: Api) -> None:
    answer = await api.json(url(BIKES, "awp"))
    assert answer["native_url"] == f"https://{BIKES}/agent.json"
    assert answer["document"]["source"] == "synthetic"


async def test_details_of_other_formats_are_served_here(api: Api) -> None:
    made = await document(api, BIKES, "adp")
    (capability,) = made["capabilities"]
    assert capability["detail_url"] == f"{PUBLIC_URL}/api/services/{BIKES}/capabilities/rent_bike"
    assert made["auth"] == {"type": "none"}
    detail = await api.json(capability["detail_url"].removeprefix(PUBLIC_URL))
    assert detail["endpoint"] == f"https://{BIKES}/rent"


async def test_a_bare_document_comes_in_its_own_media_type(api: Api) -> None:
    response = await api.get(url(CARD, "a2a"), params={"raw": "true"})
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == await document(api, CARD, "a2a")
    again = await api.get(url(CARD, "a2a"), params={"raw": "true"}, headers={"If-None-Match": response.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("host", LISTED)
async def test_every_document_is_valid_or_refused_with_reasons(api: Api, host: str) -> None:
    for target in TARGETS:
        response = await api.get(url(host, target))
        answer = response.json()
        if response.status_code == 409:
            assert answer["type"] == "/api/problems/untranslatable"
            assert answer["success"] is False
            assert answer["reasons"]
            continue
        assert response.status_code == 200
        raw = await api.get(url(host, target), params={"raw": "true"})
        path = "/.well-known/ai-actions.json" if target == "awas" else "/.well-known/x"
        judged = assess_body(raw.content, f"https://{host}{path}", raw.headers["content-type"])
        assert (judged.outcome, judged.format) == (Outcome.FOUND, target)
        assert [one for one in judged.findings if RUBRIC[one.reason].severity is Severity.ERROR] == []
        assert all(row["count"] >= len(row["pointers"]) >= 1 for row in answer["losses"])


async def test_tools_behind_mcp_are_no_plain_http(api: Api) -> None:
    refused = (await api.get(url(TOOLS, "atp"))).json()
    assert refused["reasons"] == [
        "an ATP capability is an HTTP call; 1 of 1 capabilities: called through MCP, not by plain HTTP"
    ]
    made = await document(api, TOOLS, "awp")
    (action,) = made["actions"]
    assert (action["via"], action["operation"]) == ("mcp", "get_forecast")
    assert made["protocols"]["mcp"]["endpoint"] == f"https://{TOOLS}/mcp"
    assert "endpoint" not in action


async def test_hidden_instructions_do_not_pass(api: Api) -> None:
    text = json.dumps(await document(api, AWKWARD, "atp"), ensure_ascii=False)
    assert not [char for char in text if 0xE0000 <= ord(char) <= 0xE007F]
    assert "visitors politely." in text


async def test_what_is_not_there_is_said_in_the_usual_ways(api: Api) -> None:
    unknown = await api.get(url(NOTHING, "awp"))
    assert (unknown.status_code, unknown.json()["type"]) == (404, "/api/problems/unknown-service")
    odd = await api.get(url(BIKES, "openapi"))
    assert (odd.status_code, odd.json()["accepted"]) == (400, list(TARGETS))
    stranger = await api.get(url(BIKES, "awp"), params={"native": "true"})
    assert (stranger.status_code, stranger.json()["accepted"]) == (400, ["raw"])
