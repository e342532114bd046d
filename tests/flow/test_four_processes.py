"""Four processes lease, hold and release the same few domains: no registrable domain is ever held twice at once."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections import defaultdict
from itertools import pairwise

import pytest

from registry.store.unit_of_work import Store
from tests.support.builders import on
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

pytestmark = pytest.mark.long  # processes

NAMES = [f"{label}site-{number:02}.com" for number in range(12) for label in ("", "api.", "www.")]
ROUNDS = 15

# Each worker prints domain, beginning and end of its leases, by the monotonic clock that all processes share.
WORKER = f"""
import asyncio, random, sys, time
from registry.store.engine import make_engine
from registry.store.holder import hold_leases
from registry.store.unit_of_work import Store
from tests.support.builders import on, take

async def work(url, seed):
    chaos, store = random.Random(seed), Store(make_engine(url, pool_size=2))
    async with hold_leases(store.engine) as holder:
        print("ready", flush=True)
        sys.stdin.readline()  # whoever comes first waits for the others
        for _ in range({ROUNDS}):
            await on(store).frontier.submit(f"s{{chaos.randrange(9)}}.site-{{chaos.randrange(12):02}}.com")
            lease = await take(store, limit=5, holder=holder.id)
            if lease is None:
                continue
            began = time.monotonic()
            await asyncio.sleep(chaos.random() / 50)
            ended = time.monotonic()
            for job in lease.domains:
                print(job.domain, began, ended, len(job.hosts))
            await on(store).crawl.release(lease.token)
    await store.close()

asyncio.run(work(sys.argv[1], int(sys.argv[2])))
"""


async def test_no_domain_is_held_twice_at_once_by_four_processes(store: Store, database_url: str) -> None:
    await on(store).frontier.seed(NAMES, source="test")
    workers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", WORKER, database_url, str(number), stdin=PIPE, stdout=PIPE, cwd=ROOT
        )
        for number in range(4)
    ]
    async with asyncio.timeout(HANG_SECONDS):
        for worker in workers:
            assert worker.stdout is not None and await worker.stdout.readline() == b"ready\n"
        outputs = [
            stdout.decode().splitlines()
            for stdout, _ in await asyncio.gather(*(process.communicate(b"\n") for process in workers))
        ]
    assert [worker.returncode for worker in workers] == [0] * 4

    spans_by_domain: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
    processes_by_domain: dict[str, set[int]] = defaultdict(set)
    for number, lines in enumerate(outputs):
        for domain, began, ended, _ in map(str.split, lines):
            spans_by_domain[domain].append((float(began), float(ended), number))
            processes_by_domain[domain].add(number)
    assert len(spans_by_domain) == 12 and sum(map(len, spans_by_domain.values())) > 50
    assert max(map(len, processes_by_domain.values())) > 1, "the processes took turns"
    for domain, spans in spans_by_domain.items():
        for (_, ended, _), (began, _, _) in pairwise(sorted(spans)):
            assert ended <= began, domain
