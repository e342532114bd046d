"""Invocations of the Web of Agents (draft-00 section 5): the same calls as the API's, in the draft's envelope."""

from typing import Any

import httpx2
import pytest

from registry.self_description.capabilities import CAPABILITIES
from tests.api.sites import PIGEON
from tests.support.api import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = {"q": "create a parcel", "include_unverified": True, "limit": 3}


async def invoke(api: Api, agent: str, arguments: Any, **members: Any) -> httpx2.Response:
    return await api.post(f"/woa/{agent}", json={"agent": agent, "input": arguments, **members})


@pytest.mark.parametrize(
    ("agent", "arguments", "path", "params"),
    [
        ("discover-services", QUESTION, "/api/discover", {**QUESTION, "include_unverified": "true"}),
        ("list-services", {"limit": 2}, "/api/services", {"limit": 2}),
        ("get-service", {"domain": PIGEON}, f"/api/services/{PIGEON}", {}),
        (
            "get-capability",
            {"domain": PIGEON, "name": "create_parcel"},
            f"/api/services/{PIGEON}/capabilities/create_parcel",
            {},
        ),
        ("translate-service", {"domain": PIGEON, "format": "awp"}, f"/api/services/{PIGEON}/manifest/awp", {}),
        ("verify-service", {"domain": PIGEON}, f"/api/services/{PIGEON}/status", {}),
    ],
)
async def test_an_invocation_is_the_call_of_the_api(
    api: Api, agent: str, arguments: dict[str, Any], path: str, params: dict[str, Any]
) -> None:
    invoked, called = await invoke(api, agent, arguments), await api.get(path, params=params)
    assert (invoked.status_code, invoked.json()) == (200, called.json())
    assert invoked.headers["content-type"] == "application/json"
    assert invoked.headers["cache-control"] == "no-store"
    assert "etag" not in invoked.headers  # of the representation at another URL


async def test_a_document_is_checked_as_it_is_sent(api: Api) -> None:
    text = '{"awp_version": "0.2",\n "domain": "bikes.example",}'
    unreadable = await invoke(api, "check-manifest", {"manifest": text})
    assert (unreadable.status_code, unreadable.json()["reason"]) == (400, "document.trailing_comma")
    text = '{"awp_version": "0.2",\n "domain": "bikes.example", "intent": "Bikes.", "actions": [{"id": "rent"}]}'
    checked = await invoke(api, "check-manifest", {"manifest": text, "format": "awp"})
    assert (checked.status_code, checked.json()["format"]) == (200, "awp")
    assert {finding["line"] for finding in checked.json()["findings"]} >= {2}


async def test_the_agent_may_be_left_to_the_url(api: Api) -> None:
    body = {"input": QUESTION, "operation": "default"}
    assert (await api.post("/woa/discover-services", json=body)).status_code == 200


async def test_numbers_are_those_of_json_schema(api: Api) -> None:
    assert (await invoke(api, "discover-services", {**QUESTION, "limit": 3.0})).status_code == 200
    assert (await invoke(api, "discover-services", {**QUESTION, "limit": 2.5})).status_code == 400


async def test_unknown_query_parameters_are_refused(api: Api) -> None:
    refused = await api.post("/woa/discover-services?wait=1", json={"input": QUESTION})
    assert (refused.status_code, refused.json()["accepted"]) == (400, [])


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"agent": "list-services", "input": QUESTION}, "agent"),  # section 5.2: MUST be 400
        ({"agent": 7, "input": QUESTION}, "agent"),
        ({"agent": None, "input": QUESTION}, "agent"),
        ({"agent": "discover-services"}, "input"),
        ({"input": "send a parcel"}, "input"),
        ({"input": []}, "input"),
        ({"input": {}}, "required"),
        ({"input": {"q": ""}}, "minLength"),
        ({"input": {"q": 7}}, "type"),
        ({"input": {"q": "x", "limit": 51}}, "maximum"),
        ({"input": {"q": "x", "limit": "3"}}, "type"),
        ({"input": {"q": "x", "unknown": 1}}, "additionalProperties"),
        ({"input": QUESTION, "operation": "other"}, "operation"),
        ({"input": QUESTION, "operation": ["default"]}, "operation"),
        ({"input": QUESTION, "extra": 1}, "body"),
        ([], "body"),
        ("x", "body"),
        (None, "body"),
    ],
)
async def test_a_wrong_envelope_is_a_problem_with_its_reason(api: Api, body: Any, says: str) -> None:
    refused = await api.post("/woa/discover-services", json=body)
    assert refused.status_code == 400, refused.text
    assert refused.headers["content-type"] == "application/problem+json"
    assert says in refused.json()["detail"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b'{"input": {"q": "x"}, "input": {}}', b"[" * 100, b'{"input": NaN}']
)
async def test_an_unreadable_envelope_is_a_problem(api: Api, body: bytes) -> None:
    refused = await api.post("/woa/discover-services", content=body)
    assert (refused.status_code, refused.headers["content-type"]) == (400, "application/problem+json")


async def test_what_the_client_sent_is_not_repeated(api: Api) -> None:
    for arguments in ({"q": 7, "zebra-1": 1}, {"q": "x", "format": "zebra-1"}, {"q": "zebra-1" * 500}):
        refused = await invoke(api, "discover-services", arguments)
        assert refused.status_code == 400
        assert "zebra" not in refused.text


@pytest.mark.parametrize(
    "host",
    [
        f"{PIGEON}/status",
        f"{PIGEON}?wait=1",
        f"{PIGEON}#x",
        "../healthz",
        "..",
        ".",
        " ",
        "a b",
        "%2e%2e",
        "\x00",
        "é" * 300,
    ],
)
async def test_a_host_stays_one_segment_of_the_path(api: Api, host: str) -> None:
    """No value of an input leads to another operation."""
    for agent in ("get-service", "verify-service"):
        answer = await invoke(api, agent, {"domain": host})
        assert answer.status_code in (400, 404), (agent, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"


async def test_names_of_capabilities_lead_nowhere_else(api: Api) -> None:
    for name in ("../../../healthz", "../status", "?x", "create_parcel/../../status", "\n", "%2e%2e%2fstatus"):
        answer = await invoke(api, "get-capability", {"domain": PIGEON, "name": name})
        assert answer.status_code == 404, (name, answer.text)


async def test_unknown_agents_are_absent_and_errors_are_the_apis(api: Api) -> None:
    unknown = await api.post("/woa/fly", json={"input": {}})
    assert (unknown.status_code, unknown.json()["accepted"]) == (404, [one.id for one in CAPABILITIES])
    missing = await invoke(api, "get-service", {"domain": "unknown.example"})
    called = await api.get("/api/services/unknown.example")
    assert missing.status_code == called.status_code == 404
    assert missing.json()["type"] == called.json()["type"]
    refused = await invoke(api, "translate-service", {"domain": PIGEON, "format": "woa"})
    assert refused.status_code == 409


async def test_a_request_id_stays_with_the_call(api: Api) -> None:
    sent = "0b8f4e9a-6f0e-4a51-9c51-3f6b1f6f4d11"
    answer = await api.post(
        "/woa/get-service", json={"input": {"domain": "unknown.example"}}, headers={"X-Request-Id": sent}
    )
    assert answer.json()["instance"] == f"urn:uuid:{sent}" and answer.headers["x-request-id"] == sent
