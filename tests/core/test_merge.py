"""Several documents of one host become one service with a recorded source for every field."""

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.formats.adp import rules as adp_rules
from registry.core.merging import rules as merging_rules
from registry.core.merging.merge import HeldDocument, MergeResult, merge
from registry.core.model.documents import Outcome, Via
from registry.core.model.findings import Rule
from registry.core.model.services import from_json, to_json
from registry.core.reading import rules as reading_rules

HOST = "basket.example"
NOW = datetime(2026, 11, 21, tzinfo=UTC)

ADP: dict[str, Any] = {
    "spec_version": "1.0",
    "name": "Basket",
    "description": "Groceries on the same day.",
    "base_url": f"https://{HOST}/v1",
    "auth": {"type": "api_key", "header": "X-Key"},
    "capabilities": [
        {"name": "order", "description": "Order groceries", "detail_url": "/caps/order"},
        {"name": "browse", "description": "Browse the shelves", "detail_url": "/caps/browse"},
    ],
}
DETAIL: dict[str, Any] = {
    "name": "order",
    "description": "Orders groceries and picks a delivery window.",
    "endpoint": "/orders",
    "method": "POST",
    "parameters": [{"name": "items", "type": "string[]", "description": "What to buy", "required": True}],
    "request_example": {"method": "POST", "url": f"https://{HOST}/v1/orders"},
    "response_example": {"status": 201, "body": {}},
}
AWP: dict[str, Any] = {
    "awp_version": "0.2",
    "domain": HOST,
    "intent": "Groceries.",
    "auth": {"type": "none"},
    "actions": [
        {
            "id": "place_order",
            "description": "Place an order",
            "auth_required": True,
            "inputs": {"items": {"type": "array[string]", "required": True}},
            "outputs": {"order": "string"},
            "endpoint": "/v1/orders",
            "method": "POST",
            "requires_human_confirmation": True,
        }
    ],
}
CARD: dict[str, Any] = {
    "protocolVersion": "0.3.0",
    "name": "Basket shopper",
    "description": "Plans meals.",
    "url": f"https://{HOST}/a2a",
    "version": "1.0.0",
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "browse", "name": "Browse shelves", "description": "Looks for goods", "tags": ["food"]}],
}


def held(body: Any, path: str, via: Via | None = None) -> HeldDocument:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    url = f"https://{HOST}{path}"
    assessment = assess_body(raw, url, "application/json", via=via)
    return HeldDocument(url, url, assessment, raw[:32], NOW, via)


def adp(body: Any = ADP) -> HeldDocument:
    return held(body, "/.well-known/agent")


def detail(body: Any, index: int) -> HeldDocument:
    via = Via(f"https://{HOST}/.well-known/agent", f"/capabilities/{index}/detail_url", "detail_url", "adp-detail")
    return held(body, f"/v1/caps/{index}", via)


def rules(merged: MergeResult) -> set[Rule]:
    return {located.finding.rule for located in merged.findings}


def test_a_host_without_a_service_document_is_no_service() -> None:
    merged = merge(HOST, [held({"hello": "world"}, "/agent.json")])
    assert merged.service is None
    assert merged.formats == ()


def test_a_detail_is_merged_into_the_capability_that_points_to_it() -> None:
    merged = merge(HOST, [adp(), detail(DETAIL, 0)])
    assert merged.service is not None
    order, browse = merged.service.capabilities
    assert order.detail is not None
    assert order.detail["endpoint"] == "/orders"
    call = next(i for i in order.invocations if i.kind == "http")
    assert (call.method, call.endpoint) == ("POST", f"https://{HOST}/v1/orders")  # appended, not resolved by RFC 3986
    assert browse.detail is None


def test_a_detail_is_matched_by_its_pointer_and_not_by_its_name() -> None:
    merged = merge(HOST, [adp(), detail(DETAIL | {"name": "browse"}, 0)])
    assert merged.service is not None
    assert [capability.detail is not None for capability in merged.service.capabilities] == [True, False]


def test_a_missing_detail_is_a_finding_of_the_manifest() -> None:
    via = Via(f"https://{HOST}/.well-known/agent", "/capabilities/1/detail_url", "detail_url", "adp-detail")
    url = f"https://{HOST}/v1/caps/browse"
    missing = HeldDocument(url, url, Assessment(Outcome.ABSENT, "not_found"), b"", NOW, via)
    merged = merge(HOST, [adp(), missing])
    (unanswered,) = [located for located in merged.findings if located.finding.rule is adp_rules.DETAIL_UNANSWERED]
    assert unanswered.document == f"https://{HOST}/.well-known/agent"
    assert unanswered.finding.pointer == "/capabilities/1/detail_url"
    assert "absent" in unanswered.finding.evidence


def test_a_detail_that_was_not_requested_yet_is_no_finding() -> None:
    via = Via(f"https://{HOST}/.well-known/agent", "/capabilities/1/detail_url", "detail_url", "adp-detail")
    url = f"https://{HOST}/v1/caps/browse"
    skipped = HeldDocument(url, url, Assessment(Outcome.SKIPPED, "budget"), b"", NOW, via)
    assert adp_rules.DETAIL_UNANSWERED not in rules(merge(HOST, [adp(), skipped]))


def test_the_same_call_in_two_formats_is_one_capability_with_both_invocations() -> None:
    merged = merge(HOST, [held(AWP, "/agent.json"), adp(), detail(DETAIL, 0)])
    assert merged.service is not None
    order = next(capability for capability in merged.service.capabilities if capability.id == "order")
    assert {i.origin.format for i in order.invocations if i.origin} >= {"adp-detail"}
    assert [capability.id for capability in merged.service.capabilities] == ["order", "browse"]
    assert order.confirmation is not None
    assert order.confirmation.required  # stated in the other document only


def test_a_shared_id_alone_does_not_merge_capabilities() -> None:
    merged = merge(HOST, [adp(), held(CARD, "/.well-known/agent-card.json")])
    assert merged.service is not None
    names = [capability.name for capability in merged.service.capabilities]
    assert names == ["order", "browse", "Browse shelves"]


def test_names_are_unique_because_they_are_url_segments() -> None:
    other_card = CARD | {"skills": [{"id": "x", "name": "order", "description": "Orders by talking", "tags": ["food"]}]}
    merged = merge(HOST, [adp(), held(other_card, "/.well-known/agent-card.json")])
    assert merged.service is not None
    names = [capability.name for capability in merged.service.capabilities]
    assert names == ["order", "browse", "order-2"]


def test_precedence_decides_fields_and_provenance_tells() -> None:
    merged = merge(HOST, [held(CARD, "/.well-known/agent-card.json"), adp(), held(AWP, "/agent.json")])
    service = merged.service
    assert service is not None
    assert merged.formats == ("adp", "awp", "a2a")
    assert service.name == "Basket"
    assert service.provenance["name"].document == f"https://{HOST}/.well-known/agent"
    assert service.version == "1.0.0"
    assert service.provenance["version"].format == "a2a"


def test_a_host_name_is_the_last_choice_for_a_name() -> None:
    merged = merge(HOST, [held(AWP, "/agent.json"), held(CARD, "/.well-known/agent-card.json")])
    assert merged.service is not None
    assert merged.service.name == "Basket shopper"
    assert merged.service.provenance["name"].format == "a2a"
    assert merging_rules.CONFLICT_NAME not in rules(merged)


def test_contradictions_are_findings() -> None:
    merged = merge(HOST, [held(CARD, "/.well-known/agent-card.json"), adp(), held(AWP, "/agent.json")])
    assert {merging_rules.CONFLICT_NAME, merging_rules.CONFLICT_AUTH} <= rules(merged)


def test_two_prices_are_a_finding_and_one_of_them_counts() -> None:
    free, paid = ({"pricing": {"type": kind}} | ADP for kind in ("free", "paid"))
    merged = merge(HOST, [adp(free), held(paid, "/agent.json")])
    assert [
        located.finding.evidence
        for located in merged.findings
        if located.finding.rule is merging_rules.CONFLICT_PRICING
    ] == ["/.well-known/agent: free | /agent.json: paid"]
    assert merged.service is not None and merged.service.pricing.model == "free"


def test_agreement_is_no_finding() -> None:
    merged = merge(HOST, [adp(), held(CARD | {"name": "basket"}, "/.well-known/agent-card.json")])
    assert merging_rules.CONFLICT_NAME not in rules(merged)
    assert merging_rules.CONFLICT_AUTH not in rules(merged)


def test_the_same_bytes_at_two_paths_are_one_document() -> None:
    merged = merge(HOST, [held(AWP, "/.well-known/agent.json"), held(AWP, "/agent.json")])
    assert merged.documents == (f"https://{HOST}/agent.json",)
    assert merged.service is not None
    assert len(merged.service.capabilities) == 1


def test_a_native_document_wins_over_a_synthetic_one() -> None:
    synthetic = AWP | {"source": "synthetic", "generated_by": "mill", "confidence": 0.5, "last_verified": "2026-01-01"}
    merged = merge(HOST, [held(synthetic, "/agent.json"), held(CARD, "/.well-known/agent-card.json")])
    assert merged.formats == ("a2a", "awp")
    assert merged.service is not None
    assert not merged.service.synthetic


def test_endpoints_on_another_site_are_kept_and_marked() -> None:
    merged = merge(HOST, [held(CARD | {"url": "https://other-basket.com/a2a"}, "/.well-known/agent-card.json")])
    assert merged.service is not None
    assert all(call.off_site for capability in merged.service.capabilities for call in capability.invocations)
    assert merging_rules.ENDPOINT_OFF_SITE in rules(merged)


def test_endpoints_on_a_sub_host_are_on_site() -> None:
    merged = merge(HOST, [held(CARD | {"url": f"https://api.{HOST}/a2a"}, "/.well-known/agent-card.json")])
    assert merging_rules.ENDPOINT_OFF_SITE not in rules(merged)


def test_a_catalogue_does_not_add_capabilities_of_other_hosts() -> None:
    entry = {"type": "application/a2a-agent-card+json", "displayName": "X", "description": "Does X"}
    catalogue = {
        "specVersion": "1.0",
        "entries": [
            {**entry, "identifier": f"urn:air:{HOST}:a:own", "url": f"https://{HOST}/.well-known/agent-card.json"},
            {**entry, "identifier": f"urn:air:{HOST}:a:unread", "url": f"https://{HOST}/cards/unread.json"},
            {**entry, "identifier": f"urn:air:{HOST}:a:other", "url": "https://another-basket.com/card.json"},
        ],
    }
    documents = [held(CARD, "/.well-known/agent-card.json"), held(catalogue, "/.well-known/ai-catalog.json")]
    merged = merge(HOST, documents)
    assert merged.service is not None
    endpoints = [call.endpoint for capability in merged.service.capabilities for call in capability.invocations]
    assert endpoints == [f"https://{HOST}/a2a", f"https://{HOST}/cards/unread.json"]


def test_a_malformed_document_has_findings() -> None:
    merged = merge(HOST, [held(b'{"spec_version": "1.0", ', "/.well-known/agent")])
    assert merged.service is None
    assert reading_rules.TRUNCATED in rules(merged)


@settings(max_examples=60, deadline=None)
@given(st.permutations([0, 1, 2, 3]))
def test_the_order_of_documents_does_not_matter(order: list[int]) -> None:
    documents = [adp(), detail(DETAIL, 0), held(AWP, "/agent.json"), held(CARD, "/.well-known/agent-card.json")]
    expected = merge(HOST, documents)
    merged = merge(HOST, [documents[i] for i in order])
    assert merged.service == expected.service
    assert merged.formats == expected.formats


def test_a_merged_service_is_read_back_unchanged() -> None:
    merged = merge(HOST, [adp(), detail(DETAIL, 0), held(AWP, "/agent.json")])
    assert merged.service is not None
    assert from_json(json.loads(json.dumps(to_json(merged.service)))) == merged.service
