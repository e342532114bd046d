"""`python -m tests.flow.kills --kills 50`: kill a working registry at random moments and check that nothing is lost.

Three workers (one of them the child of `waypost serve`) crawl one queue on one embedded PostgreSQL, while a client
submits hosts through the API. At moments drawn from a printed seed something dies by SIGKILL: a worker, all workers,
`serve`, `serve` with its child, one process of the database, its postmaster, or everything at once. What was killed is
started again, as systemd would. In the end all commands are stopped, and the database and the index are checked
against what was promised. Exit code 1 and a list of faults where they differ.
"""

import argparse
import asyncio
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2

from tests.flow.test_kill import HOSTS, Web, at_work
from tests.support.consistency import faults
from tests.support.hang import HANG_SECONDS
from tests.support.running import Command, DataFolder, until

WORKERS: Final = 2
"""In addition to the one that `serve` supervises."""

SUBMITTED: Final = HOSTS[-20:]
LISTED: Final = HOSTS[:-20]

OFTEN: Final = {
    "WAYPOST_LEASE_BATCH": "5", "WAYPOST_HOSTS_IN_FLIGHT": "10", "WAYPOST_SUBMIT_RATE": "100000",
    "WAYPOST_DOMAIN_DAILY_BUDGET": "10000", "WAYPOST_BLOCK_DAILY_BUDGET": "10000000",
}  # fmt: skip
"""Settings with which the same few hosts are visited again and again, from one address."""

MAX_REQUESTS: Final = 900
"""Most requests between two kills, as the web counts them: from less than a second of work to several seconds."""

QUIET_SECONDS: Final = 90.0
"""Seconds without a request before the next kill. Starting takes seconds, or most of a minute on a busy machine."""

STOP_PROMISED: Final = 10.0
INDEX_PROMISED: Final = 60.0
"""Seconds. Kept by `python -m tests.flow.kills` on a quiet machine; the short run among the tests only reports them."""


@dataclass
class Report:
    """Counts of one run. `faults` are by kind, and empty when every promise was kept."""

    kills: Counter[str] = field(default_factory=Counter)
    restarts: int = 0
    rounds: int = 0
    acknowledged: set[str] = field(default_factory=set)
    unanswered: int = 0
    visits: int = 0
    set_aside: int = 0
    index_seconds: float = 0.0
    stop_seconds: float = 0.0
    faults: dict[str, list[str]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        kinds = ", ".join(f"{number} {kind}" for kind, number in self.kills.most_common())
        return [
            f"kills: {self.kills.total()} ({kinds}); {self.restarts} commands started again",
            f"visits recorded: {self.visits} in {self.rounds} rounds of {len(HOSTS)} hosts; domains lost: "
            f"{len(self.faults.get('lost', ()))}; set aside because three workers died over them: {self.set_aside}",
            f"submissions acknowledged: {len(self.acknowledged)}, of which lost: "
            f"{len(self.faults.get('acknowledged and lost', ()))}; without an answer: {self.unanswered}",
            f"the index had all of it {self.index_seconds:.1f} s after the last visit; "
            f"the slowest stop took {self.stop_seconds:.1f} s",
            *(f"FAULT {kind}: {', '.join(rows[:5])} ({len(rows)})" for kind, rows in self.faults.items()),
            "every promise kept" if not self.faults else "promises broken",
        ]


class ProcessGroup:
    """`serve` and workers on one folder; what was killed can be started again."""

    def __init__(self, data_folder: DataFolder, report: Report) -> None:
        self.data_folder = data_folder
        self._report = report
        self._arguments: dict[int, tuple[str, ...]] = {0: ("serve", "--port", "0")}
        self._arguments |= dict.fromkeys(range(1, WORKERS + 1), ("worker",))
        self._running: dict[int, Command] = {}

    @property
    def serving(self) -> Command | None:
        """The `serve` command, or None while it is dead."""
        command = self._running.get(0)
        return command if command is not None and command.process.poll() is None else None

    def start(self) -> None:
        """Start every command that is not running."""
        for number, arguments in self._arguments.items():
            command = self._running.get(number)
            if command is None or command.process.poll() is not None:
                self._report.restarts += command is not None
                self._running[number] = self.data_folder.start(*arguments)

    def reap(self, killed: Collection[int]) -> None:
        """Wait until the killed commands have ended, because SIGKILL takes a moment."""
        for command in self._running.values():
            if command.process.pid in killed:
                command.process.wait(HANG_SECONDS)

    def own(self) -> list[int]:
        """Return the process ids of the commands that run."""
        return [command.process.pid for command in self._running.values() if command.process.poll() is None]

    def child(self) -> list[int]:
        """Return the process id of the worker that `serve` supervises."""
        own_pids = set(self.own())
        return [pid for pid in self.data_folder.workers() if pid not in own_pids]

    def database(self) -> list[int]:
        """Return the processes of the database server, except the postmaster."""
        postmaster = self.data_folder.postmaster()
        if postmaster is None:
            return []
        with suppress(OSError):
            return [int(pid) for pid in Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()]
        return []

    async def started(self) -> None:
        """Wait until each command reports its start, since a signal before that would kill it without a clean stop."""
        for number, command in self._running.items():
            await command.line_with("worker.started" if number else "the API answers at")

    async def stop(self) -> float:
        """Stop all of them at once by SIGTERM; return the seconds until the last had ended."""
        begun = time.monotonic()
        for command in self._running.values():
            command.send_signal(signal.SIGTERM)
        for command in self._running.values():
            code = await command.exit_code()
            if code != 0:
                self._report.faults.setdefault("stopped with an error", []).append(command.output[-500:])
        return time.monotonic() - begun


def kill_targets(group: ProcessGroup) -> dict[str, Callable[[], list[int]]]:
    """Return the functions that find the processes to kill, by the name of the kill; called just before it."""
    data_folder, serving = group.data_folder, group.serving
    server = [serving.process.pid] if serving is not None else []
    postmaster = [pid for pid in [data_folder.postmaster()] if pid is not None]
    return {
        "a worker": lambda: data_folder.workers()[:1],
        "another worker": lambda: data_folder.workers()[-1:],
        "all workers": data_folder.workers,
        "serve": lambda: server,
        "serve with its worker": lambda: [*server, *group.child()],
        "a database process": group.database,
        "the postmaster": lambda: postmaster,
        "everything": lambda: [*group.own(), *data_folder.workers(), *postmaster],
    }


def kill(group: ProcessGroup, rng: random.Random) -> str:
    """Kill something that runs; return the name of the kill."""
    kinds = kill_targets(group)
    while kinds:
        kind = rng.choice(list(kinds))
        pids = kinds[kind]()
        if kind == "a database process" and pids:
            pids = [rng.choice(pids)]
        if pids:
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            group.reap(pids)
            return kind
        del kinds[kind]
    return "nothing to kill"


async def torture(folder: Path, kills: int, seed: int, log: Callable[[str], None]) -> Report:
    """Kill one registry this many times; return the report."""
    rng, report = random.Random(seed), Report()
    async with at_work(folder, hosts=LISTED, seconds=None) as (web, data_folder):
        data_folder.environment |= OFTEN
        group = ProcessGroup(data_folder, report)
        group.start()
        submitting = asyncio.create_task(submit_all(group, report))
        await asyncio.wait_for(web.asked(1), HANG_SECONDS)
        for number in range(kills):
            await until_requested(web, rng.randrange(1, MAX_REQUESTS))
            await asyncio.sleep(rng.uniform(0, 0.3))  # between two responses, or while they are recorded
            kind = kill(group, rng)
            report.kills[kind] += 1
            log(f"{number + 1:3}: {kind}, after {len(web.seen)} requests")
            await asyncio.sleep(rng.uniform(0, 1))  # sometimes the next kill hits a command that still starts
            group.start()
            await next_round(data_folder, report)
        await until(submitting.done, HANG_SECONDS, lambda: "the submissions do not end")
        submitting.result()
        group.start()
        await group.started()
        await until_finished(data_folder, report)
        report.stop_seconds = await group.stop()
        await data_folder.until_unused()
        await add_faults(data_folder, web, report)
    return report


async def until_requested(web: Web, requests: int) -> None:
    """Wait until the web has had this many more requests, or none for QUIET_SECONDS."""
    target = len(web.seen) + requests
    with suppress(TimeoutError):
        while len(web.seen) < target:
            await asyncio.wait_for(web.asked(len(web.seen) + 1), QUIET_SECONDS)


async def next_round(data_folder: DataFolder, report: Report) -> None:
    """Make everything due again as soon as a third was visited, so that every kill interrupts work."""
    async with data_folder.opened() as waypost:
        if await waypost.frontier.waiting(waypost.frontier.hosts_of(HOSTS)) < len(HOSTS) * 2 // 3:
            await waypost.frontier.make_due(LISTED)
            report.rounds += 1


async def submit_all(group: ProcessGroup, report: Report) -> None:
    """Submit each host until it is acknowledged. Only a 2xx response or a 409 acknowledges it."""
    for host in SUBMITTED:
        while host not in report.acknowledged:
            await asyncio.sleep(0.5)
            if (url := api_url(group)) is not None:
                try:
                    async with httpx2.AsyncClient(base_url=url, timeout=20) as client:
                        response = await client.post("/api/services?wait=0", json={"domain": host})
                except httpx2.HTTPError:
                    report.unanswered += 1
                    continue
                if response.is_success or response.status_code == 409:  # 409: a lost response had stored it
                    report.acknowledged.add(host)


def api_url(group: ProcessGroup) -> str | None:
    """Return the URL of the API; None while `serve` has not printed it."""
    output = group.serving.output if group.serving is not None else ""
    line = next((output_line for output_line in output.splitlines() if "the API answers at" in output_line), None)
    return None if line is None else line.split()[4]


async def until_finished(data_folder: DataFolder, report: Report) -> None:
    """Wait until every host has been visited since it was last due, no lease is held, and the index is current."""
    async with data_folder.opened() as waypost:
        hosts = waypost.frontier.hosts_of(HOSTS)
        deadline = time.monotonic() + HANG_SECONDS
        while await waypost.frontier.waiting(hosts) and time.monotonic() < deadline:  # noqa: ASYNC110  (in other processes)
            await asyncio.sleep(0.1)
        visited = time.monotonic()
        while await waypost.search.index_lag() and time.monotonic() < visited + HANG_SECONDS:  # noqa: ASYNC110  (in theirs)
            await asyncio.sleep(0.05)
        report.index_seconds = time.monotonic() - visited
        if lag := await waypost.search.index_lag():
            report.faults["the index lags behind"] = [str(lag)]


async def add_faults(data_folder: DataFolder, web: Web, report: Report) -> None:
    """Add the faults that the database, the index and the web show, after all commands have stopped."""
    async with data_folder.opened() as waypost:
        for kind, rows in (await faults(waypost, [*LISTED, *report.acknowledged])).items():
            report.faults.setdefault(kind, []).extend(rows)
        statuses = {host: await waypost.queries.status(host) for host in HOSTS}
        visited = {host for host, status in statuses.items() if status is not None and status.last_visit_at is not None}
        report.faults |= _faults_of_kind("lost", set(LISTED) - visited)
        report.faults |= _faults_of_kind("acknowledged and lost", report.acknowledged - visited)
        async with waypost._store.engine.connect() as connection:
            count = await connection.exec_driver_sql("SELECT count(*) FROM visits")
            report.visits = count.scalar_one()
            set_aside = await connection.exec_driver_sql("SELECT domain FROM domains WHERE attempts >= 3")
            report.set_aside = len(set_aside.all())
    report.faults |= _faults_of_kind("asked by two at once", web.interleaved())
    report.faults |= _faults_of_kind(
        "a command that broke",
        [command.output[-500:] for command in data_folder.commands if "Traceback" in command.output],
    )
    await data_folder.until_unused()


def _faults_of_kind(kind: str, rows: Iterable[str]) -> dict[str, list[str]]:
    sorted_rows = sorted(rows)
    return {kind: sorted_rows} if sorted_rows else {}


def print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.flow.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    options = parser.parse_args()
    print_line(f"seed {options.seed}")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(torture(Path(folder), options.kills, options.seed, print_line))
    if report.stop_seconds > STOP_PROMISED:
        report.faults["stopped too late"] = [f"{report.stop_seconds:.1f} s"]
    if report.index_seconds > INDEX_PROMISED:
        report.faults["index too late"] = [f"{report.index_seconds:.1f} s"]
    for line in (*report.lines(), f"{time.monotonic() - begun:.0f} s, seed {options.seed}"):
        print_line(line)
    sys.exit(1 if report.faults else 0)


if __name__ == "__main__":
    main()
