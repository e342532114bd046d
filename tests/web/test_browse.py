"""Lists without a question: what is counted beside them, what narrows and loosens them, and where they end."""

import re
from html import unescape
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import pytest

from registry.web import search
from registry.web.figures import MAX_QUESTIONS, QUESTIONS
from tests.support.api import Api
from tests.web.test_html import ASKING

FACET: Final = re.compile(
    r'<li><a href="([^"]+)" rel="nofollow"(?: aria-current="true")?><bdi>([^<]+)</bdi>.*?<span>([\d,]+)<'
)


async def html(api: Api, path: str) -> str:
    answer = await api.get(path, headers=ASKING)
    assert answer.status_code == 200, path
    return answer.text


def heading(page: str) -> str:
    (found,) = re.findall(r"<h1[^>]*>(.*?)</h1>", page)
    return re.sub(r"<[^>]+>", "", found)


def number_in(text: str) -> int:
    (found,) = re.findall(r"(\d+) services?\b", text)
    return int(found)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("path", ["/search", "/search?category=e-commerce", "/search?format=adp&min_score=90"])
async def test_a_value_leads_to_as_many_services_as_it_says(api: Api, path: str) -> None:
    """A value beside one that is set widens the list; a value of another filter narrows it."""
    page = await html(api, path)
    facets = [(unescape(link), label, int(count)) for link, label, count in FACET.findall(page)]
    assert facets
    before = dict(parse_qsl(urlsplit(path).query))
    narrowing = 0
    for link, label, count in facets:
        after = dict(parse_qsl(urlsplit(link).query))
        changed = {name for name in before | after if before.get(name) != after.get(name)}
        assert len(changed) == 1
        if not changed & before.keys():
            assert number_in(heading(await html(api, link))) == count, (link, label)
            narrowing += 1
    assert narrowing


@pytest.mark.asyncio(loop_scope="module")
async def test_the_alternatives_of_a_value_that_is_set_are_counted_without_it(api: Api) -> None:
    all_values = (await api.json("/api/services", facets="category,format"))["facets"]["counts"]
    within = await api.json("/api/services", category="e-commerce", facets="category,format")
    assert within["facets"]["counts"]["category"] == all_values["category"]
    assert within["facets"]["counts"]["format"] == {"adp": within["total"]} != all_values["format"]
    assert within["facets"]["services"] == within["total"] == all_values["category"]["e-commerce"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_filter_is_removed_by_one_link(api: Api) -> None:
    page = await html(api, "/search?category=e-commerce&format=adp,awp&sort=name")
    chips = re.search(r'<ul class="chips".*?</ul>', page, re.DOTALL)
    assert chips
    assert [unescape(link).partition("?")[2] for link in re.findall(r'href="([^"]+)"', chips[0])] == [
        "format=adp%2Cawp&sort=name",
        "category=e-commerce&format=awp&sort=name",
        "category=e-commerce&format=adp&sort=name",
        "sort=name",
    ]
    assert "Agent Discovery Protocol" in chips[0]


@pytest.mark.asyncio(loop_scope="module")
async def test_an_empty_list_says_what_to_loosen(api: Api) -> None:
    page = await html(api, "/search?category=email&format=adp")
    assert heading(page) == "Email, Agent Discovery Protocol: 0 services"
    found = re.findall(r'<li><a href="([^"]+)" rel="nofollow">Without the filter (\w+)</a>: ([^<]+)</li>', page)
    assert [name for _, name, _ in found] == ["Category"]
    for link, _, number in found:
        assert heading(await html(api, unescape(link))).endswith(f": {number}")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("page", ["2", "26", "5001", "999999", "9" * 30])
async def test_there_is_no_page_after_the_last(api: Api, page: str) -> None:
    answer = await api.get(f"/search?format=adp&page={page}", headers=ASKING)
    assert answer.status_code == 404
    assert "There is no such page" in answer.text
    assert 'This list has 1 page. Go to <a href="/search?format=adp">it</a>.' in answer.text
    assert f"Page {page}" not in answer.text


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("page", ["0", "-1", "x", "", "\u0661", "1.5"])
async def test_what_is_no_number_of_a_page_is_the_first(api: Api, page: str) -> None:
    assert heading(await html(api, f"/search?page={page}")) == heading(await html(api, "/search"))


async def test_pages_lead_to_each_other(own_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "ROWS", 3)
    second = await html(own_api, "/search?sort=name&page=2")
    assert "Page 2 of 3" in second
    assert '<a href="/search?sort=name" rel="prev">' in second
    assert '<a href="/search?sort=name&amp;page=3" rel="next">' in second
    assert "Next</a>" not in await html(own_api, "/search?sort=name&page=3")
    monkeypatch.setattr(search, "MAX_PAGE", 2)  # as far as the API skips
    cut = await html(own_api, "/search?sort=name&page=2")
    assert "Next</a>" not in cut
    assert "Lists end here." in cut
    assert (await own_api.get("/search?sort=name&page=3", headers=ASKING)).status_code == 404


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("/search", "/search"),
        ("/search?utm_source=x&sort=newest", "/search"),
        ("/search?format=adp&page=1", "/search?format=adp"),
        ("/search?sort=score", None),
        ("/search?format=adp,awp", None),
        ("/search?format=adp&category=e-commerce", None),
        ("/search?q=parcel", None),
    ],
)
async def test_one_address_of_a_list_is_for_search_engines(api: Api, path: str, canonical: str | None) -> None:
    page = await html(api, path)
    found = re.findall(r'<link rel="canonical" href="https://registry.example([^"]*)">', page)
    assert found == ([] if canonical is None else [canonical])
    assert ('<meta name="robots" content="noindex">' in page) is (canonical is None)


@pytest.mark.asyncio(loop_scope="module")
async def test_only_questions_that_are_answered_here_are_suggested(api: Api) -> None:
    page = await html(api, "/")
    answers = {question: await api.json("/api/discover", q=question, limit=1) for question in QUESTIONS}
    confident = [question for question, answer in answers.items() if answer["confident"]]
    assert len(confident) < len(QUESTIONS)  # this web is not the sample web
    suggested = re.search(r'<ul class="examples".*?</ul>', page, re.DOTALL)
    shown = re.findall(r">([^<]+)</a>", suggested[0]) if suggested else []
    assert shown == confident[:MAX_QUESTIONS]


async def test_an_empty_registry_says_how_to_fill_it(own_api: Api) -> None:
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE services SET hidden = true")
    for path in ("/", "/search", "/stats"):
        page = await html(own_api, path)
        assert "Nothing is listed yet" in page
        assert "waypost seed file hosts.txt" in page
        assert '<ol class="rows' not in page
    start = await html(own_api, "/")
    assert "This registry is empty" in start
    assert "Browse by category" not in start
    assert 'class="examples"' not in start


async def test_a_registry_of_unverified_services_is_not_called_empty(own_api: Api) -> None:
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE services SET trust_level = 'unverified'")
    for path in ("/", "/search"):
        page = await html(own_api, path)
        link = '<a href="/search?include_unverified=true" rel="nofollow">services that are not checked</a>'
        assert f"Only {link} are known" in page
        assert "Nothing is listed yet" not in page
