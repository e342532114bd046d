"""Host names: accepted in canonical form, accepted with a flag, or refused; URLs; idempotence."""

import string

import ada_url
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.names import domains


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
    assert domains.canonical_host(text) == domains.Host(host, domain, confusable=False)


@pytest.mark.parametrize("text", ["раураl.com", "сосо.com", "xn--80ak6aa92e.com", "ıcloud.com", "аbc.example.com"])
def test_look_alikes_are_accepted_with_a_flag(text: str) -> None:
    assert domains.canonical_host(text).confusable
    assert domains.is_confusable(domains.canonical_host(text).host)


def test_an_invalid_host_counts_as_confusable() -> None:
    assert domains.is_confusable("xn--a-ecp.ru") and not domains.is_confusable("shop.example")


@pytest.mark.parametrize("text", ["пример.рф", "сосо.рф", "bücher.com", "日本語.jp", "ひらがなカナ漢字.jp", "한국.kr"])
def test_names_in_one_script_carry_no_flag(text: str) -> None:
    assert not domains.canonical_host(text).confusable


REFUSED = {
    "empty": [""],
    "empty_label": [".", "a..com", ".com", "x.com.."],
    "has_scheme": ["https://x.com", "mailto:x"],
    "has_port": ["x.com:443"],
    "has_path": ["x.com/", "x.com\\y"],
    "has_query": ["x.com?y", "x.com#y"],
    "has_userinfo": ["u@x.com"],
    "whitespace": [" x.com", "x.com\n", "x\u3000.com"],
    "invisible_character": [f"ex{char}ample.com" for char in "\x00\u00ad\u200b\u202e\ufe0f\U000e0041\u3164"],
    "not_text": ["x\ud800.com", "x\ue000.com"],
    "ip_address": ["::1", "[::1]", "127.0.0.1"],
    "numeric": ["127.1", "0x7f.1", "2130706433", "0x7f000001", "x.0x"],
    "bad_character": ["a_b.com", "-a.com", "a-.com", "%61.com", "*.com", "xn--.com"],
    "reserved_label": ["ab--cd.com"],
    "bad_punycode": ["xn--abc.com", "xn--a-ecp.ru"],
    "not_idna": ["☕.com", "١.com"],
    "label_too_long": ["a" * 64 + ".com"],
    "too_many_labels": ["a.b.c.d.e.f.g.h.i.j.com"],
    "too_long": [".".join(["a" * 60] * 5) + ".com"],
    "single_label": ["com"],
    "special_use": ["localhost", "printer.local", "shop.example", "1.0.0.127.in-addr.arpa"],
    "unknown_tld": ["nope.zzzz"],
    "public_suffix": ["co.uk", "github.io", "foo.ck"],
}


@pytest.mark.parametrize(("text", "code"), [(text, code) for code, texts in REFUSED.items() for text in texts])
def test_bad_names_are_refused_with_a_code(text: str, code: str) -> None:
    with pytest.raises(domains.InvalidName) as refused:
        domains.canonical_host(text)
    assert refused.value.code == code
    assert len(text) < 4 or text not in str(refused.value)  # the message never repeats hostile input


def test_the_connect_to_table_exempts_its_own_names_only() -> None:
    table = {"localhost", "mail.shop.example"}
    assert domains.canonical_host("Mail.Shop.Example", exempt=table) == domains.Host(
        "mail.shop.example", "shop.example", False
    )
    assert domains.canonical_host("localhost", exempt=table).domain == "localhost"
    with pytest.raises(domains.InvalidName):
        domains.canonical_host("other.example", exempt=table)
    with pytest.raises(domains.InvalidName, match="scheme"):
        domains.canonical_host("https://localhost", exempt=table)


def test_look_ups_need_the_syntax_only() -> None:
    assert domains.host_syntax("Shop.EXAMPLE.") == "shop.example"
    assert domains.host_syntax("co.uk") == "co.uk"
    with pytest.raises(domains.InvalidName):
        domains.host_syntax("10.0.0.1")


@pytest.mark.parametrize(
    ("url", "canonical", "host"),
    [
        ("https://EXAMPLE.com:443/a/../b?x#f", "https://example.com/b?x", "example.com"),
        ("https://x.com./y", "https://x.com/y", "x.com"),
        ("https://bücher.de/ä", "https://xn--bcher-kva.de/%C3%A4", "xn--bcher-kva.de"),
        ("https://@x.com/", "https://x.com/", "x.com"),
        *((url, None, "x.com") for url in (
            "wss://x.com/s", "http://x.com/", "https://u:p@x.com/", "https://x.com:8443/",
            "https://x.com/" + "a" * 3000,
        )),
        *((url, None, None) for url in (
            "https:\\\\x.com\\y", "https://good.test\\@127.0.0.1/", "https://127.0.0.1/", "https://0x7f.1/",
            "https://2130706433/", "https://[::1]/", "https://１２７.0.0.1/", "https://x..com/",
            "https://" + "a" * 64 + ".com/", "https://x.com/" + "a" * 90_000, "https://\ud800.com/", "file:///etc/passwd",
            "data:text/html,x", "javascript:alert(1)", "/relative", "",
        )),
    ],
)  # fmt: skip
def test_hosts_and_fetchable_urls(url: str, canonical: str | None, host: str | None) -> None:
    assert domains.parse_https(url) == canonical
    assert domains.host_of(url) == host


def test_relative_urls_need_their_document() -> None:
    assert domains.parse_https("../x?y#z", "https://a.com/b/c/d") == "https://a.com/b/x?y"
    assert domains.parse_https("//b.com/y", "https://a.com/") == "https://b.com/y"
    assert domains.parse_https("http://a.com/y", "https://a.com/") is None


def test_tenants_of_a_platform_are_different_sites() -> None:
    assert domains.same_site("www.shop.com", "shop.com")
    assert domains.same_site("a.b.example", "c.b.example")  # default rule
    assert not domains.same_site("a.vercel.app", "b.vercel.app")
    assert not domains.same_site("a.vercel.app", "vercel.app")
    assert domains.registrable_domain("vercel.app") == "vercel.app"


_LABEL = st.text(alphabet=string.ascii_letters + string.digits + "-_üßЖо日ｅ．。\u200dxn", min_size=1, max_size=12)


@settings(max_examples=400)
@given(st.lists(_LABEL, min_size=1, max_size=4).map(".".join) | st.text(max_size=30))
def test_canonicalising_is_idempotent_and_only_refuses_by_name(text: str) -> None:
    try:
        host = domains.host_syntax(text)
    except domains.InvalidName:
        return
    assert domains.host_syntax(host) == host
    assert host.isascii() and host == host.lower() and not host.endswith(".")
    assert domains.host_of(f"https://{host}/") == host  # URLs built from the name have this name as their host


_PLAIN = st.text(alphabet="ab-x0n9", min_size=1, max_size=7) | st.sampled_from(["b" * 63, "b" * 64, "0x1f", "127", "A"])


@settings(max_examples=600)
@given(st.lists(_PLAIN, min_size=1, max_size=12), st.sampled_from(["com", "co.uk", "github.io", "test", "zz", "0x1"]))
def test_the_fast_path_for_canonical_names_agrees_with_the_slow_one(labels: list[str], end: str) -> None:
    """With a dot at the end the fast path is skipped and each label is checked."""
    name = ".".join([*labels, end])

    def host_or_code(text: str) -> domains.Host | str:
        try:
            return domains.canonical_host(text)
        except domains.InvalidName as refusal:
            return refusal.code

    assert host_or_code(name) == host_or_code(name + ".")


@settings(max_examples=300)
@given(st.text(max_size=60))
def test_canonical_urls_stay_unchanged(tail: str) -> None:
    for text in (tail, "https://" + tail, "https://x.com/" + tail):
        url = domains.parse_https(text)
        if url is not None:
            assert domains.parse_https(url) == url
            assert domains.host_of(url) is not None


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
    parsed = domains.read_url(text, base)
    try:
        reference = ada_url.URL(text, base)
    except ValueError:
        assert parsed is None
        return
    assert (parsed.href, parsed.scheme + ":") == (reference.href, reference.protocol)
    if reference.protocol in ("https:", "http:", "wss:", "ws:"):
        target = reference.pathname + reference.search
        assert (parsed.host, parsed.port, parsed.target) == (reference.hostname, reference.port, target)
        assert parsed.has_user == bool(reference.username or reference.password)
        assert parsed.is_name == (reference.host_type == ada_url.HostType.DEFAULT)
