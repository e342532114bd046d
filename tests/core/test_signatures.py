"""Signatures over documents: made here with every supported algorithm, and one of a real site."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.format_support.signatures import (
    MAX_SIGNED_CHARS,
    SignatureVerdict,
    canonical,
    header_of,
    public_keys,
    signatures_of,
    verify,
)
from registry.core.model.documents import Json
from registry.core.model.services import Signature
from tests.support.shared import shared

CARD: dict[str, Any] = {"name": "Basket", "version": "1.0.0", "skills": [{"id": "a", "name": "b", "tags": []}]}
Signer = Callable[[bytes], bytes]


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def number(value: int) -> str:
    return b64(value.to_bytes((value.bit_length() + 7) // 8))


def elliptic(curve: ec.EllipticCurve, digest: hashes.HashAlgorithm, name: str) -> tuple[Signer, dict[str, Json]]:
    key, size = ec.generate_private_key(curve), (curve.key_size + 7) // 8

    def sign(message: bytes) -> bytes:
        r, s = decode_dss_signature(key.sign(message, ec.ECDSA(digest)))
        return r.to_bytes(size) + s.to_bytes(size)

    public = key.public_key().public_numbers()
    return sign, {"kty": "EC", "crv": name, "x": b64(public.x.to_bytes(size)), "y": b64(public.y.to_bytes(size))}


def edwards() -> tuple[Signer, dict[str, Json]]:
    key = ed25519.Ed25519PrivateKey.generate()
    return key.sign, {"kty": "OKP", "crv": "Ed25519", "x": b64(key.public_key().public_bytes_raw())}


def rsa_key(bits: int, scheme: padding.AsymmetricPadding) -> tuple[Signer, dict[str, Json]]:
    key = rsa.generate_private_key(65537, bits)
    public = key.public_key().public_numbers()
    jwk: dict[str, Json] = {"kty": "RSA", "n": number(public.n), "e": number(public.e)}
    return lambda message: key.sign(message, scheme, hashes.SHA256()), jwk


PSS = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
MAKERS: dict[str, Callable[[], tuple[Signer, dict[str, Json]]]] = {
    "ES256": lambda: elliptic(ec.SECP256R1(), hashes.SHA256(), "P-256"),
    "ES384": lambda: elliptic(ec.SECP384R1(), hashes.SHA384(), "P-384"),
    "EdDSA": edwards,
    "Ed25519": edwards,
    "RS256": lambda: rsa_key(2048, padding.PKCS1v15()),
    "PS256": lambda: rsa_key(2048, PSS),
}


def signed_by(signer: Signer, algorithm: str, text: str, **header: Any) -> Signature:
    protected = b64(json.dumps({"alg": algorithm, "kid": "k1", **header}).encode())
    return Signature(protected, b64(signer(f"{protected}.{b64(text.encode())}".encode())))


@pytest.mark.parametrize("algorithm", list(MAKERS))
def test_a_good_signature_verifies_and_another_text_does_not(algorithm: str) -> None:
    signer, key = MAKERS[algorithm]()
    text = canonical(CARD, "signatures")
    assert text is not None
    signature = signed_by(signer, algorithm, text)
    keys = public_keys([key | {"kid": "k1"}])
    assert verify(signature, text, keys) is SignatureVerdict.VERIFIED
    assert verify(signature, text.replace("Basket", "Casket"), keys) is SignatureVerdict.BROKEN
    assert verify(signature, text, public_keys([key | {"kid": "k2"}])) is SignatureVerdict.NO_KEY
    assert verify(signature, text, ()) is SignatureVerdict.NO_KEY
    assert verify(signature, text, public_keys([key | {"kid": "k1", "use": "enc"}])) is SignatureVerdict.NO_KEY
    assert verify(signature, text, public_keys([key | {"kid": "k1", "alg": "HS256"}])) is SignatureVerdict.NO_KEY


@pytest.mark.parametrize("algorithm", list(MAKERS))
@pytest.mark.parametrize("other", list(MAKERS))
def test_a_key_of_another_kind_never_counts(algorithm: str, other: str) -> None:
    """Even if the header of the signature names that algorithm."""
    signer, key = MAKERS[algorithm]()
    if {algorithm, other} <= {"EdDSA", "Ed25519"} or {algorithm, other} <= {"RS256", "PS256"} or algorithm == other:
        return
    text = canonical(CARD, "signatures") or ""
    assert verify(signed_by(signer, other, text), text, public_keys([key | {"kid": "k1"}])) is SignatureVerdict.NO_KEY


@pytest.mark.parametrize("header", [{"alg": "none"}, {"alg": "HS256"}, {"crit": ["b64"], "b64": False}, {"alg": 7}])
def test_unsupported_headers_are_not_verified(header: dict[str, Any]) -> None:
    signer, key = edwards()
    text = canonical(CARD, "signatures") or ""
    signature = signed_by(signer, "EdDSA", text, **header)
    assert verify(signature, text, public_keys([key | {"kid": "k1"}])) is SignatureVerdict.UNSUPPORTED


def test_a_card_that_its_signer_wrote_without_default_values_verifies() -> None:
    """A2A 1.0 section 8.4.1: the signer removed default values, and the server writes them."""
    served = CARD | {"supportsAuthenticatedExtendedCard": False, "security": [], "capabilities": {"extensions": []}}
    signer, key = edwards()
    reduced = canonical(CARD | {"capabilities": {}}, "signatures") or ""
    signature = signed_by(signer, "EdDSA", reduced)
    assert verify(signature, canonical(served, "signatures") or "", public_keys([key | {"kid": "k1"}])) == "verified"


def test_a_small_key_is_no_key() -> None:
    signer, key = rsa_key(1024, padding.PKCS1v15())
    text = canonical(CARD, "signatures") or ""
    assert verify(signed_by(signer, "RS256", text), text, public_keys([key | {"kid": "k1"}])) is SignatureVerdict.BROKEN


def test_private_members_are_never_kept() -> None:
    (key,) = public_keys([{"kty": "EC", "crv": "P-256", "x": "a", "y": "b", "d": "secret", "oth": "x"}])
    assert set(key) == {"kty", "crv", "x", "y"}
    assert public_keys([{"kty": "oct", "k": "secret"}, 7, None]) == ()


def test_canonical_form_is_that_of_rfc_8785() -> None:
    value: dict[str, Json] = {"b": 1.0, "a": "\u20ac", "signatures": [1], "c": [True, None]}
    assert canonical(value, "signatures") == rfc8785.dumps({"a": "\u20ac", "b": 1.0, "c": [True, None]}).decode()
    assert canonical({"a": "x" * MAX_SIGNED_CHARS}, "signatures") is None
    assert canonical({"a": "\ud800"}, "signatures") is None


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80), st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=9))))
def test_anything_can_be_verified(protected: str, value: str, keys: list[Json]) -> None:
    for signature in (Signature(protected, value), Signature(b64(b'{"alg":"EdDSA"}'), value)):
        key: Json = {"kty": "OKP", "crv": "Ed25519", "x": protected[:40]}
        assert verify(signature, "{}", public_keys([*keys, key])) is not SignatureVerdict.VERIFIED


def test_only_texts_are_signatures_and_each_keeps_its_place() -> None:
    items: list[Any] = [7, {"protected": "a"}, {"protected": "a", "signature": "b"}, {"protected": "x" * 9000}]
    assert signatures_of(items, "/signatures") == (Signature("a", "b", "/signatures/2"),)
    assert header_of("a") is None
    assert header_of(b64(b"[]")) is None


def test_the_card_of_a_real_site_verifies() -> None:
    card = json.loads((shared("corpus") / "a2a" / "live-agent-ready.dev.json").read_text())
    keys = json.loads((shared("corpus") / "identity" / "live-agent-ready.dev.json").read_text())
    text = canonical(card, "signatures")
    (signature,) = signatures_of(card["signatures"], "/signatures")
    assert text is not None
    assert verify(signature, text, public_keys(keys["keys"])) is SignatureVerdict.VERIFIED
    assert (
        verify(signature, text.replace("agent-ready", "agent-reedy"), public_keys(keys["keys"]))
        is SignatureVerdict.BROKEN
    )
