"""Catalogues and other documents with pointers: which texts they add, what they leave out, and their errors."""

from typing import Any

import pytest

from registry.core.merging import rules as merging_rules
from registry.core.merging.merge import HeldDocument, MergeResult, merge
from registry.core.model.documents import Outcome, Via
from registry.core.model.findings import Rule
from registry.core.model.services import Capability, Protocol, Service
from tests.core.documents import CARD_PATH, a2a_card
from tests.support.holding import findings_of, held, missed

HOST = "lantern.example"
CATALOGUE = f"https://{HOST}/.well-known/ard.json"
LIGHT = {"id": "light", "name": "Light up", "description": "Turns a lamp on.", "tags": ["lamp"]}
CARD = a2a_card(HOST, name="Lantern", description="Lights the way.", skills=[LIGHT])
API: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Lamps", "version": "1"},
    "servers": [{"url": f"https://{HOST}/v1"}],
    "paths": {"/lamps": {"get": {"operationId": "listLamps"}, "post": {"operationId": "addLamp"}}},
}
CARD_HELD = held(HOST, CARD_PATH, CARD)
QUERIES = ["Turn on the lamp in the hall", "Is the lamp on?"]


def entry(name: str, kind: str, **members: Any) -> dict[str, Any]:
    return {
        "identifier": f"urn:air:{HOST}:x:{name}", "type": kind, "representativeQueries": QUERIES,
        "displayName": name.title(), "description": f"All about {name}", "tags": ["light"], **members,
    }  # fmt: skip


def catalogue(*entries: dict[str, Any]) -> HeldDocument:
    return held(HOST, "/.well-known/ard.json", {"specVersion": "1.0", "entries": list(entries)})


def via(index: int, member: str = "url", expected: str | None = None) -> Via:
    return Via(CATALOGUE, f"/entries/{index}/{member}", "entry", expected)


def service_of(merged: MergeResult) -> Service:
    assert merged.service is not None
    return merged.service


def only_capability(merged: MergeResult) -> Capability:
    (capability,) = service_of(merged).capabilities
    return capability


def test_an_entry_lends_its_texts_to_the_only_capability_of_its_document() -> None:
    url = CARD_HELD.url
    referral = entry("card", "application/a2a-agent-card+json", url=url)
    capability = only_capability(merge(HOST, [CARD_HELD, catalogue(referral)]))
    assert capability.id == "light"
    assert capability.examples == tuple(QUERIES)
    assert capability.tags == ("lamp", "light")
    assert capability.description == "Turns a lamp on."  # its own description has precedence
    assert capability.origin is not None and capability.origin.document == url
    sources = {name: origin.pointer for name, origin in capability.provenance.items()}
    assert sources == {"tags": "/entries/0", "examples": "/entries/0"}


def test_an_entry_lends_its_texts_to_the_service_where_its_document_has_several_capabilities() -> None:
    described = held(HOST, "/openapi.json", API)
    merged = merge(HOST, [described, catalogue(entry("api", "application/openapi+json", url=described.url))])
    service = service_of(merged)
    assert [capability.id for capability in service.capabilities] == ["listLamps", "addLamp"]
    assert (service.examples, service.tags) == (tuple(QUERIES), ("light",))
    assert service.description == "All about api"
    assert service.provenance["description"].document == CATALOGUE
    assert service.provenance["examples"].pointer == "/entries/0"


LINKSET: dict[str, Any] = {
    "linkset": [
        {
            "anchor": f"https://{HOST}/.well-known/api-catalog",
            "item": [
                {"href": f"https://{HOST}/v1"},
                {"href": f"https://api.{HOST}/wicks"},
                {"href": "https://oil.dev/api"},
            ],
        },
        {"anchor": f"https://{HOST}/v2", "service-desc": [{"href": f"https://{HOST}/v2.json"}]},
    ]
}


def test_items_of_its_own_domain_are_what_a_host_with_a_catalogue_offers() -> None:
    merged = merge(HOST, [held(HOST, "/.well-known/api-catalog", LINKSET)])
    names = [capability.name for capability in service_of(merged).capabilities]
    assert names == [f"{HOST}/v1", f"api.{HOST}/wicks", f"{HOST}/v2"]
    assert not findings_of(merged, merging_rules.ONLY_ELSEWHERE)


def test_an_item_that_a_description_covers_is_not_shown_twice() -> None:
    merged = merge(HOST, [held(HOST, "/openapi.json", API), held(HOST, "/.well-known/api-catalog", LINKSET)])
    assert [one.id for one in service_of(merged).capabilities] == ["listLamps", "addLamp", "lantern_example_v2"]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ("https://oil.dev/api", merging_rules.ONLY_ELSEWHERE),
        (f"https://{HOST}/news.xml", merging_rules.NOTHING_CALLABLE),
    ],
)
def test_why_a_catalogue_without_own_items_is_not_listed(item: str, reason: Rule) -> None:
    linkset = {"linkset": [{"anchor": f"https://{HOST}/.well-known/api-catalog", "item": [{"href": item}]}]}
    assert findings_of(merge(HOST, [held(HOST, "/.well-known/api-catalog", linkset)]), reason)


def test_an_entry_that_carries_its_document_lends_to_it() -> None:
    data = via(0, "data", "a2a")
    carried = held(HOST, "/.well-known/ard.json#/entries/0/data", CARD, data)
    referral = entry("card", "application/a2a-agent-card+json", data=CARD)
    capability = only_capability(merge(HOST, [catalogue(referral), carried]))
    assert (capability.id, capability.examples) == ("light", tuple(QUERIES))


def test_a_skill_of_an_index_and_of_a_catalogue_is_one() -> None:
    skill = {"name": "trim", "description": "Use when a wick is long.", "url": "/skills/trim/SKILL.md"}
    index = {"skills": [skill | {"type": "skill-md", "digest": "sha256:" + "0" * 64}]}
    listed = held(HOST, "/.well-known/agent-skills/index.json", index)
    referral = entry("trim", "application/ai-skill+md", url=f"https://{HOST}/skills/trim/SKILL.md")
    capability = only_capability(merge(HOST, [listed, catalogue(referral)]))
    assert (capability.id, capability.examples) == ("trim", tuple(QUERIES))


def test_a_skill_that_only_the_catalogue_knows_stays() -> None:
    referral = entry("trim", "application/ai-skill+md", url=f"https://{HOST}/skills/trim/SKILL.md")
    service = service_of(merge(HOST, [CARD_HELD, catalogue(referral)]))
    assert [capability.name for capability in service.capabilities] == ["Light up", "Trim"]


def test_entries_for_other_hosts_are_ignored() -> None:
    referral = entry("away", "application/a2a-agent-card+json", url="https://candle.example/card.json")
    assert only_capability(merge(HOST, [CARD_HELD, catalogue(referral)])).id == "light"


@pytest.mark.parametrize("reason", ["status_405", "status_406", "event_stream"])
def test_a_live_server_may_answer_where_a_card_is_promised(reason: str) -> None:
    live = missed(HOST, "/mcp", via(0, expected="mcp-server-card"), Outcome.ABSENT, reason)
    referral = entry("server", "application/mcp-server-card+json", url=f"https://{HOST}/mcp")
    merged = merge(HOST, [held(HOST, "/openapi.json", API), catalogue(referral), live])
    assert Protocol("mcp", None, f"https://{HOST}/mcp") in service_of(merged).protocols
    assert findings_of(merged, merging_rules.POINTER_LIVE_ENDPOINT) == [
        (CATALOGUE, "/entries/0/url", f"https://{HOST}/mcp")
    ]
    assert findings_of(merged, merging_rules.POINTER_UNANSWERED) == []
    server = next(capability for capability in service_of(merged).capabilities if capability.name == "Server")
    assert [(call.kind, call.method) for call in server.invocations] == [("rpc", "POST")]


def test_a_405_of_anything_else_proves_nothing() -> None:
    other = missed(HOST, "/cards/x", via(0, expected="a2a"), Outcome.ABSENT, "status_405")
    referral = entry("x", "application/a2a-agent-card+json", url=f"https://{HOST}/cards/x")
    merged = merge(HOST, [held(HOST, "/openapi.json", API), catalogue(referral), other])
    assert service_of(merged).protocols == ()
    assert findings_of(merged, merging_rules.POINTER_LIVE_ENDPOINT) == []


def test_a_missing_document_is_a_finding_and_no_capability() -> None:
    referral = entry("x", "application/a2a-agent-card+json", url=f"https://{HOST}/cards/x.json")
    merged = merge(HOST, [held(HOST, "/openapi.json", API), catalogue(referral), missed(HOST, "/cards/x.json", via(0))])
    assert findings_of(merged, merging_rules.POINTER_UNANSWERED) == [
        (CATALOGUE, "/entries/0/url", f"https://{HOST}/cards/x.json status_404")
    ]
    assert [capability.id for capability in service_of(merged).capabilities] == ["listLamps", "addLamp"]


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.SKIPPED, Outcome.SERVER_ERROR, Outcome.DISALLOWED])
def test_a_document_that_could_not_be_requested_is_no_finding(outcome: Outcome) -> None:
    referral = entry("x", "application/a2a-agent-card+json", url=f"https://{HOST}/cards/x.json")
    unknown = missed(HOST, "/cards/x.json", via(0), outcome, "")
    merged = merge(HOST, [held(HOST, "/openapi.json", API), catalogue(referral), unknown])
    assert findings_of(merged, merging_rules.POINTER_UNANSWERED) == []
    assert "X" in [capability.name for capability in service_of(merged).capabilities]


def test_a_missing_document_at_a_guessed_url_is_no_finding() -> None:
    guess = Via(CARD_HELD.url, "/url", "mcp", "mcp-server-card")
    merged = merge(HOST, [CARD_HELD, missed(HOST, "/mcp/server-card", guess)])
    assert findings_of(merged, merging_rules.POINTER_UNANSWERED) == []


PLUGIN: dict[str, Any] = {
    "schema_version": "v1",
    "name_for_model": "lamps",
    "name_for_human": "Lamps",
    "description_for_model": "Use it to turn lamps on and off.",
    "description_for_human": "Lamps from afar.",
    "auth": {"type": "none", "verification_tokens": {"someone": "do-not-keep-this-token"}},
    "api": {"type": "openapi", "url": "/openapi.json"},
}


def test_a_plugin_is_a_capability_only_without_its_api_description() -> None:
    plugin = held(HOST, "/.well-known/ai-plugin.json", PLUGIN)
    assert "do-not-keep" not in str(plugin.assessment)
    assert only_capability(merge(HOST, [plugin])).id == "lamps"
    merged = merge(HOST, [plugin, held(HOST, "/openapi.json", API)])
    assert [capability.id for capability in service_of(merged).capabilities] == ["listLamps", "addLamp"]
    assert service_of(merged).description == "Use it to turn lamps on and off."


def test_a_nested_catalogue_adds_no_texts_to_the_service() -> None:
    inner = held(HOST, "/more.json", {"specVersion": "1.0", "entries": [entry("b", "image/png", url="/b.png")]})
    outer = catalogue(entry("more", "application/ai-catalog+json", url=inner.url))
    merged = merge(HOST, [outer, inner, CARD_HELD])
    assert service_of(merged).examples == ()
