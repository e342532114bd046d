"""What a response means before its body is read; redirects; what assess does with bodies of status 200."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.assessing.assess import assess
from registry.core.assessing.controls import Controls
from registry.core.assessing.verdicts import MAX_RETRY_AFTER, get_outcome_of_status, retry_after
from registry.core.formats.awas import rules as awas_rules
from registry.core.model.documents import FetchResult, Outcome, Probe, Purpose
from registry.core.model.findings import Finding
from registry.core.visiting.pointers import Follow, Stop, redirect

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOME = "https://shop.example"
URL = f"{HOME}/agent.json"
PROBE = Probe(URL, Purpose.MANIFEST, "S2", "*/*", 1000)


def fetched(status: int, body: bytes = b"", **headers: str) -> FetchResult:
    return FetchResult(URL, URL, NOW, status, {k.replace("_", "-"): v for k, v in headers.items()}, body)


STATUSES = {
    Outcome.NOT_A_MANIFEST: (201, 204, 206),
    Outcome.ABSENT: (400, 404, 405, 418),
    Outcome.GONE: (410,),
    Outcome.REFUSED: (401, 402, 403, 407, 451),
    Outcome.RATE_LIMITED: (429,),
    Outcome.SERVER_ERROR: (300, 304, 408, 421, 425, 500, 599, 999),
}


@pytest.mark.parametrize(
    ("status", "outcome"), [(status, outcome) for outcome, statuses in STATUSES.items() for status in statuses]
)
def test_the_status_decides_before_the_body(status: int, outcome: Outcome) -> None:
    awp = json.dumps({"awp_version": "0.2", "intent": "x", "actions": [], "domain": "shop.example"}).encode()
    assessment = assess(PROBE, fetched(status, awp), Controls())
    assert (assessment.outcome, assessment.reason) == (outcome, f"status_{status}")


def test_only_200_and_203_are_read() -> None:
    assert [status for status in range(100, 600) if get_outcome_of_status(status) is None] == [200, 203]


@pytest.mark.parametrize(
    ("status", "field", "seconds"),
    [
        (429, "120", 120), (503, "0", 0), (429, "999999999", 86_400), (429, "99999999999999999999", 86_400),
        (429, "Sun, 01 Mar 2026 12:05:00 GMT", 300), (429, "Sun, 01 Mar 2026 11:00:00 GMT", 0),
        (429, "Sun, 01 Mar 2026 12:05:00", None), (429, "soon", None), (429, "-5", None), (429, "1" * 5000, 86_400),
        (200, "120", None),
    ],
)  # fmt: skip
def test_retry_after(status: int, field: str, seconds: int | None) -> None:
    assert retry_after(fetched(status, retry_after=field)) == seconds


@given(st.sampled_from([429, 503]), st.text(max_size=80) | st.from_regex(r"[0-9]{1,6000}", fullmatch=True))
def test_any_wish_for_time_is_bounded(status: int, field: str) -> None:
    seconds = retry_after(fetched(status, retry_after=field))
    assert seconds is None or 0 <= seconds <= MAX_RETRY_AFTER


def test_failures_keep_their_outcome_and_reason() -> None:
    failed = FetchResult(URL, URL, NOW, failure=Outcome.TLS_ERROR, reason="certificate_expired")
    assessment = assess(PROBE, failed, Controls())
    assert (assessment.outcome, assessment.reason) == (Outcome.TLS_ERROR, "certificate_expired")


def test_304_counts_only_for_our_own_validators() -> None:
    conditional = Probe(URL, Purpose.MANIFEST, "S2", "*/*", 1000, etag='"1"')
    assert assess(conditional, fetched(304), Controls()).outcome is Outcome.FOUND
    assert assess(PROBE, fetched(304), Controls()).outcome is Outcome.SERVER_ERROR


def test_cut_json_is_never_parsed_and_cut_text_keeps_whole_characters() -> None:
    cut = FetchResult(URL, URL, NOW, 200, {}, b'{"awp_version": "0.2"}', truncated=True)
    assert assess(PROBE, cut, Controls()).outcome is Outcome.TOO_LARGE
    url = f"{HOME}/llms.txt"
    probe = Probe(url, Purpose.MANIFEST, "S1", "text/markdown, text/plain, */*;q=0.1", 40)
    body = "# Gärten\n\n> Werkzeug für alle €".encode()
    for end in range(len(body) - 3, len(body)):
        assessment = assess(probe, FetchResult(url, url, NOW, 200, {}, body[:end], truncated=True), Controls())
        assert assessment.format == "llms-txt"


def test_a_front_page_is_no_manifest_but_has_pointers() -> None:
    probe = Probe(f"{HOME}/", Purpose.HOME, "S0", "*/*", 1000)
    answer = FetchResult(probe.url, probe.url, NOW, 200, {"link": "</a>; rel=ard"}, b"<link rel=ard href=/b>")
    assessment = assess(probe, answer, Controls())
    assert assessment.outcome is Outcome.NOT_A_MANIFEST
    assert [pointer.url for pointer in assessment.pointers] == [f"{HOME}/a", f"{HOME}/b"]
    assert assessment.findings == ()
    marked = answer._replace(body=b"<button data-awas-action=buy>")
    assert assess(probe, marked, Controls()).findings == (Finding(awas_rules.HINT),)


@pytest.mark.parametrize(
    ("location", "step"),
    [
        ("/.well-known/agent.json", Follow(f"{HOME}/.well-known/agent.json")),
        ("https://www.shop.example/agent.json#x", Follow("https://www.shop.example/agent.json")),
        ("//api.shop.example/a", Follow("https://api.shop.example/a")),
        ("https://shop.example:443/a", Follow(f"{HOME}/a")),
        ("https://other.example/agent.json", Stop(Outcome.REDIRECTED_AWAY, "to other.example", "other.example")),
        ("https://printer.internal/x", Stop(Outcome.REDIRECTED_AWAY, "to no public host", "printer.internal")),
        ("https://a.evil.org", Stop(Outcome.REDIRECTED_AWAY, "to a.evil.org", "a.evil.org")),
        *((path, Stop(Outcome.ABSENT, "redirect_home", "shop.example")) for path in ("/", "/index.html", "/404")),
        ("https://www.shop.example/Login/?next=/x", Stop(Outcome.ABSENT, "redirect_home", "www.shop.example")),
        ("http://shop.example/a", Stop(Outcome.REFUSED_ADDRESS, "redirect_http", "shop.example")),
        ("https://shop.example:8443/a", Stop(Outcome.REFUSED_ADDRESS, "redirect_port", "shop.example")),
        ("https://u:p@shop.example/a", Stop(Outcome.REFUSED_ADDRESS, "redirect_userinfo", "shop.example")),
        ("https://2130706433/a", Stop(Outcome.REFUSED_ADDRESS, "redirect_unreadable", None)),
        ("https://[::1]/a", Stop(Outcome.REFUSED_ADDRESS, "redirect_address", None)),
        ("javascript:alert(1)", Stop(Outcome.REFUSED_ADDRESS, "redirect_scheme", None)),
        ("file:///etc/passwd", Stop(Outcome.REFUSED_ADDRESS, "redirect_scheme", None)),
        ("https://", Stop(Outcome.REFUSED_ADDRESS, "redirect_unreadable", None)),
        ("/" + "a" * 5000, Stop(Outcome.REFUSED_ADDRESS, "redirect_name", "shop.example")),
        ("/agent.json", Stop(Outcome.SERVER_ERROR, "redirect_loop", "shop.example")),
        ("/seen", Stop(Outcome.SERVER_ERROR, "redirect_loop", "shop.example")),
        ("  ", Stop(Outcome.SERVER_ERROR, "redirect_without_location")),
        (None, Stop(Outcome.SERVER_ERROR, "redirect_without_location")),
    ],
)  # fmt: skip
def test_a_redirect_is_followed_or_stopped(location: str | None, step: Follow | Stop) -> None:
    assert redirect(URL, location, (f"{HOME}/seen",), Purpose.MANIFEST) == step


@pytest.mark.parametrize(("purpose", "hops"), [(Purpose.MANIFEST, 3), (Purpose.HOME, 3), (Purpose.ROBOTS, 5)])
def test_the_number_of_hops_is_limited(purpose: Purpose, hops: int) -> None:
    seen: list[str] = []
    while isinstance(step := redirect(f"{HOME}/{len(seen)}", f"/{len(seen) + 1}", seen, purpose), Follow):
        seen.append(f"{HOME}/{len(seen)}")
    assert len(seen) == hops and step.reason == "redirect_loop"


def test_a_front_page_may_redirect_to_a_login() -> None:
    assert redirect(f"{HOME}/", "/login", (), Purpose.HOME) == Follow(f"{HOME}/login")
