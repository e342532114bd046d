"""`python -m tests.flow.kills --kills 50`: a registry at work is killed at random moments, and loses nothing.

Three workers (one of them the child of `waypost serve`) crawl one queue on one embedded PostgreSQL, while somebody
submits hosts through the API. At moments drawn from a printed seed something dies by SIGKILL: a worker, all workers,
`serve`, `serve` with its child, one process of the database, its postmaster, or everything at once. What is gone is
started again, as systemd would. In the end everybody is told to stop, and the database and the index are asked what
they think happened. Exit code 1 and the faults where they disagree with what was promised.
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
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2

from registry.wiring import Waypost
from tests.flow.test_kill import HOSTS, Web
from tests.support.consistency import faults
from tests.support.running import Command, House, house, until

WORKERS: Final = 2
"""Beside the one that `serve` supervises."""

SUBMITTED: Final = HOSTS[-20:]
LISTED: Final = HOSTS[:-20]

MOST_REQUESTS: Final = 900
"""Between two kills, as the web counts them: less than a second of work up to several, and every phase between."""

INDEX_SECONDS: Final = 60.0
FINISH_SECONDS: Final = 240.0
"""All visited once more, with the minutes that a domain is set aside which three workers in a row died over."""

QUIET_SECONDS: Final = 90.0
"""Starting takes seconds, on a busy machine most of a minute."""

STOP_PROMISED: Final = 10.0
STOP_PATIENCE: Final = 60.0


@dataclass
class Report:
    """What was done and what came of it. `faults` by kind; empty when every promise was kept."""

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


class Crew:
    """`serve` and workers on one folder; what was killed can be started again."""

    def __init__(self, made: House, report: Report) -> None:
        self.made = made
        self._report = report
        self._wanted: dict[int, tuple[str, ...]] = {0: ("serve", "--port", "0")}
        self._wanted |= dict.fromkeys(range(1, WORKERS + 1), ("worker",))
        self._running: dict[int, Command] = {}

    @property
    def serving(self) -> Command | None:
        """None while it is dead."""
        command = self._running.get(0)
        return command if command is not None and command.process.poll() is None else None

    def start(self) -> None:
        """Whoever is not running."""
        for place, arguments in self._wanted.items():
            command = self._running.get(place)
            if command is None or command.process.poll() is not None:
                self._report.restarts += command is not None
                self._running[place] = self.made.start(*arguments)

    def reap(self, killed: Collection[int]) -> None:
        """Returns when those of the killed that are commands have ended: SIGKILL takes a moment."""
        for command in self._running.values():
            if command.process.pid in killed:
                command.process.wait(STOP_PATIENCE)

    def own(self) -> list[int]:
        """Process ids of the commands that run."""
        return [one.process.pid for one in self._running.values() if one.process.poll() is None]

    def child(self) -> list[int]:
        """The worker that `serve` supervises."""
        own = set(self.own())
        return [one for one in self.made.workers() if one not in own]

    def database(self) -> list[int]:
        """The processes of the server but its first."""
        postmaster = self.made.postmaster()
        if postmaster is None:
            return []
        with suppress(OSError):
            return [int(one) for one in Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()]
        return []

    async def started(self) -> None:
        """Until each of them says so: who is told to stop before that ends by the signal itself."""
        for place, command in self._running.items():
            await command.says("worker.started" if place else "the API answers at", QUIET_SECONDS)

    async def stop(self) -> float:
        """All of them at once, by SIGTERM; gives the seconds until the last had ended."""
        begun = time.monotonic()
        for command in self._running.values():
            command.tell(signal.SIGTERM)
        for command in self._running.values():
            code = await command.ended(STOP_PATIENCE)
            if code != 0:
                self._report.faults.setdefault("stopped with an error", []).append(command.said[-500:])
        return time.monotonic() - begun


def victims(crew: Crew) -> dict[str, Callable[[], list[int]]]:
    """Who is to die, by the name of the kill. Asked at the moment itself."""
    made, serving = crew.made, crew.serving
    server = [serving.process.pid] if serving is not None else []
    postmaster = [one for one in [made.postmaster()] if one is not None]
    return {
        "a worker": lambda: made.workers()[:1],
        "another worker": lambda: made.workers()[-1:],
        "all workers": made.workers,
        "serve": lambda: server,
        "serve with its worker": lambda: [*server, *crew.child()],
        "a database process": crew.database,
        "the postmaster": lambda: postmaster,
        "everything": lambda: [*crew.own(), *made.workers(), *postmaster],
    }


def kill(crew: Crew, moments: random.Random) -> str:
    """Kills somebody who is there; gives the name of the kill."""
    kinds = victims(crew)
    while kinds:
        kind = moments.choice(list(kinds))
        chosen = kinds[kind]()
        if kind == "a database process" and chosen:
            chosen = [moments.choice(chosen)]
        if chosen:
            for one in chosen:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
            crew.reap(chosen)
            return kind
        del kinds[kind]
    return "nobody was there"


async def torture(folder: Path, kills: int, seed: int, say: Callable[[str], None]) -> Report:
    """One registry, killed so many times; the report says what became of it."""
    moments, report = random.Random(seed), Report()
    async with at_work(folder) as (web, made):
        crew = Crew(made, report)
        crew.start()
        submitting = asyncio.create_task(submit_all(crew, report))
        await asyncio.wait_for(web.asked(1), FINISH_SECONDS)
        for number in range(kills):
            await worked(web, moments.randrange(1, MOST_REQUESTS))
            await asyncio.sleep(moments.uniform(0, 0.3))  # between two answers, or while they are recorded
            kind = kill(crew, moments)
            report.kills[kind] += 1
            say(f"{number + 1:3}: {kind}, after {len(web.seen)} requests")
            await asyncio.sleep(moments.uniform(0, 1))  # sometimes the next one dies while the last one starts
            crew.start()
            await next_round(made, report)
        await until(submitting.done, FINISH_SECONDS, lambda: "the submissions do not end")
        submitting.result()
        crew.start()
        await crew.started()
        await finished(made, report)
        report.stop_seconds = await crew.stop()
        await made.is_empty()
        await judge(made, web, report)
    return report


@asynccontextmanager
async def at_work(folder: Path) -> AsyncIterator[tuple[Web, House]]:
    async with Web() as web:
        with house(folder / "data", web, web.write_authority(folder)) as made:
            made.environment |= {"WAYPOST_LEASE_BATCH": "5", "WAYPOST_HOSTS_IN_FLIGHT": "10"}
            # The same few hosts are visited all day long, from one address.
            made.environment |= {"WAYPOST_DOMAIN_DAILY_BUDGET": "10000", "WAYPOST_BLOCK_DAILY_BUDGET": "10000000"}
            made.environment |= {"WAYPOST_SUBMIT_RATE": "100000"}
            async with made.opened() as waypost:
                await waypost.seed(LISTED, source="test")
            yield web, made


async def worked(web: Web, requests: int) -> None:
    """Until the web has had so many more; no longer when nothing comes for a while, for whatever reason."""
    wanted = len(web.seen) + requests
    with suppress(TimeoutError):
        while len(web.seen) < wanted:
            await asyncio.wait_for(web.asked(len(web.seen) + 1), QUIET_SECONDS)


async def next_round(made: House, report: Report) -> None:
    """Everything is made due again as soon as a third was visited, so that there is always work to be killed in."""
    async with opened(made) as waypost:
        if await waypost.waiting(waypost.hosts_of(HOSTS)) < len(HOSTS) * 2 // 3:
            await waypost.make_due(LISTED)
            report.rounds += 1


@asynccontextmanager
async def opened(made: House) -> AsyncIterator[Waypost]:
    """In this process, for a moment only: it counts as a user of the database, and starts it where it is down."""
    async with made.opened() as waypost:
        yield waypost


async def submit_all(crew: Crew, report: Report) -> None:
    """Each host until it is acknowledged: an answer other than 2xx promises nothing, no answer neither."""
    for host in SUBMITTED:
        while host not in report.acknowledged:
            await asyncio.sleep(0.5)
            if (url := address(crew)) is not None:
                try:
                    async with httpx2.AsyncClient(base_url=url, timeout=20) as client:
                        answer = await client.post("/api/services?wait=0", json={"domain": host})
                except httpx2.HTTPError:
                    report.unanswered += 1
                    continue
                if answer.is_success or answer.status_code == 409:  # known: an answer that was lost had been kept
                    report.acknowledged.add(host)


def address(crew: Crew) -> str | None:
    """Where the API answers; None while nobody says so."""
    said = crew.serving.said if crew.serving is not None else ""
    line = next((one for one in said.splitlines() if "the API answers at" in one), None)
    return None if line is None else line.split()[4]


async def finished(made: House, report: Report) -> None:
    """Until every host has been visited since it was last due, nobody holds a lease, and the index knows."""
    async with made.opened() as waypost:
        hosts = waypost.hosts_of(HOSTS)
        deadline = time.monotonic() + FINISH_SECONDS
        while await waypost.waiting(hosts) and time.monotonic() < deadline:  # noqa: ASYNC110  (in other processes)
            await asyncio.sleep(0.1)
        visited = time.monotonic()
        while await waypost.index_lag() and time.monotonic() < visited + INDEX_SECONDS:  # noqa: ASYNC110  (in theirs)
            await asyncio.sleep(0.05)
        report.index_seconds = time.monotonic() - visited
        if lag := await waypost.index_lag():
            report.faults["the index lags behind"] = [str(lag)]


async def judge(made: House, web: Web, report: Report) -> None:
    """Everybody has stopped. What the database, the index and the web itself say of the run."""
    async with made.opened() as waypost:
        for kind, rows in (await faults(waypost, [*LISTED, *report.acknowledged])).items():
            report.faults.setdefault(kind, []).extend(rows)
        statuses = {host: await waypost.status(host) for host in HOSTS}
        visited = {host for host, one in statuses.items() if one is not None and one.last_visit_at is not None}
        report.faults |= _named("lost", set(LISTED) - visited)
        report.faults |= _named("acknowledged and lost", report.acknowledged - visited)
        async with waypost._store.engine.connect() as connection:
            count = await connection.exec_driver_sql("SELECT count(*) FROM visits")
            report.visits = count.scalar_one()
            late = await connection.exec_driver_sql("SELECT domain FROM domains WHERE attempts >= 3")
            report.set_aside = len(late.all())
    report.faults |= _named("asked by two at once", web.interleaved())
    report.faults |= _named(
        "a command that broke", [one.said[-500:] for one in made.commands if "Traceback" in one.said]
    )
    await made.is_empty()


def _named(kind: str, rows: Iterable[str]) -> dict[str, list[str]]:
    found = sorted(rows)
    return {kind: found} if found else {}


def tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.flow.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    options = parser.parse_args()
    tell(f"seed {options.seed}")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(torture(Path(folder), options.kills, options.seed, tell))
    if report.stop_seconds > STOP_PROMISED:
        report.faults["stopped too late"] = [f"{report.stop_seconds:.1f} s"]
    for line in (*report.lines(), f"{time.monotonic() - begun:.0f} s, seed {options.seed}"):
        tell(line)
    sys.exit(1 if report.faults else 0)


if __name__ == "__main__":
    main()
