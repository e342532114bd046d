"""Requests made from our answers alone are accepted by the tools of the ecosystem, over all documents of the corpus."""

import json
from typing import Any

import pytest

from tests.core.calling.accepted import Counts, count
from tests.core.calling.judges import Insufficient, by_a2a, by_entry, by_mcp, by_openapi, by_template, by_woa
from tests.support.shared import shared

CALLED = 390
ACCEPTED = 333
"""Measured; more documents that say more raise both."""


@pytest.fixture(scope="module")
def counts() -> Counts:
    return count(shared("corpus"))


@pytest.mark.slow
def test_what_can_be_called_is_accepted(counts: Counts) -> None:
    table = counts.table()
    assert counts.called.total() >= CALLED, table
    assert counts.accepted.total() >= ACCEPTED, table
    sufficient = counts.called.total() - counts.insufficient.total()
    assert counts.accepted.total() >= 0.995 * sufficient, "\n".join([table, *map(str, counts.refused)])


@pytest.mark.slow
def test_every_insufficient_call_says_what_is_missing(counts: Counts) -> None:
    reasons = [reason for reason in counts.reasons if reason[0] == "insufficient"]
    assert len(reasons) == counts.insufficient.total()
    assert all(why for *_, why in reasons)


# --- the judges can refuse ------------------------------------------------------------------------------------------

API: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Ferries", "version": "1"},
    "servers": [{"url": "https://api.ferry.example/v1"}],
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    "security": [{"key": []}],
    "paths": {
        "/trips/{id}": {
            "put": {
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
                    {"name": "lang", "in": "query", "required": True, "schema": {"enum": ["en", "no"]}},
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {"schema": {"type": "object", "required": ["seats"], "properties": {
                            "seats": {"type": "integer", "minimum": 1}}}}
                    },
                },
                "responses": {"200": {"description": "The trip."}},
            }
        }
    },
}  # fmt: skip


def put(url: str, body: Any, **headers: str) -> dict[str, Any]:
    sent = {"Content-Type": "application/json", "X-Key": "YOUR_KEY", **headers}
    return {"example": {"method": "PUT", "url": url, "headers": sent, "body": body}}


def test_openapi_core_accepts_and_refuses() -> None:
    url = "https://api.ferry.example/v1/trips/7?lang=en"
    assert by_openapi(put(url, {"seats": 2}), API) is None
    for wrong in (
        put(url.replace("/7", "/seven"), {"seats": 2}),
        put(url.replace("lang=en", "lang=de"), {"seats": 2}),
        put(url.partition("?")[0], {"seats": 2}),
        put(url, {"seats": 0}),
        put(url, {}),
        put(url.replace("trips", "boats"), {"seats": 2}),
    ):
        assert by_openapi(wrong, API) is not None
    unsigned = put(url, {"seats": 2})
    del unsigned["example"]["headers"]["X-Key"]
    assert by_openapi(unsigned, API) is not None
    with pytest.raises(Insufficient):
        by_openapi(put(url, {}), {"swagger": "2.0"})


def test_the_types_of_the_protocols_refuse() -> None:
    tool = {"tools": [{"name": "trip", "inputSchema": {"type": "object", "required": ["id"]}}]}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "trip", "arguments": {"id": 1}}}
    call = {"example": {"body": message}, "source": {"pointer": "/tools/0"}}
    assert by_mcp(call, tool) is None
    assert by_mcp({**call, "example": {"body": {**message, "params": {"name": "trip", "arguments": {}}}}}, tool)
    assert by_mcp({**call, "example": {"body": {**message, "params": {"arguments": {}}}}}, tool)
    part = {"kind": "text", "text": "hi"}
    sent = {"message": {"kind": "message", "messageId": "1", "role": "user", "parts": [part]}}
    agent = {
        "request": {"version": "0.3", "binding": "JSONRPC"},
        "example": {"body": {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": sent}},
    }
    assert by_a2a(agent, {}) is None
    assert by_a2a({**agent, "request": {"version": "1.0", "binding": "JSONRPC"}}, {}) is not None


def test_an_entry_and_an_agent_refuse() -> None:
    inputs = {"seats": {"type": "integer", "required": True}}
    document = {
        "actions": [{"method": "POST", "endpoint": "/trips/{id}", "inputs": inputs}],
        "agents": [{"id": "ferry", "inputs": {"type": "object", "required": ["seats"]}}],
    }
    example = {"method": "POST", "url": "https://ferry.example/trips/7", "headers": {}, "body": {"seats": 2}}
    entry = {"example": example, "source": {"pointer": "/actions/0"}}
    assert by_entry(entry, document) is None
    for change in ({"method": "GET"}, {"url": "https://ferry.example/boats/7"}, {"body": {}}, {"body": {"seats": "2"}}):
        assert by_entry({**entry, "example": {**example, **change}}, document) is not None
    envelope = {"agent": "ferry", "input": {"seats": 2}}
    woa = {"example": {"body": envelope}, "request": {"body_schema": {}}, "source": {"pointer": "/agents/0"}}
    assert by_woa(woa, document) is None
    assert by_woa({**woa, "example": {"body": {**envelope, "agent": "taxi"}}}, document) is not None
    assert by_woa({**woa, "example": {"body": {**envelope, "input": {}}}}, document) is not None


def test_a_template_must_expand_to_the_example() -> None:
    call = {
        "request": {
            "url": "https://ferry.example/trips/{id}{?lang,seats*}",
            "parameters": [{"name": "id"}, {"name": "lang"}, {"name": "seats"}],
        },
        "arguments": {"id": 7, "lang": "en", "seats": ["a", "b"]},
        "credentials": {"alternatives": [[{"value": "YOUR_KEY"}]]},
        "example": {"url": "https://ferry.example/trips/7?lang=en&seats=a&seats=b&key=YOUR_KEY"},
    }
    assert by_template(call) is None
    assert by_template({**json.loads(json.dumps(call)), "arguments": {"id": 8, "lang": "en"}}) is not None
