"""Services and indexes that the version before wrote pass every filter of today, in the list and in discover."""

from datetime import date
from pathlib import Path
from typing import Final

import pytest

from registry.core.model.listing import ListedCapability
from registry.core.search_filters import FILTERS
from registry.search import generation
from registry.search.backend import make_document
from registry.search.embedded import EmbeddedBackend
from tests.actions.catalogue import put
from tests.search.listings import listing
from tests.support.api import Api

HOST: Final = "api.old.example"
OLD: Final = listing(
    HOST, "Almanac: tells the tides", protocols=("mcp",), category="location", languages=("en",),
    capabilities=(ListedCapability("read", "the tides", False, ("weather:forecast",)),), seen_on=date(2026, 11, 20),
)  # fmt: skip
OLD_JSON: Final = """{
    "domain": "old.example", "host": "api.old.example", "name": "Almanac", "description": "tells the tides",
    "trust_level": "verified", "score": 50, "formats": ["adp"], "auth_type": "none", "pricing_type": "free",
    "protocols": ["mcp"], "seen_on": "2026-11-20", "languages": ["en"], "category": "location", "capabilities": [
        {"name": "read", "description": "the tides", "side_effects": false, "semantic_types": ["weather:forecast"]}
    ]
}"""
"""The listing as stored in November 2026. It never gets another member: services from before a filter have to have
what the filter compares."""

PASSED: Final = {
    "format": "adp", "auth_type": "none", "pricing_type": "free", "trust_level": "verified", "protocol": "mcp",
    "semantic_type": "weather:forecast", "side_effects": "false", "domain": "old.example", "tld": "example",
    "language": "en", "category": "location", "min_score": "50", "max_score": "50", "seen_since": "2026-11-20",
    "seen_within_days": "36500", "updated_after": "2026-11-21T12:00:00Z",
    "callable": "unknown", "identity": "host-checked",
    # docs/adding-a-filter.md: further filters
}  # fmt: skip
"""For each filter a value that the old service passes."""


async def hosts(api: Api, name: str, value: str) -> tuple[set[str], set[str]]:
    """Return the hosts of the list, and those that discover finds."""
    listed = await api.json("/api/services", limit=100, **{name: value})
    found = await api.json("/api/discover", q="tides", **{name: value})
    return {row["domain"] for row in listed["data"]}, {row["service"]["domain"] for row in found["data"]}


async def test_a_service_of_the_version_before_passes_every_filter(own_api: Api, tmp_path: Path) -> None:
    await put(own_api.store, OLD)
    async with own_api.store.engine.begin() as connection:
        await connection.exec_driver_sql("UPDATE services SET listing = %s WHERE host = %s", (OLD_JSON, HOST))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "LAYOUT", "5:4.1")
        async with EmbeddedBackend(tmp_path / "index").build() as build:
            await build.add([make_document(OLD)])
            await build.swap()
    assert (await own_api.get("/api/discover", params={"q": "tides"})).status_code == 503
    await own_api.waypost.search.drain()
    assert PASSED.keys() == {row.name for row in FILTERS}
    for name, value in PASSED.items():
        assert [HOST in found for found in await hosts(own_api, name, value)] == [True, True], name


@pytest.mark.parametrize(("time", "is_passed"), [("2026-01-01", True), ("2098-12-31T23:59:59%2B01:00", False)])
async def test_updated_after_is_on_every_interface(own_api: Api, time: str, is_passed: bool) -> None:
    plain = time.replace("%2B", "+")
    query = {"text": "parcel", "filter": {"metadata.waypost:updatedAfter": [plain, "2099-01-01"]}}
    ard = await own_api.post("/ard/search", json={"query": query})
    assert bool(ard.json()["results"]) is is_passed
    listed = await own_api.json("/ard/agents", filter=f"updatedAfter > '{plain}'")
    assert bool(listed["items"]) is is_passed
    found = await own_api.json("/api/discover", q="parcel", updated_after=plain)
    assert bool(found["total"]) is is_passed
    page = (await own_api.get(f"/search?q=parcel&updated_after={time}", headers={"Accept": "text/html"})).text
    assert "Updated since: " in page
    assert (f"{plain[:10]}" in page) and ("/s/" in page.partition('<div class="found">')[2]) is is_passed
    refused = await own_api.post(
        "/ard/search", json={"query": {**query, "filter": {"metadata.waypost:updatedAfter": "soon"}}}
    )
    assert (refused.status_code, "a time must be" in refused.text) == (400, True)
