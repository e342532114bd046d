"""A host is listed for what it offers; otherwise exactly one finding about the host says why it is not."""

from typing import Any

import pytest

from registry.core.merging import rules
from registry.core.merging.merge import HeldDocument, MergeResult, merge
from registry.core.model.findings import Rule
from tests.core.documents import CARD_PATH, a2a_card, service_of
from tests.core.merging.test_referrals import HOST, LIGHT, entry, via
from tests.support.holding import held, missed

AWP: dict[str, Any] = {
    "awp_version": "0.2",
    "domain": "example.com",
    "intent": "Describe what your site does",
    "actions": [{"id": "search", "description": "Search", "method": "GET", "endpoint": "/api/search"}],
}


def card(**members: Any) -> HeldDocument:
    return held(
        HOST, CARD_PATH, a2a_card(HOST, name="Lamp agent", description="Lights lamps.", skills=[LIGHT]) | members
    )


def catalogue(*entries: dict[str, Any]) -> HeldDocument:
    document = {"specVersion": "1.0", "host": {"displayName": "Lamps"}, "entries": list(entries)}
    return held(HOST, "/.well-known/ard.json", document)


def reasons(merged: MergeResult) -> list[Rule]:
    return [located.finding.rule for located in merged.findings if located.finding.rule in rules.NOT_LISTED]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (card(url="http://localhost:8080/"), rules.NOTHING_CALLABLE),
        (card(url="localhost:8080"), rules.NOTHING_CALLABLE),
        (card(url="https://agent.your-domain.com/a2a"), rules.NOTHING_CALLABLE),
        (card(name="io.example.<owner>/<server-name>"), rules.TEMPLATE),
        (held(HOST, "/agent.json", AWP), rules.TEMPLATE),
        (held(HOST, "/server.json", {
            "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": "io.example/{{name}}", "description": "Lights lamps.", "version": "1.0.0",
            "packages": [{"registryType": "npm", "identifier": "lamps", "transport": {"type": "stdio"}}],
        }), rules.TEMPLATE),
        (held(HOST, "/llms.txt", "# Lamps\n\n> All about lamps.\n", media_type="text/plain"), rules.ONLY_TEXTS),
        (catalogue(entry("far", "application/openapi+json", url="https://other.example.net/api.json")
                   | {"identifier": "urn:air:other.example.net:x:far"}), rules.ONLY_ELSEWHERE),
    ],
)  # fmt: skip
def test_not_listed(document: HeldDocument, reason: Rule) -> None:
    merged = merge(HOST, [document])
    assert merged.service is None
    assert reasons(merged) == [reason]


def test_a_host_without_documents_has_no_reason() -> None:
    assert reasons(merge(HOST, [missed(HOST, "/.well-known/agent-card.json", None)])) == []


@pytest.mark.parametrize(
    "document",
    [
        card(),
        held(HOST, "/agent.json", AWP | {"intent": "Sells lamps"}),
        held(HOST, "/.well-known/x402", {"name": "Lamps", "pricing": {"light": {"amount": 0.01, "unit": "USDC"}}}),
    ],
)
def test_listed(document: HeldDocument) -> None:
    merged = merge(HOST, [document])
    assert merged.service is not None
    assert reasons(merged) == []


def test_a_catalogue_alone_offers_the_entries_of_its_domain() -> None:
    """Also those on other hosts of the domain, those of its publisher elsewhere, and one whose document is absent."""
    entries = (
        entry("own", "application/openapi+json", url=f"https://{HOST}/openapi.json"),
        entry("sub", "application/openapi+json", url=f"https://api.{HOST}/openapi.json"),
        entry("far", "text/markdown", url="https://raw.example.net/SKILL.md"),
        entry("foreign", "application/openapi+json", url="https://other.example.net/x.json")
        | {"identifier": "urn:air:other.example.net:x:foreign"},
        entry("card", "application/a2a-agent-card+json", url=f"https://{HOST}/card.json"),
    )
    absent = missed(HOST, "/openapi.json", via(0))
    service = service_of(HOST, catalogue(*entries), absent)
    assert [capability.name for capability in service.capabilities] == ["Own", "Sub", "Far", "Card"]
    assert [(protocol.id, protocol.card_url) for protocol in service.protocols] == [
        ("a2a", f"https://{HOST}/card.json")
    ]


def test_a_catalogue_beside_a_card_offers_only_what_is_on_its_host() -> None:
    entries = (
        entry("sub", "application/openapi+json", url=f"https://api.{HOST}/openapi.json"),
        entry("own", "application/openapi+json", url=f"https://{HOST}/openapi.json"),
    )
    service = service_of(HOST, card(), catalogue(*entries))
    assert [capability.name for capability in service.capabilities] == ["Light up", "Own"]


def test_the_name_of_another_site_is_not_taken() -> None:
    for others in ((), (held(HOST, "/ucp.json", {"ucp": {"services": {}}}),)):
        assert service_of(HOST, card(name="famous-bank.com"), *others).name == HOST


def test_a_card_of_no_specification_counts_after_one_that_follows_one() -> None:
    loose = {"name": "Other name", "description": "Other text", "mcp_url": f"https://{HOST}/mcp"}
    service = service_of(HOST, held(HOST, "/agent.json", loose), card())
    assert (service.name, service.description) == ("Lamp agent", "Lights lamps.")
    assert {protocol.id for protocol in service.protocols} == {"a2a", "mcp"}


def test_a_service_whose_only_addresses_are_samples_is_not_listed() -> None:
    host = "mill-works.com"
    sample = held(host, CARD_PATH, a2a_card("agent.example.com", skills=[LIGHT]))
    assert reasons(merge(host, [sample])) == [rules.NOTHING_CALLABLE]
    assert reasons(merge(host, [held(host, CARD_PATH, a2a_card(host, skills=[LIGHT]))])) == []
