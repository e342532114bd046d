"""Large documents are read completely or cut with a finding, and grow to no multiple of their size."""

import json

from registry.core.assessing.assess import assess_body
from registry.core.format_support.manifest import MAX_CAPABILITIES
from registry.core.model.documents import Json
from registry.core.model.services import to_json


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
