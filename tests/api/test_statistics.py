"""The registry in numbers, by day: as JSON, as a table, and page by page."""

import csv
import io
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

import pytest

from tests.support.api import Api

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def table(api: Api, **params: Any) -> tuple[Sequence[dict[str, str]], str | None]:
    """Return the rows of the table, and the address of earlier ones."""
    answer = await api.get("/api/stats/history.csv", params=params)
    assert answer.status_code == 200, answer.text
    earlier = answer.links.get("prev", {}).get("url")
    return list(csv.DictReader(io.StringIO(answer.text, newline=""))), earlier


async def test_the_table_has_the_numbers_of_the_days(api: Api) -> None:
    days = (await api.json("/api/stats/history"))["data"]["days"]
    rows, earlier = await table(api)
    assert (len(days), earlier) == (3, None)
    assert [row["day"] for row in rows] == [one["day"] for one in days] == sorted(one["day"] for one in days)
    for day, row in zip(days, rows, strict=True):
        for name in ("services", "capabilities", "hosts"):
            assert int(row[name]) == day[name] > 0
        assert float(row["mean_score"]) == day["mean_score"]
        assert [int(row[f"score_{least}_{least + 9 + (least == 90)}"]) for least in range(0, 100, 10)] == day["scores"]
        prefixes = {"formats": "format", "trust_levels": "trust", "categories": "category", "visited": "visited"}
        for counts, prefix in prefixes.items():
            told = {name.removeprefix(f"{prefix}_"): int(row[name]) for name in row if name.startswith(f"{prefix}_")}
            assert {name: count for name, count in told.items() if count} == day[counts]
    now = (await api.json("/api/stats"))["data"]
    assert (now["mean_score"], now["formats"]) == (days[-1]["mean_score"], days[-1]["formats"])


async def test_earlier_days_follow_page_by_page(api: Api) -> None:
    days = [one["day"] for one in (await api.json("/api/stats/history"))["data"]["days"]]
    for read in ("json", "csv"):
        found, until, pages = [], None, 0
        while until is not None or not pages:
            if read == "json":
                data = (await api.json("/api/stats/history", days=1, **({"until": until} if until else {})))["data"]
                found, until = [*(one["day"] for one in data["days"]), *found], data["earlier"]
            else:
                rows, earlier = await table(api, days=1, **({"until": until} if until else {}))
                found, until = [*(row["day"] for row in rows), *found], earlier and earlier.rpartition("=")[2]
            pages += 1
        assert (found, pages) == (days, 3)


async def test_a_registry_without_days_has_an_empty_table(api: Api) -> None:
    before = (date.today() - timedelta(days=4_000)).isoformat()
    data = (await api.json("/api/stats/history", until=before))["data"]
    assert data == {"days": [], "earlier": None}
    answer = await api.get("/api/stats/history.csv", params={"until": before})
    assert answer.text == "day,at,services,capabilities,hosts,mean_score\r\n"


@pytest.mark.parametrize("path", ["/api/stats/history", "/api/stats/history.csv"])
@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"days": "0"}, 400), ({"days": "-1"}, 400), ({"days": "x"}, 400), ({"days": "99999"}, 200),
        ({"until": "2026-02-30"}, 400), ({"until": "now"}, 400), ({"until": "9999-12-31"}, 200), ({"since": "1"}, 400),
    ],
)  # fmt: skip
async def test_odd_ranges_are_refused(api: Api, path: str, params: dict[str, str], status: int) -> None:
    assert (await api.get(path, params=params)).status_code == status


@pytest.mark.parametrize("name", ["tld", "semantic_type", "max_score", "nothing", ""])
async def test_a_list_counts_only_what_it_can_count_fast(api: Api, name: str) -> None:
    assert (await api.get("/api/services", params={"facets": name})).status_code == 400


async def test_a_list_counts_how_many_reach_a_score(api: Api) -> None:
    counts = (await api.json("/api/services", facets="min_score,min_score", limit=0))["facets"]["counts"]["min_score"]
    assert list(counts) != []
    for least, count in counts.items():
        assert (await api.json("/api/services", min_score=least))["total"] == count
