"""The Public Suffix List is read like the reference library does for every rule; invalid lists are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from registry.core.names import domains
from registry.core.names.suffixes import (
    REQUIRED_RULES,
    SHIPPED,
    BadReference,
    SuffixList,
    parse_suffixes,
    require_plausible,
    shipped_body,
)

BODY = shipped_body()
REFERENCE = PublicSuffixList(accept_unknown=False)


def reference(host: str) -> tuple[str, str]:
    """Cut as the library does, but for the name above a wildcard, which it takes for a suffix.

    By the algorithm of the list only names below that name match the wildcard: the name itself is cut by other rules.
    """
    if host not in SHIPPED.wildcards:
        return REFERENCE.publicsuffix(host) or "", REFERENCE.privatesuffix(host) or ""
    _, _, parent = host.partition(".")
    if host in SHIPPED.names or parent in SHIPPED.wildcards:
        return host, ""
    suffix, domain = reference(parent) if parent else ("", "")
    return suffix, domain or (host if suffix else "")


def with_rule(rule: str) -> bytes:
    end = b"// ===END PRIVATE DOMAINS==="
    assert end in BODY
    return BODY.replace(end, rule.encode() + b"\n" + end)


def test_every_rule_cuts_as_the_reference_library_cuts() -> None:
    rules = SHIPPED.names | SHIPPED.wildcards | SHIPPED.exceptions
    assert len(rules) > 9_000
    for rule in rules:
        for host in (rule, f"a.{rule}", f"b.a.{rule}", f"c.b.a.{rule}"):
            assert SHIPPED.cut(host) == reference(host), host


def test_the_name_above_a_wildcard_is_no_suffix_by_it() -> None:
    assert SHIPPED.cut("ck") == ("", "")
    assert SHIPPED.cut("user.fm") == ("fm", "user.fm")
    assert SHIPPED.cut("ex.futurecms.at") == ("ex.futurecms.at", "")  # below `*.futurecms.at`


@pytest.mark.parametrize(
    ("host", "is_on_platform"),
    [
        ("kiln.vercel.app", True),
        ("api.kiln.up.railway.app", True),
        ("kiln.potter.workers.dev", True),
        ("kiln.city.ex.futurecms.at", True),  # by a wildcard
        ("vercel.app", False),  # the platform itself
        ("kiln.co.uk", False),
        ("www.kiln.com", False),
    ],
)
def test_sites_below_a_platform_are_known_by_the_private_section(host: str, is_on_platform: bool) -> None:
    assert domains.is_on_platform(host) is is_on_platform


labels = st.sampled_from(["a", "www", "city", "com", "co", "uk", "ck", "jp", "kawasaki", "github", "io", "zzz", "np"])


@given(st.lists(labels, min_size=1, max_size=6).map(".".join))
def test_any_name_is_cut_as_the_reference_library_cuts(host: str) -> None:
    assert SHIPPED.cut(host) == reference(host)


def test_international_rules_are_kept_as_hosts_are() -> None:
    assert SHIPPED.cut("a.b.xn--55qx5d.cn") == ("xn--55qx5d.cn", "b.xn--55qx5d.cn")


def test_a_newer_list_is_believed() -> None:
    newer = require_plausible(parse_suffixes(with_rule("tenants.example-host.com\n*.wild.example-host.com")), SHIPPED)
    assert newer.cut("a.b.tenants.example-host.com") == ("tenants.example-host.com", "b.tenants.example-host.com")
    assert newer.cut("a.b.wild.example-host.com") == ("b.wild.example-host.com", "a.b.wild.example-host.com")
    assert len(newer) == len(SHIPPED) + 2


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<!doctype html><title>Not today</title>", BODY[: len(BODY) * 9 // 10], BODY[len(BODY) // 10 :],
        BODY + b"\xff\xfe", with_rule("<script>"), with_rule("two..dots"), with_rule("*"), with_rule("a.*.b"),
        with_rule("\u2603\u200d.com"), BODY.replace(b"===BEGIN PRIVATE", b"===END PRIVATE", 1),
    ],
    ids=["empty", "page", "cut", "headless", "bytes", "markup", "dots", "star", "inner star", "no label", "markers"],
)  # fmt: skip
def test_what_is_no_list_is_refused(body: bytes) -> None:
    with pytest.raises(BadReference):
        parse_suffixes(body)


def thinned(rule: str) -> SuffixList:
    return SuffixList(SHIPPED.names - {rule}, SHIPPED.wildcards, SHIPPED.exceptions)


@pytest.mark.parametrize(
    "suffixes",
    [
        SuffixList(frozenset(REQUIRED_RULES), SHIPPED.wildcards, SHIPPED.exceptions),
        SuffixList(SHIPPED.names | {f"n{n}.com" for n in range(40_000)}, SHIPPED.wildcards, SHIPPED.exceptions),
        SuffixList(SHIPPED.names, frozenset(), SHIPPED.exceptions),
        SuffixList(SHIPPED.names, SHIPPED.wildcards, frozenset()),
        *map(thinned, REQUIRED_RULES),
    ],
)
def test_a_list_that_cannot_be_todays_is_refused(suffixes: SuffixList) -> None:
    with pytest.raises(BadReference):
        require_plausible(suffixes, SHIPPED)


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
