"""One registrable domain at a time, over all processes: four of them lease, keep and give back the same few domains."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections import defaultdict
from itertools import pairwise

import pytest

from registry.actions.frontier.seed import seed
from registry.store.unit_of_work import Store
from tests.support.builders import NOW
from tests.support.database import database_server, database_template, database_url, store
from tests.support.running import PATIENCE
from tests.support.shared import ROOT

__all__ = ["database_server", "database_template", "database_url", "store"]

pytestmark = pytest.mark.slow  # processes

NAMES = [f"{label}site-{number:02}.com" for number in range(12) for label in ("", "api.", "www.")]
ROUNDS = 15

# Each prints domain, beginning and end of what it held, by the one clock that all processes of a machine share.
WORKER = f"""
import asyncio, random, sys, time
from registry.actions.frontier.due import release
from registry.actions.frontier.submit import submit
from registry.store.engine import make_engine
from registry.store.holder import hold_leases
from registry.store.unit_of_work import Store
from tests.support.builders import NOW, take

async def work(url, seed):
    chaos, store = random.Random(seed), Store(make_engine(url, pool_size=2))
    async with hold_leases(store.engine) as holder:
        print("ready", flush=True)
        sys.stdin.readline()  # whoever comes first waits for the others
        for _ in range({ROUNDS}):
            await submit(store, f"s{{chaos.randrange(9)}}.site-{{chaos.randrange(12):02}}.com", now=NOW)
            lease = await take(store, limit=5, holder=holder.id)
            if lease is None:
                continue
            began = time.monotonic()
            await asyncio.sleep(chaos.random() / 50)
            ended = time.monotonic()
            for job in lease.domains:
                print(job.domain, began, ended, len(job.hosts))
            await release(store, lease.token, now=NOW)
    await store.close()

asyncio.run(work(sys.argv[1], int(sys.argv[2])))
"""


async def test_no_domain_is_held_twice_at_once_by_four_processes(store: Store, database_url: str) -> None:
    await seed(store, NAMES, source="test", now=NOW)
    workers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WORKER, database_url, str(number), stdin=PIPE, stdout=PIPE, cwd=ROOT
        )
        for number in range(4)
    ]
    async with asyncio.timeout(PATIENCE):
        for worker in workers:
            assert worker.stdout is not None and await worker.stdout.readline() == b"ready\n"
        told = [
            said.decode().splitlines() for said, _ in await asyncio.gather(*(one.communicate(b"\n") for one in workers))
        ]
    assert [worker.returncode for worker in workers] == [0] * 4

    held: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    by_whom: dict[str, set[int]] = defaultdict(set)
    for number, lines in enumerate(told):
        for domain, began, ended, _ in map(str.split, lines):
            held[domain].append((float(began), float(ended), number))
            by_whom[domain].add(number)
    assert len(held) == 12 and sum(map(len, held.values())) > 50
    assert max(map(len, by_whom.values())) > 1, "the processes took turns"
    for domain, spans in held.items():
        for (_, ended, _), (began, _, _) in pairwise(sorted(spans)):
            assert ended <= began, domain
