"""Measure the list of the MCP registry's API: `python -m benchmarks.mcp_registry --services 10000`.

Times are CPU seconds of this process, which runs the API, and wall-clock seconds, which include PostgreSQL. The
requests take turns, and all figures are medians, compared with a page of `/api/services` of the same size.
"""

import argparse
import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import httpx2

from registry.cli.interfaces import interfaces_of
from registry.edge.interfaces import compose
from registry.mcp_registry.params import write_cursor
from registry.settings import Settings
from registry.store.engine import make_engine
from registry.store.migrate import upgrade
from registry.store.recorded import RecordedListener
from registry.store.unit_of_work import Store
from registry.wiring import Waypost, database_url
from registry.wiring.reference import Reference
from tests.mcp_registry.sites import PARCELS, SITES
from tests.support.builders import crawl

_COPY = """
INSERT INTO {table} SELECT (jsonb_populate_record(t, jsonb_build_object(
    'domain', 's' || n || '.example', 'host', 's' || n || '.example'{more}))).*
FROM {table} t, generate_series(1, {services}) n WHERE t.host = '{host}'
"""
_NAME = ", 'name', 'example.s' || n || '/parcels', 'version', '1.0.' || mod(n, 9)"


async def measure(services: int, rounds: int) -> Mapping[str, tuple[float, float]]:
    """Return by request the medians of CPU and wall-clock seconds."""
    with _folder() as folder:
        settings = Settings(data=folder, database_url=None, read_rate=1_000_000_000)
        url, release = database_url(settings)
        upgrade(url)
        store = Store(make_engine(url))
        try:
            await crawl(store, {PARCELS: SITES[PARCELS]}, datetime.now(UTC))
            await _fill(store, services)
            return await _measured(store, settings, services, rounds)
        finally:
            await store.close()
            release()


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as name:
        Path(name).chmod(0o755)  # if this runs as root, another account runs the server
        yield Path(name)


async def _fill(store: Store, services: int) -> None:
    async with store.engine.begin() as connection:
        for table, more in (("domains", None), ("hosts", ""), ("services", ""), ("mcp_servers", _NAME)):
            if more is not None:
                statement = _COPY.format(table=table, more=more, services=services, host=PARCELS)
                await connection.exec_driver_sql(statement)
    async with store.engine.connect() as connection:
        await (await connection.execution_options(isolation_level="AUTOCOMMIT")).exec_driver_sql("ANALYZE")


async def _measured(store: Store, settings: Settings, services: int, rounds: int) -> Mapping[str, tuple[float, float]]:
    async with RecordedListener(store) as listener:
        waypost = Waypost(settings, store, _no_search, listener, Reference(store))
        app = compose(interfaces_of(waypost, settings), settings)
        deep = write_cursor(f"example.s{services * 9 // 10}/parcels", "")
        since = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        requests = {
            "/api/services, 100 rows": "/api/services?limit=100&sort=score",
            "first page, 100 rows": "/v0.1/servers?limit=100",
            "page near the end, 100 rows": f"/v0.1/servers?limit=100&cursor={deep}",
            "search with 1 hit": f"/v0.1/servers?limit=100&search=s{services - 1}/",
            "all since now": f"/v0.1/servers?limit=100&updated_since={since}",
            "one version": f"/v0.1/servers/example.s{services // 2}%2Fparcels/versions/latest",
        }
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in requests}
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://bench", timeout=60) as client:
            for _ in range(rounds):
                for name, path in requests.items():
                    began = time.process_time(), time.perf_counter()
                    response = await client.get(path)
                    times[name].append((time.process_time() - began[0], time.perf_counter() - began[1]))
                    if response.status_code != 200:
                        raise SystemExit(f"{path}: {response.status_code} {response.text[:300]}")
        await waypost.close()
    return {
        name: (statistics.median(cpu for cpu, _ in pairs), statistics.median(wall for _, wall in pairs))
        for name, pairs in times.items()
    }


def _no_search() -> NoReturn:
    raise SystemExit("nothing here needs the search engine")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp_registry", description=__doc__)
    parser.add_argument("--services", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    figures = asyncio.run(measure(options.services, options.rounds))
    base_cpu, base_wall = figures["/api/services, 100 rows"]
    for name, (cpu, wall) in figures.items():
        sys.stdout.write(
            f"{name:32} {cpu * 1e3:7.2f} ms CPU ({cpu / base_cpu:.2f})  {wall * 1e3:7.2f} ms ({wall / base_wall:.2f})\n"
        )


if __name__ == "__main__":
    main()
