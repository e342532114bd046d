"""Records of another registry: what is accepted, and why the rest is refused."""

import json
from typing import Any

import pytest

from registry.actions.mirroring.received import RefusedRecord, received
from tests.actions.test_dumps import BIKES, EXEMPT, POST
from tests.support.builders import NOW


def record_of(**changes: Any) -> bytes:
    """Return a valid record with changes, as a hostile origin could send it."""
    service = {
        "kind": "service",
        "host": POST,
        "manifest_url": f"https://{POST}/agent.json",
        "injection_flags": [],
        "crawl_failures": 0,
        "rubric_version": "1",
        "created_at": NOW.isoformat(),
        "updated_at": NOW.isoformat(),
        "seen_at": NOW.isoformat(),
        "visit": {},
        "usage": {},
        "model": {"name": "Post"},
        "capabilities": [{"name": "send", "data": {"id": "send", "name": "send"}}],
        "listing": {
            "domain": POST, "host": POST, "name": "Post", "description": "", "trust_level": "community", "score": 50,
            "formats": ["awp"], "auth_type": "none", "pricing_type": "free",
        },
        "findings": [],
        "grade": None,
        "documents": [],
    }  # fmt: skip
    return json.dumps({**service, **changes}).encode()


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


LISTING = json.loads(record_of())["listing"]
SEND = {"name": "send", "data": {"id": "send", "name": "send"}}


def test_the_plain_record_is_accepted() -> None:
    assert received(record_of(), exempt=EXEMPT).service is not None


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"{", "not_json"),
        (b"[]", "no_host"),
        (record_of(host="127.0.0.1"), "invalid_host"),
        (record_of(host="POST.example"), "host_not_canonical"),
        (record_of(kind="other"), "unknown_kind"),
        (record_of(model={"name": "a\0b"}), "unstorable"),
        (record_of(model={"native": deep(100)}), "unstorable"),
        (record_of(model=[]), "bad_shape"),
        (record_of(model={"capabilities": 3, "auth": "x"}), "bad_shape"),
        (record_of(created_at="yesterday"), "bad_shape"),
        (record_of(created_at="2026-01-01T00:00:00"), "bad_shape"),
        (record_of(created_at="0001-01-01T00:00:00+14:00"), "bad_shape"),
        (record_of(seen_at="9999-12-31T23:59:59-14:00"), "bad_shape"),
        (record_of(crawl_failures=-1), "bad_shape"),
        (record_of(listing={**LISTING, "score": 1_000}), "bad_shape"),
        (record_of(manifest_url="http://10.0.0.1/"), "foreign_document"),
        (record_of(capabilities=[SEND, SEND]), "repeated_key"),
        (record_of(kind="opted_out", covering="example"), "bad_covering"),
        (record_of(kind="opted_out", covering=[]), "bad_covering"),
        (record_of(kind="opted_out", covering=[POST]), "bad_covering"),
        (record_of(kind="opted_out", covering=[{"host": BIKES, "kind": "blocked"}]), "bad_covering"),
        (record_of(kind="opted_out", covering=[{"host": POST, "kind": "absent"}]), "bad_covering"),
    ],
)
def test_bad_records_are_refused_with_a_reason(raw: bytes, code: str) -> None:
    with pytest.raises(RefusedRecord) as refusal:
        received(raw, exempt=EXEMPT)
    assert refusal.value.code == code


def test_an_opt_out_of_a_suffix_is_refused() -> None:
    covering = [{"host": "example", "kind": "blocked"}]
    with pytest.raises(RefusedRecord, match="bad_covering"):
        received(record_of(kind="opted_out", covering=covering), exempt=EXEMPT)


def test_a_listing_of_another_host_is_refused() -> None:
    with pytest.raises(RefusedRecord, match="listing_of_another_host"):
        received(record_of(listing={**LISTING, "host": BIKES}), exempt=EXEMPT)


def test_a_foreign_document_is_refused() -> None:
    with pytest.raises(RefusedRecord, match="foreign_document"):
        received(record_of(manifest_url=f"https://{BIKES}/agent.json"), exempt=EXEMPT)


def test_a_number_that_no_encoder_writes_is_refused() -> None:
    with pytest.raises(RefusedRecord, match="unstorable"):
        received(record_of(model={"native": {"awp": {"number": 2**70}}}), exempt=EXEMPT)
    raw = record_of(model={"native": {"awp": {"number": 2**70}}}).replace(str(2**70).encode(), b"1e999")
    with pytest.raises(RefusedRecord, match="unstorable"):
        received(raw, exempt=EXEMPT)


def test_addresses_of_private_networks_do_not_pass() -> None:
    call = {"kind": "http", "endpoint": "https://169.254.169.254/latest", "method": "GET"}
    capability = {"name": "send", "data": {"id": "send", "name": "send", "invocations": [call]}}
    raw = record_of(capabilities=[capability, {"name": "b", "data": {"id": "b", "name": "b"}}])
    found = received(raw, exempt=EXEMPT)
    assert "169.254" not in str(found.capabilities)
    assert [one.name for one in found.capabilities] == ["b"]


def test_examples_of_calls_are_made_here() -> None:
    """What the origin says an example is would be a way past the budget of work."""
    call = {"kind": "http", "endpoint": f"https://{POST}/x", "method": "POST"}
    params = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    data = {"id": "send", "name": "send", "params": params, "invocations": [call]}
    stated = {"name": "send", "data": data, "example": {"values": {"id": "x" * 1_000}, "derived": [], "missing": []}}
    (capability,) = received(record_of(capabilities=[stated]), exempt=EXEMPT).capabilities
    assert capability.example == {"values": {"id": 1}, "derived": ["id"], "missing": []}
