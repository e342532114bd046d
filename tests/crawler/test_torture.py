"""Servers that break every rule, one by one, through the whole crawler: what each comes to is stored and can be read.

`make torture` also measures what they cost: time against deadlines, memory, the honest hosts beside them.
"""

from pathlib import Path

import httpx2
import pytest

from registry.api.app import create_app
from registry.wiring import open_waypost
from tests.crawler.torture.__main__ import crawl_late_ones, crawl_scenarios, expected, scenario_settings
from tests.crawler.torture.servers import serving
from tests.support.consistency import faults
from tests.support.database import database_server, database_template, database_url

__all__ = ["database_server", "database_template", "database_url"]

pytestmark = pytest.mark.slow  # deadlines


async def test_each_comes_to_what_is_said_of_it_and_every_reader_can_read_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, database_url: str
) -> None:
    with serving("scenarios", 0, tmp_path) as served:
        monkeypatch.setenv("SSL_CERT_FILE", served.authority)
        monkeypatch.delenv("SSL_CERT_DIR", raising=False)
        chosen = scenario_settings(served, tmp_path / "data", database_url=database_url)
        async with open_waypost(chosen) as waypost:
            told = await crawl_scenarios(waypost, served, chosen)
            assert {len(await waypost.visits(host)) for host in served.hosts} == {1}
            told = await crawl_late_ones(waypost, served, chosen, told)
            came = {one.scenario: (one.outcome, one.reason) for one in told}
            wrong = {name: said for name, said in came.items() if said != expected(name)}
            assert not wrong, wrong
            assert len(told) > 110
            assert await faults(waypost, served.hosts) == {}
            await waypost.rescore()
            await waypost.reindex()
            transport = httpx2.ASGITransport(create_app(waypost, waypost.settings))
            async with httpx2.AsyncClient(transport=transport, base_url="http://registry.test") as client:
                for host in served.hosts:
                    for path in (f"/api/services/{host}", f"/api/services/{host}/crawl"):
                        assert (await client.get(path)).status_code in (200, 404), (served.hosts[host], path)
                assert (await client.get("/api/discover", params={"q": "paper cranes"})).status_code == 200
