"""AWP, ATP, WoA, AWAS and ADP documents are read whole: credentials as they are, behaviour as it is said."""

import json
from typing import Any

import pytest

from registry.core.assessing.assess import assess_body
from registry.core.model.services import Auth, AuthScheme, Service

HOST = "https://ferry.example"


def read(path: str, document: dict[str, Any]) -> Service:
    service = assess_body(json.dumps(document).encode(), f"{HOST}{path}", "application/json").service
    assert service is not None
    return service


def adp(auth: dict[str, Any]) -> Auth:
    return read("/.well-known/agent", {
        "spec_version": "1.0", "name": "Ferry", "description": "Sells ferry tickets to everybody.", "base_url": HOST,
        "auth": {"type": "api_key", **auth},
        "capabilities": [{"name": "trip_get", "description": "Returns a trip.", "detail_url": "/caps/trip_get"}],
    }).auth  # fmt: skip


@pytest.mark.parametrize(
    ("auth", "places"),
    [
        ({"header": "query"}, [("query", None)]),
        ({"header": "url_path", "prefix": ""}, [("path", None)]),
        ({"in": "cookie", "header": "session"}, [("cookie", None)]),
        ({"query_param": "key", "header": "Authorization"}, [("query", "key")]),
        (
            {"query_param": "key", "header": "Authorization", "prefix": "Bearer"},
            [("query", "key"), ("header", "Authorization")],
        ),
        ({"header": "X-Key", "prefix": ""}, [("header", "X-Key")]),
    ],
)
def test_adp_keys_are_where_the_document_puts_them(auth: dict[str, Any], places: list[tuple[str, str | None]]) -> None:
    assert [(scheme.location, scheme.name) for scheme in adp(auth).schemes] == places


def test_a_further_header_that_adp_demands_is_needed_at_once() -> None:
    auth = adp({"header": "X-Key", "prefix": "", "note": "Also requires the X-Harbour-Id header."})
    assert [scheme.name for scheme in auth.schemes] == ["X-Key", "X-Harbour-Id"]
    assert auth.combinations == ((0, 1),)
    assert adp({"header": "X-Key", "note": "Requires patience."}).combinations == ()


def test_adp_addresses_for_people_keep_their_fragment() -> None:
    assert adp({"header": "X-Key", "setup_url": f"{HOST}/account#keys"}).schemes[0].setup_url == f"{HOST}/account#keys"
    assert adp({"header": "X-Key", "setup_url": f"{HOST}/a#<b>"}).schemes[0].setup_url == f"{HOST}/a#%3Cb%3E"


def awp(action: dict[str, Any], **members: Any) -> Service:
    action = {"id": "book", "description": "Books.", "endpoint": "/book", "method": "POST", **action}
    return read("/agent.json", {"awp_version": "0.2", "domain": "ferry.example", "intent": "Ferries",
                                "actions": [action], **members})  # fmt: skip


def test_awp_behaviour_is_what_the_action_says() -> None:
    capability = awp({
        "sensitivity": "irreversible", "reversible": False, "poll_endpoint": "/jobs",
        "idempotency": {"supported": True, "key_field": "key"},
    }).capabilities[0]  # fmt: skip
    assert (capability.sensitivity, capability.reversible, capability.side_effects) == ("irreversible", False, True)
    assert capability.idempotency_key is True and capability.idempotent is None
    assert capability.polling_url == f"{HOST}/jobs"
    assert capability.native == {"awp": {"idempotency": {"supported": True, "key_field": "key"}}}


def test_a_method_says_nothing_about_side_effects() -> None:
    assert awp({}).capabilities[0].side_effects is None
    assert awp({"method": "GET"}).capabilities[0].side_effects is None


def test_awp_flags_and_token_lifetimes_are_kept() -> None:
    service = awp({}, auth={"type": "bearer", "token_expiry": "24h"}, capabilities={"streaming": True})
    assert service.auth.schemes[0].note == "tokens are valid for 24h"
    assert service.native["awp"]["capabilities"] == {"streaming": True}


def test_awp_actions_without_credentials_say_so() -> None:
    call = awp({"auth_required": False}).capabilities[0].invocations[0]
    assert call.auth == Auth((AuthScheme("none"),), False)


def woa(*agents: str, operations: list[dict[str, Any]] | None = None) -> Service:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    extra = {"operations": operations} if operations else {}
    return read("/.well-known/woa.json", {
        "woa_version": "1",
        "agents": [
            {"id": agent, "name": agent.title(), "description": f"Does {agent}.", "version": "2.1.0",
             "inputs": schema, "outputs": schema, "transports": ["rest"], **extra}
            for agent in agents
        ],
        "transports": {"rest": {"base": HOST, "invoke_path": "/agents/{agent_id}"}},
    })  # fmt: skip


def test_a_single_woa_agent_names_its_service() -> None:
    service = woa("echo")
    assert (service.name, service.description, service.version) == ("Echo", "Does echo.", "2.1.0")
    several = woa("echo", "sort")
    assert (several.name, several.description) == ("ferry.example", "Echo, Sort")


def test_a_woa_operation_names_its_agent() -> None:
    capability = woa("echo", operations=[{"name": "loud", "description": "Shouts."}]).capabilities[0]
    assert (capability.id, capability.title) == ("echo.loud", "Echo")
    assert capability.native["woa"]["agent"]["id"] == "echo"


def awas(action: dict[str, Any]) -> Service:
    return read("/.well-known/ai-actions.json", {"version": "0.9", "name": "Ferry", "actions": [
        {"id": "go", "label": "Go", "url": "/go", "method": "GET"}, action]})  # fmt: skip


def test_awas_actions_for_people_are_instructions_or_pages() -> None:
    text = {"id": "text", "label": "Text us", "type": "user_initiated_sms", "phone": "+47 12 34 56 78"}
    capability = awas(text).capabilities[1]
    assert (capability.invocations[0].kind, capability.title) == ("instructions", "Text us")
    assert capability.native["awas"]["phone"] == "+47 12 34 56 78"
    helper = awas({"id": "help", "type": "client_side_helper", "url": "/#help"}).capabilities[1]
    assert helper.invocations[0].kind == "navigation"


def test_an_awas_action_without_its_address_keeps_what_it_says() -> None:
    form = {"id": "ask", "method": "POST", "endpoint": "https://forms.example/f/YOUR_FORM_ID", "status": "blocked",
            "parameters": {"required": ["name"], "optional": ["mail"]}}  # fmt: skip
    capability = awas(form).capabilities[1]
    assert (capability.invocations[0].endpoint, capability.invocations[0].method) == (None, "POST")
    assert capability.params is not None and capability.params["required"] == ["name"]
    assert capability.native["awas"]["status"] == "blocked"


def test_several_headers_of_an_awas_action_are_needed_at_once() -> None:
    action = {"id": "buy", "url": "/buy", "method": "POST", "auth_required": True,
              "auth_headers": ["X-Agent-Id", "X-Agent-Token"], "side_effects": ["Charges a card"],
              "reversible": False}  # fmt: skip
    capability = awas(action).capabilities[1]
    auth = capability.invocations[0].auth
    assert auth is not None and auth.combinations == ((0, 1),)
    assert capability.side_effects is True and capability.reversible is False
    assert capability.native["awas"]["side_effects"] == ["Charges a card"]
