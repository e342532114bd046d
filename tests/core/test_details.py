"""Capability details: complete if there is something to call, absent if an endpoint would have to be invented."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.formats.adp.detail_view import adp_detail, why_no_detail
from registry.core.model.documents import Outcome
from registry.core.model.services import Capability, Confirmation, Invocation, Origin, RateLimit, Service
from tests.core.calling.calls import made_call

HOST = "api.pigeonpost.dev"
BASE = Service(base_url=f"https://{HOST}/v2")
WEIGHT = {"name": "weight_g", "type": "number", "description": "Grams.", "required": True, "example": 250, "in": "body"}


def detail_of(capability: Capability, service: Service = BASE) -> dict[str, Any]:
    call = made_call(service, capability)
    detail = adp_detail(HOST, service, capability, call.get("example") if call else None)
    assert detail is not None
    return detail


def test_a_detail_document_is_returned_unchanged() -> None:
    served = {
        "name": "create_parcel",
        "description": "Creates a parcel.",
        "endpoint": "/parcels",
        "method": "post",
        "parameters": [
            {
                "name": "weight_g",
                "type": "number",
                "description": "Grams.",
                "required": True,
                "example": 250,
                "in": "body",
            },
            {"name": "note", "default": "", "x-odd": 1},
            "not a parameter",
            {"type": "string"},
        ],
        "request_example": {"method": "POST", "url": f"https://{HOST}/v2/parcels", "body": {"weight_g": 250}},
        "response_example": {"status": 201, "body": {"id": "p_1"}},
        "auth_scopes": ["parcels:write", 3],
        "rate_limits": {"requests_per_minute": 30, "daily_limit": "many"},
        "resource_group": "parcels",
        "internal": "drop me",
    }
    capability = Capability("create_parcel", "create_parcel", detail_url=f"https://{HOST}/v2/caps/1", detail=served)
    detail = detail_of(capability)
    assert detail["endpoint"] == "/parcels"
    assert detail["method"] == "POST"
    assert detail["parameters"] == [
        WEIGHT,
        {"name": "note", "type": "string", "description": "", "required": False, "default": ""},
    ]
    assert detail["request_example"] == served["request_example"]
    assert detail["response_example"] == served["response_example"]
    assert detail["auth_scopes"] == ["parcels:write"]
    assert detail["rate_limits"] == {"requests_per_minute": 30}
    assert detail["resource_group"] == "parcels"
    assert detail["derived"] == []
    assert "internal" not in detail


def test_missing_examples_are_generated_and_marked() -> None:
    served = {"endpoint": "/parcels", "method": "GET", "parameters": [{"name": "page", "example": 2}]}
    params = {"properties": {"page": {"examples": [2]}, "size": {"type": "integer"}}, "required": ["size"]}
    call = Invocation("http", f"https://{HOST}/v2/parcels", "GET")
    url = f"https://{HOST}/v2/caps/l"
    detail = detail_of(Capability("l", "l", params=params, detail_url=url, detail=served, invocations=(call,)))
    assert detail["request_example"] == {
        "method": "GET",
        "url": f"https://{HOST}/v2/parcels?page=2&size=1",
        "headers": {},
    }
    assert detail["response_example"] == {}
    assert detail["derived"] == ["request_example", "response_example"]


def test_without_a_known_call_only_method_and_address_are_shown() -> None:
    served = {"endpoint": "/parcels", "method": "GET", "parameters": []}
    detail = detail_of(Capability("l", "l", detail_url=f"https://{HOST}/v2/caps/l", detail=served))
    assert detail["request_example"] == {"method": "GET", "url": f"https://{HOST}/v2/parcels", "headers": {}}


@pytest.mark.parametrize(
    "endpoint", ["http://10.0.0.1/x", "https://169.254.169.254/x", "https://localhost:9/x", "httpx"]
)
def test_a_detail_with_a_private_endpoint_is_not_returned(endpoint: str) -> None:
    served = {"endpoint": endpoint, "method": "GET", "parameters": []}
    capability = Capability("l", "l", detail_url=f"https://{HOST}/v2/caps/l", detail=served)
    detail = adp_detail(HOST, BASE, capability)
    assert detail is None


def test_a_schema_becomes_parameters() -> None:
    schema = {
        "type": "object",
        "required": ["to", 7],
        "properties": {
            "id": {"type": "string"},
            "to": {"type": "string", "description": "Address.", "examples": ["a@b.dev"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "rows": {"type": "array"},
            "count": {"type": ["integer", "null"], "default": 1},
            "mode": {"enum": ["a", "b"]},
            "odd": True,
        },
    }
    call = Invocation("http", f"https://{HOST}/m/{{id}}", "post", rate_limit=RateLimit(30, "1m"), scopes=("m",))
    detail = detail_of(
        Capability("send", "send", "Sends.", schema, confirmation=Confirmation(True, "Sure?"), invocations=(call,))
    )
    assert detail["method"] == "POST"
    assert [(p["name"], p["type"], p["required"], p["in"]) for p in detail["parameters"]] == [
        ("id", "string", True, "path"),
        ("to", "string", True, "body"),
        ("tags", "string[]", False, "body"),
        ("rows", "object[]", False, "body"),
        ("count", "number", False, "body"),
        ("mode", "string", False, "body"),
        ("odd", "string", False, "body"),
    ]
    assert detail["request_example"]["body"] == {"to": "a@b.dev", "count": 1}
    assert detail["request_example"]["url"] == f"https://{HOST}/m/example"
    assert detail["rate_limits"] == {"requests_per_minute": 30}
    assert detail["auth_scopes"] == ["m"]
    assert detail["derived"] == ["request_example", "response_example"]


def test_an_mcp_tool_is_shown_as_the_call_it_is() -> None:
    call = Invocation(
        "mcp_tool", f"https://{HOST}/mcp", name="send", origin=Origin(f"https://{HOST}/c", "/tools/0", "x")
    )
    schema = {"properties": {"to": {"type": "string", "default": "a@b.dev"}}}
    detail = detail_of(Capability("send", "send", params=schema, invocations=(call,)))
    assert (detail["endpoint"], detail["method"], detail["kind"]) == (f"https://{HOST}/mcp", "POST", "mcp_tool")
    assert detail["request_example"]["body"]["params"] == {"name": "send", "arguments": {"to": "a@b.dev"}}


@pytest.mark.parametrize(
    ("id", "name", "envelope"),
    [
        ("summarizer", "summarizer", {"agent": "summarizer", "input": {"text": "hi"}}),
        ("summarizer.short", "short", {"agent": "summarizer", "operation": "short", "input": {"text": "hi"}}),
    ],
)
def test_a_woa_agent_is_called_with_its_envelope(id: str, name: str, envelope: dict[str, Any]) -> None:
    origin = Origin(f"https://{HOST}/.well-known/woa.json", "/agents/0", "woa")
    call = Invocation("rpc", f"https://{HOST}/agents/summarizer/invoke", "POST", name, origin=origin)
    schema = {"properties": {"text": {"type": "string", "default": "hi"}}}
    assert detail_of(Capability(id, id, params=schema, invocations=(call,)))["request_example"]["body"] == envelope


def test_plain_http_is_preferred_and_the_own_site_before_another() -> None:
    calls = (
        Invocation("mcp_tool", f"https://{HOST}/mcp"),
        Invocation("http", "https://other.dev/send", "POST", off_site=True),
        Invocation("http", f"https://{HOST}/send", "POST"),
    )
    assert detail_of(Capability("s", "s", invocations=calls))["endpoint"] == f"https://{HOST}/send"
    assert detail_of(Capability("s", "s", invocations=calls[:2]))["endpoint"] == "https://other.dev/send"


@pytest.mark.parametrize(
    ("capability", "reason"),
    [
        (Capability("x", "x"), "no_endpoint"),
        (Capability("x", "x", invocations=(Invocation("instructions"),)), "no_endpoint"),
        (Capability("x", "x", invocations=(Invocation("rpc", "wss://a.dev/ws"),)), "not_http"),
        (Capability("x", "x", invocations=(Invocation("http", "https://a.dev/x"),)), "no_method"),
        (
            Capability("x", "x", detail_url="https://a.dev/d", invocations=(Invocation("pointer", "https://a.dev/d"),)),
            "detail_not_fetched",
        ),
    ],
)
def test_no_endpoint_is_invented(capability: Capability, reason: str) -> None:
    assert adp_detail(HOST, BASE, capability) is None
    assert why_no_detail("a.dev", capability) == reason


@pytest.mark.parametrize(
    ("answered", "url", "reason"),
    [
        (Outcome.ABSENT, "https://a.dev/d", "detail_missing_at_site"),
        (Outcome.GONE, "https://a.dev/d", "detail_missing_at_site"),
        (Outcome.NOT_A_MANIFEST, "https://a.dev/d", "detail_missing_at_site"),
        (Outcome.SERVER_ERROR, "https://a.dev/d", "detail_not_readable"),
        (Outcome.DISALLOWED, "https://a.dev/d", "detail_not_readable"),
        (Outcome.SKIPPED, "https://a.dev/d", "detail_not_fetched"),
        (None, "https://api.a.dev/d", "detail_not_fetched"),
        (None, "https://b.dev/d", "detail_elsewhere"),
    ],
)
def test_a_detail_is_not_called_unread_after_the_site_answered(answered: Outcome | None, url: str, reason: str) -> None:
    assert why_no_detail("a.dev", Capability("x", "x", detail_url=url), answered) == reason


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)
members = st.sampled_from(
    ["endpoint", "method", "parameters", "request_example", "response_example", "rate_limits", "auth_scopes"]
)


@given(st.dictionaries(members, json_values))
def test_a_served_detail_is_complete_or_absent_whatever_it_holds(served: dict[str, Any]) -> None:
    detail = adp_detail(HOST, BASE, Capability("x", "x", detail_url=f"https://{HOST}/d", detail=served))
    if detail is not None:
        assert isinstance(detail["endpoint"], str)
        assert isinstance(detail["method"], str)
        assert isinstance(detail["parameters"], list)
        assert isinstance(detail["request_example"], dict)
        assert isinstance(detail["response_example"], dict)


@given(json_values)
def test_any_schema_gives_parameters_or_none(schema: Any) -> None:
    params = {"properties": schema, "required": schema}
    call = Invocation("http", f"https://{HOST}/x", "POST")
    for parameter in detail_of(Capability("x", "x", params=params, invocations=(call,)))["parameters"]:
        assert isinstance(parameter["name"], str)
        assert isinstance(parameter["required"], bool)
