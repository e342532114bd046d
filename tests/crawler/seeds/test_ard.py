"""The entries of ARD registries and catalogues: hosts of their documents, and how a registry is asked for them."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler.seeds import ard
from crawler.seeds.ard import PAGE_SIZE, QUESTIONS, base_of, catalogue_names, registry_names
from crawler.seeds.online import ReadError
from crawler.seeds.source import BROKEN_OFF
from registry.core.names.seeds import Refusal, Seed
from tests.crawler.seeds.gathering import Sources, gathered
from tests.support.sites import Exchange, Reply, Site

HOST = "registry.example"
BASE = f"https://{HOST}/ard"
LIST = f"/ard/agents?pageSize={PAGE_SIZE}"


def entry(identifier: Any, url: Any = None, **members: Any) -> dict[str, Any]:
    return {"identifier": identifier, "displayName": "x", "type": "application/a2a-agent-card+json", **members} | (
        {} if url is None else {"url": url}
    )


def reply(value: Any, status: int = 200) -> Reply:
    return Reply(json.dumps(value), status)


ONE = entry("urn:air:one.com:agent:x", "https://api.one.com/.well-known/agent-card.json")
TWO = entry("urn:ai:two.com:agent:y", data={"name": "y"})


async def names_of(
    source: Sources, site: Site, start: str = ""
) -> tuple[list[str], list[tuple[str, str]], list[Exchange]]:
    """Return the names, the refusals, and the requests that the registry got."""
    async with source(BASE, {HOST: site}) as (served, url, reader):
        accepted, refused = await gathered(registry_names(url, reader, start))
        return [name for name, _ in accepted], refused, [one for one in served.seen if one.path != "/robots.txt"]


@pytest.mark.parametrize("url", [BASE, f"{BASE}/", f"{BASE}/search", f"{BASE}/agents", f"{BASE}/search/"])
def test_the_base_is_found_in_what_somebody_gives(url: str) -> None:
    assert base_of(url) == BASE


async def test_the_list_is_read_page_by_page(source: Sources) -> None:
    pages = {
        LIST: reply({"items": [ONE], "pageToken": "a+b/="}),
        f"{LIST}&pageToken=a%2Bb%2F%3D": reply({"items": [TWO, 7, entry("x"), entry(7, 7)]}),
    }
    names, refused, requests = await names_of(source, pages)
    assert names == ["api.one.com", "one.com", "two.com"]
    assert [code for _, code in refused] == ["no_entry", "no_host", "no_host"]
    assert [one.path for one in requests] == list(pages)


async def test_a_run_goes_on_at_its_page(source: Sources) -> None:
    pages = {f"{LIST}&pageToken=b": reply({"items": [TWO]})}
    names, refused, _ = await names_of(source, pages, "a:b")
    assert (names, refused) == (["two.com"], [])


class Asked:
    """A registry without a list. `explore` and `search` answer its questions."""

    def __init__(self, explore: Reply, search: Reply = Reply("", 500)) -> None:  # noqa: B008  (frozen)
        self.answers: Mapping[str, Reply] = {"/ard/explore": explore, "/ard/search": search}
        self.questions: list[Any] = []

    async def __call__(self, exchange: Exchange) -> None:
        if exchange.path in self.answers and exchange.method == "POST":
            self.questions.append(json.loads(exchange.body))
            assert exchange.headers["content-type"] == "application/json"
            await exchange.send(self.answers[exchange.path].encode())
        else:
            await exchange.send(Reply("", 501 if exchange.path == LIST else 404).encode())


def buckets(*values: Any, **members: Any) -> Reply:
    facet = {"buckets": [{"value": value, "count": 1} for value in values], **members}
    return reply({"resultType": "facets", "facets": {"publisher": facet}})


async def test_without_a_list_the_publishers_are_counted(source: Sources) -> None:
    site = Asked(buckets("one.com", 7, "two.com"))
    names, refused, _ = await names_of(source, site)
    assert (names, refused, len(site.questions)) == (["one.com", "two.com"], [], 1)


@pytest.mark.parametrize(
    "explore",
    [
        Reply("", 501),
        Reply("", 404),
        Reply("", 400),
        reply({"facets": {}}),
        reply([]),
        buckets("one.com", otherCount=9),
    ],
)
async def test_without_counts_general_questions_are_asked(source: Sources, explore: Reply) -> None:
    site = Asked(explore, reply({"results": [ONE]}))
    names, refused, _ = await names_of(source, site)
    assert (set(names) - {"a.b"}, refused) == ({"api.one.com", "one.com"}, [])
    assert [question["query"]["text"] for question in site.questions[1:]] == list(QUESTIONS)
    assert all(question["federation"] == "none" for question in site.questions[1:])


async def test_a_question_whose_pages_never_end_ends(source: Sources) -> None:
    site = Asked(Reply("", 501), reply({"results": [ONE], "pageToken": "again"}))
    _, refused, _ = await names_of(source, site)
    assert refused == []
    assert len(site.questions) == 1 + len(QUESTIONS) * ard.PAGES_OF_QUESTION


@pytest.mark.parametrize("failing", [Reply("", 500), Reply("", 429), Reply("{", 200), reply({"items": 7})])
async def test_a_registry_that_fails_breaks_off(source: Sources, failing: Reply) -> None:
    _, refused, requests = await names_of(source, {LIST: failing})
    assert [code for _, code in refused] == [BROKEN_OFF + "not_read"]
    assert len(requests) == 1, "nothing else is tried"


async def test_a_catalogue_is_read_with_those_of_its_site(source: Sources) -> None:
    inner = {"entries": [entry("urn:air:inner.com:x:y", "https://inner.com/")]}
    pages = {
        "/.well-known/ai-catalog.json": reply({
            "entries": [
                ONE,
                entry("urn:air:x.registry.example:c:d", f"https://{HOST}/more.json", type="application/AI-Catalog"),
                entry("urn:air:y.com:c:d", "https://y.com/other.json", type="application/ai-catalog+json"),
                entry("urn:air:z.com:c:d", type="application/ai-catalog+json", data=inner),
            ]
        }),
        "/more.json": reply({"entries": [TWO, entry("urn:air:one.com:a:b", f"https://{HOST}/more.json")]}),
    }  # fmt: skip
    async with source(f"https://{HOST}/", {HOST: pages}) as (served, *found):
        accepted, refused = await gathered(catalogue_names(*found))
    assert {name for name, _ in accepted} == {
        "api.one.com", "one.com", HOST, "x.registry.example", "y.com", "z.com", "inner.com", "two.com",
    }  # fmt: skip
    assert refused == []
    assert served.paths(HOST) == [
        "/robots.txt", "/.well-known/ard.json", "/.well-known/ai-catalog.json", "/more.json",
    ]  # fmt: skip


async def test_a_site_without_a_catalogue_breaks_off(source: Sources) -> None:
    async with source(f"https://{HOST}/", {HOST: {}}) as (_, *found):
        accepted, refused = await gathered(catalogue_names(*found))
    assert (accepted, [code for _, code in refused]) == ([], [BROKEN_OFF + "not_read"])


_KEYS = st.sampled_from(["items", "identifier", "url", "data", "entries", "type", "pageToken"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("urn:air:one.com:a:b"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["items", "identifier", "url", "data", "entries", "type", "pageToken"]), inner
        )
    ),
    max_leaves=12,
)


@given(_JSON)
@settings(max_examples=200)
def test_any_value_is_read(value: Any) -> None:
    try:
        _, entries = ard._listed(json.dumps(value).encode(), "items", "")
    except ReadError:
        return
    found = list(entries)
    assert all(isinstance(name, Seed | Refusal) for name in ard._hosts(ard._flatten(found, 3)))
    assert all(ard._inner_catalogue(one, BASE, HOST) is None for one in found if not isinstance(one, dict))
