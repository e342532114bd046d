"""Only a document of MCP makes a capability a whole server; an id that begins with `mcp:` does not."""

import json
from typing import Any

import pytest

from registry.core.calling.server_records.record import server_records
from registry.core.merging.merge import HeldDocument, merge
from registry.core.model.services import Capability, Service, from_json, to_json
from tests.core.calling.calls import made_call
from tests.core.merging.test_tool_lists import ENDPOINT, HOST, card, held, tools

ACTION = {"id": "mcp:pay", "description": "Pays an order.", "inputs": {}, "outputs": {}, "via": "grpc"}


def document(path: str, value: Any) -> HeldDocument:
    return held(f"https://{HOST}{path}", json.dumps(value).encode())


def awp(endpoint: str | None = ENDPOINT, action: dict[str, Any] = ACTION) -> HeldDocument:
    protocols = {"grpc": {"version": "1", **({"endpoint": endpoint} if endpoint else {})}}
    site = {"awp_version": "0.2", "domain": HOST, "intent": "Sells lamps.", "protocols": protocols, "actions": [action]}
    return document("/agent.json", site)


def merged(*documents: HeldDocument) -> Service:
    service = merge(HOST, documents).service
    assert service is not None
    return service


def by_id(service: Service, identifier: str) -> list[Capability]:
    return [capability for capability in service.capabilities if capability.id == identifier]


@pytest.mark.parametrize("endpoint", [ENDPOINT, None])
def test_an_action_named_like_a_server_is_not_called_as_one(endpoint: str | None) -> None:
    package = {"registryType": "npm", "identifier": "@lamps/shop", "version": "1.0.0"}
    local = {"name": "example.lamps/shop", "version": "1", "description": "Sells lamps.", "packages": [package]}
    service = merged(awp(endpoint), document("/server.json", local))
    (action,) = by_id(service, "mcp:pay")
    assert made_call(service, action) is None


def test_tools_of_a_server_do_not_replace_an_action_named_like_one() -> None:
    service = merged(awp(), card(), tools([{"name": "order"}]))
    assert {capability.id for capability in service.capabilities} == {"mcp:pay", "order"}


def test_an_action_names_no_record_of_a_server() -> None:
    second = document("/.well-known/mcp.json", {"servers": [{"name": "example.lamps/second", "url": ENDPOINT}]})
    names = [record.name for record in server_records(HOST, merged(awp(), card(f"{ENDPOINT}/sse"), second)).records]
    assert names and not any("pay" in name for name in names)


def test_an_action_and_a_server_of_one_id_stay_apart() -> None:
    service = merged(awp(action={**ACTION, "id": "mcp:shop"}), card(name="shop"))
    action, server = sorted(by_id(service, "mcp:shop"), key=lambda each: each.whole_server)
    assert (action.whole_server, server.whole_server) == (False, True)
    call = made_call(service, server)
    assert made_call(service, action) is None and call is not None and call["kind"] == "mcp_server"


def test_a_service_stored_before_the_field_keeps_its_meaning() -> None:
    tool = {"name": "mcp:tool", "description": "Orders.", "path": "/order", "method": "POST"}
    service = merged(awp(), card())
    stored = to_json(service)
    assert from_json(stored) == service
    for capability in stored["capabilities"]:
        capability.pop("whole_server", None)
    assert from_json(stored) == service
    with_tool = merged(card(tools=[tool]))
    assert by_id(with_tool, "mcp:tool") and from_json(to_json(with_tool)) == with_tool
