"""Misbehaving servers, each through the whole crawl: its outcome is stored and can be read.

`make torture` also measures their cost: time against deadlines, memory, and the effect on honest hosts.
"""

from pathlib import Path

import httpx2
import pytest

from registry.api.app import create_app
from registry.wiring import open_waypost
from tests.crawler.torture.__main__ import crawl_late_ones, crawl_scenarios, expected, scenario_settings
from tests.crawler.torture.servers import serving
from tests.support.consistency import faults

pytestmark = pytest.mark.slow  # deadlines


async def test_every_scenario_has_the_expected_outcome_and_can_be_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    with serving("scenarios", 0, tmp_path) as served:
        monkeypatch.setenv("SSL_CERT_FILE", served.authority)
        monkeypatch.delenv("SSL_CERT_DIR", raising=False)
        settings = scenario_settings(served, tmp_path / "data", database_url=database_url)
        async with open_waypost(settings) as waypost:
            results = await crawl_scenarios(waypost, served, settings)
            assert {len(await waypost.queries.visits(host)) for host in served.hosts} == {1}
            results = await crawl_late_ones(waypost, served, settings, results)
            outcomes = {result.scenario: (result.outcome, result.reason) for result in results}
            unexpected = {name: outcome for name, outcome in outcomes.items() if outcome != expected(name)}
            assert not unexpected, unexpected
            assert len(results) > 110
            assert await faults(waypost, served.hosts) == {}
            await waypost.maintenance.rescore()
            await waypost.search.reindex()
            transport = httpx2.ASGITransport(create_app(waypost, waypost.settings))
            async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as client:
                for host in served.hosts:
                    for path in (f"/api/services/{host}", f"/api/services/{host}/crawl"):
                        assert (await client.get(path)).status_code in (200, 404), (served.hosts[host], path)
                assert (await client.get("/api/discover", params={"q": "paper cranes"})).status_code == 200
