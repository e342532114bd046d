"""Our reading of the Public Suffix List agrees with the reference library's for every rule; no list but the list."""

import pkgutil

import pytest
import tldextract
from hypothesis import given
from hypothesis import strategies as st

from registry.core import domains
from registry.core.suffixes import KNOWN, SHIPPED, BadReference, SuffixList, believable, parse_suffixes

BODY = pkgutil.get_data("tldextract", ".tld_set_snapshot") or b""
REFERENCE = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=(), include_psl_private_domains=True)

NESTED = {name for name in SHIPPED.wildcards if name.partition(".")[2] in SHIPPED.wildcards}
"""`*.ex.futurecms.at` beside `*.futurecms.at`: the reference library forgets the second for `ex.futurecms.at`."""


def reference(host: str) -> tuple[str, str]:
    found = REFERENCE.extract_str(host)
    return found.suffix, f"{found.domain}.{found.suffix}" if found.domain and found.suffix else ""


def with_rule(rule: str) -> bytes:
    end = b"// ===END PRIVATE DOMAINS==="
    assert end in BODY
    return BODY.replace(end, rule.encode() + b"\n" + end)


def test_every_rule_cuts_as_the_reference_library_cuts() -> None:
    rules = SHIPPED.names | SHIPPED.wildcards | SHIPPED.exceptions
    assert len(rules) > 9_000
    for rule in rules:
        for host in (rule, f"a.{rule}", f"b.a.{rule}", f"c.b.a.{rule}"):
            assert SHIPPED.cut(host) == (reference(host) if host not in NESTED else (host, "")), host


labels = st.sampled_from(["a", "www", "city", "com", "co", "uk", "ck", "jp", "kawasaki", "github", "io", "zzz", "np"])


@given(st.lists(labels, min_size=1, max_size=6).map(".".join))
def test_any_name_is_cut_as_the_reference_library_cuts(host: str) -> None:
    assert SHIPPED.cut(host) == reference(host)


def test_international_rules_are_kept_as_hosts_are() -> None:
    assert SHIPPED.cut("a.b.xn--55qx5d.cn") == ("xn--55qx5d.cn", "b.xn--55qx5d.cn")


def test_a_newer_list_is_believed() -> None:
    newer = believable(parse_suffixes(with_rule("tenants.example-host.com\n*.wild.example-host.com")), SHIPPED)
    assert newer.cut("a.b.tenants.example-host.com") == ("tenants.example-host.com", "b.tenants.example-host.com")
    assert newer.cut("a.b.wild.example-host.com") == ("b.wild.example-host.com", "a.b.wild.example-host.com")
    assert len(newer) == len(SHIPPED) + 2


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<!doctype html><title>Not today</title>",
        BODY[: len(BODY) * 9 // 10],
        BODY[len(BODY) // 10 :],
        BODY + b"\xff\xfe",
        with_rule("<script>"),
        with_rule("two..dots"),
        with_rule("*"),
        with_rule("a.*.b"),
        with_rule("\u2603\u200d.com"),
        BODY.replace(b"===BEGIN PRIVATE", b"===END PRIVATE", 1),
    ],
    ids=["empty", "page", "cut", "headless", "bytes", "markup", "dots", "star", "inner star", "no label", "markers"],
)
def test_what_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(BadReference):
        parse_suffixes(body)


def thinned(rule: str) -> SuffixList:
    return SuffixList(SHIPPED.names - {rule}, SHIPPED.wildcards, SHIPPED.exceptions)


@pytest.mark.parametrize(
    "suffixes",
    [
        SuffixList(frozenset(KNOWN), SHIPPED.wildcards, SHIPPED.exceptions),
        SuffixList(SHIPPED.names | {f"n{n}.com" for n in range(40_000)}, SHIPPED.wildcards, SHIPPED.exceptions),
        SuffixList(SHIPPED.names, frozenset(), SHIPPED.exceptions),
        SuffixList(SHIPPED.names, SHIPPED.wildcards, frozenset()),
        *map(thinned, KNOWN),
    ],
)
def test_a_list_that_cannot_be_todays_is_refused(suffixes: SuffixList) -> None:
    with pytest.raises(BadReference):
        believable(suffixes, SHIPPED)


def test_hosts_are_cut_by_the_list_in_force_from_one_moment_on() -> None:
    newer = parse_suffixes(with_rule("tenants.com"))
    assert domains.registrable_domain("alice.tenants.com") == "tenants.com"
    try:
        domains.use_suffixes(newer)
        assert domains.registrable_domain("alice.tenants.com") == "alice.tenants.com"
        assert not domains.same_site("alice.tenants.com", "bob.tenants.com")
        with pytest.raises(domains.InvalidName, match="public suffix"):
            domains.canonical_host("tenants.com")
    finally:
        domains.use_suffixes(SHIPPED)
    assert domains.registrable_domain("alice.tenants.com") == "tenants.com"
