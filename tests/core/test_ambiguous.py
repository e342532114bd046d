"""Which addresses parsers read differently; a third and a fourth reader agree on all that is left."""

from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.names.ambiguous import is_ambiguous
from registry.core.names.domains import parse_url, read_url
from registry.core.names.inside import inside_host
from tests.core.private_addresses import AMBIGUOUS

ALIKE = (
    "https://good.test", "https://GOOD.test:443/", "https://good.test:/x", "https://good.test:0443/", "HTTPS://good.test/",
    "https://good.test./", "https://user@good.test/", "https://user:p%40ss@good.test/", "https://my_bucket.good.test/",
    "https://127.0.0.1/", "https://8.8.8.8/", "https://[::1]:8080/x", "https://[::ffff:7f00:1]/", "https://[2606:4700::1111]/",
    "https://[::ffff:127.0.0.1]/", "https://good.test/a\\b", "https://good.test/x@y", "https://good.test?@127.0.0.1",
    "https://good.test#@127.0.0.1", "https://good.test/a b{c}|\"", "https://bücher.de/ä", "https://BÜCHER.de/",
    "https://xn--bcher-kva.de/", "https://日本.jp/", "https://i❤.ws/", "https://{tenant}.good.test/",
    "wss://good.test/", "mcp://tools/x", "file:///etc/passwd", "unix:///run/x", "mailto:a@good.test", "urn:air:x",
    "did:web:good.test", "data:text/plain,hi", "tel:123",
    "https://", "https://...", "https://a b.com/", "Note: closed", "a: b", "", "/x", "x",
    "git+ssh://git@good.test/x", "jdbc:postgresql://good.test/db", "\\d+", "12:30", "C:\\x",
)  # fmt: skip
"""What all read alike, and what no parser takes for an address with a host."""


@pytest.mark.parametrize("url", [*AMBIGUOUS, *(url.replace("127.0.0.1", "evil.test") for url in AMBIGUOUS)])
def test_an_address_that_parsers_read_differently_is_left_out(url: str) -> None:
    assert inside_host(url) is not None
    if url.startswith(("http", "ws")):
        assert is_ambiguous(url)
        assert parse_url(url) is None


@pytest.mark.parametrize("url", ALIKE)
def test_what_all_read_alike_is_left_alone(url: str) -> None:
    assert not is_ambiguous(url)


BASE = "https://base.test/a/b"


@pytest.mark.parametrize(
    "url", ["\\\\evil.test/x", "/\\evil.test/x", "\\/evil.test", "https:x", "https:/x", "/\t/evil.test"]
)
def test_a_relative_address_that_parsers_read_differently_is_found(url: str) -> None:
    assert is_ambiguous(url, BASE)
    assert parse_url(url, BASE) is None


@pytest.mark.parametrize(
    "url", ["x", "/x", "../x", "?q", "#f", "", "//evil.test/x", "a\\b", "a:b", "/a\\b", "x y", "é"]
)
def test_an_unmistakable_relative_address_is_left_alone(url: str) -> None:
    assert not is_ambiguous(url, BASE)
    assert parse_url(url, BASE) == read_url(url, BASE)


pieces = st.lists(
    st.sampled_from(
        [*"/\\@:?#.[]%{}\t\n\r 019azß１。", "//", "good.test", "127.0.0.1", "0x7f.1", "%31", "::1", "%25", ":443",
         "user", "https:", "http:", "\u00ad", "\u200d", "é", "xn--a"]
    ),
    max_size=8,
).map("".join)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(pieces.map("https://".__add__) | pieces.map("https://good.test".__add__) | pieces)
def test_other_parsers_read_the_same_host(url: str) -> None:
    """httpx2 and urlsplit find the host that ada finds, wherever they find one; international names as A-labels."""
    parsed = read_url(url)
    if parsed is None or not parsed.host or is_ambiguous(url):
        return
    host = urlsplit(url).hostname or ""
    if host.isascii():
        assert host.strip("[]").lower() == parsed.host.strip("[]") or ":" in host
    try:
        third = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        return
    assert third.raw_host.decode().strip("[]") == parsed.host.strip("[]") or ":" in third.host
