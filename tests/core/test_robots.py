"""robots.txt: the recorded cases, statuses, hostile files, pointers, opt-out."""

import json
import random
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.visiting.robots import CAP, MAX_DELAY, MAX_POINTERS, PRODUCT, Robots, is_page
from tests.support.shared import shared

HOST = "https://shop.example"


def test_agrees_with_every_recorded_case() -> None:
    cases = json.loads(shared("robots", "cases.json").read_text(encoding="utf-8"))
    mismatches = [
        case["id"]
        for case in cases
        if Robots.parse(case["robots_txt"].encode(), case["user_agent"]).allowed(case["url"]) is not case["allowed"]
    ]
    assert mismatches == []
    assert len(cases) == 145


@pytest.mark.parametrize(
    ("status", "allowed", "reason"),
    [
        (404, True, "robots_404"), (401, True, "robots_401"), (410, True, "robots_410"), (302, True, "robots_302"),
        (429, False, "robots_429"), (500, False, "robots_500"), (503, False, "robots_503"),
        (None, False, "read_timeout"),
    ],
)  # fmt: skip
def test_the_status_decides_when_there_is_no_file(status: int | None, allowed: bool, reason: str) -> None:
    robots = Robots.from_answer(status, b"User-agent: *\nDisallow: /\n", "read_timeout")
    assert robots.allowed(f"{HOST}/agent.json") is allowed
    assert robots.reason == reason
    assert not robots.opted_out


def test_a_served_file_is_obeyed() -> None:
    robots = Robots.from_answer(200, b"User-agent: *\nDisallow: /private\n")
    assert not robots.allowed(f"{HOST}/private/agent.json")
    assert robots.allowed(f"{HOST}/agent.json")


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><p>Disallow: /",
        b"\xef\xbb\xbf  <html>\n<p>Disallow: /",
        b"<script>\nvar client = {\nuserAgent: navigator.userAgent\n}</script>",
    ],
)
def test_a_page_without_rules_is_no_file(body: bytes) -> None:
    robots = Robots.parse(body)
    assert robots.allowed("/agent.json") and robots.reason == "html"
    assert is_page(body)


_OPT_OUT = "User-agent: WaypostBot\nDisallow: /\n"


@pytest.mark.parametrize(
    "body",
    [
        f"<br />\n<b>Warning</b>: chmod() in /srv/a.php on line 7<br />\n{_OPT_OUT}".encode(),
        f"<!-- from the cache, 12 ms -->\n{_OPT_OUT}".encode(),
        f"<!-- from the cache -->{_OPT_OUT}".encode(),
        f"<!--\n{_OPT_OUT}-->".encode(),
        f"\xef\xbb\xbf  <html>\n{_OPT_OUT}".encode("latin-1"),
        f'<html><body><pre style="white-space: pre-wrap">{_OPT_OUT}</pre></body></html>'.encode(),
        _OPT_OUT.replace("\n", "<br />").encode(),
        _OPT_OUT.replace("\n", "<BR>\n").encode(),
        f"<p>{_OPT_OUT}".replace("\n", "</p><p>").encode(),
        f"<br />\n{_OPT_OUT}".replace("\n", "\r").encode(),
        _OPT_OUT.encode("utf-16"),
        _OPT_OUT.encode("utf-16-le"),
        _OPT_OUT.encode("utf-16-be"),
        f"# caf\xe9\n{_OPT_OUT}".encode("latin-1"),
        f"Sitemap: https://shop.example/map.xml\n\ufeff{_OPT_OUT}".encode(),
        f"Sitemap: https://shop.example/map.xml\n\u00a0{_OPT_OUT}".encode(),
        b"User-agent: WaypostBot\nDisallow: *\nDisallow: /*$\n",
    ],
)
def test_rules_count_whatever_surrounds_them(body: bytes) -> None:
    robots = Robots.parse(body)
    assert not robots.allowed("/agent.json")
    assert robots.opted_out
    assert not is_page(body)


def test_brackets_that_are_no_element_belong_to_the_pattern() -> None:
    robots = Robots.parse(b"User-agent: *\nDisallow: /find/<word>\n<!-- Disallow: / -->\n")
    assert robots.allowed("/find/all") and not robots.allowed("/find/%3Cword%3E")


def test_only_the_first_500_kib_count() -> None:
    head = b"User-agent: *\nDisallow: /early\n" + b"#" * (CAP - 31) + b"\n"
    robots = Robots.parse(head + b"Disallow: /late\n")
    assert not robots.allowed("/early") and robots.allowed("/late")


@pytest.mark.parametrize("line_break", [b"\n", b"\r", b"\r\n"])
def test_a_line_that_the_limit_cuts_does_not_count(line_break: bytes) -> None:
    head = line_break.join([b"User-agent: *", b"Disallow: /", b""])
    cut = b"Allow: /open"
    filler = b"#" * (CAP - len(head) - len(line_break) - len(b"Allow: /"))
    assert not Robots.parse(head + filler + line_break + cut).allowed("/agent.json")
    assert Robots.parse(head + cut).allowed("/open")


@pytest.mark.parametrize(
    ("rule", "path", "allowed"),
    [
        ("Disallow: /%7Ebo", "/~bo", False),
        ("Disallow: /~bo", "/%7ebo", False),
        ("Disallow: /a%2db%2E%5f%30", "/a-b._0", False),
        ("Disallow: /%61%5A", "/aZ", False),
        ("Disallow: /a%2Fb", "/a/b", True),  # a reserved character is another one than its triplet
        ("Disallow: /a%2Fb", "/a%2fb", False),
        ("Disallow: /a%2541", "/aA", True),  # decoded once
        ("Disallow: /my files", "/my%20files", False),
        ('Disallow: /{id}"|', "/%7Bid%7D%22|", False),
        ("Disallow: /a%2Ab", "/a*b", False),
        ("Disallow: /a%2Ab", "/axb", True),
        ("Disallow: /a%24", "/a$b", False),
        ("Disallow: /a$b", "/a%24b", False),
        ("Disallow: /a$", "/a%24", True),
        ("Disallow: /*.zip$", "/a%2Ezip", False),
        ("Disallow: /go?to=https://b.example", "/go?to=https%3A%2F%2Fb.example", False),
        ("Disallow: /~bo\nAllow: /%7E", "/~bo", False),  # the longest counts, in decoded octets
        ("Disallow: /%7Ebo\nAllow: /~bo/open", "/~bo/open", True),
    ],
)
def test_octets_are_compared_decoded(rule: str, path: str, allowed: bool) -> None:
    assert Robots.parse(f"User-agent: *\n{rule}\n".encode()).allowed(HOST + path) is allowed


def test_triplets_are_compared_without_case() -> None:
    robots = Robots.parse("User-agent: *\nDisallow: /caf%c3%a9\nDisallow: /straße\n".encode())
    assert not robots.allowed(f"{HOST}/caf%C3%A9") and not robots.allowed(f"{HOST}/caf%c3%a9")
    assert not robots.allowed(f"{HOST}/stra%c3%9fe")


@pytest.mark.parametrize(
    ("body", "opted_out", "allowed"),
    [
        ("User-agent: WaypostBot\nDisallow: /\n", True, False),
        ("User-agent: otherbot\nUser-agent: waypostBOT/1.0\nDisallow: /*\n", True, False),
        ("User-agent: *\nDisallow: /\n", False, False),  # all robots: disallowed, but no opt-out
        ("User-agent: WaypostBot\nDisallow: /private\n", False, True),
        ("User-agent: WaypostBot\nDisallow: /\nAllow: /agent.json\n", False, True),
        ("User-agent: WaypostBot\nDisallow:\n\nUser-agent: *\nDisallow: /\n", False, True),
        ("User-agent: WaypostBotanist\nDisallow: /\n", False, True),
    ],
)
def test_an_opt_out_must_name_this_crawler(body: str, opted_out: bool, allowed: bool) -> None:
    robots = Robots.parse(body.encode())
    assert robots.opted_out is opted_out
    assert robots.allowed(f"{HOST}/agent.json") is allowed


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("Crawl-delay: 2.5", 2.5), ("crawl-delay: 3600", MAX_DELAY), ("Crawl-delay: 0", 0.0),
        ("Crawl-delay: -1", None), ("Crawl-delay: nan", None), ("Crawl-delay: 1e999", None),
        ("Crawl-delay: soon", None), ("Crawl-delay: " + "9" * 400, MAX_DELAY),
    ],
)  # fmt: skip
def test_crawl_delay(line: str, seconds: float | None) -> None:
    assert Robots.parse(f"User-agent: *\n{line}\n".encode()).crawl_delay == seconds


def test_the_crawl_delay_of_this_crawlers_group_counts() -> None:
    body = b"User-agent: *\nCrawl-delay: 9\n\nDisallow: /x\n\nUser-agent: WaypostBot\nCrawl-delay: 1\n"
    assert Robots.parse(body).crawl_delay == 1.0


def test_pointers() -> None:
    body = b"# agentic-manifest: /ai-actions.json\nAgentmap: https://shop.example/ard.json\n#agentmap: https://no.example\n"
    assert [(p.url, p.rel, p.expected) for p in Robots.parse(body).pointers] == [
        ("/ai-actions.json", "agentic-manifest", "awas"),
        ("https://shop.example/ard.json", "agentmap", "ai-catalog"),
    ]
    assert len(Robots.parse(b"Agentmap: https://shop.example/x\n" * 1000).pointers) == MAX_POINTERS


def test_bytes_of_any_kind_get_an_answer() -> None:
    rng = random.Random(9309)
    pieces = [b"user-agent", b"disallow", b"allow", *(bytes((byte,)) for byte in b": \n\r/*$#%\x00\xff")]
    for _ in range(20_000):
        is_noise = rng.random() < 0.5
        body = rng.randbytes(rng.randrange(60)) if is_noise else b"".join(rng.choices(pieces, k=rng.randrange(30)))
        assert Robots.parse(body).allowed("/a/b?c=%2f") in (True, False)


@settings(max_examples=200)
@given(st.text(alphabet="ab/*$", max_size=12), st.text(alphabet="ab/", max_size=12))
def test_patterns_match_as_their_regular_expression(pattern: str, tail: str) -> None:
    path = "/" + tail
    body, end = (pattern[:-1], r"\Z") if pattern.endswith("$") else (pattern, "")
    expression = ".*".join(re.escape(piece) for piece in body.split("*")) + end
    disallowed = bool(pattern) and re.match(expression, path) is not None
    assert Robots.parse(f"User-agent: *\nDisallow: {pattern}\n".encode()).allowed(path) is not disallowed


@pytest.mark.parametrize(
    "body",
    [
        b"".join(b"User-agent: bot%d\n" % n for n in range(100_000)) + b"User-agent: *\nDisallow: /\n",
        b"User-agent: *\n" + b"Disallow: /" + b"*a" * 200_000 + b"\n",
        b"User-agent: *\n" + b"".join(b"Disallow: /%s%d*a*a*a*b\n" % (b"a*" * 8, n) for n in range(12_000)),
    ],
    ids=["100,000 agents", "one long pattern", "many starred patterns"],
)
def test_work_is_bounded_by_the_size_of_the_file(body: bytes) -> None:
    """The measure is function calls of this project per byte of the file, not time."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        Robots.parse(body).allowed("/" + "a" * 2000)
    finally:
        sys.setprofile(None)
    assert calls < 3 * min(len(body), CAP)


def test_the_token_is_one_that_robots_files_can_name() -> None:
    assert PRODUCT.replace("-", "").replace("_", "").isalpha()
