"""Signed requests of real visits over TLS, verified by an implementation of RFC 9421 that is not ours."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from http_message_signatures import InvalidSignature

from crawler import signing
from crawler.guards import BadSetup
from crawler.signing import RequestSigner, SentSignatures
from registry.core.model.documents import Post, Purpose
from registry.core.web_bot_auth import SigningKey
from registry.settings import Settings
from registry.wiring import signing_keys
from registry.wiring.signing_keys import KeyFiles
from tests.crawler.support import NOTHING, Visiting, fetch, probe
from tests.support.signatures import Verifier
from tests.support.sites import Exchange, Reply, moved

REGISTRY = "https://registry.example"
SHOP, OTHER = "shop.example", "www.shop.example"
FIELDS = {"signature", "signature-input", "signature-agent"}


def with_key(folder: Path, not_before: int = 1, **changes: Any) -> tuple[Settings, SigningKey]:
    config = Settings(data=folder, public_url=REGISTRY, **changes)
    return config, KeyFiles(config).add(not_before)


class Clock:
    def __init__(self) -> None:
        self.now = time.time()
        self.time = self.monotonic = lambda: self.now


def stopped(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the modules that sign a clock that stands still."""
    clock = Clock()
    for module in (signing, signing_keys):
        monkeypatch.setattr(module, "time", clock)
    return clock


def verify(exchange: Exchange, *keys: SigningKey) -> Any:
    return Verifier(*keys).verify_request(f"https://{exchange.host}{exchange.path}", exchange.headers)


async def test_sites_verify_every_request_and_no_signature_serves_another_host(
    visiting: Visiting, tmp_path: Path
) -> None:
    _, key = with_key(tmp_path)
    sites = {
        SHOP: {"/a": moved("/b"), "/b": moved(f"https://{OTHER}/c"), "/d": Reply("{}")},
        OTHER: {"/c": Reply("{}", headers=(("ETag", '"1"'),))},
    }
    async with visiting(sites, data=tmp_path, public_url=REGISTRY) as (served, visitor):
        conditional = probe(f"https://{OTHER}/c")._replace(etag='"1"')
        await fetch(visitor, probe(f"https://{SHOP}/d"), probe(f"https://{SHOP}/a"), conditional)
    assert [(one.host, one.path) for one in served.seen] == [
        (SHOP, "/d"), (SHOP, "/a"), (SHOP, "/b"), (OTHER, "/c"), (OTHER, "/c"),
    ]  # fmt: skip
    assert served.seen[-1].headers["if-none-match"] == '"1"'
    for exchange in served.seen:
        verified = verify(exchange, key)
        assert verified.parameters["expires"] - verified.parameters["created"] == 60
        assert abs(verified.parameters["created"] - time.time()) < 60
        assert exchange.headers["signature-agent"] == f'"{REGISTRY}"'
        stranger = {SHOP: OTHER, OTHER: SHOP}[exchange.host]
        with pytest.raises(InvalidSignature):
            verify(replace(exchange, host=stranger), key)
    first, second, third, fourth, fifth = (one.headers["signature"] for one in served.seen)
    assert first == second  # reused on the same host
    assert len({second, third, fourth}) == 3  # never the old one after a redirect
    assert fourth == fifth


async def test_without_a_key_or_an_https_address_nothing_is_signed(visiting: Visiting, tmp_path: Path) -> None:
    with_key(tmp_path / "keys")
    for config in ({"data": tmp_path}, {"data": tmp_path / "keys", "public_url": "http://registry.example"}):
        async with visiting({SHOP: NOTHING}, **config) as (served, visitor):
            await fetch(visitor, probe(f"https://{SHOP}/a"))
        assert FIELDS.isdisjoint(served.seen[0].headers)


async def test_posts_are_signed_too(visiting: Visiting, tmp_path: Path) -> None:
    _, key = with_key(tmp_path)
    post = Post("tools/list", b"{}", (("Content-Type", "application/json"),), 1)
    async with visiting({SHOP: Reply("{}")}, data=tmp_path, public_url=REGISTRY) as (served, visitor):
        await fetch(visitor, probe(f"https://{SHOP}/mcp", Purpose.RPC, post=post))
    assert served.seen[0].method == "POST" and verify(served.seen[0], key).parameters["keyid"] == key.id


@pytest.mark.parametrize(("status", "is_new"), [(200, False), (404, False), (401, True), (403, True), (429, True)])
async def test_a_site_that_refuses_gets_a_signature_for_each_request(
    visiting: Visiting, tmp_path: Path, status: int, is_new: bool
) -> None:
    with_key(tmp_path)
    async with visiting({SHOP: {"/a": Reply("{}", status)}}, data=tmp_path, public_url=REGISTRY) as (served, visitor):
        await fetch(visitor, *(probe(f"https://{SHOP}/{path}") for path in "abc"))
    signatures = [exchange.headers["signature"] for exchange in served.seen]
    assert len(set(signatures)) == (3 if is_new else 1)


def test_signatures_are_renewed_long_before_they_expire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, _ = with_key(tmp_path, signature_seconds=10, signature_reuse=1_800)
    clock = stopped(monkeypatch)
    sent = SentSignatures(RequestSigner.of(config))
    first = sent.fields(f"https://{SHOP}/a")
    clock.now += 4.9
    assert sent.fields(f"https://{SHOP}/b") == first
    assert sent.fields(f"https://{OTHER}/b") != first
    first = sent.fields(f"https://{SHOP}/a")
    clock.now += 5
    assert sent.fields(f"https://{SHOP}/c") != first


def test_each_request_can_have_its_own_signature(tmp_path: Path) -> None:
    config, _ = with_key(tmp_path, signature_reuse=0)
    sent = SentSignatures(RequestSigner.of(config))
    nonces = {sent.fields(f"https://{SHOP}/a")["Signature-Input"].split("nonce=")[1] for _ in range(5)}
    assert len(nonces) == 5


def test_a_rotation_is_taken_up_without_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signing_keys, "REREAD_SECONDS", 0.0)
    config, old = with_key(tmp_path)
    signer = RequestSigner.of(config)
    assert signer is not None
    files, clock = KeyFiles(config), stopped(monkeypatch)

    def key_in_use() -> str:
        return signer.fields(f"https://{SHOP}/")["Signature-Input"].split('keyid="')[1].split('"')[0]

    new = files.rotate(int(clock.now), lead=600)
    assert key_in_use() == old.id and {key.id for key in files.read()} == {old.id, new.id}
    clock.now += 600
    assert key_in_use() == new.id
    files.remove(old.id)
    assert key_in_use() == new.id
    (files.path / "broken.pem").write_text("no key")
    assert key_in_use() == new.id  # the keys that were read before stay in force


def test_a_crawler_does_not_start_with_a_broken_key_file(tmp_path: Path) -> None:
    config, _ = with_key(tmp_path)
    (KeyFiles(config).path / "broken.pem").write_text("no key")
    with pytest.raises(BadSetup, match=r"broken\.pem is neither"):
        RequestSigner.of(config)
