"""Soft 404: which responses equal a control, and which only resemble it."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.assessing.assess import assess, sample
from registry.core.assessing.controls import COMPARED, Controls, normalised
from registry.core.model.documents import FetchResult, Outcome, Probe, Purpose

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HOME = "https://shop.example"
RANDOM = "/.well-known/0123456789abcdef0123456789abcdef.json"


def fetched(
    path: str, body: str = "", status: int = 200, hops: tuple[str, ...] = (), final: str | None = None
) -> FetchResult:
    return FetchResult(HOME + path, HOME + (final or path), NOW, status, {}, body.encode(), hops)


def controls(body: str, status: int = 200, home_ok: bool = True) -> Controls:
    return Controls((sample(fetched(RANDOM, body, status)),), home_ok)


PAGE = """<!doctype html><html><head><title>Not found</title><meta name="request-id" content="{nonce}"></head>
<body><nav>Shop Tools Seeds Pots About us Contact Help Jobs Press</nav>
<p>The page {path} does not exist. It is {time}.</p><footer>
Copyright {year} Garden Shop Limited, all rights reserved</footer>"""


def soft_404(path: str, nonce: str, time: str) -> str:
    return PAGE.format(path=path, nonce=nonce, time=time, year=time[:4])


@pytest.mark.parametrize(
    "body",
    [
        soft_404("/agent.json", "7f3c9a0e-1111-4222-8333-abcdefabcdef", "2026-03-01T10:00:00Z"),
        soft_404("%2Fagent.json", "d41d8cd98f00b204", "2026-03-01 10:00:01"),
        soft_404(HOME + "/agent.json", "c2Vzc2lvbi1ub25jZS0xMjM0NTY3ODkw", "2026-03-02T23:59:59.123Z"),
    ],
)
def test_what_changes_between_requests_is_masked(body: str) -> None:
    control = controls(soft_404(RANDOM, "00000000-0000-4000-8000-000000000000", "2025-12-31T23:59:59Z"))
    assert control.equal(fetched("/agent.json", body)) is not None


def test_other_pages_are_not_equal() -> None:
    control = controls(soft_404(RANDOM, "1", "2026"))
    assert control.equal(fetched("/agent.json", "<html><title>Docs</title><p>Our agents and how to use them")) is None
    assert control.equal(fetched("/agent.json", json.dumps({"awp_version": "0.2", "actions": []}))) is None


def test_the_status_must_be_the_same() -> None:
    assert controls("same", 404).equal(fetched("/agent.json", "same", 200)) is None
    assert controls("same", 403).equal(fetched("/agent.json", "same", 403)) is not None


def test_manifests_of_the_same_letters_are_not_equal() -> None:
    """A measure over single letters finds these 97 % similar."""
    names = ["order", "refund", "basket", "invoice", "address", "voucher", "supplier", "delivery"]
    first = json.dumps([{"name": f"get {n}", "about": f"reads one {n} of a customer"} for n in names])
    second = json.dumps([{"name": f"{n} get", "about": f"customer of a {n}: one reads"} for n in reversed(names)])
    assert controls(first).equal(fetched("/agent.json", second)) is None


def test_redirects_to_the_same_place_are_equal() -> None:
    control = Controls((sample(fetched(RANDOM, "a", hops=(HOME + RANDOM,), final="/welcome")),))
    assert control.equal(fetched("/agent.json", "b", hops=(HOME + "/agent.json",), final="/welcome")) is not None
    assert control.equal(fetched("/welcome", "b")) is None  # requested directly, with another response


def test_failures_are_equal_to_nothing() -> None:
    failed = FetchResult(HOME, HOME, NOW, failure=Outcome.UNREACHABLE, reason="reset")
    assert Controls((sample(failed),)).equal(fetched("/agent.json")) is None
    assert controls("").equal(failed) is None
    assert not Controls((sample(failed),)).echo


@pytest.mark.parametrize(
    ("body", "status", "echo"), [(' {"ok": 1}', 200, True), ("[]", 203, True), ("{}", 404, False), ("<p>", 200, False)]
)
def test_echo_hosts_answer_json_to_random_names(body: str, status: int, echo: bool) -> None:
    assert controls(body, status).echo is echo


@pytest.mark.parametrize(
    ("status", "control", "home_ok", "outcome"),
    [
        (200, 200, True, Outcome.ABSENT), (404, 404, True, Outcome.ABSENT), (403, 403, True, Outcome.ABSENT),
        (403, 403, False, Outcome.REFUSED), (403, 404, True, Outcome.REFUSED), (410, 410, True, Outcome.GONE),
        (429, 429, True, Outcome.RATE_LIMITED), (500, 500, True, Outcome.SERVER_ERROR),
    ],
)  # fmt: skip
def test_a_control_changes_the_outcome(status: int, control: int, home_ok: bool, outcome: Outcome) -> None:
    probe = Probe(HOME + "/agent.json", Purpose.MANIFEST, "S2", "*/*", 1000)
    assessment = assess(probe, fetched("/agent.json", "<p>nothing", status), controls("<p>nothing", control, home_ok))
    assert assessment.outcome is outcome


def test_only_the_head_of_a_body_is_compared() -> None:
    """Only the first COMPARED bytes are compared; what follows changes nothing."""
    head = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}" for n in range(COMPARED))[:COMPARED]
    assert controls(head + "x" * 500_000).equal(fetched("/agent.json", head + "y" * 1000)) is not None


@settings(max_examples=200)
@given(st.binary(max_size=300), st.binary(max_size=300))
def test_any_two_bodies_can_be_compared(a: bytes, b: bytes) -> None:
    pages = {"/a.json": a, "/b.json": b}
    first, second = (FetchResult(HOME + path, HOME + path, NOW, 200, {}, body) for path, body in pages.items())
    assert (Controls((sample(first),)).equal(second) is None) is (Controls((sample(second),)).equal(first) is None)
    assert Controls((sample(first),)).equal(first) is not None
    assert not any("0" in word for word in normalised(b"x" + a + b"1230"))
