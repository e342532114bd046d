"""One host with many documents, visited by the plan and merged; nothing is guessed that a document names."""

import json
from typing import Any

import pytest

from registry.core.merging import rules as merging_rules
from registry.core.merging.merge import MergeResult, held_from, merge
from registry.core.model.services import Service
from registry.core.visiting.visits import Visit
from tests.core.documents import public_key, signed
from tests.support.holding import findings_of
from tests.support.web import Page, Web, page, visit

HOST = "atelier.example"

CARD = signed(
    {
        "name": "Atelier",
        "description": "Frames pictures.",
        "version": "3.0.0",
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "supportedInterfaces": [{"url": f"https://{HOST}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "skills": [{"id": "advise", "name": "Advise", "description": "Picks a frame.", "tags": ["art"]}],
        "securitySchemes": {"o": {"oauth2SecurityScheme": {"flows": {}}}},
        "securityRequirements": [{"schemes": {"o": {"list": []}}}],
    },
    jku=f"https://{HOST}/trust/keys.json",
)
API = f"""openapi: 3.1.0
info: {{title: Atelier API, version: '2'}}
servers: [{{url: https://{HOST}/v2}}]
paths:
  /frames:
    get: {{operationId: listFrames, description: Lists the frames., responses: {{}}}}
    post: {{operationId: orderFrame, description: Orders a frame., responses: {{}}}}
"""


def entry(name: str, kind: str, **members: Any) -> dict[str, Any]:
    common_members = {"displayName": name.title(), "representativeQueries": [f"{name} please", f"show {name}"]}
    return {"identifier": f"urn:air:{HOST}:x:{name}", "type": kind, **common_members, **members}


SERVER = {
    "serverInfo": {"name": "easel", "version": "1"},
    "transport": {"type": "streamable-http", "url": f"https://{HOST}/easel"},
    "tools": [{"name": "sketch", "description": "Draws."}],
}
CATALOGUE = {
    "specVersion": "1.0",
    "host": {"displayName": "Atelier"},
    "entries": [
        entry("card", "application/a2a-agent-card+json", url=f"https://{HOST}/.well-known/agent-card.json"),
        entry("frames", "application/openapi+yaml", url=f"https://{HOST}/descriptions/openapi.yaml"),
        entry("easel", "application/mcp-server-card+json", data=SERVER),
        entry("live", "application/mcp-server-card+json", url=f"https://{HOST}/mcp"),
        entry("lost", "application/json", url=f"https://{HOST}/lost.json"),
        entry("friend", "application/a2a-agent-card+json", url="https://gallery.example/card.json"),
    ],
}
RESOURCE = {"resource": f"https://{HOST}/a2a", "authorization_servers": [f"https://{HOST}/login"]}
ISSUER = {
    "issuer": f"https://{HOST}/login",
    "authorization_endpoint": f"https://{HOST}/login/authorize",
    "token_endpoint": f"https://{HOST}/login/token",
}
HOME = """<head><script type="application/ld+json">{"subjectOf": "https://atelier.example/.well-known/ucp"}</script>
<link rel="agent-permissions" href="/.well-known/agent-permissions.json"></head>"""


def pages() -> dict[str, Page]:
    documents: dict[str, Any] = {
        "/.well-known/agent-card.json": CARD,
        "/trust/keys.json": {"keys": [public_key(kid="k1")]},
        "/.well-known/ard.json": CATALOGUE,
        "/.well-known/oauth-protected-resource": RESOURCE,
        "/.well-known/oauth-authorization-server/login": ISSUER,
    }
    return {
        **{path: page(json.dumps(value)) for path, value in documents.items()},
        "/": page(HOME, "text/html"),
        "/descriptions/openapi.yaml": page(API, "application/yaml"),
        "/mcp": page("method not allowed", "text/plain", 405),
    }


@pytest.fixture(scope="module")
def finished_visit() -> Visit:
    return visit(Web({HOST: pages(), "gallery.example": {}}), HOST)


@pytest.fixture(scope="module")
def merge_result(finished_visit: Visit) -> MergeResult:
    return merge(HOST, [held_from(answer) for answer in finished_visit.answers])


@pytest.fixture
def service(merge_result: MergeResult) -> Service:
    assert merge_result.service is not None
    return merge_result.service


def test_all_documents_become_one_service(merge_result: MergeResult, service: Service) -> None:
    assert merge_result.formats == (
        "a2a", "mcp-server-card", "openapi", "ai-catalog", "oauth-protected-resource",
        "oauth-authorization-server", "jwks",
    )  # fmt: skip
    ids = ["advise", "sketch", "listFrames", "orderFrame", f"urn:air:{HOST}:x:live"]
    assert [capability.id for capability in service.capabilities] == ids
    sources = {origin.document for origin in service.provenance.values()} | {
        call.origin.document for capability in service.capabilities for call in capability.invocations if call.origin
    }
    assert {document.partition(HOST)[2] for document in sources} == {
        "/.well-known/agent-card.json", "/.well-known/ard.json", "/.well-known/ard.json#/entries/2/data",
        "/descriptions/openapi.yaml", "/trust/keys.json", "/.well-known/oauth-authorization-server/login",
        "/.well-known/oauth-protected-resource",
    }  # fmt: skip


def test_the_card_is_verified_with_the_key_that_it_names(service: Service) -> None:
    assert [signature.verified for signature in service.identity.signatures] == [True]


def test_the_queries_of_the_catalogue_become_examples(service: Service) -> None:
    capability_by_id = {capability.id: capability for capability in service.capabilities}
    assert capability_by_id["advise"].examples == ("card please", "show card")
    assert capability_by_id["sketch"].examples == ("easel please", "show easel")
    assert service.examples == ("frames please", "show frames")


def test_the_metadata_completes_the_scheme_of_the_card(service: Service) -> None:
    (scheme,) = service.auth.schemes
    assert (scheme.type, scheme.token_url) == ("oauth2", f"https://{HOST}/login/token")


def test_the_live_server_is_a_protocol_and_the_lost_document_a_finding(merge_result, service) -> None:
    assert (f"https://{HOST}/mcp", "mcp") in {(protocol.endpoint, protocol.id) for protocol in service.protocols}
    catalogue = f"https://{HOST}/.well-known/ard.json"
    for rule, pointer in (
        (merging_rules.POINTER_LIVE_ENDPOINT, "/entries/3/url"),
        (merging_rules.POINTER_UNANSWERED, "/entries/4/url"),
    ):
        assert [location[:2] for location in findings_of(merge_result, rule)] == [(catalogue, pointer)]


def test_other_hosts_are_candidates_and_nothing_else(finished_visit: Visit, service: Service) -> None:
    assert "gallery.example" in {candidate.host for candidate in finished_visit.candidates}
    assert "gallery.example" not in str(service.capabilities)
