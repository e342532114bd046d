"""A process that runs the plan of many hosts and prints the cost per host: one round per stdin line.

It uses the `registry` that is first on PYTHONPATH, so that two states of the code can take turns.
"""

import gc
import json
import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from benchmarks.assess.worker import clear_caches
from benchmarks.plan.sites import KINDS, Kind, Reply
from registry.core.model.documents import FetchResult
from registry.core.visiting.plan import HostPlan
from registry.core.visiting.visits import HostJob

NOW = datetime(2026, 11, 21, tzinfo=UTC)
NONCE = "0123456789abcdef0123456789abcdef"

Site = tuple[str, dict[str, Reply]]


def prepared(kind: Kind, hosts: int, name: str) -> list[Site]:
    """Return hosts that are new to the process, with their prepared answers, so that making pages is not measured."""
    return [_site(kind, f"{name}-{number}.shop-{name}-{number}.com") for number in range(hosts)]


def visit_all(sites: list[Site]) -> None:
    for host, replies in sites:
        walk(host, replies.__getitem__).finish(NOW, NOW)


def walk(host: str, reply: Callable[[str], Reply]) -> HostPlan:
    """Run a whole plan except its end, driven as the transport drives it."""
    plan = HostPlan(HostJob(host, whole_plan=True), now=NOW, nonce=NONCE)
    path = len(f"https://{host}")
    while (probe := plan.next()) is not None:
        status, headers, body = reply(probe.url[path:])
        url = probe.url
        plan.take(
            probe,
            FetchResult(
                url=url,
                final_url=url,
                at=NOW,
                status=status,
                headers=headers,
                body=body,
                hops=(),
                elapsed_ms=12,
                address="203.0.113.9",
                truncated=False,
            ),
        )
        _ = plan.robots  # the visit reads its crawl delay after each answer
    return plan


def costs(hosts: int, name: str) -> dict[str, float]:
    """Return the CPU milliseconds per host, by kind."""
    spent = {}
    for kind in KINDS:
        sites = prepared(kind, hosts, name)
        clear_caches()
        gc.collect()
        start = time.process_time_ns()
        visit_all(sites)
        spent[kind.name] = (time.process_time_ns() - start) / 1e6 / hosts
    return spent


def memory_held(hosts: int) -> dict[str, float]:
    """Return the KB that a visit holds after its last answer, by kind."""
    sizes = {}
    for kind in KINDS:
        visit_all(prepared(kind, 5, "warm"))
        gc.collect()
        tracemalloc.start()
        plans = [walk(host, partial(kind.reply, host)) for host in [f"held-{number}.com" for number in range(hosts)]]
        gc.collect()
        with_plans = tracemalloc.get_traced_memory()[0]
        plans.clear()
        gc.collect()
        sizes[kind.name] = (with_plans - tracemalloc.get_traced_memory()[0]) / hosts / 1024
        tracemalloc.stop()
    return sizes


def _site(kind: Kind, host: str) -> Site:
    replies: dict[str, Reply] = {}
    walk(host, lambda path: replies.setdefault(path, kind.reply(host, path)))
    return host, replies


def main() -> None:
    """Run the worker. Argument: hosts of each kind."""
    hosts = int(sys.argv[1])
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for number, line in enumerate(sys.stdin):
        answer = memory_held(20) if line.strip() == "memory" else costs(hosts, f"round-{number}")
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
