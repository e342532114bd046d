"""The guides and texts about this registry as pages: their links lead somewhere, and they say what the texts say."""

from urllib.parse import urljoin, urlsplit

import pytest
from lxml import html

from docs.generate.guides import anchor, guide_html
from registry.web.guides import BY_SLUG, GUIDES, rendered
from tests.support.api import PUBLIC_URL, Api
from tests.web.test_html import ASKING

ABOUT = ("/docs", "/terms", "/bot", "/docs/api", "/docs/api/shapes", *(f"/docs/{slug}" for slug in BY_SLUG))
NOT_PAGES = ("/static/", "/dumps/", "/check/")
"""Files, and what exists only after something happened."""


@pytest.mark.asyncio(loop_scope="module")
async def test_every_link_between_pages_leads_somewhere(api: Api) -> None:
    """With its anchor. The pages of `PAGES` and all that those about this registry link to."""
    opened: dict[str, html.HtmlElement | None] = {}

    async def page_at(path: str) -> html.HtmlElement | None:
        if path not in opened:
            answer = await api.get(path, headers=ASKING)
            is_page = answer.headers["content-type"].startswith("text/html")
            opened[path] = html.fromstring(answer.text) if answer.status_code == 200 and is_page else None
            if answer.status_code == 200 and not is_page:
                opened[path] = html.fromstring("<p>a file</p>")
        return opened[path]

    broken = []
    for path in (*ABOUT, "/problems", "/problems/rate-limited", "/docs/api/get-api-discover"):
        page = await page_at(path)
        assert page is not None, path
        for link in page.xpath("//a/@href"):
            target = urlsplit(urljoin(PUBLIC_URL + path, link))
            if target.netloc != urlsplit(PUBLIC_URL).netloc or target.path.startswith(NOT_PAGES):
                continue
            found = await page_at(target.path + (f"?{target.query}" if target.query else ""))
            if found is None or (target.fragment and not found.xpath("//*[@id=$name]", name=target.fragment)):
                broken.append((path, link))
    assert broken == []


@pytest.mark.asyncio(loop_scope="module")
async def test_the_documentation_leads_to_every_guide(api: Api) -> None:
    page = html.fromstring((await api.get("/docs", headers=ASKING)).text)
    links = set(page.xpath("//main//a/@href"))
    assert {f"/docs/{slug}" for slug in BY_SLUG} | {"/docs/api", "/formats", "/terms", "/bot"} <= links
    assert page.xpath("//main//section/h2/text()") == list(GUIDES)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", ["/bot", "/docs/operators", "/docs/crawler", "/docs/crawler-limits"])
async def test_the_facts_about_the_crawler_stand_first(api: Api, path: str) -> None:
    text = (await api.get("/bot")).text
    page = html.fromstring((await api.get(path, headers=ASKING)).text)
    names = page.xpath("//main//dl/dt/text()")
    values = [value.text_content() for value in page.xpath("//main//dl/dd")]
    assert names == ["User-Agent", "Name in robots.txt", "Rate", "Addresses", "Keys", "Opt out", "Contact"]
    assert [line in text for line in map(": ".join, zip(names, values, strict=True))] == [True] * len(names)
    assert page.xpath("//main//dl/dd/a/@href") == ["/bot", "/opt-out"]


@pytest.mark.asyncio(loop_scope="module")
async def test_the_terms_are_a_text_for_programs_and_a_page_for_people(api: Api) -> None:
    text, page = await api.get("/terms"), await api.get("/terms", headers=ASKING)
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert text.headers["vary"] == page.headers["vary"]
    content = html.fromstring(page.text).find(".//main")
    shown = " ".join(content.text_content().split())
    for heading in ("Calls", "Texts in answers", "Personal data", "Your site", "Operator"):
        assert f"\n{heading}. " in text.text and heading in content.xpath(".//h2/text()")
    assert "`" not in shown and content.xpath(".//code/text()") == ["untrusted_text"]
    assert content.xpath(".//a/@href") == ["/bot"]


def test_a_guide_names_the_registry_that_serves_it() -> None:
    assert "R=https://find.example/at/&lt;b&gt;" in rendered("operators", "https://find.example/at/<b>")
    assert "https://registry.example" not in rendered("operators", "https://find.example")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[rules](rubric.md)", '<a href="../rubric">rules</a>'),
        ("[paths](crawler.md#paths)", '<a href="crawler#paths">paths</a>'),
        ("[leave](crawler.md#leaving)", '<a href="crawler-limits#leaving">leave</a>'),
        ("[checking.md](checking.md)", '<a href="checking">Check before you publish</a>'),
        ("[feed](interfaces/feed.md)", '<a href="feed">feed</a>'),
        ("[below](#here)", '<a href="#here">below</a>'),
        ("[b](https://a.example/b)", '<a href="https://a.example/b" rel="noopener">b</a>'),
        ("[settings](settings.md), [`x.py`](../x.py)", "<p>settings, <code>x.py</code></p>"),
        ("`/submit` and `/submit/x`", '<a href="../submit"><code>/submit</code></a> and <code>/submit/x</code>'),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
        ("| a | n |\n| --- | ---: |\n| `b` | 1 |", '<td class="number">1</td>'),
        ("| | n |\n| --- | --- |\n| a | 1 |", '<tr>\n<td></td>\n<th scope="col">n</th>\n</tr>'),
        ("```sh\ncurl '<x>'\n```", "curl &#39;&lt;x&gt;&#39;</code>"),
    ],
)  # fmt: skip
def test_markdown_becomes_a_part_of_a_page(written: str, shown: str) -> None:
    made = guide_html("operators", f"<!-- a note -->\n\n# Title\n\n{written}\n")
    assert shown in made
    assert "Title" not in made and "a note" not in made and " style=" not in made


def test_sections_have_the_anchors_of_forges_and_long_guides_their_contents() -> None:
    assert anchor("4. Have it visited again") == "4-have-it-visited-again"
    assert anchor("robots.txt") == "robotstxt"
    two, three = (guide_html("operators", "# T\n\nA.\n" + "\n## One `two`\n\nB.\n" * count) for count in (2, 3))
    assert "<nav" not in two
    assert three.index("A.") < three.index("<nav") < three.index('<h2 id="one-two">')
    assert three.count('<li><a href="#one-two">One two</a></li>') == 3
