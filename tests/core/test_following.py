"""What a pointer causes: a request now, a candidate host for later, or nothing."""

from datetime import UTC, datetime

import pytest

from registry.core.model.documents import Probe, Purpose, Via
from registry.core.model.services import Pointer
from registry.core.visiting.pointers import follow, inline
from registry.core.visiting.visits import HostCandidate

DOCUMENT = "https://shop.example/agent.json"
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("pointer", "url", "purpose"),
    [
        (Pointer("/openapi.json", "service-desc", "/a"), "https://shop.example/openapi.json", Purpose.POINTER),
        (Pointer("https://api.shop.example/x#y", "odd", "/a", "a2a"), "https://api.shop.example/x", Purpose.POINTER),
        (Pointer("/d/1", "detail_url", "/a", "adp-detail"), "https://shop.example/d/1", Purpose.DETAIL),
    ],
)
def test_documents_of_this_site_are_requested(pointer: Pointer, url: str, purpose: Purpose) -> None:
    request = follow(pointer, DOCUMENT)
    assert isinstance(request, Probe)
    assert (request.url, request.purpose) == (url, purpose)
    assert request.via == Via(DOCUMENT, "/a", pointer.rel, pointer.expected)


@pytest.mark.parametrize(
    ("pointer", "host"),
    [
        (Pointer("https://agents.example/card.json", "entry", "", "a2a"), "agents.example"),
        (Pointer("https://api.shop.example/rpc", "endpoint"), "api.shop.example"),  # a candidate, never called
    ],
)
def test_other_hosts_become_candidates(pointer: Pointer, host: str) -> None:
    assert follow(pointer, DOCUMENT) == HostCandidate(host, pointer.rel, DOCUMENT)


@pytest.mark.parametrize(
    "pointer",
    [
        Pointer(None, "entry"),
        Pointer("/api/send", "endpoint"),
        Pointer("/status", "status"),
        Pointer("/cards/{tenant}.json", "entry", "", "a2a"),
        Pointer("/cards/%7Btenant%7D.json", "entry", "", "a2a"),
        Pointer("https://other.example/d/1", "detail_url", "", "adp-detail"),
        Pointer("http://shop.example/x", "ard", "", "ai-catalog"),
        Pointer("https://shop.example:8443/x", "ard", "", "ai-catalog"),
        Pointer("https://u@shop.example/x", "ard", "", "ai-catalog"),
        Pointer("https://169.254.169.254/latest", "ard", "", "ai-catalog"),
        Pointer("file:///etc/passwd", "ard", "", "ai-catalog"),
        Pointer("https://", "ard", "", "ai-catalog"),
    ],
    ids=lambda pointer: f"{pointer.rel} {pointer.url}",
)
def test_other_pointers_are_ignored(pointer: Pointer) -> None:
    assert follow(pointer, DOCUMENT) is None


def test_a_payload_has_its_own_url_and_cannot_break_anything() -> None:
    inlined = inline(Pointer(None, "entry", "/entries/0/data", "a2a", {"name": "Größe"}), DOCUMENT, NOW)
    assert inlined is not None
    probe, fetched = inlined
    assert probe.url == fetched.final_url == f"{DOCUMENT}#/entries/0/data"
    assert fetched.body == '{"name":"Größe"}'.encode()
    loop: list[object] = []
    loop.append(loop)
    for payload in (loop, {"x": "\ud800"}, {"x": "y" * 2_000_000}, {1: object()}):
        assert inline(Pointer(None, "entry", "", None, payload), DOCUMENT, NOW) is None
