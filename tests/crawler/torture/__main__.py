"""Outcomes and costs of hostile servers: `python -m tests.crawler.torture`; exit code 1 when a bound is exceeded.

1. Every scenario once, by the whole crawler into PostgreSQL: outcome and reason as stored, time against the deadline.
2. 200 hosts that flood at the same time: growth of the crawler's resident memory.
3. Every fifth host hostile: honest hosts per second of CPU, compared in turn with a crawl without hostile hosts.

Servers run in processes of their own, hostile ones at the lowest priority, since real ones run on other machines. The
last two run the crawler in a fresh process each (`--memory`, `--speed`). On a busy machine the third means little:
`--without-speed` leaves it out, `--only-speed` runs it alone.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final
from uuid import UUID

import typer

from crawler.run import crawl
from registry.actions.recording.record import RecordCounts
from registry.core.visiting.visits import FinishedDomain
from registry.settings import Settings
from registry.wiring import Waypost, open_waypost
from tests.crawler.leases import Leases
from tests.crawler.support import new_registry
from tests.crawler.torture.scenarios import PATH, SCENARIOS
from tests.crawler.torture.servers import Served, serving
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
class ScenarioResult:
    """What the ledger holds of one scenario. `ms` is the time of its request; 0 if none was sent."""

    scenario: str
    outcome: str
    reason: str
    ms: int


def settings(served: Sequence[Served], folder: Path, **overrides: Any) -> Settings:
    defaults: dict[str, Any] = {
        "data": folder,
        "resolve": "table",
        "request_delay": 0,
        "database_url": None,
        "connect_to": tuple(entry for server in served for entry in server.connect_to),
    }
    return Settings(**(defaults | overrides))


def trust(served: Sequence[Served], folder: Path) -> None:
    """Trust the authorities of these servers only."""
    authorities = folder / "authorities.pem"
    authorities.write_bytes(b"".join(Path(server.authority).read_bytes() for server in served))
    os.environ["SSL_CERT_FILE"] = str(authorities)
    os.environ.pop("SSL_CERT_DIR", None)


async def crawl_scenarios(waypost: Waypost, served: Served, crawl_settings: Settings) -> list[ScenarioResult]:
    """Visit all scenarios in one crawl; return what is stored of each."""
    await waypost.frontier.seed(served.hosts, source="torture")
    await crawl(waypost, crawl_settings, until_idle=True)
    return [await _stored_result(waypost, host, name) for host, name in served.hosts.items()]


async def crawl_late_ones(
    waypost: Waypost, served: Served, crawl_settings: Settings, results: Sequence[ScenarioResult]
) -> list[ScenarioResult]:
    """Visit those that ran into an unexpected timeout once more, with ten times as long, as the machine may be busy."""
    late_names = {
        result.scenario
        for result in results
        if "timeout" in result.reason and result.reason != expected(result.scenario)[1]
    }
    hosts = {host: name for host, name in served.hosts.items() if name in late_names}
    if hosts:
        await waypost.frontier.make_due(hosts)
        times = {"connect_timeout": 10 * CONNECT, "request_timeout": 10 * REQUEST}
        await crawl(waypost, crawl_settings.model_copy(update=times), until_idle=True)
    repeated = {name: await _stored_result(waypost, host, name) for host, name in hosts.items()}
    return [repeated.get(result.scenario, result) for result in results]


def scenario_settings(served: Served, folder: Path, **overrides: Any) -> Settings:
    pace = {"connect_timeout": CONNECT, "request_timeout": REQUEST, "hosts_in_flight": 24, "lease_batch": 8}
    return settings([served], folder, **(pace | overrides))


async def _stored_result(waypost: Waypost, host: str, name: str) -> ScenarioResult:
    """Return the ledger entry of the scenario's path, or the first entry of the visit if that path was not reached."""
    visit = (await waypost.queries.visits(host))[0]
    url = f"https://{host}{PATH}"
    entry = next((vector_entry for vector_entry in visit.vector if vector_entry["url"] == url), None) or visit.vector[0]
    return ScenarioResult(name, entry["outcome"], entry.get("reason", ""), entry.get("ms", 0))


def expected(name: str) -> tuple[str, str]:
    return SCENARIOS[name].outcome.value, SCENARIOS[name].reason


# --- 1


async def _scenarios(folder: Path, served: Served, database: str) -> list[ScenarioResult]:
    crawl_settings = scenario_settings(served, folder, database_url=database)
    async with open_waypost(crawl_settings) as waypost:
        return await crawl_scenarios(waypost, served, crawl_settings)


# --- 2


class DiscardingLeases(Leases):
    """Leases that drop the bodies of recorded visits, as the database does."""

    async def record_all(self, finished: Sequence[tuple[UUID, FinishedDomain]]) -> RecordCounts:
        result = await super().record_all(finished)
        self.recorded = [FinishedDomain(finished_domain.domain, ()) for finished_domain in self.recorded]
        return result


async def _growth(flooding: Served, honest: Served, folder: Path) -> float:
    """Return the MB by which the resident memory grows while all hosts flood at once, after as many honest ones."""
    config = settings([flooding, honest], folder, hosts_in_flight=1_000, lease_batch=200)
    await crawl(DiscardingLeases(*honest.hosts), config, until_idle=True)  # type: ignore[arg-type]  # leases from memory
    before = _memory("VmRSS")
    _forget_peak()
    leases = DiscardingLeases(*flooding.hosts)
    await crawl(leases, config, until_idle=True)  # type: ignore[arg-type]  # the same
    assert len(leases.recorded) == len(flooding.hosts)
    return _memory("VmHWM") - before


def _forget_peak() -> None:
    """Reset the high-water mark of the resident memory."""
    Path("/proc/self/clear_refs").write_text("5")


def _memory(field: str) -> float:
    matched = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert matched is not None
    return int(matched[1]) / 1024


# --- 3


async def _honest_per_second(honest: Served, hostile: Served | None, folder: Path) -> float:
    """Return honest hosts recorded per second of the crawler's CPU; every fifth host is another honest one, or hostile.

    CPU time and not wall time, since machines are shared, and CPU is what limits a crawler that nothing delays.
    """
    served = [honest] if hostile is None else [honest, hostile]
    config = settings(served, folder, hosts_in_flight=400, lease_batch=50)
    honest_hosts = list(honest.hosts)
    names, other_hosts = honest_hosts[:HONEST], list(hostile.hosts) if hostile else honest_hosts[HONEST:]
    unfinished, all_recorded, stop = set(names), asyncio.Event(), asyncio.Event()
    for position, name in enumerate(other_hosts):
        names.insert(5 * position, name)
    leases = DiscardingLeases(*names)

    def recorded(finished: Sequence[Any]) -> None:
        unfinished.difference_update(finished_domain.domain for finished_domain in finished)
        if not unfinished:
            all_recorded.set()

    leases.on_record = recorded
    began = time.process_time()
    running = asyncio.create_task(crawl(leases, config, until_idle=True, stop=stop))  # type: ignore[arg-type]  # the same
    await all_recorded.wait()
    cpu_seconds = time.process_time() - began
    stop.set()
    await running
    return HONEST / cpu_seconds


def _in_fresh_process(mode: str, *arguments: str) -> float:
    """Return one figure from a fresh process."""
    command = [sys.executable, "-m", __package__, mode, *arguments]
    completed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=600)
    return float(completed.stdout.splitlines()[-1])


def _write_served(served: Served, folder: Path) -> str:
    path = folder / f"{Path(served.authority).stem}.json"
    path.write_text(json.dumps([dict(served.hosts), served.connect_to, served.authority]))
    return str(path)


def _read_served(path: str) -> Served:
    hosts, table, authority = json.loads(Path(path).read_text())
    return Served(hosts, tuple(table), authority)


def _one_figure(mode: str, paths: Sequence[str]) -> float:
    served = [_read_served(path) for path in paths]
    with tempfile.TemporaryDirectory() as scratch:
        trust(served, Path(scratch))
        if mode == "--memory":
            return asyncio.run(_growth(served[0], served[1], Path(scratch)))
        return asyncio.run(_honest_per_second(served[0], served[1] if len(served) > 1 else None, Path(scratch)))


def main() -> int:
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if sys.argv[1:] == ["--only-speed"]:
            return len(_speed_failures(folder))
        with serving("scenarios", 0, folder) as served, new_registry("torture") as database:
            trust([served], folder)
            failures += _print_table(asyncio.run(_scenarios(folder, served, database)))
        with serving("honest", FLOODING, folder) as honest, serving("floods", FLOODING, folder, nice=19) as floods:
            growth = _in_fresh_process("--memory", _write_served(floods, folder), _write_served(honest, folder))
        typer.echo(f"\n{FLOODING} hosts that flood at once: resident memory grows by {growth:.0f} MB")
        if growth >= MAX_GROWTH_MB:
            failures.append("memory")
        if sys.argv[1:] != ["--without-speed"]:
            failures += _speed_failures(folder)
    typer.echo(f"FAILED: {', '.join(failures)}" if failures else "all within their bounds")
    return 1 if failures else 0


def _speed_failures(folder: Path) -> list[str]:
    pairs, hostile_count = [], HONEST // 4
    with (
        serving("honest", HONEST + hostile_count, folder) as honest,
        serving("hostile", hostile_count, folder, nice=19) as hostile,
    ):
        honest_file, hostile_file = _write_served(honest, folder), _write_served(hostile, folder)
        for _ in range(ROUNDS):
            pairs.append(
                (_in_fresh_process("--speed", honest_file), _in_fresh_process("--speed", honest_file, hostile_file))
            )
            alone, mixed = pairs[-1]
            typer.echo(
                f"honest hosts per second of CPU: {alone:.0f} among themselves, {mixed:.0f} with a fifth hostile"
            )
    ratio = median(mixed_rate / alone_rate for alone_rate, mixed_rate in pairs)
    typer.echo(f"ratio {ratio:.2f} (median of {ROUNDS})")
    return ["speed"] if ratio <= 1 - MAX_LOSS else []


def _print_table(results: Sequence[ScenarioResult]) -> list[str]:
    """Print the table; return the names of scenarios with an unexpected outcome, or later than the deadline."""
    failures = []
    typer.echo("| server | outcome | reason | ms |\n| --- | --- | --- | ---: |")
    for result in results:
        late = result.ms > 1000 * (CONNECT + REQUEST + 1)
        note = (
            ""
            if (result.outcome, result.reason) == expected(result.scenario)
            else f" (expected {expected(result.scenario)})"
        )
        typer.echo(
            f"| {result.scenario} | {result.outcome} | {result.reason} | {result.ms} |{note}{' LATE' if late else ''}"
        )
        if note or late:
            failures.append(result.scenario)
    return failures


if __name__ == "__main__":
    if sys.argv[1:2] in (["--memory"], ["--speed"]):
        typer.echo(str(_one_figure(sys.argv[1], sys.argv[2:])))
        sys.exit(0)
    sys.exit(main())
