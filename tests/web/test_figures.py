"""Charts and the pages with numbers."""

from datetime import date, timedelta
from typing import Any

import pytest

from registry.core.formats import FORMAT_BY_SLUG
from registry.store.holder import hold_leases
from registry.store.migrate import revisions
from registry.web.about import sectioned
from registry.web.figures import MAX_BARS, MAX_POINTS, bars, size_label, trends
from tests.support.api import Api
from tests.web.paths import LINKS
from tests.web.test_html import ASKING


def test_bars_are_ordered_and_the_rest_is_one() -> None:
    counts = [(f"kind{count:02}", count, f"/{count}") for count in range(1, MAX_BARS + 4)]
    rows = bars(counts, others_at="/all")
    assert [(row.count, row.link) for row in rows[:-1]] == [(count, link) for _, count, link in counts[:2:-1]]
    assert (rows[-1].label, rows[-1].count, rows[-1].link) == ("others", 1 + 2 + 3, "/all")
    assert (rows[0].share, len(rows)) == (100, MAX_BARS + 1)


def test_a_small_number_is_still_seen() -> None:
    assert [row.share for row in bars([("a", 100_000, None), ("b", 1, None), ("c", 0, None)])] == [100, 1, 0]
    assert bars([]) == []
    assert [row.share for row in bars([("a", 0, None)])] == [0]


def day_of(offset: int, services: int) -> dict[str, Any]:
    day = date(2026, 1, 1) + timedelta(days=offset)
    counts = {"formats": {"adp": services}, "visited": {}}
    return {"day": day.isoformat(), "services": services, "hosts": 2 * services, "mean_score": None, **counts}


@pytest.mark.parametrize(
    ("days", "path"),
    [
        ([(0, 4)], "M50 0h0"),
        ([(0, 1), (1, 2), (2, 4)], "M0 75h0L50 50L100 0"),
        ([(0, 4), (1, 4), (3, 2), (4, 0)], "M0 0h0L25 0M75 50h0L100 100"),
        ([(0, 0), (1, 0)], "M0 100h0L100 100"),
    ],
)
def test_a_line_has_a_point_for_each_day_and_a_gap_for_a_missed_one(days: list[tuple[int, int]], path: str) -> None:
    services, _, score, formats = trends(LINKS, [day_of(*one) for one in days])[:4]
    assert services.lines[0].path == path == formats.lines[0].path
    assert score.lines[0].path == ""
    assert f"{days[0][1]} to {days[-1][1]}" in services.says


def test_many_days_are_drawn_in_steps_and_a_long_gap_stays_one() -> None:
    offsets = [*range(600), *range(700, 1_000)]
    path = trends(LINKS, [day_of(offset, 1 + offset) for offset in offsets])[0].lines[0].path
    assert path.count("M") == 2
    assert len(offsets) / 9 <= path.count("M") + path.count("L") <= MAX_POINTS
    assert path.endswith("L100 0")


@pytest.mark.parametrize(
    ("least", "most", "label"),
    [
        (0, 511, "under 512 B"), (512, 1023, "512 B to 1 KiB"), (524_288, 1_048_575, "512 KiB to 1 MiB"),
        (1_048_576, None, "from 1 MiB"),
    ],
)  # fmt: skip
def test_sizes_are_told_in_units(least: int, most: int | None, label: str) -> None:
    assert size_label({"least": least, "most": most}) == label


def test_a_text_becomes_sections() -> None:
    text = "It: a crawler\n\nWhat it asks. This\nand that.\n\n  GET /\n  x\n\nno title"
    title, asked, code, untitled = sectioned(text)
    assert (title.text, title.title) == ("It: a crawler", "")
    assert (asked.title, asked.text) == ("What it asks", "This and that.")
    assert (code.text, code.is_code) == ("GET /\nx", True)
    assert (untitled.text, untitled.title) == ("no title", "")


@pytest.mark.asyncio(loop_scope="module")
async def test_the_numbers_are_those_of_the_api(api: Api) -> None:
    counted = await api.json("/api/stats")
    total = counted["data"]["services"]
    listed = (await api.json("/api/services", limit=0))["total"]  # those that are failing are left out by default
    assert total == listed + counted["data"]["trust_levels"].get("unverified", 0) > 0
    assert sum(one["count"] for one in counted["data"]["scores"]) == total
    assert sum(counted["data"]["formats"].values()) >= total
    assert sum(one["count"] for one in counted["data"]["document_bytes"]) > 0
    page = (await api.get("/stats", headers=ASKING)).text
    for slug, count in counted["data"]["formats"].items():
        assert f">{FORMAT_BY_SLUG[slug].title}</a></th>" in page
        assert f'<td class="number">{count}</td>' in page
        assert (await api.json("/api/services", limit=0, format=slug, include_unverified="true"))["total"] == count


@pytest.mark.asyncio(loop_scope="module")
async def test_the_state_of_the_registry_is_told(api: Api) -> None:
    state = (await api.json("/api/stats/operation"))["data"]
    assert sum(state["domains"].values()) > 0
    assert (state["domains"]["leased"], state["crawlers"], state["jobs"]) == (0, 0, [])
    assert state["visited_last_day"] == {}  # the sites were crawled on a day in the past
    page = (await api.get("/status", headers=ASKING)).text
    assert "Status of this registry" in page


async def nothing_waits(api: Api) -> None:
    await api.json("/api/feed")  # gives the events of the crawl their places
    async with api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE domains SET next_visit_at = now() + interval '1 day'")
        await connection.exec_driver_sql(
            "INSERT INTO job_runs (job, started_at, finished_at, outcome, figures) VALUES "
            "('recrawl', now() - interval '1 minute', now(), 'done', '{}')"
        )


async def test_incidents_are_told_with_their_beginning(own_api: Api) -> None:
    await nothing_waits(own_api)
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql(
            "INSERT INTO job_runs (job, started_at, finished_at, outcome, figures) VALUES "
            "('recrawl', now(), now(), 'done', '{}'), "
            "('prune', now() - interval '3 hours', now() - interval '2 hours', 'lost', '{}')"
        )
    page = (await own_api.get("/status", headers=ASKING)).text
    assert "The last run of the job prune was lost. It began <time" in page and "2 hours ago" in page
    for path in ("/api/status", "/api/stats/operation"):
        (incident,) = (await own_api.json(path))["data"]["incidents"]
        assert (incident["kind"], incident["says"]) == ("job_failed", "The last run of the job prune was lost.")


async def test_no_incident_is_told_as_none(own_api: Api) -> None:
    await nothing_waits(own_api)
    page = (await own_api.get("/status", headers=ASKING)).text
    assert '<h2 id="incidents">Incidents</h2>\n<p>None: no job has failed' in page
    assert (await own_api.json("/api/status"))["data"]["incidents"] == []


@pytest.mark.parametrize(
    ("statement", "kind", "says"),
    [
        ("SELECT 1", "middle", "No crawler runs now, so no host is visited."),
        ("UPDATE services SET hidden = true", "middle", "It answers, but nothing is listed yet."),
        (
            "INSERT INTO job_runs (job, started_at, finished_at, outcome, figures) "
            "VALUES ('prune', now(), now(), 'failed', '{}')",
            "middle", "It answers, but one thing is late or has failed.",
        ),
        (
            f"UPDATE alembic_version SET version_num = '{revisions()[-2]}'",
            "bad", "cannot answer every request now: database",
        ),
    ],
)  # fmt: skip
async def test_the_status_is_good_only_where_everything_is(own_api: Api, statement: str, kind: str, says: str) -> None:
    await nothing_waits(own_api)
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql(statement)
    page = (await own_api.get("/status", headers=ASKING)).text
    assert f'<p class="note {kind}">' in page
    assert says in page
    assert 'class="note good"' not in page


async def test_the_status_is_good_while_a_crawler_runs(own_api: Api) -> None:
    await nothing_waits(own_api)
    async with hold_leases(own_api.store.engine):
        page = (await own_api.get("/status", headers=ASKING)).text
    assert '<p class="note good">It answers, its crawler runs, nothing is late, and no job has failed.</p>' in page


@pytest.mark.asyncio(loop_scope="module")
async def test_changes_lead_to_services(api: Api) -> None:
    page = (await api.get("/changes?type=service.listed", headers=ASKING)).text
    assert "listed" in page
    assert '<option value="service.hidden">no longer shown</option>' in page
    assert (await api.get("/changes?type=host.exploded", headers=ASKING)).status_code == 400
    assert (await api.get("/changes?cursor=%00", headers=ASKING)).status_code == 400
