"""Link fields and the HTML head: which links are followed, which are skipped, hostile pages."""

import random

import html5lib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.core.assessing.mining import EXPECTED, MAX_POINTERS, home_pointers
from registry.core.formats.awas.read import has_page_hint
from registry.core.names.domains import parse_https

HOME = "https://shop.example/"


def links(link: str = "", body: str = "") -> list[tuple[str | None, str, str | None]]:
    return [(p.url, p.rel, p.expected) for p in home_pointers(HOME, {"link": link}, body.encode())]


def test_link_fields_are_read() -> None:
    field = (
        '</agent.json>; rel="agent-manifest"; type="application/json", <https://api.shop.example/o?a=1,2>;rel=service-desc,'
        '<other>; title="a, <b>; rel=ard"; rel="stylesheet  AI-CATALOG", </style.css>; rel=preload'
    )
    assert links(field) == [
        ("https://shop.example/agent.json", "agent-manifest", None),
        ("https://api.shop.example/o?a=1,2", "service-desc", "openapi"),
        ("https://shop.example/other", "ai-catalog", "ai-catalog"),
    ]


@pytest.mark.parametrize(
    "field",
    [
        r'</x>; title="the \"best\" shop"; rel="ard"',
        r'</x>; title="a\\"; rel=ard',
        '</x>; title="<b>, </y>; rel=ai-catalog"; rel=ard',
        "</x>; title*=UTF-8''caf%C3%A9; rel=ard",
        "</x>;rel=ard;;", "</x> ; REL = ard", "</x>; crossorigin; rel=ard", "</x>; title=two words; rel=ard",
        '</x>; rel="ard',  # the end of the field ends a text
        "</x>; rel=ard; rel=ai-actions",  # the first counts
        '</x>; rel=ard; anchor=""', '</x>; rel=ard; anchor="#top"', "</x>; rel=ard; anchor=/shop",
        ", , </x>; rel=ard", '<>; rel="ard", </x>; rel=ard',
    ],
)  # fmt: skip
def test_link_fields_are_read_as_rfc_8288_says(field: str) -> None:
    assert links(field) == [("https://shop.example/x", "ard", "ai-catalog")]


@pytest.mark.parametrize(
    "field",
    [
        '</x>; rel=ard; anchor="https://elsewhere.example/"', "<http://shop.example/x>; rel=ard",
        "<https://u@shop.example/x>; rel=ard", "<https://10.0.0.1/x>; rel=ard",
        "<https://shop.example:8443/x>; rel=ard", "<javascript:alert(1)>; rel=ard", "/x; rel=ard", "</x>; rev=ard",
        "</x", "<" * 9000,
    ],
)  # fmt: skip
def test_useless_link_fields_are_ignored(field: str) -> None:
    assert links(field) == []


def test_links_of_the_html_head_are_read() -> None:
    page = """<!DOCTYPE html><HTML><head><title>Shop <link rel=ard href=/title></title>
        <!-- <link rel="ard" href="/comment"> -->
        <script>document.write('<link rel="ard" href="/script">')</script >
        <LINK REL='ai-actions' HREF="/ai.json?a=1&amp;b=2" />
        <link rel=api-catalog href=/.well-known/api-catalog>
        <link rel="stylesheet" href="/style.css"><linkrel="ard" href="/glued"><link rel="ard">
        </head><body><link rel="ard" href="/body"></body>"""
    assert links(body=page) == [
        ("https://shop.example/ai.json?a=1&b=2", "ai-actions", "awas"),
        ("https://shop.example/.well-known/api-catalog", "api-catalog", "api-catalog"),
    ]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ('<link title="a > b" rel=ard href=/x>', "/x"),
        ("<link title='a > b' rel=ard href=/x>", "/x"),
        ('<meta content="<link rel=ard href=/y>"><link rel=ard href=/x>', "/x"),
        ("<!--> <link rel=ard href=/x> -->", "/x"),
        ("<!---> <link rel=ard href=/x> -->", "/x"),
        ("<!-- --!> <link rel=ard href=/x>", "/x"),
        ("<!--!> <link rel=ard href=/y> --> <link rel=ard href=/x>", "/x"),
        ("<title></titles><link rel=ard href=/y></title ><link rel=ard href=/x>", "/x"),
        ("<link data-x:rel=stylesheet rel=ard href=/x/>", "/x/"),
        ('<link rel = "ard" href = /x/?q="a">', "/x/?q=%22a%22"),
        ("<link rel=ard href=/x?a=1&copy=2&region=3&amp;b=4>", "/x?a=1&copy=2&region=3&b=4"),
        ("<link rel=ard href=/x href=/y>", "/x"),
        (f"<link rel=ard title='{'long ' * 1000}' href=/x>", "/x"),
        ("<link rel=ard href=cards.json><base href=/v2/><base href=/v3/>", "/v2/cards.json"),
    ],
)
def test_tags_are_read_as_the_html_standard_says(page: str, expected: str) -> None:
    assert links(body=page) == [(f"https://shop.example{expected}", "ard", "ai-catalog")]


_PIECES = (
    "<link rel=ard href=/a>", "<LINK REL=ARD HREF=/u>", "<link ", 'rel="ard"', " rel='ard' ", " rel = ard ",
    "href='/b>c'", ' href="/d" ', " href=/e?x=1&copy=2", ' href="/f&amp;g&reg;"', "&#47;", ">", "/>", '"', "'", " =",
    "-", "<!--", "-->", "--!>", "<!-->", "<!--->", "<title>", "</title>", "</titles>", "</title >", "<style>",
    "</style>", '<meta content="<link rel=ard href=/m>">', "<!", "\n",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_links_agree_with_a_whole_parser(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        page = "<head>" + "".join(rng.choices(_PIECES, k=rng.randrange(1, 9)))
        parsed = [element.attrib for element in html5lib.parse(page, namespaceHTMLElements=False).iter("link")]
        expected = [each["href"] for each in parsed if "ard" in each.get("rel", "").lower().split() and "href" in each]
        targets = dict.fromkeys(parse_https(href.strip(), HOME) for href in expected)
        assert [url for url, _, _ in links(body=page)] == list(targets)[:MAX_POINTERS], page


def test_a_base_element_moves_relative_links() -> None:
    assert links(body='<base href="/v2/"><link rel=ard href=cards.json>')[0][0] == "https://shop.example/v2/cards.json"


def test_fields_come_before_tags_and_repeats_are_dropped() -> None:
    merged_links = links("</a>; rel=ard", '<link rel="ai-catalog" href="/a"><link rel="ard" href="/b">')
    assert merged_links == [
        ("https://shop.example/a", "ard", "ai-catalog"),
        ("https://shop.example/b", "ard", "ai-catalog"),
    ]


def test_the_number_of_links_is_limited() -> None:
    assert len(links(body="".join(f"<link rel=ard href=/{n}>" for n in range(1000)))) == MAX_POINTERS


def test_offsets_hold_for_characters_that_grow_in_lower_case() -> None:
    assert links(body="İ" * 50 + "<link rel=ard href=/x>") == [("https://shop.example/x", "ard", "ai-catalog")]


@pytest.mark.parametrize(
    "page",
    ["<!--" * 1000, "<script>" * 1000, "<link " * 1000, '<link rel="' + '"' * 1000, "<" * 1000, "<link" + " " * 5000],
)
def test_unclosed_elements_are_ignored(page: str) -> None:
    assert links(body=page) == []


def test_the_page_hint_of_awas_is_recognised() -> None:
    assert has_page_hint(b'<button DATA-awas-action="buy">') and has_page_hint(b"<p\ndata-ai-intent=x>")
    assert not has_page_hint(b"<p data-aim=x> metadata-ai-x")


@settings(max_examples=200)
@given(st.binary(max_size=200), st.text(alphabet="<>;,=\"' arelink/", max_size=200))
def test_any_bytes_get_an_answer(body: bytes, field: str) -> None:
    for pointer in home_pointers(HOME, {"link": field}, b"<link rel=ard href=" + body):
        assert pointer.url is not None and pointer.url.startswith("https://")


def test_json_ld_of_the_head_names_documents() -> None:
    page = """<head><script type="application/ld+json">{"@context": "https://schema.org", "@type": "WebSite",
        "url": "https:\\/\\/shop.example\\/",
        "subjectOf": {"contentUrl": "https:\\/\\/shop.example\\/.well-known\\/ard.json"},
        "potentialAction": {"target": "https://shop.example/search?q={q}"}}</script>
        <script>var x = "https://shop.example/.well-known/ucp"</script>
        <script type='application/LD+json'>["https://api.shop.example/mcp"]</script></head>
        <body><script type="application/ld+json">"https://shop.example/agent.json"</script></body>"""
    assert links(body=page) == [
        ("https://shop.example/.well-known/ard.json", "mentioned", "ai-catalog"),
        ("https://api.shop.example/mcp/server-card", "mcp", "mcp-server-card"),
    ]


@pytest.mark.parametrize("rel", EXPECTED)
def test_every_relation_is_seen_however_it_is_written(rel: str) -> None:
    for spelling in (rel, rel.upper(), f"x {rel}", rel.replace(rel[0], f"&#{ord(rel[0])};", 1)):
        assert [link[1] for link in links(body=f"<link rel='{spelling}' href=/x>")] == [rel]
