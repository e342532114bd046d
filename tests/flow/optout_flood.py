"""`python -m tests.flow.optout_flood`: how long an honest opt-out takes beside a flood of hostile requests.

Clients fill the queue with requests for sites that accept connections and say nothing: every other one not even in the
TLS handshake. Beside them a worker runs, and honest sites opt out one after another, each announced through the API by
a client of its own. Their seconds, from the request to the effect, are printed. Exit code 1 when one takes more than
PROMISED.
"""

import argparse
import asyncio
import logging
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from crawler.opt_out import MAX_AT_ONCE
from crawler.run import crawl
from registry.actions.maintenance.opt_out import MAX_CLAIMED
from registry.settings import Settings
from registry.store.embedded_postgres import server as embedded
from registry.store.migrate import upgrade
from registry.wiring import Waypost, open_waypost
from tests.crawler.support import settings
from tests.support.api import make_client
from tests.support.database import new_database, on
from tests.support.sites import LOOPBACK, Exchange, Reply, Site, Sites, raw_port

PROMISED: Final = 15.0
"""Seconds, for an honest opt-out beside 1,000 hostile requests of 20 clients (docs/crawler.md)."""

FILE: Final = "/.well-known/waypost-optout.txt"


async def silent(exchange: Exchange) -> None:
    await asyncio.Event().wait()


async def silent_before_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def ask(waypost: Waypost, config: Settings, address: str, hosts: Sequence[str]) -> None:
    """Announce the opt-outs of these hosts as the client of this address."""
    async with make_client(waypost, config, address) as client:
        for host in hosts:
            response = await client.post("/api/opt-outs", json={"domain": host})
            if response.status_code != 202:
                raise SystemExit(f"{host}: {response.text}")


async def seconds_until_out(waypost: Waypost, config: Settings, address: str, host: str) -> float:
    """Announce the opt-out of a host and return the seconds until it is in effect."""
    began = time.monotonic()
    await ask(waypost, config, address, [host])
    while (await waypost.opt_outs.status(host)).opt_out is None:  # noqa: ASYNC110  (no event tells it)
        await asyncio.sleep(0.05)
    return time.monotonic() - began


@asynccontextmanager
async def flooded(hostile: Sequence[str], honest: Sequence[str]) -> AsyncIterator[tuple[Waypost, Settings]]:
    """Yield an empty registry on the database server of the tests, and serve the sites."""
    sites: dict[str, Site] = {**dict.fromkeys(hostile, silent), **{host: {FILE: Reply("opt-out")} for host in honest}}
    server = embedded.start(Path(tempfile.gettempdir()) / f"waypost-tests-{os.geteuid()}").dsn
    with tempfile.TemporaryDirectory() as folder, new_database(server, "flood") as name:
        upgrade(on(server, name))
        async with raw_port(silent_before_tls) as port, Sites(sites) as web:
            os.environ["SSL_CERT_FILE"] = str(web.write_authority(Path(folder)))
            before_tls = [f"{host}:443:{LOOPBACK}:{port}" for host in hostile[::2]]
            connect_to = [*before_tls, *web.connect_to(*hostile[1::2], *honest)]
            config = settings(*connect_to, data=Path(folder), database_url=on(server, name))
            async with open_waypost(config) as waypost:
                yield waypost, config


async def measure(clients: int, requests: int, honest_sites: int, pause: float) -> list[float]:
    hostile = [f"hostile-{number}.example" for number in range(requests)]
    honest = [f"honest-{number}.example" for number in range(honest_sites)]
    async with flooded(hostile, honest) as (waypost, config):
        for client in range(clients):
            await ask(waypost, config, f"198.51.{client >> 8}.{client & 255}", hostile[client::clients])
        stop = asyncio.Event()
        working = asyncio.create_task(crawl(waypost, config, until_idle=False, stop=stop))
        await asyncio.sleep(pause)  # until the silent sites hold every place that they can have
        taken = []
        for number, host in enumerate(honest):
            taken.append(await seconds_until_out(waypost, config, f"203.0.113.{number}", host))
            print(f"{host}: {taken[-1]:.1f} s", flush=True)  # noqa: T201
            await asyncio.sleep(pause)
        stop.set()
        with suppress(Exception):
            await working
        return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=20, help="hostile clients")
    parser.add_argument("--requests", type=int, default=1_000, help="hostile requests, at most 50 of each client")
    parser.add_argument("--honest", type=int, default=10, help="sites that opt out meanwhile")
    parser.add_argument("--pause", type=float, default=2.5, help="seconds before each of them")
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    taken = asyncio.run(measure(options.clients, options.requests, options.honest, options.pause))
    held = min(MAX_AT_ONCE, options.clients * MAX_CLAIMED)
    print(  # noqa: T201
        f"{options.requests} hostile requests of {options.clients} clients, {held} of {MAX_AT_ONCE} places held: "
        f"an honest opt-out took {sorted(taken)[len(taken) // 2]:.1f} s in the median, {max(taken):.1f} s at most"
    )
    return int(max(taken) > PROMISED)


if __name__ == "__main__":
    sys.exit(main())
