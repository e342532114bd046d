"""/api/discover beyond the contract of ADP registries: confidence, highlights, facets, sort orders."""

from collections import Counter

import pytest

from registry.core.search_filters import COUNTED
from tests.api.sites import BIKES, CARD
from tests.api.test_contract import LISTED, hosts
from tests.support.api import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_punctuation_changes_no_answer(api: Api) -> None:
    plain = await api.json("/api/discover", q="rent a bicycle")
    for query in ("rent a bicycle?", "rent a bicycle!", "rent a bicycle…", "“Rent a bicycle”", "rent\u00a0a bicycle。"):
        other = await api.json("/api/discover", q=query)
        assert (other["confident"], other["total"], other["data"]) == (True, plain["total"], plain["data"]), query


async def test_confidence_and_suggestions_are_returned(api: Api) -> None:
    confident = await api.json("/api/discover", q="rent a bicycle")
    row = confident["data"][0]
    assert (confident["confident"], row["confident"], "suggestions" in confident) == (True, True, False)
    assert sum(row["why"]["parts"].values()) == pytest.approx(row["relevance"], abs=1e-3)
    assert 0 < row["why"]["cover"] <= 1
    assert row["why"]["confidence"] > 0.4
    unconfident = await api.json("/api/discover", q="zzyzx")
    assert (unconfident["confident"], unconfident["data"], unconfident["total"]) == (False, [], 0)
    assert unconfident["suggestions"] == {"known_words": [], "spelling": {}, "without_filters": []}
    corrected = await api.json("/api/discover", q="rent a bicicle")
    assert (corrected["corrected"], corrected["confident"]) == ({"bicicle": "bicycle"}, True)
    assert (corrected["query"], confident["corrected"]) == ("rent a bicicle", {})
    filtered = await api.json("/api/discover", q="rent a bicycle", format="a2a", min_score="1")
    assert filtered["suggestions"]["without_filters"] == ["format", "min_score"]
    assert filtered["suggestions"]["known_words"] == ["rent", "bicycle"]


async def test_a_row_warns_before_the_call(api: Api) -> None:
    """AWP section 9: irreversible actions need confirmation; section 13: the surface may be out of service."""
    row = (await api.json("/api/discover", q="rent a bicycle"))["data"][0]
    assert row["service"]["domain"] == BIKES
    assert row["service"]["operational"] is False
    assert row["matching_capabilities"][0]["confirmation"] == {"required": True, "message": None}
    assert {"name", "description"} <= set(row["matching_capabilities"][0]["untrusted_text"])
    parcel = (await api.json("/api/discover", q="track a parcel"))["data"][0]
    assert (parcel["service"]["operational"], parcel["service"]["version"]) == (None, None)
    assert parcel["matching_capabilities"][0]["confirmation"] is None
    card = (await api.json("/api/discover", q="book a restaurant table"))["data"][0]["service"]
    assert (card["domain"], card["version"]) == (CARD, "1.2.0")


async def test_rows_of_the_list_tell_state_and_version_too(api: Api) -> None:
    rows = {row["domain"]: row for row in (await api.json("/api/services", limit=50))["data"]}
    assert (rows[BIKES]["operational"], rows[CARD]["operational"]) == (False, None)
    assert (rows[BIKES]["version"], rows[CARD]["version"]) == (None, "1.2.0")


async def test_highlights_are_returned_on_request_without_markup(api: Api) -> None:
    row = (await api.json("/api/discover", q="rent a bicycle", highlights="true"))["data"][0]
    marked = [part["text"] for part in row["matching_capabilities"][0]["highlights"] if part["match"]]
    assert marked
    assert all(word.lower()[:4] in ("rent", "bicy") for word in marked)
    assert (
        "".join(part["text"] for part in row["highlights"]["description"]).strip("…") in row["service"]["description"]
    )
    without_highlights = (await api.json("/api/discover", q="rent a bicycle", highlights="false"))["data"][0]
    assert "highlights" not in without_highlights


async def test_facets_are_counted_on_request(api: Api) -> None:
    broad_query = "parcels bicycles tables weather shoes hats visitors"
    results = await api.json("/api/discover", q=broad_query, limit=50, facets=",".join(COUNTED))
    counts = results["facets"]["counts"]
    assert list(counts) == list(COUNTED)
    assert results["facets"]["services"] == results["total"] == sum(counts["trust_level"].values())
    assert 1 < results["total"] <= len(LISTED) - 1
    served = Counter(value for row in results["data"] for value in row["service"]["formats"])
    assert counts["format"] == served
    assert counts["side_effects"].keys() <= {"true", "false", "unknown"}
    assert "free" not in counts["pricing_type"]
    assert (await api.get("/api/discover?q=x&facets=price")).status_code == 400


async def test_other_sort_orders_and_their_cursors(api: Api) -> None:
    broad_query = "parcels bicycles tables weather shoes hats visitors"
    for sort, key in (("score", "score"), ("freshness", "freshness")):
        full_page = await api.json("/api/discover", q=broad_query, limit=50, sort=sort)
        confident_services = [row["service"] for row in full_page["data"] if row["confident"]]
        values = [service[key] if key == "score" else service[key]["seen_at"] for service in confident_services]
        assert values == sorted(values, reverse=True)
        first_page = await api.json("/api/discover", q=broad_query, limit=3, sort=sort)
        next_page = await api.json(
            "/api/discover", q=broad_query, limit=50, sort=sort, cursor=first_page["next_cursor"]
        )
        assert hosts(first_page) + hosts(next_page) == hosts(full_page)
    assert (await api.get("/api/discover?q=x&sort=name")).status_code == 400
