"""A card is verified only with keys that the same host serves."""

import json
from typing import Any

import pytest

from registry.core.formats.a2a import rules as a2a_rules
from registry.core.merging import rules as merging_rules
from registry.core.merging.merge import HeldDocument, MergeResult, merge
from registry.core.model.documents import Probe
from registry.core.model.services import from_json, to_json
from registry.core.visiting.pointers import follow
from tests.core.documents import CARD_PATH, a2a_card, public_key, signed
from tests.support.holding import findings_of, held
from tests.support.shared import shared

HOST = "seal.example"
CARD = a2a_card(HOST)


def card(value: dict[str, Any]) -> HeldDocument:
    return held(HOST, CARD_PATH, value)


def key_set(host: str = HOST, **members: str) -> HeldDocument:
    return held(host, "/.well-known/jwks.json", {"keys": [public_key(**{"kid": "k1", **members})]})


def verified(merged: MergeResult) -> list[bool | None]:
    return [signature.verified for signature in merged.service.identity.signatures]


def test_a_card_verifies_with_a_key_of_its_host() -> None:
    merged = merge(HOST, [card(signed(CARD)), key_set()])
    assert verified(merged) == [True]
    assert findings_of(merged, merging_rules.SIGNATURE_VERIFIED) == [
        (f"https://{HOST}{CARD_PATH}", "/signatures/0", "EdDSA k1")
    ]
    assert [key["kid"] for key in merged.service.identity.keys] == ["k1"]


def test_a_changed_card_does_not_verify() -> None:
    merged = merge(HOST, [card(signed(CARD) | {"description": "Opens letters."}), key_set()])
    assert verified(merged) == [False]
    assert len(findings_of(merged, merging_rules.SIGNATURE_BROKEN)) == 1


@pytest.mark.parametrize("others", [[], [key_set("other.example")], [key_set(kid="k2")]], ids=["no", "away", "named"])
def test_a_signature_without_a_key_of_the_host_is_undecided(others: list[HeldDocument]) -> None:
    merged = merge(HOST, [card(signed(CARD)), *others])
    assert verified(merged) == [None]
    assert len(findings_of(merged, merging_rules.SIGNATURE_NO_KEY)) == 1


def test_another_algorithm_is_named() -> None:
    merged = merge(HOST, [card(signed(CARD, alg="HS256")), key_set()])
    assert findings_of(merged, merging_rules.SIGNATURE_UNSUPPORTED)[0][2] == "HS256 k1"


def test_the_text_that_was_signed_is_not_kept() -> None:
    merged = merge(HOST, [card(signed(CARD)), key_set()])
    assert merged.service.identity.signed is None
    assert from_json(json.loads(json.dumps(to_json(merged.service)))) == merged.service


@pytest.mark.parametrize(
    ("jku", "urls"),
    [
        (f"https://{HOST}/keys.json", [f"https://{HOST}/keys.json"]),
        (f"https://keys.{HOST}/k", [f"https://keys.{HOST}/k"]),
        ("https://stranger.example/keys.json", []),
        ("http://seal.example/keys.json", []),
        (7, []),
    ],
)
def test_the_key_set_is_requested_on_the_same_site_only(jku: Any, urls: list[str]) -> None:
    assessment = card(signed(CARD, jku=jku)).assessment
    assert [target.url for target in assessment.pointers] == urls
    for pointer in assessment.pointers:
        assert isinstance(follow(pointer, f"https://{HOST}{CARD_PATH}"), Probe)


def test_an_invalid_signature_is_a_finding_of_the_card() -> None:
    merged = merge(HOST, [card(CARD | {"signatures": [{"protected": 7}]})])
    assert [pointer for _, pointer, _ in findings_of(merged, a2a_rules.SIGNATURE)] == ["/signatures/0"]
    assert verified(merged) == []


def test_keys_of_did_documents_and_of_shops_count_too() -> None:
    public = public_key()
    method = {"id": f"did:web:{HOST}#k1", "type": "JsonWebKey2020", "publicKeyJwk": public}
    did = held(HOST, "/.well-known/did.json", {"id": f"did:web:{HOST}", "verificationMethod": [method]})
    merged = merge(HOST, [card(signed(CARD)), did])
    assert verified(merged) == [True]
    assert merged.service is not None and merged.service.identity.dids == (f"did:web:{HOST}",)
    shop = {"ucp": {"version": "2026-04-08", "services": {}, "capabilities": {}, "keys": [public | {"kid": "k1"}]}}
    assert verified(merge(HOST, [card(signed(CARD)), held(HOST, "/.well-known/ucp", shop)])) == [True]


def test_the_card_of_a_real_site_verifies_with_its_key_set() -> None:
    corpus, host = shared("corpus"), "www.shop.com"
    documents = [
        held(host, CARD_PATH, (corpus / "a2a" / "live-agent-ready.dev.json").read_bytes()),
        held(host, "/.well-known/jwks.json", (corpus / "identity" / "live-agent-ready.dev.json").read_bytes()),
    ]
    merged = merge(host, documents)
    assert verified(merged) == [True]
    assert findings_of(merged, merging_rules.SIGNATURE_VERIFIED)[0][2] == "ES256 agent-ready-es256-2026-08-20"
