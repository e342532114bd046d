"""Every field of a merged service, and every part of it, has a recorded source."""

from pathlib import Path
from typing import Any

from registry.core.format_support.security import NOTHING_NEEDED
from registry.core.merging import rules as merging_rules
from registry.core.merging.fields import unite_parts
from registry.core.merging.held import PRECEDENCE
from registry.core.merging.merge import HeldDocument, merge
from registry.core.model.services import Auth, Capability, Invocation, Origin, Service
from tests.core.documents import a2a_card, service_of
from tests.support.holding import findings_of, held
from tests.support.shared import ROOT

HOST = "orchard.example"
ATP: dict[str, Any] = {
    "@context": "https://atp.dev/schema/v1",
    "@type": "AgentManifest",
    "name": "Orchard",
    "description": "Fruit, picked today.",
    "version": "1.0.0",
    "capabilities": [
        {"id": "pick", "name": "Pick", "description": "Picks fruit.", "endpoint": "/v1/pick", "method": "POST",
         "sideEffects": True}
    ],
    "policies": {"training": "deny", "privacyUrl": f"https://{HOST}/privacy"},
}  # fmt: skip
RESULT = {"200": {"content": {"application/json": {"schema": {"type": "object"}}}}}
PARAMETERS = [{"name": "kind", "in": "query", "schema": {"type": "string"}}]
PICK = {"operationId": "pickFruit", "description": "Picks.", "parameters": PARAMETERS, "responses": RESULT}
API: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Orchard", "version": "2", "termsOfService": f"https://{HOST}/terms"},
    "servers": [{"url": f"https://{HOST}/v1"}],
    "paths": {"/pick": {"post": PICK}},
    "security": [{"key": []}],
    "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
}
CARD = a2a_card(
    HOST,
    capabilities={"extensions": [{"uri": "https://x402.example/ext/x402"}]},
    securitySchemes={"b": {"type": "http", "scheme": "bearer"}},
    security=[{"b": []}],
)


def all_documents() -> list[HeldDocument]:
    return [
        held(HOST, "/.well-known/agent.json", ATP),
        held(HOST, "/openapi.json", API),
        held(HOST, "/.well-known/agent-card.json", CARD),
    ]


def merged() -> Service:
    return service_of(HOST, *all_documents())


def sources(service: Service) -> dict[str, tuple[str, str]]:
    return {name: (origin.format, origin.pointer) for name, origin in service.provenance.items()}


def test_every_filled_field_has_a_source() -> None:
    service, blank = merged(), Service()
    without_source = {"pointers", "provenance", "synthetic"}
    filled = {n for n in Service.__dataclass_fields__ if getattr(service, n) != getattr(blank, n)} - without_source
    assert filled - {name.partition("/")[0] for name in service.provenance} == set()


def test_parts_of_united_fields_have_their_own_source() -> None:
    source_by_field = sources(merged())
    assert source_by_field["policies"][0] == "atp"
    for field, source in {
        "name": ("atp", "/name"),
        "version": ("atp", "/version"),
        "base_url": ("openapi", "/servers/0/url"),
        "auth": ("a2a", "/security"),
        "auth/schemes/1": ("openapi", "/security"),
        "pricing": ("a2a", "/capabilities/extensions"),
        "policies/terms_url": ("openapi", "/info/termsOfService"),
        "protocols": ("a2a", "/url"),
    }.items():
        assert source_by_field[field] == source, field
    assert {origin.document for origin in merged().provenance.values()} == {
        document.url for document in all_documents()
    }


def test_a_capability_has_a_source_for_each_field() -> None:
    (pick, ask) = merged().capabilities
    assert (pick.id, ask.id) == ("pick", "ask")
    assert [call.origin.format for call in pick.invocations if call.origin] == ["atp"]  # the same call in two documents
    assert pick.description == "Picks fruit."
    assert pick.result == {"type": "object"}
    assert pick.origin is not None and (pick.origin.format, pick.origin.pointer) == ("atp", "/capabilities/0")
    assert (pick.provenance["result"].format, pick.provenance["result"].pointer) == ("openapi", "/paths/~1pick/post")
    assert "description" not in pick.provenance


def test_a_conflict_names_the_documents_and_what_each_says() -> None:
    api = API | {"info": API["info"] | {"title": "Orchard API"}, "security": [], "components": {}}
    documents = [held(HOST, "/openapi.json", api), held(HOST, "/.well-known/agent-card.json", CARD)]
    found = merge(HOST, documents)
    assert findings_of(found, merging_rules.CONFLICT_NAME) == [
        (None, "/name", "/.well-known/agent-card.json: Orchard | /openapi.json: Orchard API")
    ]
    assert findings_of(found, merging_rules.CONFLICT_AUTH) == [
        (None, "/auth", "/.well-known/agent-card.json: bearer required | /openapi.json: none not required")
    ]


def test_spelling_and_the_titles_of_pages_are_no_conflict() -> None:
    card = held(HOST, "/.well-known/agent-card.json", CARD | {"name": "or-chard"})
    text = held(HOST, "/llms.txt", "# Welcome to the Orchard\n\n> Fruit\n", media_type="text/plain")
    described = held(HOST, "/openapi.json", API | {"info": {"title": "Or chard", "version": "1"}})
    assert findings_of(merge(HOST, [card, text, described]), merging_rules.CONFLICT_NAME) == []


def test_documents_that_name_one_address_complete_each_other() -> None:
    interface = {"url": f"https://{HOST}/mcp", "protocolBinding": "MCP", "protocolVersion": "1.0"}
    card = CARD | {"supportedInterfaces": [interface]}
    server = {"serverInfo": {"name": "o"}, "transport": {"type": "streamable-http", "url": f"https://{HOST}/mcp"}}
    documents = [
        held(HOST, "/.well-known/agent-card.json", card),
        held(HOST, "/.well-known/mcp/server-card.json", server),
    ]
    service = service_of(HOST, *documents)
    (mcp,) = [protocol for protocol in service.protocols if protocol.id == "mcp"]
    assert (mcp.endpoint, mcp.transport) == (f"https://{HOST}/mcp", "streamable-http")


def test_a_card_that_another_document_names_is_one_protocol() -> None:
    registration = {
        "type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1", "name": "Orchard", "description": "Fruit",
        "services": [{"name": "A2A", "endpoint": f"https://{HOST}/.well-known/agent-card.json", "version": "0.3.0"}],
    }  # fmt: skip
    named = held(HOST, "/.well-known/agent-registration.json", registration)
    (alone,) = service_of(HOST, named).protocols
    assert (alone.endpoint, alone.card_url) == (None, f"https://{HOST}/.well-known/agent-card.json")
    protocols = service_of(HOST, named, held(HOST, "/.well-known/agent-card.json", CARD)).protocols
    assert [protocol.endpoint is not None for protocol in protocols if protocol.id == "a2a"] == [True]


def test_groups_of_a_catalogue_are_kept() -> None:
    links = {"service-desc": [{"href": f"https://{HOST}/openapi.json", "title": "Fruit API"}]}
    linkset = {"linkset": [{"anchor": f"https://{HOST}/v1", **links}]}
    service = service_of(HOST, *all_documents(), held(HOST, "/.well-known/api-catalog", linkset))
    (group,) = service.groups
    assert (group.name, group.documents) == ("Fruit API", (f"https://{HOST}/openapi.json",))


def test_payloads_that_are_documents_now_are_not_kept_twice() -> None:
    entry = {"identifier": f"urn:air:{HOST}:a:x", "type": "application/a2a-agent-card+json", "data": CARD}
    catalogue = held(HOST, "/.well-known/ard.json", {"specVersion": "1.0", "entries": [entry]})
    service = service_of(HOST, *all_documents(), catalogue)
    assert [pointer.payload for pointer in service.pointers] == [None]


def test_the_page_lists_the_formats_in_their_order() -> None:
    page = Path(ROOT, "docs", "merge.md").read_text(encoding="utf-8")
    assert [page.index(f"`{slug}`") for slug in PRECEDENCE] == sorted(page.index(f"`{slug}`") for slug in PRECEDENCE)


def test_a_service_whose_calls_all_say_so_needs_no_credentials() -> None:
    """ "No authentication" is said, not guessed: every call states it."""
    open_call = Invocation("http", "https://ferry.example/trips", "GET", auth=NOTHING_NEEDED)
    silent_call = Invocation("http", "https://ferry.example/boats", "GET")
    origin = Origin("https://ferry.example/agent.json", "", "awp")
    said = Service(capabilities=(Capability("a", "a", invocations=(open_call,)),))
    unsaid = Service(capabilities=(*said.capabilities, Capability("b", "b", invocations=(silent_call,))))
    assert unite_parts([(origin, said)]).auth == NOTHING_NEEDED
    assert unite_parts([(origin, unsaid)]).auth == Auth()
    assert unite_parts([(origin, Service(capabilities=(Capability("a", "a"),)))]).auth == Auth()
