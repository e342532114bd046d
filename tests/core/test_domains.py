"""Host names: accepted in canonical form, accepted with a flag, or refused; URLs; idempotence."""

import socket
import string

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.names.domains import (
    Host,
    InvalidName,
    canonical_host,
    host_of,
    host_syntax,
    is_confusable,
    parse_https,
    read_url,
    registrable_domain,
    same_site,
)


@pytest.mark.parametrize(
    ("text", "host", "domain"),
    [
        ("resend.com", "resend.com", "resend.com"),
        ("API.Resend.COM.", "api.resend.com", "resend.com"),
        ("Bücher.de", "xn--bcher-kva.de", "xn--bcher-kva.de"),
        ("straße.de", "xn--strae-oqa.de", "xn--strae-oqa.de"),  # non-transitional: not strasse.de
        ("XN--BCHER-KVA.de", "xn--bcher-kva.de", "xn--bcher-kva.de"),
        ("ｅxample.com", "example.com", "example.com"),
        ("example。com", "example.com", "example.com"),
        ("日本語abc.jp", "xn--abc-s08fl0dtz6h.jp", "xn--abc-s08fl0dtz6h.jp"),
        ("shop.alice.github.io", "shop.alice.github.io", "alice.github.io"),
        ("a.b.co.uk", "a.b.co.uk", "b.co.uk"),
        ("www.ck", "www.ck", "www.ck"),  # an exception rule of the list
        ("a.foo.ck", "a.foo.ck", "a.foo.ck"),  # a wildcard rule
    ],
)
def test_names_are_accepted_in_canonical_form(text: str, host: str, domain: str) -> None:
    assert canonical_host(text) == Host(host, domain, confusable=False)


@pytest.mark.parametrize("text", ["раураl.com", "сосо.com", "xn--80ak6aa92e.com", "ıcloud.com", "аbc.example.com"])
def test_look_alikes_are_accepted_with_a_flag(text: str) -> None:
    assert canonical_host(text).confusable
    assert is_confusable(canonical_host(text).host)


def test_an_invalid_host_counts_as_confusable() -> None:
    assert is_confusable("xn--a-ecp.ru") and not is_confusable("shop.example")


@pytest.mark.parametrize("text", ["пример.рф", "сосо.рф", "bücher.com", "日本語.jp", "ひらがなカナ漢字.jp", "한국.kr"])
def test_names_in_one_script_carry_no_flag(text: str) -> None:
    assert not canonical_host(text).confusable


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty"),
        (".", "empty_label"),
        ("a..com", "empty_label"),
        (".com", "empty_label"),
        ("x.com..", "empty_label"),
        ("https://x.com", "has_scheme"),
        ("mailto:x", "has_scheme"),
        ("x.com:443", "has_port"),
        ("x.com/", "has_path"),
        ("x.com\\y", "has_path"),
        ("x.com?y", "has_query"),
        ("x.com#y", "has_query"),
        ("u@x.com", "has_userinfo"),
        (" x.com", "whitespace"),
        ("x.com\n", "whitespace"),
        ("x\u3000.com", "whitespace"),
        ("x\x00.com", "invisible_character"),
        ("ex\u00adample.com", "invisible_character"),
        ("ex\u200bample.com", "invisible_character"),
        ("ex\u202eample.com", "invisible_character"),
        ("ex\ufe0fample.com", "invisible_character"),
        ("ex\U000e0041ample.com", "invisible_character"),
        ("ex\u3164ample.com", "invisible_character"),
        ("x\ud800.com", "not_text"),
        ("x\ue000.com", "not_text"),
        ("::1", "ip_address"),
        ("[::1]", "ip_address"),
        ("127.0.0.1", "ip_address"),
        ("127.1", "numeric"),
        ("0x7f.1", "numeric"),
        ("2130706433", "numeric"),
        ("0x7f000001", "numeric"),
        ("x.0x", "numeric"),
        ("a_b.com", "bad_character"),
        ("-a.com", "bad_character"),
        ("a-.com", "bad_character"),
        ("%61.com", "bad_character"),
        ("*.com", "bad_character"),
        ("ab--cd.com", "reserved_label"),
        ("xn--abc.com", "bad_punycode"),
        ("xn--.com", "bad_character"),
        ("xn--a-ecp.ru", "bad_punycode"),
        ("☕.com", "not_idna"),
        ("١.com", "not_idna"),
        ("a" * 64 + ".com", "label_too_long"),
        ("a.b.c.d.e.f.g.h.i.j.com", "too_many_labels"),
        (".".join(["a" * 60] * 5) + ".com", "too_long"),
        ("com", "single_label"),
        ("localhost", "special_use"),
        ("printer.local", "special_use"),
        ("shop.example", "special_use"),
        ("1.0.0.127.in-addr.arpa", "special_use"),
        ("nope.zzzz", "unknown_tld"),
        ("co.uk", "public_suffix"),
        ("github.io", "public_suffix"),
        ("foo.ck", "public_suffix"),
    ],
)
def test_bad_names_are_refused_with_a_code(text: str, code: str) -> None:
    with pytest.raises(InvalidName) as refused:
        canonical_host(text)
    assert refused.value.code == code
    assert len(text) < 4 or text not in str(refused.value)  # the message never repeats hostile input


def test_the_connect_to_table_exempts_its_own_names_only() -> None:
    table = {"localhost", "mail.shop.example"}
    assert canonical_host("Mail.Shop.Example", exempt=table) == Host("mail.shop.example", "shop.example", False)
    assert canonical_host("localhost", exempt=table).domain == "localhost"
    with pytest.raises(InvalidName):
        canonical_host("other.example", exempt=table)
    with pytest.raises(InvalidName, match="scheme"):
        canonical_host("https://localhost", exempt=table)


def test_look_ups_need_the_syntax_only() -> None:
    assert host_syntax("Shop.EXAMPLE.") == "shop.example"
    assert host_syntax("co.uk") == "co.uk"
    with pytest.raises(InvalidName):
        host_syntax("10.0.0.1")


@pytest.mark.parametrize(
    ("url", "canonical", "host"),
    [
        ("https://EXAMPLE.com:443/a/../b?x#f", "https://example.com/b?x", "example.com"),
        ("https://x.com./y", "https://x.com/y", "x.com"),
        ("https:\\\\x.com\\y", None, None),
        ("https://good.test\\@127.0.0.1/", None, None),
        ("https://bücher.de/ä", "https://xn--bcher-kva.de/%C3%A4", "xn--bcher-kva.de"),
        ("https://@x.com/", "https://x.com/", "x.com"),
        ("wss://x.com/s", None, "x.com"),
        ("http://x.com/", None, "x.com"),
        ("https://u:p@x.com/", None, "x.com"),
        ("https://x.com:8443/", None, "x.com"),
        ("https://127.0.0.1/", None, None),
        ("https://0x7f.1/", None, None),
        ("https://2130706433/", None, None),
        ("https://[::1]/", None, None),
        ("https://１２７.0.0.1/", None, None),
        ("https://x..com/", None, None),
        ("https://" + "a" * 64 + ".com/", None, None),
        ("https://x.com/" + "a" * 3000, None, "x.com"),
        ("https://x.com/" + "a" * 90_000, None, None),
        ("https://\ud800.com/", None, None),
        ("file:///etc/passwd", None, None),
        ("data:text/html,x", None, None),
        ("javascript:alert(1)", None, None),
        ("/relative", None, None),
        ("", None, None),
    ],
)
def test_hosts_and_fetchable_urls(url: str, canonical: str | None, host: str | None) -> None:
    assert parse_https(url) == canonical
    assert host_of(url) == host


def test_relative_urls_need_their_document() -> None:
    assert parse_https("../x?y#z", "https://a.com/b/c/d") == "https://a.com/b/x?y"
    assert parse_https("//b.com/y", "https://a.com/") == "https://b.com/y"
    assert parse_https("http://a.com/y", "https://a.com/") is None


def test_tenants_of_a_platform_are_different_sites() -> None:
    assert same_site("www.shop.com", "shop.com")
    assert same_site("a.b.example", "c.b.example")  # default rule
    assert not same_site("a.vercel.app", "b.vercel.app")
    assert not same_site("a.vercel.app", "vercel.app")
    assert registrable_domain("vercel.app") == "vercel.app"


def test_the_suffix_list_is_read_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a host name opened a socket")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    registrable_domain.cache_clear()
    assert registrable_domain("a.b.co.jp") == "b.co.jp"


_LABEL = st.text(alphabet=string.ascii_letters + string.digits + "-_üßЖо日ｅ．。\u200dxn", min_size=1, max_size=12)


@settings(max_examples=400)
@given(st.lists(_LABEL, min_size=1, max_size=4).map(".".join) | st.text(max_size=30))
def test_canonicalising_is_idempotent_and_only_refuses_by_name(text: str) -> None:
    try:
        host = host_syntax(text)
    except InvalidName:
        return
    assert host_syntax(host) == host
    assert host.isascii() and host == host.lower() and not host.endswith(".")
    assert host_of(f"https://{host}/") == host  # URLs built from the name have this name as their host


_PLAIN = st.text(alphabet="ab-x0n9", min_size=1, max_size=7) | st.sampled_from(["b" * 63, "b" * 64, "0x1f", "127", "A"])


@settings(max_examples=600)
@given(st.lists(_PLAIN, min_size=1, max_size=12), st.sampled_from(["com", "co.uk", "github.io", "test", "zz", "0x1"]))
def test_the_fast_path_for_canonical_names_agrees_with_the_slow_one(labels: list[str], end: str) -> None:
    """With a dot at the end the fast path is skipped and each label is checked."""
    name = ".".join([*labels, end])

    def host_or_code(text: str) -> Host | str:
        try:
            return canonical_host(text)
        except InvalidName as refusal:
            return refusal.code

    assert host_or_code(name) == host_or_code(name + ".")


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_canonical_urls_stay_unchanged(tail: str) -> None:
    for text in (tail, "https://" + tail, "https://x.com/" + tail):
        url = parse_https(text)
        if url is not None:
            assert parse_https(url) == url
            assert host_of(url) is not None


url_pieces = st.lists(
    st.sampled_from(
        ["https", "http:", "wss:", "mailto:", "data:", ":", "/", "//", "\\", "@", "user", "%40", "?", "#", "[::1]", "[",
         "]", "a.example", "EXAMPLE.com.", "1.2.3.4", "0x7f.1", "127.1", ":443", ":80", ":8443", "..", "é", "xn--",
         " ", "\t", "{a}"]
    ) | st.text(max_size=3),
    max_size=9,
).map("".join)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(url_pieces | url_pieces.map("https://".__add__), st.sampled_from([None, "https://base.example/a/b?c#d"]))
def test_the_parts_of_a_url_agree_with_the_parser(text: str, base: str | None) -> None:
    parsed = read_url(text, base)
    try:
        reference = ada_url.URL(text, base)
    except ValueError:
        assert parsed is None
        return
    assert parsed is not None
    assert (parsed.href, parsed.scheme + ":") == (reference.href, reference.protocol)
    if reference.protocol in ("https:", "http:", "wss:", "ws:"):
        assert (parsed.host, parsed.port, parsed.target) == (
            reference.hostname,
            reference.port,
            reference.pathname + reference.search,
        )
        assert parsed.has_user == bool(reference.username or reference.password)
        assert parsed.is_name == (reference.host_type == ada_url.HostType.DEFAULT)
