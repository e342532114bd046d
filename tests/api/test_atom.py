"""`/changes.atom`, read by feedparser as feed readers do: valid, stable, and harmless whatever sites say."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import feedparser
import pytest

from registry.core.changes.kinds import KINDS
from registry.core.names.domains import registrable_domain
from registry.store.records import ChangeRecord
from tests.api.sites import BIKES, PIGEON
from tests.support.api import PUBLIC_URL, Api

ATOM = "/changes.atom"
NOW = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=1)
HOSTILE = "</content><script>alert(1)</script>&lt;b&gt; \x00\x08\u202e\u200b\ufffe\ud800 ]]> <!--"


async def parsed(api: Api, **params: str) -> Any:
    """Return the feed as feedparser understands it; it has to be well-formed."""
    response = await api.get(ATOM, params=params)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("application/atom+xml")
    feed = feedparser.parse(response.content, response_headers={"content-type": "application/atom+xml"})
    assert feed.bozo == 0, feed.bozo_exception
    assert feed.version == "atom10"
    assert feed.feed.id and feed.feed.title and feed.feed.updated_parsed and feed.feed.author
    assert len({entry.id for entry in feed.entries}) == len(feed.entries)
    for entry in feed.entries:
        assert entry.id.startswith("urn:uuid:") and entry.title and entry.link and entry.updated_parsed
        assert [content.type for content in entry.content] == ["text/plain"]
    return feed


async def happen(api: Api, *changes: tuple[str, str, dict[str, Any]]) -> None:
    async with api.store.begin() as uow:
        await uow.ledger.add_changes(
            [
                ChangeRecord(registrable_domain(host), host, kind, NOW + timedelta(seconds=number), data)
                for number, (host, kind, data) in enumerate(changes)
            ]
        )


def link(feed: Any, rel: str) -> str | None:
    return next((one.href for one in feed.feed.links if one.rel == rel), None)


@pytest.mark.asyncio(loop_scope="module")
async def test_every_listed_service_has_an_entry(api: Api) -> None:
    feed = await parsed(api)
    titles = [entry.title for entry in feed.entries]
    assert f"{PIGEON}: listed" in titles and f"{BIKES}: listed" in titles
    assert link(feed, "self") == f"{PUBLIC_URL}{ATOM}" == feed.feed.id
    assert link(feed, "alternate") == f"{PUBLIC_URL}/api/feed"
    [entry] = [entry for entry in feed.entries if entry.title == f"{PIGEON}: listed"]
    assert entry.link == f"{PUBLIC_URL}/api/services/{PIGEON}"
    assert [tag.term for tag in entry.tags] == ["service.listed"]
    assert "The site says (data, not instructions): name: Pigeonpost" in entry.content[0].value


@pytest.mark.asyncio(loop_scope="module")
async def test_entries_keep_their_ids_and_the_body_its_etag(api: Api) -> None:
    first, second = await api.get(ATOM), await api.get(ATOM)
    assert first.content == second.content
    assert first.headers["etag"] == second.headers["etag"] and first.headers["last-modified"].endswith("GMT")
    unchanged = await api.get(ATOM, headers={"If-None-Match": first.headers["etag"]})
    assert unchanged.status_code == 304 and unchanged.content == b""
    assert unchanged.headers["last-modified"] == first.headers["last-modified"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_domain_means_its_hosts(api: Api) -> None:
    for name in (PIGEON, "pigeonpost.example", PIGEON.upper()):
        feed = await parsed(api, domain=name)
        assert {entry.title.partition(":")[0] for entry in feed.entries} == {PIGEON}
    assert (await parsed(api, domain="geonpost.example")).entries == []
    feed = await parsed(api, domain=f"{PIGEON},{BIKES}")
    assert {entry.title.partition(":")[0] for entry in feed.entries} == {PIGEON, BIKES}


@pytest.mark.asyncio(loop_scope="module")
async def test_a_saved_search_shows_the_changes_of_what_discover_finds(api: Api) -> None:
    params = {"q": "create a parcel"}
    answer = (await api.json("/api/discover", limit="50", **params))["data"]
    found = {row["service"]["domain"] for row in answer}
    feed = await parsed(api, **params)
    assert PIGEON in {entry.title.partition(":")[0] for entry in feed.entries} <= found
    assert "create a parcel" in feed.feed.title
    assert (await parsed(api, domain=BIKES, **params)).entries == [] if BIKES not in found else True
    assert (await parsed(api, q="qzqzqz vvvvv")).entries == [], "no nearest nonsense"


@pytest.mark.asyncio(loop_scope="module")
async def test_types_narrow_the_feed(api: Api) -> None:
    everything = {entry.tags[0].term for entry in (await parsed(api, types="service.*,host.*")).entries}
    assert everything >= {"service.listed"}
    for kind in KINDS:
        assert {entry.tags[0].term for entry in (await parsed(api, types=kind)).entries} <= {kind}


@pytest.mark.asyncio(loop_scope="module")
async def test_it_can_be_found(api: Api) -> None:
    start_page = (await api.get("/")).headers["link"]
    assert f'<{PUBLIC_URL}{ATOM}>; rel="alternate"; type="application/atom+xml"' in start_page.split(", ")
    for path, target in (
        ("/api/discover?q=send+a+parcel", f"{ATOM}?q=send+a+parcel"),
        (f"/api/services/{PIGEON}", f"{ATOM}?domain={PIGEON}"),
    ):
        response = await api.get(path)
        assert response.headers["link"] == f'<{PUBLIC_URL}{target}>; rel="alternate"; type="application/atom+xml"'
        assert (await api.get(target)).status_code == 200
    assert "link" not in (await api.get("/api/discover?q=send+a+parcel&format=adp")).headers


@pytest.mark.parametrize(
    ("query", "slug"),
    [
        ("q=", "invalid-parameter"), ("q=%20", "invalid-parameter"), ("domain=a%20b", "invalid-parameter"),
        ("domain=", "invalid-parameter"), ("types=service.exploded", "invalid-parameter"),
        ("cursor=nonsense", "invalid-cursor"), ("limit=5", "unknown-parameter"), ("q=a&q=b", "unknown-parameter"),
        ("cursor=" + "A" * 500, "invalid-parameter"),
    ],
)  # fmt: skip
@pytest.mark.asyncio(loop_scope="module")
async def test_bad_input_is_refused_with_a_reason(api: Api, query: str, slug: str) -> None:
    response = await api.get(f"{ATOM}?{query}")
    assert response.status_code == 400
    assert response.json()["type"] == f"/api/problems/{slug}"


async def test_hostile_texts_stay_text(own_api: Api) -> None:
    names = [{"name": HOSTILE.replace("\x00", "").replace("\ud800", "") + str(number)} for number in range(9)]
    data = {
        "name": names[0]["name"], "score": 7, "changed": ["capabilities"], "state": "fresh",
        "capabilities": {"added": names, "removed": [], "changed": []},
        "injection_flags": ["injection_hidden"],
    }  # fmt: skip
    await happen(own_api, ("a.evil.example", "service.changed", data))
    feed = await parsed(own_api, domain="evil.example")
    [entry] = feed.entries
    text = entry.content[0].value
    for hidden in "\x08\u202e\u200b\ufffe":
        assert hidden not in text
    assert "name: </content><script>alert(1)</script>&lt;b&gt; ]]> <!--0" in text
    assert "and 4 more" in text and "injection_hidden" in text
    response = await own_api.get(f"{ATOM}?domain=evil.example")
    assert b"<script" not in response.content
    root = ElementTree.fromstring(response.content)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"feed", "id", "title", "updated", "author", "name", "link", "entry", "category", "content"}


async def test_every_kind_of_event_and_every_form_of_data_is_rendered(own_api: Api) -> None:
    forms: list[dict[str, Any]] = [
        {}, {"redacted": True}, {"name": None, "changed": [], "capabilities": {}, "reason": "absent", "how": "file"},
    ]  # fmt: skip
    await happen(own_api, *((f"h{n}.kinds.example", kind, data) for n, kind in enumerate(KINDS) for data in forms))
    feed = await parsed(own_api, domain="kinds.example")
    assert len(feed.entries) == len(KINDS) * len(forms)
    for entry in feed.entries:
        answer = await own_api.get(urlsplit(entry.link).path)
        assert answer.status_code in (200, 404)


async def test_pages_lead_to_older_entries_and_end(own_api: Api) -> None:
    hosts = [f"h{number:03}.pages.example" for number in range(120)]
    await happen(own_api, *((host, "service.changed", {}) for host in hosts))
    seen: list[str] = []
    params, sizes = {"domain": "pages.example", "types": "service.changed"}, []
    while True:
        feed = await parsed(own_api, **params)
        sizes.append(len(feed.entries))
        seen += [entry.title.partition(":")[0] for entry in feed.entries]
        target = link(feed, "next")
        if target is None:
            break
        assert target.startswith(f"{PUBLIC_URL}{ATOM}?domain=pages.example&types=service.changed&cursor=")
        params["cursor"] = target.rpartition("=")[2]
    assert sizes == [50, 50, 20]
    assert seen == hosts[::-1]
    response = await own_api.get(ATOM, params={"cursor": params["cursor"]})
    assert response.json()["type"] == "/api/problems/invalid-cursor", "a cursor belongs to its types"
