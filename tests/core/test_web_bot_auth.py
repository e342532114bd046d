"""Signatures of requests and of the key directory, read by an implementation of RFC 9421 that is not ours."""

import base64
import hashlib
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import http_message_signatures as rfc9421
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

from registry.core.web_bot_auth import (
    DIRECTORY_PATH,
    BadKey,
    Draft,
    SigningKey,
    authority_of,
    directory,
    key_in_use,
    listed,
    sign_directory,
    sign_request,
    state_of,
    thumbprint,
)
from tests.support.signatures import Verifier

AGENT = "https://registry.example"
URL = "https://shop.example/agent.json?a=1"
NOW = 4_000_000_000  # far ahead of the clock of the verifier, which accepts no old signatures
NONCE = "0" * 85 + "A"
SECRET = bytes(range(32))


def new_key(not_before: int = 0, expires: int | None = None) -> SigningKey:
    return SigningKey.of(Ed25519PrivateKey.generate(), not_before, expires)


def signed(key: SigningKey, url: str = URL, draft: Draft = "architecture-03", **changes: Any) -> dict[str, str]:
    times = {"created": 1, "expires": NOW, "nonce": NONCE} | changes
    return sign_request(key, url, AGENT, draft=draft, **times)


@pytest.mark.parametrize(
    ("draft", "agent", "component"),
    [
        ("architecture-03", '"https://registry.example"', '"signature-agent"'),
        ("protocol-00", 'sig1="https://registry.example"', '"signature-agent";key="sig1"'),
        ("protocol-01", f'sig1="https://registry.example{DIRECTORY_PATH}"', '"signature-agent";key="sig1"'),
    ],
)
def test_a_signature_is_valid_for_its_host_alone(draft: Draft, agent: str, component: str) -> None:
    key = new_key()
    fields = signed(key, draft=draft)
    assert fields["Signature-Agent"] == agent and all(value.isascii() for value in fields.values())
    verified = Verifier(key).verify_request(URL, fields, max_age=None)
    assert [*verified.covered_components] == ['"@authority"', component, '"@signature-params"']
    assert verified.parameters == {
        "created": 1, "expires": NOW, "keyid": key.id, "alg": "ed25519", "nonce": NONCE, "tag": "web-bot-auth",
    }  # fmt: skip
    for url, changed in (
        (URL.replace("shop", "other"), fields),
        (URL, fields | {"Signature-Agent": agent.replace("registry", "another")}),
        (URL, fields | {"Signature-Input": fields["Signature-Input"].replace(str(NOW), str(NOW + 1))}),
    ):
        with pytest.raises(rfc9421.InvalidSignature):
            Verifier(key).verify_request(url, changed, max_age=None)
    with pytest.raises(rfc9421.InvalidSignature):
        Verifier(new_key()).verify_request(URL, fields, max_age=None)


@pytest.mark.parametrize(
    "url",
    [
        "http://shop.example/agent.json", "https://shop.example:8443/agent.json", "https://shop.example:80/",
        "https://u@shop.example/", "https://192.0.2.1/", "wss://shop.example/", "https://shop.example", "",
    ],
)  # fmt: skip
def test_nothing_but_https_on_port_443_is_signed(url: str) -> None:
    assert signed(new_key(), url) == {}


def test_nonces_are_base64_and_base64url_of_64_bytes() -> None:
    assert len(base64.b64decode(NONCE + "==", validate=True)) == len(base64.urlsafe_b64decode(NONCE + "==")) == 64


def test_the_directory_proves_that_it_has_each_key() -> None:
    keys = [new_key(5), new_key(expires=NOW)]
    body = directory(keys)
    fields = sign_directory(keys, "registry.example", body, created=1, expires=NOW)
    members = orjson.loads(body)["keys"]
    assert [(key["kid"], key.get("nbf"), key.get("exp")) for key in members] == [
        (keys[0].id, 5, None),
        (keys[1].id, None, NOW),
    ]
    assert all(key.keys() <= {"kty", "crv", "kid", "x", "use", "nbf", "exp"} for key in members)  # nothing private
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    assert fields["Content-Digest"] == f"sha-256=:{digest}:"
    verifier = Verifier(*keys)
    verified = verifier.verify_directory(f"{AGENT}{DIRECTORY_PATH}", fields, body)
    assert [one.parameters["keyid"] for one in verified] == [key.id for key in keys]
    with pytest.raises(rfc9421.InvalidSignature):
        verifier.verify_directory(f"https://copy.example{DIRECTORY_PATH}", fields, body)
    with pytest.raises(rfc9421.InvalidSignature):
        verifier.verify_directory(f"{AGENT}{DIRECTORY_PATH}", fields, body.replace(b"sig", b"enc"))


def test_the_thumbprint_is_that_of_rfc_8037() -> None:
    public = base64.urlsafe_b64decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=")
    assert thumbprint(public) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"  # RFC 8037 appendix A.3


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://Registry.Example/x", "registry.example"), ("https://registry.example:443", "registry.example"),
        ("http://127.0.0.1:8000/", "127.0.0.1:8000"), ("http://registry.example:80", "registry.example"),
        ("http://registry.example:443", "registry.example:443"),
    ],
)  # fmt: skip
def test_authorities_are_as_requests_name_them(url: str, authority: str) -> None:
    assert authority_of(url) == authority


# --- key files


def pem(key: Any, encryption: KeySerializationEncryption | None = None) -> bytes:
    return bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption or NoEncryption()))


def jwk(**members: Any) -> bytes:
    secret = base64.urlsafe_b64encode(SECRET).rstrip(b"=").decode()
    return orjson.dumps({"kty": "OKP", "crv": "Ed25519", "d": secret} | members)


def test_a_key_is_read_from_pem_and_from_a_json_web_key() -> None:
    private = Ed25519PrivateKey.from_private_bytes(SECRET)
    assert SigningKey.read(pem(private)).id == SigningKey.read(jwk()).id == SigningKey.of(private).id
    key = SigningKey.of(private, 7, 9)
    read = SigningKey.read(key.private_jwk())
    assert (read.id, read.not_before, read.expires) == (key.id, 7, 9)


EXAMPLE = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"  # private key of RFC 9421 appendix B.1.4


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "neither"),
        (b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "neither"),
        (pem(Ed25519PrivateKey.generate(), BestAvailableEncryption(b"secret")), "neither"),
        (pem(generate_private_key(SECP256R1())), "not an Ed25519 key"),
        (jwk(crv="X25519"), "not an Ed25519 key"),
        (jwk(d="AAAA"), "not an Ed25519 key"),
        (jwk(d="!"), "not a private"),
        (jwk(d=5), "not a private"),
        (jwk(x="AAAA"), "does not belong"),
        (jwk(nbf="soon"), "times"),
        (jwk(exp=True), "times"),
        (jwk(d=EXAMPLE), "example"),
        (b"{}", "not a private"),
        (b"{" + b" " * 9_000, "larger"),
    ],
)
def test_other_files_are_refused_without_telling_their_content(text: bytes, says: str) -> None:
    with pytest.raises(BadKey, match=says) as refused:
        SigningKey.read(text)
    assert "AAAA" not in str(refused.value) and EXAMPLE not in str(refused.value)


def test_a_key_is_never_shown() -> None:
    key = SigningKey.read(jwk())
    secret = SimpleNamespace(text=orjson.loads(key.private_jwk())["d"])
    assert secret.text not in repr(key) and "private" not in repr(key)


# --- rotation


@pytest.mark.parametrize(
    ("now", "in_use", "shown"),
    [
        (50, "old", {"old", "new"}),  # the new key is listed before its first signature
        (99, "old", {"old", "new"}),
        (100, "new", {"old", "new"}),  # the old key is listed until its last signatures have expired
        (199, "new", {"old", "new"}),
        (200, "new", {"new"}),
    ],
)
def test_keys_overlap_when_one_replaces_another(now: int, in_use: str, shown: set[str]) -> None:
    names = {"old": new_key(expires=200), "new": new_key(100)}
    assert key_in_use(names.values(), now, seconds=60) == names[in_use]
    assert {name for name, key in names.items() if key in listed(names.values(), now)} == shown


def test_a_key_whose_signature_would_outlive_it_does_not_sign() -> None:
    key = new_key(expires=100)
    assert key_in_use([key], 40, seconds=60) == key
    assert key_in_use([key], 41, seconds=60) is None
    assert state_of(key, [key], 41) == "in use" and state_of(key, [key], 100) == "expired"
    assert state_of(replace(key, not_before=50), [key], 41) == "next"
