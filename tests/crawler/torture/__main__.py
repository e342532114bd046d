"""What hostile servers come to, and what they cost: `python -m tests.crawler.torture`; exit code 1 when a bound breaks.

1. Every scenario once, by the whole crawler into PostgreSQL: outcome and reason as stored, time against the deadline.
2. 200 hosts that flood, all at once: growth of the resident memory of the crawler.
3. A fifth of the hosts hostile: how many honest ones a second of CPU is enough for, against none hostile, in turn.

Servers run in processes of their own; hostile ones at the lowest priority, for in the world they have their own
machines. The last two run the crawler in a fresh process each (`--memory`, `--speed`). On a busy machine the third
says little: `--without-speed` leaves it out, `--only-speed` makes up for it.
"""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final
from uuid import UUID

import typer

from crawler.run import crawl
from registry.core.visits import FinishedDomain
from registry.settings import Settings
from registry.store import embedded
from registry.store.migrate import upgrade
from registry.wiring import Waypost, open_waypost
from tests.crawler.leases import Leases
from tests.crawler.torture.scenarios import PATH, SCENARIOS
from tests.crawler.torture.servers import Served, serving
from tests.support.database import new_database, on
from tests.support.shared import ROOT

CONNECT: Final = 2.0
REQUEST: Final = 3.0
"""Deadlines of the scenarios, in seconds: short, because a dozen scenarios end at them."""

FLOODING: Final = 200
HONEST: Final = 600
ROUNDS: Final = 3
MAX_GROWTH_MB: Final = 100
MAX_LOSS: Final = 0.2


@dataclass(frozen=True)
class Told:
    """What the ledger says of one scenario. `ms`: of its request, where one was sent."""

    scenario: str
    outcome: str
    reason: str
    ms: int


def settings(served: Sequence[Served], folder: Path, **more: Any) -> Settings:
    defaults: dict[str, Any] = {
        "data": folder,
        "resolve": "table",
        "request_delay": 0,
        "database_url": None,
        "connect_to": tuple(entry for one in served for entry in one.connect_to),
    }
    return Settings(**(defaults | more))


def trust(served: Sequence[Served], folder: Path) -> None:
    """Their authorities, and nobody else."""
    both = folder / "authorities.pem"
    both.write_bytes(b"".join(Path(one.authority).read_bytes() for one in served))
    os.environ["SSL_CERT_FILE"] = str(both)
    os.environ.pop("SSL_CERT_DIR", None)


async def crawl_scenarios(waypost: Waypost, served: Served, chosen: Settings) -> list[Told]:
    """All of them in one crawl, and what is stored of each."""
    await waypost.seed(served.hosts, source="torture")
    await crawl(waypost, chosen, until_idle=True)
    return [await _told(waypost, host, name) for host, name in served.hosts.items()]


async def crawl_late_ones(waypost: Waypost, served: Served, chosen: Settings, told: Sequence[Told]) -> list[Told]:
    """Those that were cut by a deadline that is not theirs once more, with ten times as long: the machine is busy."""
    late = {one.scenario for one in told if "timeout" in one.reason and one.reason != expected(one.scenario)[1]}
    hosts = {host: name for host, name in served.hosts.items() if name in late}
    if hosts:
        await waypost.make_due(hosts)
        times = {"connect_timeout": 10 * CONNECT, "request_timeout": 10 * REQUEST}
        await crawl(waypost, chosen.model_copy(update=times), until_idle=True)
    again = {name: await _told(waypost, host, name) for host, name in hosts.items()}
    return [again.get(one.scenario, one) for one in told]


def scenario_settings(served: Served, folder: Path, **more: Any) -> Settings:
    pace = {"connect_timeout": CONNECT, "request_timeout": REQUEST, "hosts_in_flight": 24, "lease_batch": 8}
    return settings([served], folder, **(pace | more))


async def _told(waypost: Waypost, host: str, name: str) -> Told:
    """Of its path; of the visit where that never came so far."""
    visit = (await waypost.visits(host))[0]
    url = f"https://{host}{PATH}"
    entry = next((one for one in visit.vector if one["url"] == url), None) or visit.vector[0]
    return Told(name, entry["outcome"], entry.get("reason", ""), entry.get("ms", 0))


def expected(name: str) -> tuple[str, str]:
    return SCENARIOS[name].outcome.value, SCENARIOS[name].reason


# --- 1


async def _scenarios(folder: Path, served: Served, database: str) -> list[Told]:
    chosen = scenario_settings(served, folder, database_url=database)
    async with open_waypost(chosen) as waypost:
        return await crawl_scenarios(waypost, served, chosen)


@contextlib.contextmanager
def _database() -> Iterator[str]:
    server = embedded.start(Path(tempfile.gettempdir()) / f"waypost-tests-{os.geteuid()}")
    try:
        with new_database(server.dsn, "torture") as name:
            upgrade(on(server.dsn, name))
            yield on(server.dsn, name)
    finally:
        server.release()


# --- 2


class Forgetful(Leases):
    """As the database, which takes bodies out of the memory of the crawler."""

    async def record(self, token: UUID, finished: Sequence[FinishedDomain]) -> None:
        await super().record(token, finished)
        self.recorded = [FinishedDomain(one.domain, ()) for one in self.recorded]


async def _growth(flooding: Served, honest: Served, folder: Path) -> float:
    """MB by which the resident memory grows while all of them flood at once, after as many honest ones."""
    chosen = settings([flooding, honest], folder, hosts_in_flight=1_000, lease_batch=200)
    await crawl(Forgetful(*honest.hosts), chosen, until_idle=True)  # type: ignore[arg-type]  # leases from memory
    before = _memory("VmRSS")
    _forget_peak()
    leases = Forgetful(*flooding.hosts)
    await crawl(leases, chosen, until_idle=True)  # type: ignore[arg-type]  # the same
    assert len(leases.recorded) == len(flooding.hosts)
    return _memory("VmHWM") - before


def _forget_peak() -> None:
    """The high-water mark begins anew."""
    Path("/proc/self/clear_refs").write_text("5")


def _memory(field: str) -> float:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


# --- 3


async def _honest_per_second(honest: Served, hostile: Served | None, folder: Path) -> float:
    """The first HONEST hosts recorded, by seconds of the crawler's CPU; every fifth host is another one, or hostile.

    CPU and not the clock: machines are shared, and CPU is what a crawler that nobody holds up runs out of.
    """
    served = [honest] if hostile is None else [honest, hostile]
    chosen = settings(served, folder, hosts_in_flight=400, lease_batch=50)
    everybody = list(honest.hosts)
    names, others = everybody[:HONEST], list(hostile.hosts) if hostile else everybody[HONEST:]
    left, done, stop = set(names), asyncio.Event(), asyncio.Event()
    for at, name in enumerate(others):
        names.insert(5 * at, name)
    leases = Forgetful(*names)

    def recorded(finished: Sequence[Any]) -> None:
        left.difference_update(one.domain for one in finished)
        if not left:
            done.set()

    leases.on_record = recorded
    began = time.process_time()
    running = asyncio.create_task(crawl(leases, chosen, until_idle=True, stop=stop))  # type: ignore[arg-type]  # the same
    await done.wait()
    took = time.process_time() - began
    stop.set()
    await running
    return HONEST / took


def _apart(what: str, *arguments: str) -> float:
    """One figure from a fresh process."""
    command = [sys.executable, "-m", __package__, what, *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=600)
    return float(done.stdout.splitlines()[-1])


def _written(served: Served, folder: Path) -> str:
    path = folder / f"{Path(served.authority).stem}.json"
    path.write_text(json.dumps([dict(served.hosts), served.connect_to, served.authority]))
    return str(path)


def _read(path: str) -> Served:
    hosts, table, authority = json.loads(Path(path).read_text())
    return Served(hosts, tuple(table), authority)


def _one_figure(what: str, paths: Sequence[str]) -> float:
    served = [_read(path) for path in paths]
    with tempfile.TemporaryDirectory() as scratch:
        trust(served, Path(scratch))
        if what == "--memory":
            return asyncio.run(_growth(served[0], served[1], Path(scratch)))
        return asyncio.run(_honest_per_second(served[0], served[1] if len(served) > 1 else None, Path(scratch)))


def main() -> int:
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if sys.argv[1:] == ["--only-speed"]:
            return len(_slowed(folder))
        with serving("scenarios", 0, folder) as served, _database() as database:
            trust([served], folder)
            wrong += _show(asyncio.run(_scenarios(folder, served, database)))
        with serving("honest", FLOODING, folder) as honest, serving("floods", FLOODING, folder, nice=19) as floods:
            growth = _apart("--memory", _written(floods, folder), _written(honest, folder))
        typer.echo(f"\n{FLOODING} hosts that flood at once: resident memory grows by {growth:.0f} MB")
        if growth >= MAX_GROWTH_MB:
            wrong.append("memory")
        if sys.argv[1:] != ["--without-speed"]:
            wrong += _slowed(folder)
    typer.echo(f"FAILED: {', '.join(wrong)}" if wrong else "all within their bounds")
    return 1 if wrong else 0


def _slowed(folder: Path) -> list[str]:
    pairs, others = [], HONEST // 4
    with serving("honest", HONEST + others, folder) as honest, serving("hostile", others, folder, nice=19) as hostile:
        calm, rough = _written(honest, folder), _written(hostile, folder)
        for _ in range(ROUNDS):
            pairs.append((_apart("--speed", calm), _apart("--speed", calm, rough)))
            alone, beside = pairs[-1]
            typer.echo(
                f"honest hosts per second of CPU: {alone:.0f} among themselves, {beside:.0f} with a fifth hostile"
            )
    ratio = median(beside / alone for alone, beside in pairs)
    typer.echo(f"ratio {ratio:.2f} (median of {ROUNDS})")
    return ["speed"] if ratio <= 1 - MAX_LOSS else []


def _show(told: Sequence[Told]) -> list[str]:
    """The table; names of scenarios that came to something else, or later than they may."""
    wrong = []
    typer.echo("| server | outcome | reason | ms |\n| --- | --- | --- | ---: |")
    for one in told:
        late = one.ms > 1000 * (CONNECT + REQUEST + 1)
        odd = "" if (one.outcome, one.reason) == expected(one.scenario) else f" (expected {expected(one.scenario)})"
        typer.echo(f"| {one.scenario} | {one.outcome} | {one.reason} | {one.ms} |{odd}{' LATE' if late else ''}")
        if odd or late:
            wrong.append(one.scenario)
    return wrong


if __name__ == "__main__":
    if sys.argv[1:2] in (["--memory"], ["--speed"]):
        typer.echo(str(_one_figure(sys.argv[1], sys.argv[2:])))
        sys.exit(0)
    sys.exit(main())
