"""What /api/discover tells beyond the contract of ADP registries: worth, marks, facets, orders."""

import pytest

from registry.api.params import FACETS
from tests.api.conftest import Api
from tests.api.test_contract import LISTED, hosts

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_what_a_question_is_worth_is_said(api: Api) -> None:
    sure = await api.json("/api/discover", q="rent a bicycle")
    row = sure["data"][0]
    assert (sure["confident"], row["confident"], "suggestions" in sure) == (True, True, False)
    assert sum(row["why"]["parts"].values()) == pytest.approx(row["relevance"], abs=1e-3)
    assert 0 < row["why"]["cover"] <= 1
    unsure = await api.json("/api/discover", q="bicicle", format="adp")
    assert (unsure["confident"], unsure["data"]) == (False, [])
    assert unsure["suggestions"] == {"known_words": [], "spelling": {"bicicle": ["bicycle"]}, "without_filters": []}
    narrowed = await api.json("/api/discover", q="rent a bicycle", format="a2a", min_score="1")
    assert narrowed["suggestions"]["without_filters"] == ["format", "min_score"]
    assert narrowed["suggestions"]["known_words"] == ["rent", "bicycle"]


async def test_words_are_marked_on_request_and_never_with_markup(api: Api) -> None:
    row = (await api.json("/api/discover", q="rent a bicycle", highlights="true"))["data"][0]
    marked = [part["text"] for part in row["matching_capabilities"][0]["highlights"] if part["match"]]
    assert marked
    assert all(word.lower()[:4] in ("rent", "bicy") for word in marked)
    assert (
        "".join(part["text"] for part in row["highlights"]["description"]).strip("…") in row["service"]["description"]
    )
    plain = (await api.json("/api/discover", q="rent a bicycle", highlights="yes"))["data"][0]
    assert "highlights" not in plain


async def test_facets_are_counted_on_request(api: Api) -> None:
    everything = "parcels bicycles tables weather shoes hats visitors"
    found = await api.json("/api/discover", q=everything, limit=0, facets=",".join(FACETS))
    counts = found["facets"]["counts"]
    assert list(counts) == list(FACETS)
    assert found["facets"]["services"] == len(LISTED) - 1 == sum(counts["trust_level"].values())
    for value, services in counts["format"].items():
        assert len(hosts(await api.json("/api/discover", q=everything, limit=50, format=value))) == services, value
    assert (await api.get("/api/discover?q=x&facets=price")).status_code == 400


async def test_another_order_and_its_cursor(api: Api) -> None:
    everything = "parcels bicycles tables weather shoes hats visitors"
    for sort, key in (("score", "score"), ("freshness", "freshness")):
        whole = await api.json("/api/discover", q=everything, limit=50, sort=sort)
        sure = [row["service"] for row in whole["data"] if row["confident"]]
        values = [one[key] if key == "score" else one[key]["seen_at"] for one in sure]
        assert values == sorted(values, reverse=True)
        first = await api.json("/api/discover", q=everything, limit=3, sort=sort)
        rest = await api.json("/api/discover", q=everything, limit=50, sort=sort, cursor=first["next_cursor"])
        assert hosts(first) + hosts(rest) == hosts(whole)
    assert (await api.get("/api/discover?q=x&sort=name")).status_code == 400
