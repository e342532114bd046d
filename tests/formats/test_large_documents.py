"""No document raises: fixtures with parts replaced, removed or repeated are judged like any other bytes."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.assessing.assess import assess_body
from registry.core.format_support.manifest import MAX_CAPABILITIES
from registry.core.model.documents import Json
from registry.core.model.services import from_json, to_json

HERE = Path(__file__).parent


def documents() -> list[tuple[str, dict[str, Any]]]:
    """Return (url, value) of every fixture that is a JSON object."""
    fixtures = []
    for response in sorted(HERE.glob("*/*/response.json")):
        try:
            value = json.loads((response.parent / "body").read_text())
        except ValueError:
            continue
        if isinstance(value, dict):
            fixtures.append((json.loads(response.read_text())["url"], value))
    return fixtures


ODD: st.SearchStrategy[Json] = st.sampled_from(
    [None, True, 0, -1, 2.5, "", "x", "{{a}}", "https://a.example/{b}", "http://localhost", "//x", "https://[::1]/",
     "\u202e", "docker:x", [], {}, [[]], [None, 1, "a", {}], {"": ""}, {"$ref": "#/info"}, {"$ref": 7}]
)  # fmt: skip


def container_keys(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) below `value`."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [entry for key in keys for entry in [(value, key), *container_keys(value[key])]]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(documents()), st.data())
def test_mutated_documents_are_judged(document: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
    url, value = document[0], deepcopy(document[1])
    for _ in range(data.draw(st.integers(1, 3))):
        entries = container_keys(value)
        if not entries:
            break
        container, key = data.draw(st.sampled_from(range(len(entries))).map(entries.__getitem__))
        operation = data.draw(st.sampled_from(["replace", "remove", "repeat"]))
        if operation == "remove":
            del container[key]
        elif operation == "repeat" and isinstance(container, list):
            container.append(deepcopy(container[key]))
        else:
            container[key] = deepcopy(data.draw(ODD))
    assessment = assess_body(json.dumps(value).encode(), url)
    if assessment.service is not None:
        assert from_json(to_json(assessment.service)) == assessment.service


def big_card(tools: int, words: int = 25) -> bytes:
    properties = {f"field_{i}": {"type": "string", "description": "a word " * 20} for i in range(8)}
    tool = {"description": "Does one thing well. " * words, "inputSchema": {"type": "object", "properties": properties}}
    listed = [{"name": f"tool_{i}", **tool} for i in range(tools)]
    transport = {"type": "streamable-http", "endpoint": "/mcp"}
    return json.dumps({"serverInfo": {"name": "big"}, "transport": transport, "tools": listed}).encode()


def test_a_card_of_a_thousand_tools_is_read_completely() -> None:
    raw = big_card(1_002)
    assert len(raw) > 1_900_000
    assessment = assess_body(raw, "https://big.example/.well-known/mcp/server-card.json")
    assert assessment.service is not None
    assert len(assessment.service.capabilities) == 1_002
    assert assessment.findings == ()


def test_a_card_of_more_tools_than_are_kept_is_cut_with_a_warning() -> None:
    assessment = assess_body(big_card(2_050, words=1), "https://big.example/.well-known/mcp/server-card.json")
    assert assessment.service is not None
    assert len(assessment.service.capabilities) == MAX_CAPABILITIES
    assert [finding.rule.code for finding in assessment.findings] == ["manifest.too_many_capabilities"]


def test_one_large_schema_named_by_many_operations_is_not_multiplied() -> None:
    properties = {f"p{i}": {"type": "string", "description": "d" * 400} for i in range(300)}
    schema = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Big"}}}}
    operation = {"requestBody": schema, "responses": {"200": schema}}
    value = {
        "openapi": "3.1.0",
        "info": {"title": "Amplifier", "version": "1"},
        "servers": [{"url": "https://big.example"}],
        "paths": {f"/r{i}": {"post": operation} for i in range(1_500)},
        "components": {"schemas": {"Big": {"type": "object", "properties": properties}}},
    }
    raw = json.dumps(value).encode()
    assessment = assess_body(raw, "https://big.example/openapi.json")
    assert assessment.service is not None
    assert len(assessment.service.capabilities) == 1_500
    assert [finding.rule.code for finding in assessment.findings] == ["openapi.cut"]
    assert len(json.dumps(to_json(assessment.service))) < 10 * len(raw)


def test_one_long_scheme_named_by_many_skills_is_not_multiplied() -> None:
    schemes = {f"s{i}": {"type": "http", "scheme": "bearer", "description": "n" * 4_000} for i in range(40)}
    security: list[Json] = [{name: []} for name in schemes]
    skills = [
        {"id": f"k{i}", "name": f"Skill {i}", "description": "d", "tags": [], "security": security}
        for i in range(1_000)
    ]
    value = {"name": "Amplifier", "url": "https://big.example/a2a", "protocolVersion": "0.3.0", "skills": skills}
    raw = json.dumps({**value, "securitySchemes": schemes}).encode()
    assessment = assess_body(raw, "https://big.example/.well-known/agent-card.json")
    assert assessment.service is not None
    assert len(json.dumps(to_json(assessment.service))) < 10 * len(raw)
