"""Only a document of MCP makes a capability a whole server; an id that begins with `mcp:` does not."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from registry.core.assessing.assess import assess_body
from registry.core.calling.server_records.record import server_records
from registry.core.formats import mcp_tools_list
from registry.core.merging.merge import HeldDocument, merge
from registry.core.model.services import Capability, Service, from_json, to_json
from registry.core.visiting import tool_lists
from tests.core.calling.calls import made_call

HOST = "lamps.example"
ENDPOINT = f"https://{HOST}/mcp"
CARD_URL = f"https://{HOST}/.well-known/mcp/server-card.json"
ACTION = {"id": "mcp:pay", "description": "Pays an order.", "inputs": {}, "outputs": {}, "via": "grpc"}
CARD = {"name": "example.lamps/shop", "version": "1.0.0", "description": "Sells lamps."}
REMOTES = [{"type": "streamable-http", "url": ENDPOINT}]


def held(path: str, value: Any, **reference: Any) -> HeldDocument:
    url = f"https://{HOST}{path}"
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    assessment = assess_body(body, url, "application/json", {}, **reference)
    return HeldDocument(url, url, assessment, body, datetime(2026, 11, 27, tzinfo=UTC), reference.get("via"))


def awp(endpoint: str | None = ENDPOINT, action: dict[str, Any] = ACTION) -> HeldDocument:
    protocols = {"grpc": {"version": "1", **({"endpoint": endpoint} if endpoint else {})}}
    site = {"awp_version": "0.2", "domain": HOST, "intent": "Sells lamps.", "protocols": protocols, "actions": [action]}
    return held("/agent.json", site)


def card(**members: Any) -> HeldDocument:
    return held("/.well-known/mcp/server-card.json", {**CARD, "remotes": REMOTES, **members})


def merged(*documents: HeldDocument) -> Service:
    service = merge(HOST, documents).service
    assert service is not None
    return service


def by_id(service: Service, identifier: str) -> list[Capability]:
    return [capability for capability in service.capabilities if capability.id == identifier]


@pytest.mark.parametrize("endpoint", [ENDPOINT, None])
def test_an_action_named_like_a_server_is_not_called_as_one(endpoint: str | None) -> None:
    package = {"registryType": "npm", "identifier": "@lamps/shop", "version": "1.0.0"}
    local = held("/server.json", {"$schema": "", **CARD, "packages": [package]})
    service = merged(awp(endpoint), local)
    (action,) = by_id(service, "mcp:pay")
    assert made_call(service, action) is None


def test_tools_of_a_server_do_not_replace_an_action_named_like_one() -> None:
    tools = mcp_tools_list.compose([{"name": "order"}], server=None, version="2026-07-28", complete=True)
    service = merged(awp(), card(), held("/mcp", tools, via=tool_lists.via(CARD_URL)))
    assert {capability.id for capability in service.capabilities} == {"mcp:pay", "order"}


def test_an_action_names_no_record_of_a_server() -> None:
    alone = merged(awp(), card(remotes=[{"type": "sse", "url": f"{ENDPOINT}/sse"}]), card_at_a_second_address())
    names = [record.name for record in server_records(HOST, alone).records]
    assert names and not any("pay" in name for name in names)


def card_at_a_second_address() -> HeldDocument:
    return held("/.well-known/mcp.json", {"servers": [{"name": "example.lamps/second", "url": ENDPOINT}]})


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
