"""What reading pages costs: one view each, from a budget of its own; and the page about a limit."""

import itertools
import re
from html import unescape
from types import SimpleNamespace
from typing import Any

import pytest
from httpx2 import AsyncClient, Response

from registry.actions.reports import MOST_OF_CLIENT
from registry.core.model.reports import CODE_MEANS
from registry.web.public_forms import SUBMIT
from registry.web.rendering import ADDRESSES
from tests.api.sites import BIKES, CARD, PIGEON
from tests.support.api import Api, make_client
from tests.web.test_html import ASKING, faults

FORM = {**ASKING, "Content-Type": "application/x-www-form-urlencoded"}
DEAR = ("/search?sort=name&language=en", f"/s/{PIGEON}", "/stats", "/search?q=send+a+parcel", "/", "/status")


@pytest.fixture(autouse=True)
def frozen_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("registry.edge.middleware.time", SimpleNamespace(monotonic=lambda: 1_000.0))


def limited(api: Api, **changes: Any) -> AsyncClient:
    return make_client(api.waypost, api.waypost.settings.model_copy(update=changes))


def words(answer: Response) -> str:
    main = answer.text.partition("<main")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub("<[^>]*>", " ", main)).split())


async def test_a_view_costs_one_whatever_it_shows_and_leaves_the_work_alone(own_api: Api) -> None:
    async with limited(own_api, page_rate=len(DEAR), read_rate=1) as client:
        for left, path in zip(range(len(DEAR))[::-1], DEAR, strict=True):
            answer = await client.get(path, headers=ASKING)
            assert (answer.status_code, answer.headers["ratelimit"]) == (200, f'"pages";r={left};t=20'), path
        assert (await client.get("/", headers=ASKING)).status_code == 429
        assert (await client.get("/api/rubric")).headers["ratelimit"] == '"work";r=0;t=20'
        assert (await client.get("/api/rubric")).status_code == 429


async def test_pages_open_when_the_work_is_used_up(own_api: Api) -> None:
    async with limited(own_api, read_rate=1) as client:
        assert [(await client.get("/api/rubric")).status_code for _ in range(2)] == [200, 429]
        assert (await client.get(f"/s/{PIGEON}", headers=ASKING)).status_code == 200
        sent = await client.get("/rubric", headers={**ASKING, "Content-Length": "0"})
        assert sent.status_code == 429, "a request with a body is no view"
        assert (await client.get("/", headers={"Accept": "*/*"})).status_code == 429, "the text for programs is no page"


async def test_files_of_pages_and_badges_cost_nothing(own_api: Api) -> None:
    async with limited(own_api, read_rate=1, page_rate=1) as client:
        for path in [*ADDRESSES.values(), "/favicon.ico", f"/badge/{PIGEON}.svg", "/static/none.css"] * 2:
            answer = await client.get(path)
            assert answer.status_code == (404 if "none" in path else 200)
            assert "ratelimit" not in answer.headers
        assert (await client.get("/rubric")).status_code == 200
        assert (await client.get("/sitemap.xml")).status_code == 429, "it lists services, as the API does"


async def test_a_limit_says_once_when_to_come_back(own_api: Api) -> None:
    async with limited(own_api, page_rate=1) as client:
        await client.get("/rubric", headers=ASKING)
        question = 'a "quick" <parcel>'
        answer = await client.get("/search", params={"q": question}, headers=ASKING)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "20")
    assert words(answer).count("Try again in 20 seconds.") == 1
    assert "waypost" in answer.text and "units" not in words(answer)
    assert 'value="a &#34;quick&#34; &lt;parcel&gt;"' in answer.text
    assert faults(answer.content) is None


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("hosts=one.example%0D%0A%22%3Ctwo%3E.example", "\none.example\n&#34;&lt;two&gt;.example</textarea>"),
        ("hosts=a%00b%E2%80%AE", "\na\ufffdb\u202e</textarea>"),
        ("hosts=" + "x" * 70_000, None),
        ("hosts=a&token=wp_owner_secret", None),
        ("hosts=%FF", None),
        ("hosts=", None),
    ],
)
async def test_a_refused_form_is_given_back(own_api: Api, body: str, kept: str | None) -> None:
    async with limited(own_api, submit_rate=1) as client:
        assert (await client.post(SUBMIT, headers=FORM, content="hosts=no+host")).status_code == 400
        answer = await client.post(SUBMIT, headers=FORM, content=body)
        foreign = await client.post(SUBMIT, headers={**FORM, "Sec-Fetch-Site": "cross-site"}, content=body)
        data = await client.post(SUBMIT, headers={**FORM, "Accept": "application/json"}, content=body)
    assert (answer.status_code, foreign.status_code, data.json()["status"]) == (429, 403, 429)
    assert ("Send it again" in answer.text, faults(answer.content)) == (kept is not None, None)
    assert words(answer).count("Try again in") == 1 and "an hour" in words(answer)
    assert "wp_owner_secret" not in answer.text and "one.example" not in foreign.text
    if kept is None:
        assert "go back in your browser" in words(answer)
    else:
        assert kept in answer.text
        assert f'<form method="post" action="{SUBMIT}">' in answer.text


async def test_a_form_that_a_limit_of_its_own_refuses_is_given_back(own_api: Api) -> None:
    reports = list(itertools.product((PIGEON, BIKES, CARD), CODE_MEANS))[: MOST_OF_CLIENT + 1]
    for number, (host, code) in enumerate(reports):
        body = f"code={code}&reason=No+<answer>+{number}"
        answer = await own_api.client.post(f"/s/{host}/report", headers=FORM, content=body)
    assert answer.status_code == 429
    assert f"\nNo &lt;answer&gt; {MOST_OF_CLIENT}</textarea>" in answer.text
    assert f'<input type="hidden" name="code" value="{code}">' in answer.text


@pytest.mark.parametrize(("size", "is_kept"), [(40_000, True), (200_000, False)])
async def test_a_form_that_is_refused_unread_is_given_back_if_it_is_small(
    own_api: Api, size: int, is_kept: bool
) -> None:
    async with limited(own_api, read_rate=1) as client:
        answer = await client.post("/check", headers=FORM, content="document=" + "x" * size)
    assert (answer.status_code, "x" * 1_000 in answer.text) == (429, is_kept)
