"""Several documents of one host become one service with a recorded source for every field."""

from typing import Any

import pytest

from registry.core.formats.adp import rules as adp_rules
from registry.core.merging import rules as merging_rules
from registry.core.merging.merge import HeldDocument, MergeResult, merge
from registry.core.model.documents import Outcome, Via
from registry.core.model.findings import Rule
from registry.core.reading import rules as reading_rules
from tests.core.documents import CARD_PATH, a2a_card, service_of
from tests.support import holding
from tests.support.holding import findings_of

HOST = "basket.example"

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
ACTION: dict[str, Any] = {
    "id": "place_order", "description": "Place an order", "auth_required": True, "endpoint": "/v1/orders",
    "inputs": {"items": {"type": "array[string]", "required": True}}, "outputs": {"order": "string"}, "method": "POST",
    "requires_human_confirmation": True,
}  # fmt: skip
AWP: dict[str, Any] = {
    "awp_version": "0.2", "domain": HOST, "intent": "Groceries.", "auth": {"type": "none"}, "actions": [ACTION],
}  # fmt: skip
BROWSE = {"id": "browse", "name": "Browse shelves", "description": "Looks for goods", "tags": ["food"]}
CARD = a2a_card(HOST, name="Basket shopper", description="Plans meals.", skills=[BROWSE])
MANIFEST_URL = f"https://{HOST}/.well-known/agent"


def held(body: Any, path: str, via: Via | None = None) -> HeldDocument:
    return holding.held(HOST, path, body, via)


def card(**members: Any) -> HeldDocument:
    return held(CARD | members, CARD_PATH)


def adp(body: Any = ADP) -> HeldDocument:
    return held(body, "/.well-known/agent")


def reference(index: int) -> Via:
    return Via(MANIFEST_URL, f"/capabilities/{index}/detail_url", "detail_url", "adp-detail")


def detail(body: Any, index: int) -> HeldDocument:
    return held(body, f"/v1/caps/{index}", reference(index))


def rules(merged: MergeResult) -> set[Rule]:
    return {located.finding.rule for located in merged.findings}


def test_a_host_without_a_service_document_is_no_service() -> None:
    merged = merge(HOST, [held({"hello": "world"}, "/agent.json")])
    assert merged.service is None
    assert merged.formats == ()


def test_a_detail_is_merged_into_the_capability_that_points_to_it() -> None:
    order, browse = service_of(HOST, adp(), detail(DETAIL, 0)).capabilities
    assert order.detail is not None and order.detail["endpoint"] == "/orders"
    call = next(i for i in order.invocations if i.kind == "http")
    assert (call.method, call.endpoint) == ("POST", f"https://{HOST}/v1/orders")  # appended, not resolved by RFC 3986
    assert browse.detail is None


def test_a_detail_is_matched_by_its_pointer_and_not_by_its_name() -> None:
    capabilities = service_of(HOST, adp(), detail(DETAIL | {"name": "browse"}, 0)).capabilities
    assert [capability.detail is not None for capability in capabilities] == [True, False]


def test_a_missing_detail_is_a_finding_of_the_manifest_once_it_was_requested() -> None:
    missing = holding.missed(HOST, "/v1/caps/browse", reference(1))
    ((document, pointer, evidence),) = findings_of(merge(HOST, [adp(), missing]), adp_rules.DETAIL_UNANSWERED)
    assert (document, pointer) == (MANIFEST_URL, "/capabilities/1/detail_url") and "absent" in evidence
    skipped = holding.missed(HOST, "/v1/caps/browse", reference(1), Outcome.SKIPPED, "budget")
    assert adp_rules.DETAIL_UNANSWERED not in rules(merge(HOST, [adp(), skipped]))


def test_the_same_call_in_two_formats_is_one_capability_with_both_invocations() -> None:
    capabilities = service_of(HOST, held(AWP, "/agent.json"), adp(), detail(DETAIL, 0)).capabilities
    assert [capability.id for capability in capabilities] == ["order", "browse"]
    assert {i.origin.format for i in capabilities[0].invocations if i.origin} >= {"adp-detail"}
    assert capabilities[0].confirmation is not None
    assert capabilities[0].confirmation.required  # stated in the other document only


@pytest.mark.parametrize(
    ("skill", "name"),
    [(BROWSE, "Browse shelves"), ({"id": "x", "name": "order", "description": "Orders.", "tags": ["food"]}, "order-2")],
)
def test_a_shared_id_or_name_alone_does_not_merge_and_names_stay_unique(skill: dict[str, Any], name: str) -> None:
    service = service_of(HOST, adp(), card(skills=[skill]))
    assert [capability.name for capability in service.capabilities] == ["order", "browse", name]


def test_precedence_decides_fields_and_provenance_tells() -> None:
    merged = merge(HOST, [card(), adp(), held(AWP, "/agent.json")])
    service = merged.service
    assert merged.formats == ("adp", "awp", "a2a")
    assert service.name == "Basket"
    assert service.provenance["name"].document == f"https://{HOST}/.well-known/agent"
    assert service.version == "1.0.0"
    assert service.provenance["version"].format == "a2a"


def test_a_host_name_is_the_last_choice_for_a_name() -> None:
    merged = merge(HOST, [held(AWP, "/agent.json"), card()])
    assert merged.service.name == "Basket shopper"
    assert merged.service.provenance["name"].format == "a2a"
    assert merging_rules.CONFLICT_NAME not in rules(merged)


def test_two_prices_are_a_finding_and_one_of_them_counts() -> None:
    free, paid = ({"pricing": {"type": kind}} | ADP for kind in ("free", "paid"))
    merged = merge(HOST, [adp(free), held(paid, "/agent.json")])
    ((*_, evidence),) = findings_of(merged, merging_rules.CONFLICT_PRICING)
    assert evidence == "/.well-known/agent: free | /agent.json: paid"
    assert merged.service is not None and merged.service.pricing.model == "free"


def test_agreement_is_no_finding() -> None:
    merged = merge(HOST, [adp(), card(name="basket")])
    assert merging_rules.CONFLICT_NAME not in rules(merged)
    assert merging_rules.CONFLICT_AUTH not in rules(merged)


def test_the_same_bytes_at_two_paths_are_one_document() -> None:
    merged = merge(HOST, [held(AWP, "/.well-known/agent.json"), held(AWP, "/agent.json")])
    assert merged.documents == (f"https://{HOST}/agent.json",)
    assert len(merged.service.capabilities) == 1


def test_a_native_document_wins_over_a_synthetic_one() -> None:
    synthetic = AWP | {"source": "synthetic", "generated_by": "mill", "confidence": 0.5, "last_verified": "2026-01-01"}
    merged = merge(HOST, [held(synthetic, "/agent.json"), card()])
    assert merged.formats == ("a2a", "awp")
    assert not merged.service.synthetic


def test_endpoints_on_another_site_are_kept_and_marked() -> None:
    merged = merge(HOST, [card(url="https://other-basket.com/a2a")])
    assert all(call.off_site for capability in merged.service.capabilities for call in capability.invocations)
    assert merging_rules.ENDPOINT_OFF_SITE in rules(merged)
    assert merging_rules.ENDPOINT_OFF_SITE not in rules(merge(HOST, [card(url=f"https://api.{HOST}/a2a")]))


def test_a_malformed_document_has_findings() -> None:
    merged = merge(HOST, [held(b'{"spec_version": "1.0", ', "/.well-known/agent")])
    assert merged.service is None
    assert reading_rules.TRUNCATED in rules(merged)
