"""A process that loads names into its own database: it reads a number of names per stdin line and prints their cost.

Two ways to load: `copy`, the product's `FrontierActions.seed`, and the baseline `executemany`: the same rows, row by
row in pipelines of a thousand, in the same order and under the same locks.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final

from registry.actions.frontier.frontier import FrontierActions
from registry.core.names.domains import InvalidName, canonical_host
from registry.core.names.seeds import Seed
from registry.store.engine import make_engine
from registry.store.migrate import upgrade
from registry.store.records import HostRecord
from registry.store.unit_of_work import Store

NOW: Final = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
PIPELINE: Final = 1_000
TICKS: Final = os.sysconf("SC_CLK_TCK")

_WORDS = ("shop", "cloud", "nova", "green", "pixel", "data", "cafe", "smart", "blue", "north", "home", "trade")
_ENDS = ("com", "org", "net", "de", "co.uk", "io", "com.br", "fr", "ai", "co.jp")

Load = Callable[[Store, list[Seed]], Coroutine[Any, Any, int]]


def names() -> Iterator[Seed]:
    """Yield names as in real lists: unsorted, one in ten a sub-host, one in a hundred not a host name."""
    number = 0
    while True:
        number += 1
        mixed = number * 2_654_435_761 % 2**32
        name = f"{_WORDS[mixed % 12]}{_WORDS[mixed // 12 % 12]}-{mixed:x}.{_ENDS[mixed % 10]}"
        if mixed % 10 == 3:
            name = f"api.{name}"
        elif mixed % 100 == 7:
            name = f"{name}/index.html"
        yield Seed(name, "list.csv", number)


async def copy(store: Store, chunk: list[Seed]) -> int:
    return (await FrontierActions(store, lambda: NOW).seed(chunk, source="benchmark")).names


async def executemany(store: Store, chunk: list[Seed]) -> int:
    due = NOW - timedelta(days=365)
    for start in range(0, len(chunk), PIPELINE):
        hosts = {}
        for entry in chunk[start : start + PIPELINE]:
            with suppress(InvalidName):
                canonical = canonical_host(entry.name.strip())
                hosts[canonical.host] = HostRecord(
                    canonical.domain, canonical.host, "benchmark", NOW, due, entry.referrer
                )
        domains = {record.domain for record in hosts.values()}
        async with store.begin() as uow:
            await uow.opt_outs.of(domains)
            await uow.domains.add(domains, source="benchmark", now=NOW, due=due)
            await uow.domains.lock(domains)
            await uow.hosts.add(hosts.values())
            await uow.domains.due_with_hosts(domains, now=NOW)
    return len(chunk)


WAYS: Final[dict[str, Load]] = {"copy": copy, "executemany": executemany}


def server_cpu(postmaster: int) -> float:
    """Return the CPU seconds of the whole server, including its processes that have ended."""
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return (_ticks(postmaster, ended=True) + sum(_ticks(int(child), ended=False) for child in children)) / TICKS


def _ticks(process: int, *, ended: bool) -> int:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11 : 15 if ended else 13]))


def rss() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def main() -> None:
    """Run the worker. Arguments: URL of an empty database, process id of its server, the way to load."""
    url, postmaster, way = sys.argv[1], int(sys.argv[2]), WAYS[sys.argv[3]]
    upgrade(url)
    store, source = Store(make_engine(url)), names()
    for line in sys.stdin:
        chunk = list(islice(source, int(line)))
        before, server = time.process_time(), server_cpu(postmaster)
        loaded = await way(store, chunk)
        answer = {"names": loaded, "cpu": time.process_time() - before, "postgres": server_cpu(postmaster) - server}
        del chunk
        sys.stdout.write(json.dumps(answer | {"rss": rss()}) + "\n")
        sys.stdout.flush()
    await store.close()


if __name__ == "__main__":
    asyncio.run(main())
