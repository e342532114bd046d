"""Tools that a server lists itself join the card that names it, and stand for nothing without one."""

import json
from datetime import UTC, datetime
from typing import Any

from registry.core.assessing.assess import assess_body
from registry.core.formats import mcp_tools_list
from registry.core.merging.merge import HeldDocument, MergeResult, merge
from registry.core.visiting import tool_lists

HOST = "lamps.example"
ENDPOINT = f"https://{HOST}/mcp"
CARD_URL = f"https://{HOST}/.well-known/mcp/server-card.json"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
TOOLS = [
    {"name": "order", "description": "Orders lamps.", "inputSchema": {"type": "object"}},
    {"name": "stock", "description": "Counts lamps."},
]


def held(url: str, body: bytes, **reference: Any) -> HeldDocument:
    assessment = assess_body(body, url, "application/json", {}, **reference)
    return HeldDocument(url, url, assessment, body, NOW, reference.get("via"))


def card(endpoint: str = ENDPOINT, **more: Any) -> HeldDocument:
    remotes = [{"type": "streamable-http", "url": endpoint}]
    value = {"name": "example.lamps/shop", "version": "1.0.0", "description": "Sells lamps.", "remotes": remotes}
    return held(CARD_URL, json.dumps(value | more).encode())


def tools(items: list[Any], url: str = ENDPOINT) -> HeldDocument:
    body = mcp_tools_list.compose(items, server=None, version="2026-07-28", complete=True)
    return held(url, body, via=tool_lists.via(CARD_URL))


def ids(merged: MergeResult) -> list[str]:
    return [] if merged.service is None else [capability.id for capability in merged.service.capabilities]


def test_tools_replace_the_capability_of_the_whole_server() -> None:
    assert ids(merge(HOST, [card()])) == ["mcp:example.lamps/shop"]
    merged = merge(HOST, [card(), tools(TOOLS)])
    assert ids(merged) == ["order", "stock"]
    assert merged.service is not None and merged.service.description == "Sells lamps."
    assert merged.formats == ("mcp-server-card", "mcp-tools-list")


def test_a_server_without_tools_stays_one_capability() -> None:
    assert ids(merge(HOST, [card(), tools([])])) == ["mcp:example.lamps/shop"]


def test_tools_of_card_and_server_are_united() -> None:
    merged = merge(HOST, [card(tools=[{"name": "order", "description": "Orders one lamp."}]), tools(TOOLS)])
    assert ids(merged) == ["order", "stock"] and merged.service is not None
    order = merged.service.capabilities[0]
    assert order.description == "Orders one lamp." and order.params == {"type": "object"}
    assert order.provenance["params"].format == "mcp-tools-list" and len(order.invocations) == 1


def test_tools_of_a_server_that_no_card_names_do_not_count() -> None:
    assert ids(merge(HOST, [card(f"https://{HOST}/other"), tools(TOOLS)])) == ["mcp:example.lamps/shop"]
    alone = merge(HOST, [tools(TOOLS)])
    assert alone.service is None and alone.formats == ()
