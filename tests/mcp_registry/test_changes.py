"""How records change with their services: dates, versions, and what a mirror sees of those that are gone."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from registry.actions.queries.mcp_servers import SLACK
from registry.core.scheduling.jobs import Retention
from tests.mcp_registry.conftest import OFFICIAL, OWN, View
from tests.mcp_registry.sites import CARD, DATED, HOSTILE, PARCELS, SITES, SOCKET, TRIPLE, card, served
from tests.support.builders import DAY, NOW, Page, Site, again, on
from tests.support.database import rows

NAME = "example.parcels/parcels-of-the-town"
GONE = {CARD: Page("gone", 410, media_type="text/plain")}


async def visit(view: View, changed: Mapping[str, Site], now: datetime) -> None:
    """Visit all hosts that are due again, some of them with other documents."""
    await again(view.store, {**SITES, **changed}, now)


def official(row: dict[str, Any]) -> dict[str, Any]:
    return dict(row["_meta"][OFFICIAL])


def parcels(**members: Any) -> dict[str, Page]:
    return served(card(PARCELS, "parcels", **{"title": "Parcels of the town", "version": "2.1.0", **members}))


async def test_a_visit_without_a_change_leaves_all_dates(view: View) -> None:
    before = [official(row) for row in await view.all()]
    await visit(view, {}, NOW + 8 * DAY)
    assert [official(row) for row in await view.all()] == before
    assert await on(view.store, NOW + 9 * DAY).maintenance.rescore()
    assert [official(row) for row in await view.all()] == before


async def test_a_change_within_a_version_is_an_update(view: View) -> None:
    await visit(view, {PARCELS: parcels(description="Something else.")}, NOW + 8 * DAY)
    row = await view.one(PARCELS)
    assert row["server"]["description"] == "Something else."
    dates = official(row)
    assert dates["publishedAt"] == dates["statusChangedAt"] == "2026-11-21T12:00:00.000Z"
    assert dates["updatedAt"] == "2026-11-29T12:00:00.000Z"


async def test_a_new_version_takes_the_place_of_the_old_one(view: View) -> None:
    await visit(view, {PARCELS: parcels(version="2.2.0")}, NOW + 8 * DAY)
    assert (await view.one(PARCELS))["server"]["version"] == "2.2.0"
    path = f"/v0.1/servers/{NAME.replace('/', '%2F')}/versions"
    assert (await view.json(f"{path}/latest"))["server"]["version"] == "2.2.0"
    assert (await view.get(f"{path}/2.1.0")).status_code == 404
    content = await view.json(path, include_deleted="true")
    assert [
        (row["server"]["version"], official(row)["status"], official(row)["isLatest"]) for row in content["servers"]
    ] == [("2.2.0", "active", True), ("2.1.0", "deleted", False)]
    assert content["servers"][1]["_meta"][OFFICIAL]["statusMessage"] == "Another version took its place."
    await visit(view, {PARCELS: parcels(version="2.1.0")}, NOW + 16 * DAY)
    row = await view.one(PARCELS)
    assert (row["server"]["version"], official(row)["isLatest"]) == ("2.1.0", True)
    assert official(row)["publishedAt"] < official(row)["statusChangedAt"] == "2026-12-07T12:00:00.000Z"


async def test_a_version_of_our_own_stays_until_the_record_changes(view: View) -> None:
    assert (await view.one(DATED))["server"]["version"] == "2026.11.21"
    await visit(view, {}, NOW + 8 * DAY)
    assert (await view.one(DATED))["server"]["version"] == "2026.11.21"
    await visit(view, {DATED: served(card(DATED, "undated", version=">=1.0", description="New."))}, NOW + 16 * DAY)
    assert (await view.one(DATED))["server"]["version"] == "2026.12.7"
    assert len(await view.names(search="undated", include_deleted="true")) == 2


async def test_a_mirror_sees_what_changed_and_what_is_gone(view: View) -> None:
    now = NOW + 8 * DAY
    await visit(view, {PARCELS: GONE, HOSTILE: served(card(HOSTILE, "tame"))}, now)
    await visit(view, {PARCELS: GONE, HOSTILE: served(card(HOSTILE, "tame"))}, now + 8 * DAY)
    assert NAME not in await view.names()
    changed = {row["server"]["name"]: row for row in await view.all(updated_since=now.isoformat())}
    assert changed.keys() >= {NAME, "example.hostile/tame"}
    assert not changed.keys() & {"example.port/ported", "example.tenants/tenants"}
    gone = changed[NAME]
    assert (official(gone)["status"], official(gone)["isLatest"]) == ("deleted", True)
    assert gone["server"].keys() == {"$schema", "name", "description", "version"}
    assert gone["_meta"][OWN] == {"host": PARCELS, "untrusted_text": gone["_meta"][OWN]["untrusted_text"]}
    assert NAME in await view.names(include_deleted="true", version="latest")
    assert (await view.get(f"/v0.1/servers/{NAME.replace('/', '%2F')}/versions/latest")).status_code == 404


async def test_rows_committed_late_are_not_missed(view: View) -> None:
    """A row has the date at which its transaction began; a reader may have asked meanwhile."""
    late = NOW + SLACK - timedelta(seconds=1)
    assert len(await view.all(updated_since=late.isoformat())) == 9
    assert await view.all(updated_since=(NOW + SLACK + timedelta(seconds=1)).isoformat()) == []


async def test_servers_that_leave_a_list_are_gone(view: View) -> None:
    pages = {"/.well-known/mcp.json": Page({"mcpServers": {"stock": {"url": f"https://{TRIPLE}/stock/mcp"}}})}
    await visit(view, {TRIPLE: pages}, NOW + 8 * DAY)
    assert await view.names(search="example.triple/") == ["example.triple/stock"]
    assert len(await view.names(search="example.triple/", include_deleted="true", version="latest")) == 3


@pytest.mark.parametrize("host", [PARCELS, TRIPLE])
async def test_a_forgotten_host_leaves_only_names(view: View, host: str) -> None:
    count = len([row for row in await view.all() if row["_meta"][OWN]["host"] == host])
    await on(view.store, NOW + DAY).opt_outs.forget(host)
    assert host not in str(await view.all())
    gone = [row for row in await view.all(include_deleted="true") if row["_meta"][OWN]["host"] == host]
    assert len(gone) == count
    assert all(row["server"]["description"] == "No longer listed." for row in gone)
    assert await rows(view.store, f"SELECT count(*) FROM mcp_servers WHERE host = '{host}' AND server IS NOT NULL") == [
        (0,)
    ]


async def test_a_hidden_service_is_deleted_and_comes_back(view: View) -> None:
    async with view.store.begin() as uow:
        assert await uow.services.hide(PARCELS, [PARCELS]) == [PARCELS]
    assert NAME not in await view.names()
    async with view.store.begin() as uow:
        (hidden,) = (await uow.services.of([PARCELS])).values()
        hidden.hidden = False
        await uow.services.put([hidden])
    await on(view.store, NOW + 400 * DAY).maintenance.rescore()
    assert NAME in await view.names()


async def test_a_reason_goes_with_its_cause(view: View) -> None:
    await visit(view, {SOCKET: served(card(SOCKET, "socket"))}, NOW + 8 * DAY)
    assert (await view.json("/v0.1/x/dev.waypost/left-out"))["services"] == 0
    assert "example.socket/socket" in await view.names()
    await visit(view, {SOCKET: SITES[SOCKET]}, NOW + 16 * DAY)
    assert (await view.json("/v0.1/x/dev.waypost/left-out"))["services"] == 1
    assert "example.socket/socket" in await view.names(include_deleted="true")


async def test_deleted_rows_are_kept_as_long_as_the_feed(view: View) -> None:
    await on(view.store, NOW + DAY).opt_outs.forget(PARCELS)
    assert NAME in await view.names(include_deleted="true")
    (deleted_at,) = (await rows(view.store, "SELECT max(updated_at) FROM mcp_servers WHERE status = 'deleted'"))[0]
    retention = Retention(
        visits_days=1, visits_per_host=1, history_days=1, versions=1, bodies_days=1, scores_days=1, changes_days=10,
        candidates_days=1, reports_days=1, job_runs_days=1,
    )  # fmt: skip
    await on(view.store, deleted_at + 9 * DAY).maintenance.prune(retention)
    assert NAME in await view.names(include_deleted="true")
    await on(view.store, deleted_at + 11 * DAY).maintenance.prune(retention)
    assert NAME not in await view.names(include_deleted="true")
    assert len(await view.names()) == 8, "what is listed stays, however old"
