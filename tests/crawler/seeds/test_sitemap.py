"""Sitemaps: hosts of their URLs, fetched as politely as any page; hostile XML costs neither memory nor requests."""

import gzip
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.seeds import sitemap
from crawler.seeds.sitemap import names, read
from crawler.seeds.source import BROKEN_OFF, BadSource
from registry.store.records import OptOutRecord
from registry.store.unit_of_work import Store
from tests.crawler.seeds.gathering import Sources, gathered
from tests.support.sites import Exchange, Reply, moved

MAP = "https://list.example/sitemap.xml"
SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*urls: str) -> bytes:
    rows = "".join(f"<url><loc>{escape(url)}</loc><priority>1</priority></url>" for url in urls)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {SPACE}>{rows}</urlset>'.encode()


def index(*urls: str) -> bytes:
    rows = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>" for url in urls)
    return f"<sitemapindex {SPACE}>{rows}</sitemapindex>".encode()


def test_the_hosts_of_all_urls_are_found() -> None:
    contents = read(
        urlset("https://One.com/a", " http://two.com/?a=1&b=2 ", "https://one.com/b", "mailto:x@y.com"), MAP
    )
    assert (list(contents.hosts), contents.sitemaps) == (["one.com", "two.com"], [])
    assert [(refusal.name, refusal.code, refusal.referrer) for refusal in contents.refused] == [
        ("mailto:x@y.com", "no_host", MAP)
    ]


def test_an_index_names_sitemaps() -> None:
    contents = read(index("https://list.example/a.xml", "/b.xml"), MAP)
    assert (contents.sitemaps, list(contents.hosts)) == (["https://list.example/a.xml", "/b.xml"], [])


def test_ampersands_are_read_as_text_wherever_a_block_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemap, "_BLOCK", 7)
    monkeypatch.setattr(sitemap, "_MAX_SILENT_BLOCKS", 100)
    body = urlset("https://list.example/?a&b&amp;&#38;", "https://two.com/").replace(b"&amp;", b"&")
    for shift in range(7):
        contents = read(body.replace(b"<urlset", b"<!--" + b"x" * shift + b"--><urlset"), MAP)
        assert (list(contents.hosts), contents.refused) == (["list.example", "two.com"], [])


@pytest.mark.parametrize(
    ("body", "hosts"),
    [
        (gzip.compress(urlset("https://one.com/")), ["one.com"]),
        (b"\xef\xbb\xbf" + urlset("https://one.com/"), ["one.com"]),
        (urlset("https://one.com/").decode().replace("UTF-8", "UTF-16").encode("utf-16"), ["one.com"]),
        (b"\xef\xbb\xbf\r\n " + urlset("https://one.com/"), ["one.com"]),
        (urlset("https://one.com/?a=1&b=2").replace(b"&amp;", b"&"), ["one.com"]),
        (
            urlset("https://one.com/?a=1&lt=2", "https://two.com/?&nbsp;").replace(b"&amp;", b"&"),
            ["one.com", "two.com"],
        ),
        (b"https://one.com/\r\n\r\nhttps://two.com/x\n", ["one.com", "two.com"]),
        (b"<urlset><url><loc>https://one.com/<!-- x --><![CDATA[?a&b]]></loc></url></urlset>", ["one.com"]),
        (b'<s:urlset xmlns:s="urn:x"><s:url><s:loc>https://one.com/</s:loc></s:url></s:urlset>', ["one.com"]),
        (b"<urlset><url><x><loc>https://one.com/</loc></x></url><loc>https://two.com/</loc></urlset>", []),
    ],
)
def test_all_forms_of_sitemaps_are_read(body: bytes, hosts: list[str]) -> None:
    contents = read(body, MAP)
    assert (list(contents.hosts), contents.refused) == (hosts, [])


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
HOSTILE: dict[str, Callable[[], bytes]] = {
    "billion laughs": lambda: f'<!DOCTYPE x [<!ENTITY e0 "ha">{ENTITIES}]><urlset><url>&e11;</url></urlset>'.encode(),
    "external entity": lambda: b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><urlset><url>&e;</url></urlset>',
    "external subset": lambda: b'<!DOCTYPE x SYSTEM "https://elsewhere.example/x.dtd"><urlset/>',
    "parameter entity": lambda: b'<!DOCTYPE x [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><urlset/>',
    "web page": lambda: b"<!DOCTYPE html><html><body>nothing here</body></html>",
    "feed": lambda: b"<rss><channel/></rss>",
    "depth": lambda: b"<urlset>" + b"<a>" * 1_000_000,
    "one tag": lambda: b"<urlset><a " + b"".join(b'a%d="" ' % number for number in range(2_000_000)) + b"/></urlset>",
    "one text": lambda: b"<urlset><url><loc>" + b"x" * 20_000_000 + b"</loc></url></urlset>",
    "gzip bomb": lambda: gzip.compress(b"<urlset>" + b" " * 70_000_000),
    "elements": lambda: b"<urlset>" + b"<a/>" * 60_000 + b"</urlset>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_xml_is_refused_with_little_memory(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(sitemap, "MAX_ELEMENTS", 50_000)
    body = HOSTILE[name]()
    tracemalloc.start()
    try:
        contents = read(body, MAP)
        peak_memory = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [refusal.code for refusal in contents.refused] == [BROKEN_OFF + "not_a_sitemap"]
    assert not contents.hosts and not contents.sitemaps
    assert peak_memory < 4 * 2**20


@pytest.mark.parametrize("body", [urlset("https://one.com/")[:-12], gzip.compress(urlset("https://one.com/"))[:-9]])
def test_a_truncated_sitemap_is_reported_as_broken(body: bytes) -> None:
    contents = read(body, MAP)
    assert [refusal.code for refusal in contents.refused] == [BROKEN_OFF + "broken"]


@given(st.binary(max_size=200) | st.binary(max_size=40).map(lambda raw: b"<urlset><url><loc>" + raw))
@settings(max_examples=300)
def test_any_bytes_are_read(body: bytes) -> None:
    contents = read(body, MAP)
    assert all(refusal.code and refusal.message for refusal in contents.refused)


async def test_an_index_is_followed_inside_its_site_as_robots_txt_allows(source: Sources) -> None:
    sites = {
        "list.example": {
            "/robots.txt": Reply("User-agent: *\nDisallow: /private/\n", type="text/plain"),
            "/sitemap.xml": moved("https://www.list.example/maps/index.xml"),
            "/a.xml.gz": Reply(gzip.compress(urlset("https://one.com/", "https://two.com/")), type="application/gzip"),
            "/private/b.xml": Reply(urlset("https://never.com/")),
            "/gone.xml": Reply(b"gone", 410),
        },
        "www.list.example": {
            "/maps/index.xml": Reply(
                index(
                    "https://list.example/a.xml.gz", "https://list.example/private/b.xml", "/more.xml",
                    "https://elsewhere.example/c.xml", "http://list.example/d.xml", "https://list.example/gone.xml",
                    "https://list.example/a.xml.gz",
                )
            ),
            "/more.xml": Reply(index("https://www.list.example/maps/index.xml", "https://www.list.example/last.txt")),
            "/last.txt": Reply("https://three.com/\n", type="text/plain"),
        },
        "elsewhere.example": {"/c.xml": Reply(urlset("https://never.com/"))},
    }  # fmt: skip
    async with source(MAP, sites) as (served, *found):
        accepted, refused = await gathered(names(*found))
    packed_map, text_list = "https://list.example/a.xml.gz", "https://www.list.example/last.txt"
    assert accepted == [("one.com", packed_map), ("two.com", packed_map), ("three.com", text_list)]
    assert sorted(refused) == [
        ("http://list.example/d.xml", "not_https"),
        ("https://elsewhere.example/c.xml", "other_site"),
        ("https://list.example/gone.xml", BROKEN_OFF + "not_read"),
        ("https://list.example/private/b.xml", BROKEN_OFF + "not_read"),
    ]
    assert served.paths("elsewhere.example") == []
    assert "/private/b.xml" not in served.paths("list.example")
    for host in ("list.example", "www.list.example"):
        assert served.paths(host)[0] == "/robots.txt" and served.paths(host).count("/robots.txt") == 1
    assert len(served.paths("www.list.example")) == 4, "the index was read once"


@pytest.mark.parametrize(
    ("answer", "robots"),
    [
        (Reply(urlset("https://one.com/")), Reply("User-agent: *\nDisallow: /", type="text/plain")),
        (Reply(urlset("https://one.com/")), Reply(b"", 503)),
        (Reply(b"", 429), Reply(b"", 404)),
        (Reply(b"<html>", 404), Reply(b"", 404)),
        (moved("https://elsewhere.example/"), Reply(b"", 404)),
        (moved("/sitemap.xml"), Reply(b"", 404)),
        (Reply(b"x" * 2_000), Reply(b"", 404)),
    ],
)
async def test_a_sitemap_that_cannot_be_fetched_is_reported(
    source: Sources, monkeypatch: pytest.MonkeyPatch, answer: Reply, robots: Reply
) -> None:
    monkeypatch.setattr(sitemap, "CAP", 1_000)
    sites = {"list.example": {"/sitemap.xml": answer, "/robots.txt": robots}}
    async with source(MAP, sites) as (_, *found):
        accepted, refused = await gathered(names(*found))
    assert (accepted, refused) == ([], [(MAP, BROKEN_OFF + "not_read")])


async def test_a_site_that_opted_out_gets_no_request(source: Sources, store: Store) -> None:
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("list.example", "list.example", "robots", "", datetime.now(UTC))])
    async with source(MAP, {"list.example": {"/sitemap.xml": Reply(urlset("https://one.com/"))}}) as (served, *found):
        accepted, refused = await gathered(names(*found))
    assert (accepted, refused) == ([], [(MAP, BROKEN_OFF + "not_read")])
    assert served.connections == 0


@pytest.mark.parametrize(
    "url", ["http://list.example/s.xml", "https://127.0.0.1/s.xml", "https://list.example:8443/s.xml",
            "https://u@list.example/s.xml", "ftp://list.example/", "list.example", "https://else.example/s.xml"]
)  # fmt: skip
async def test_other_urls_are_a_usage_error(source: Sources, url: str) -> None:
    asked: list[str] = []

    async def note(exchange: Exchange) -> None:
        asked.append(exchange.path)

    with pytest.raises(BadSource):
        async with source(url, {"list.example": note}):
            pass
    assert asked == []


async def test_a_long_chain_of_indexes_is_cut_off(source: Sources) -> None:
    chain = {f"/{n}.xml": Reply(index(f"https://list.example/{n + 1}.xml")) for n in range(9)}
    first_url = "https://list.example/0.xml"
    sites = {"list.example": chain}
    async with source(first_url, sites) as (served, *found):
        _, refused = await gathered(names(*found))
    assert refused == [("https://list.example/4.xml", BROKEN_OFF + "too_many")]
    assert len(served.paths("list.example")) == 1 + sitemap.MAX_DEPTH + 1
