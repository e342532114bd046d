"""Paths that several schemes claim, and documents that state absence: each is recognised as what it is."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from registry.core.assessing.assess import Assessment, assess, assess_body
from registry.core.assessing.controls import Controls
from registry.core.format_support import common_rules
from registry.core.model.documents import FetchResult, Outcome
from registry.core.model.findings import Rule
from registry.core.visiting.probes import STEPS, manifest_probe

HOST = "corner.example"
WELL_KNOWN = "/.well-known/agent.json"

AWP = {
    "awp_version": "0.2", "domain": HOST, "intent": "Sells.",
    "actions": [{"id": "a", "endpoint": "/a", "method": "GET"}],
}  # fmt: skip
ATP = {"@context": "https://atp.dev/schema/v1", "@type": "AgentManifest", "name": "C", "capabilities": []}
A2A = {
    "name": "C", "url": f"https://{HOST}/a2a", "version": "1", "capabilities": {},
    "skills": [{"id": "s", "name": "S"}],
}  # fmt: skip
LAX = {"name": "C", "capabilities": [{"id": "x", "endpoint": "/x", "method": "GET"}]}
ADP = {"spec_version": "1.0", "base_url": f"https://{HOST}", "auth": {"type": "none"}, "capabilities": []}
AID = {"v": "aid2", "u": f"https://{HOST}/mcp", "p": "mcp"}
V1 = {
    "name": "com.corner/x", "version": "1", "description": "X",
    "remotes": [{"type": "sse", "url": f"https://{HOST}/s"}],
}  # fmt: skip
RECORD = {"name": "com.corner/x", "description": "X", "version": "1", "packages": [{"registryType": "oci"}]}
SEP = {"serverInfo": {"name": "x"}, "transport": {"type": "sse", "url": f"https://{HOST}/s"}}
FLAT = {"name": "x", "endpoint": f"https://{HOST}/mcp", "transport": "http"}
SERVERS = {"servers": [{"url": f"https://{HOST}/mcp", "name": "x"}]}
CLIENT = {"mcpServers": {"x": {"url": f"https://{HOST}/mcp"}}}
BRIDGE = {"mcp_version": "1.0", "tools": [{"name": "x", "description": "X"}], "endpoint": f"https://{HOST}/mcp"}
WILDCARD = {"agentsJson": "0.1.0", "info": {"title": "C"}, "sources": [], "flows": []}
ARD = {"specVersion": "1.0", "entries": []}


def outcome_name(assessment: Assessment) -> str:
    if assessment.outcome is Outcome.FOUND:
        return f"{assessment.format}/{assessment.dialect}" if assessment.dialect else str(assessment.format)
    return f"{assessment.outcome.value}:{assessment.format or assessment.reason}"


CLAIMED: list[tuple[str, Any, str]] = [
    (WELL_KNOWN, {**A2A, "available": False}, "negative:a2a"),
    (WELL_KNOWN, AWP, "awp/0.2"),
    (WELL_KNOWN, ATP, "atp"),
    (WELL_KNOWN, {"ahp": "0.1", "modes": []}, "not_a_manifest:foreign:ahp"),
    (WELL_KNOWN, {"arazzo": "1.0.1", "info": {}, "workflows": []}, "not_a_manifest:foreign:arazzo"),
    (WELL_KNOWN, {"origin": HOST, "intents": []}, "agent-json/other"),
    (WELL_KNOWN, {"version": "1.2", "origin": HOST, "payout_address": "0x1"}, "agent-json/1.2"),
    (WELL_KNOWN, {"subject": "C", "facts": []}, "not_a_manifest:foreign:facts"),
    (WELL_KNOWN, {"v": "1", "p": "mcp", "u": f"https://{HOST}"}, "not_a_manifest:foreign:aid-like"),
    (WELL_KNOWN, {"agent_discovery_version": "1"}, "not_a_manifest:foreign:agent-discovery"),
    (WELL_KNOWN, {"awp_version": "0.8.0", "actions": [], "modules": []}, "not_a_manifest:foreign:workstate"),
    (WELL_KNOWN, A2A, "a2a/0.1/0.2"),
    (WELL_KNOWN, LAX, "atp/lax"),
    (WELL_KNOWN, {"agent": "C", "about": "us"}, "not_a_manifest:unrecognised"),
    ("/agent.json", AWP, "awp/0.2"),
    ("/agent.json", A2A, "a2a/0.1/0.2"),
    ("/agent.json", {"name": "C", "email": "c@corner.example"}, "not_a_manifest:unrecognised"),
    ("/agent.json", {"description": "C", "language": "en", "googleAssistant": {}}, "not_a_manifest:unrecognised"),
    ("/.well-known/agent", AID, "aid/aid2"),
    ("/.well-known/agent", ADP, "adp/1.0"),
    ("/.well-known/agent", {"jsonrpc": "2.0", "result": ADP}, "not_a_manifest:foreign:json-rpc"),
    ("/.well-known/agent", {"hello": "agents"}, "not_a_manifest:unrecognised"),
    ("/.well-known/agent-card.json", A2A, "a2a/0.1/0.2"),
    ("/.well-known/agent-card.json", LAX, "atp/lax"),
    ("/.well-known/agent-card.json", {"available": False, "message": "none"}, "negative:a2a"),
    ("/.well-known/mcp.json", V1, "mcp-server-card/v1"),
    ("/.well-known/mcp.json", RECORD, "mcp-server-json/no-schema"),
    ("/.well-known/mcp.json", SEP, "mcp-server-card/sep1649"),
    ("/.well-known/mcp.json", FLAT, "mcp-json/flat"),
    ("/.well-known/mcp.json", SERVERS, "mcp-json/servers"),
    ("/.well-known/mcp.json", CLIENT, "mcp-json/client-config"),
    ("/.well-known/mcp/server-card.json", V1, "mcp-server-card/v1"),
    ("/.well-known/mcp/server-card.json", {"serverInfo": {"available": False}}, "negative:mcp-server-card"),
    ("/.well-known/mcp-manifest.json", {"registry": "x", "plugins": ["a"]}, "not_a_manifest:unrecognised"),
    ("/.well-known/agents.json", WILDCARD, "agents-json/0.1.0"),
    ("/.well-known/agents.json", {"agents": [{"name": "a"}]}, "not_a_manifest:unrecognised"),
    ("/agents.json", {"product": "Boots", "price": 3}, "not_a_manifest:unrecognised"),
    ("/.well-known/ai-catalog.json", ARD, "ai-catalog/type"),
    ("/.well-known/ard.json", {"services": [{"url": "/x.json"}]}, "ai-catalog/adhoc"),
]


@pytest.mark.parametrize(("path", "value", "expected"), CLAIMED, ids=lambda parameter: str(parameter)[:60])
def test_documents_of_different_formats_at_one_path_are_recognised(path: str, value: Any, expected: str) -> None:
    assert outcome_name(assess_body(json.dumps(value).encode(), f"https://{HOST}{path}")) == expected


CONTAINERS = {
    "ucp": "ucp", "x402": "x402", "acp": "acp", "serverInfo": "mcp-server-card", "mcp": "mcp-json", "a2a": "a2a",
}  # fmt: skip


@pytest.mark.parametrize(("container", "slug"), CONTAINERS.items())
def test_a_container_marked_unavailable_is_negative(container: str, slug: str) -> None:
    """Even if the rest is filled in."""
    value = {container: {"available": False, "name": "x", "version": "0.0.0"}, "skills": A2A["skills"]}
    assessment = assess_body(json.dumps(value).encode(), f"https://{HOST}/x.json")
    assert (assessment.outcome, assessment.format, assessment.service) == (Outcome.NEGATIVE, slug, None)


def test_alternatives_of_a_denial_are_pointers() -> None:
    value = {"available": False, "alternatives": {"openapi": "/openapi.json", "a2a": "https://other.example/c.json"}}
    assessment = assess_body(json.dumps(value).encode(), f"https://{HOST}/.well-known/mcp.json")
    assert [(pointer.url, pointer.rel) for pointer in assessment.pointers] == [
        (f"https://{HOST}/openapi.json", "alternative"),
        ("https://other.example/c.json", "alternative"),
    ]


@pytest.mark.parametrize(
    "value", [{**SEP, "transport": {"type": "none"}}, {**FLAT, "enabled": False}, {**A2A, "skills": []}]
)
def test_empty_or_idle_documents_are_not_negative(value: Any) -> None:
    assert assess_body(json.dumps(value).encode(), f"https://{HOST}/.well-known/mcp.json").outcome is Outcome.FOUND


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://localhost:8000/a2a", common_rules.ENDPOINT_NOT_PUBLIC),
        ("https://localhost/a2a", common_rules.ENDPOINT_NOT_PUBLIC),
        ("https://127.0.0.1/a2a", common_rules.ENDPOINT_NOT_PUBLIC),
        ("https://agent.internal/a2a", common_rules.ENDPOINT_NOT_PUBLIC),
        ("https://{tenant}.corner.example/a2a", common_rules.ENDPOINT_TEMPLATED),
        ("https://{{host}}/a2a", common_rules.TEMPLATE),
        ("https://forms.corner.example/f/YOUR_FORM_ID", common_rules.TEMPLATE),
    ],
)
def test_addresses_that_cannot_be_called_are_findings(url: str, rule: Rule) -> None:
    assessment = assess_body(json.dumps(A2A | {"url": url}).encode(), f"https://{HOST}/.well-known/agent-card.json")
    assert rule in {finding.rule for finding in assessment.findings}
    (skill,) = assessment.service.capabilities
    assert skill.invocations[0].templated is (rule is common_rules.ENDPOINT_TEMPLATED)
    assert (skill.invocations[0].endpoint is not None) is (rule is common_rules.ENDPOINT_TEMPLATED)


@pytest.mark.parametrize("hops", [(), (f"https://www.{HOST}/.well-known/agent",)])
def test_an_aid_record_is_not_read_from_a_redirected_answer(hops: tuple[str, ...]) -> None:
    step = next(step for step in STEPS if step.path == "/.well-known/agent")
    url, now = f"https://{HOST}{step.path}", datetime(2026, 11, 21, tzinfo=UTC)
    fetched = FetchResult(url, url, now, 200, {"content-type": "application/json"}, json.dumps(AID).encode(), hops)
    assessment = assess(manifest_probe(HOST, step), fetched, Controls())
    assert assessment.outcome is (Outcome.NOT_A_MANIFEST if hops else Outcome.FOUND)


def test_an_event_stream_is_no_text_document() -> None:
    assessment = assess_body(b": ping\n\n", f"https://{HOST}/mcp", "text/event-stream")
    assert (assessment.outcome, assessment.reason) == (Outcome.NOT_A_MANIFEST, "event_stream")
