"""`python -m tests.chaos.scenarios freeze`: one bad day of a registry at work, and what came of it.

Two workers and a `serve` crawl a site farm while something goes wrong. The last line is a report in JSON; its `faults`
are empty when every promise was kept. Runs only in namespaces of its own: see tests/chaos/test_chaos.py.
"""

import asyncio
import json
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.chaos import pair
from tests.crawler import namespace
from tests.flow.kills import print_line
from tests.flow.test_kill import HOSTS, Web
from tests.support.consistency import faults
from tests.support.running import Command, DataFolder, new_data_folder, until

PAUSE: Final = 0.15
"""Delay of each response in seconds: a visit takes four seconds."""

LEASE_SECONDS: Final = 60
FROZEN_SECONDS: Final = LEASE_SECONDS + 15
LIMIT: Final = 200.0
MOST_WRONG: Final = 10
"""Visits that may end between a jump of the clock and the next look at it, a second later: all that are in flight."""
DAY: Final = 86_400

SETTINGS: Final = {
    "WAYPOST_LEASE_BATCH": "5", "WAYPOST_HOSTS_IN_FLIGHT": "10", "WAYPOST_LEASE_SECONDS": str(LEASE_SECONDS),
    "WAYPOST_DOMAIN_DAILY_BUDGET": "10000", "WAYPOST_BLOCK_DAILY_BUDGET": "10000000", "WAYPOST_SUBMIT_RATE": "100000",
    "WAYPOST_COMPUTE_PROCESSES": "1",
}  # fmt: skip

_LATE: Final = """SELECT host FROM visits WHERE finished_at > now() + interval '1 hour'
OR finished_at < now() - interval '1 hour'"""


@dataclass
class Day:
    """A registry at work. `rows` runs a query of the database."""

    web: Web
    data_folder: DataFolder
    rows: Callable[[str], Awaitable[Sequence[Any]]]

    def worker(self, **environment: str) -> Command:
        kept = dict(self.data_folder.environment)
        self.data_folder.environment |= environment
        command = self.data_folder.start("worker")
        self.data_folder.environment.clear()
        self.data_folder.environment |= kept
        return command

    async def visited(self) -> int:
        [(number,)] = await self.rows("SELECT count(*) FROM hosts WHERE last_visit_at IS NOT NULL")
        return int(number)

    async def all_visited(self) -> float:
        """Return the seconds until every host is visited and no lease is held, at most LIMIT."""
        began = time.monotonic()
        while time.monotonic() < began + LIMIT:
            [(waiting,)] = await self.rows("SELECT count(*) FROM hosts WHERE last_visit_at IS NULL")
            [(leased,)] = await self.rows("SELECT count(*) FROM domains WHERE lease_token IS NOT NULL")
            if not waiting and not leased:
                break
            await asyncio.sleep(0.5)
        return round(time.monotonic() - began, 1)


async def freeze(day: Day) -> dict[str, Any]:
    """A worker stops for longer than its leases last, and goes on: the leases were taken over meanwhile."""
    late, other = day.worker(), day.worker()
    await asyncio.wait_for(day.web.asked(100), LIMIT)
    late.send_signal(signal.SIGSTOP)
    before = await day.rows("SELECT domain FROM domains WHERE lease_token IS NOT NULL")
    began = time.monotonic()
    others = await day.all_visited()
    await asyncio.sleep(max(0.0, FROZEN_SECONDS - (time.monotonic() - began)))
    visits = await day.rows("SELECT count(*) FROM visits")
    late.send_signal(signal.SIGCONT)
    await asyncio.sleep(10)
    after = await day.rows("SELECT count(*) FROM visits")
    return {
        "leased when it froze": len(before), "seconds until others had visited all": others, "stops": [late, other],
        "late visits recorded": int(after[0][0]) - int(visits[0][0]),
        "faults": {"a late result was recorded": [str(after)] if visits != after else []},
    }  # fmt: skip


def faketime() -> Path | None:
    """Return the library of Debian's package faketime; None if it is not installed."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


async def _jump(day: Day, seconds: int) -> dict[str, Any]:
    """The clock of one worker jumps in the middle of its visits, and is set right half a minute later."""
    clock = day.data_folder.data.parent / "clock"
    clock.write_text("+0")
    library = faketime()
    assert library is not None
    wrong = day.worker(
        LD_PRELOAD=str(library), FAKETIME_TIMESTAMP_FILE=str(clock), FAKETIME_NO_CACHE="1",
        FAKETIME_DONT_FAKE_MONOTONIC="1",
    )  # fmt: skip
    right = day.worker()
    await wrong.line_with("worker.started")
    await asyncio.wait_for(day.web.asked(100), LIMIT)
    clock.write_text(f"{seconds:+d}")
    await asyncio.sleep(30)
    has_said_so = "WrongClock" in wrong.output
    clock.write_text("+0")
    took = await day.all_visited()
    late = [host for (host,) in await day.rows(_LATE)]
    return {
        "seconds until all were visited": 30 + took, "stops": [right, wrong], "visits at a wrong time": len(late),
        "faults": {
            "the worker did not say so": [] if has_said_so else [wrong.output[-800:]],
            "visits at a wrong time": late[MOST_WRONG:],
        },
    }  # fmt: skip


async def clock_ahead(day: Day) -> dict[str, Any]:
    return await _jump(day, DAY)


async def clock_behind(day: Day) -> dict[str, Any]:
    return await _jump(day, -DAY)


async def slow_database(day: Day) -> dict[str, Any]:
    """Every answer of the database takes half a second longer."""
    first, second = day.worker(), day.worker()
    serving = day.data_folder.start("serve", "--port", "0")
    url = (await serving.line_with("the API answers at")).split()[4]
    took = await day.all_visited()
    answers = []
    async with httpx2.AsyncClient(base_url=url, timeout=30) as client:
        for path in ("/readyz", "/api/services", "/api/discover?q=letters", f"/api/services/{HOSTS[0]}"):
            began = time.monotonic()
            answers.append((path, (await client.get(path)).status_code, round(time.monotonic() - began, 1)))
    lost = [word for word in ("hold.lost", "Traceback") if word in first.output + second.output]
    return {
        "seconds until all were visited": took, "answers": answers, "stops": [first, second, serving],
        # Its check has four round trips: with half a second for each, a probe learns in time that it takes too long.
        "faults": {"lost its session": lost, "no answer": [str(row) for row in answers[1:] if row[1] != 200]},
    }  # fmt: skip


@dataclass
class Delay:
    """`seconds`: by how much answers are late now."""

    seconds: float


@asynccontextmanager
async def slowed(address: str, port: int, delay: Delay) -> AsyncIterator[int]:
    """Yield a local port that leads to the address; what comes from there arrives later by `delay`."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(address, port)

        async def carry(source: asyncio.StreamReader, target: asyncio.StreamWriter, late: Delay) -> None:
            while data := await source.read(65_536):
                await asyncio.sleep(late.seconds)
                target.write(data)
                await target.drain()
            target.close()

        await asyncio.gather(
            carry(reader, to_server, Delay(0)), carry(from_server, writer, delay), return_exceptions=True
        )

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


_FAILED: Final = """SELECT outcome, reason, count(*) FROM visits
WHERE outcome != 'found' AND host NOT LIKE '%%.%%.%%' GROUP BY 1, 2"""
"""Not the hosts that a visit guesses below a domain (`api.example.com`): these have no address here."""


class Outage:
    """A name server on every address: it answers, or says nothing."""

    def __init__(self) -> None:
        self.is_away = False

    def find(self, name: str) -> namespace.Records | None:
        if self.is_away:
            raise TimeoutError  # the event loop logs it, and nothing is sent
        return [("A", f"8.{PUBLIC.index(name)}.8.8")] if name in PUBLIC else None


PUBLIC: Final = [f"site{number:02}-letters.com" for number in range(40)]


async def name_servers(folder: Path) -> dict[str, Any]:
    """The resolver falls silent in the middle of a crawl, for a minute."""
    namespace.enclose(folder)
    outage = Outage()
    namespace.NameServer.start(outage.find)

    web = Web(PUBLIC, PAUSE)
    web.places, web.port = ("0.0.0.0",), 443
    async with web:
        with new_data_folder(folder / "data", web, web.write_authority(folder)) as data_folder:
            data_folder.environment |= SETTINGS | {
                "WAYPOST_RESOLVE": "system", "WAYPOST_CONNECT_TO": "", "WAYPOST_HOSTS_IN_FLIGHT": "4",
            }  # fmt: skip
            async with data_folder.opened() as waypost:
                await waypost.frontier.seed(PUBLIC, source="test")

                async def rows(statement: str) -> Sequence[Any]:
                    async with waypost._store.engine.connect() as connection:
                        return (await connection.exec_driver_sql(statement)).all()

                day = Day(web, data_folder, rows)
                worker = day.worker()
                await until(lambda: len(web.seen) > 300, LIMIT, lambda: worker.output[-3000:])
                outage.is_away = True
                before = await day.visited()
                await asyncio.sleep(60)
                during = await rows(_FAILED)
                postponed = await rows(
                    "SELECT count(*) FROM domains WHERE next_visit_at > now() AND lease_token IS NULL "
                    "AND domain IN (SELECT host FROM hosts WHERE last_visit_at IS NULL)"
                )
                has_said_so = "resolver.away" in worker.output
                outage.is_away = False
                await rows("SELECT 1")
                async with waypost._store.engine.begin() as connection:  # instead of five minutes
                    await connection.exec_driver_sql(
                        "UPDATE domains SET next_visit_at = now() WHERE lease_token IS NULL "
                        "AND domain IN (SELECT domain FROM hosts WHERE last_visit_at IS NULL)"
                    )
                took = await day.all_visited()
                worker.send_signal(signal.SIGTERM)
                await worker.exit_code(60)
                failed = await rows(_FAILED)
    found: dict[str, list[str]] = {
        "counted as dead": [str(tuple(row)) for row in during],
        "the worker did not say so": [] if has_said_so else [worker.output[-800:]],
        "not found in the end": [str(tuple(row)) for row in failed],
        "nothing was postponed": [] if postponed[0][0] else ["0"],
    }
    return {
        "visited before": before, "postponed": int(postponed[0][0]), "seconds from its return until all": took,
        "faults": {name: rows for name, rows in found.items() if rows},
    }  # fmt: skip


DAYS: Final[dict[str, Callable[[Day], Awaitable[dict[str, Any]]]]] = {
    "freeze": freeze, "clock-ahead": clock_ahead, "clock-behind": clock_behind, "slow-database": slow_database,
}  # fmt: skip


async def run(name: str, folder: Path) -> dict[str, Any]:
    if name == "name-servers":
        return await name_servers(folder)
    pair.enclose()
    (folder / "server").mkdir()
    server = pair.start_one(folder / "server")

    async def rows(statement: str) -> Sequence[Any]:
        return await asyncio.to_thread(server.rows, statement)

    delay = Delay(0.5 if name == "slow-database" else 0.0)
    async with Web(HOSTS, PAUSE) as web, slowed(server.address, 5432, delay) as port:
        url = f"postgresql://postgres@127.0.0.1:{port}/{pair.DATABASE}"
        with new_data_folder(folder / "data", web, web.write_authority(folder), url) as data_folder:
            await pair.migrate(folder / "migrating", server)
            data_folder.environment |= SETTINGS
            async with data_folder.opened() as waypost:
                await waypost.frontier.seed(HOSTS, source="test")
            report = await DAYS[name](Day(web, data_folder, rows))
            for command in report["stops"]:
                command.send_signal(signal.SIGTERM)
            report["exit codes"] = [await command.exit_code(60) for command in report.pop("stops")]
            found = report["faults"] | {"asked by two at once": sorted(web.interleaved())}
            found["exit codes"] = [str(code) for code in report["exit codes"] if code]
            # faketime breaks `time.sleep`, by which the thread `shutdown deadline` waits.
            outputs = [text.output.replace("shutdown deadline:\nTraceback", "") for text in data_folder.commands]
            found["broke"] = [output[-800:] for output in outputs if "Traceback" in output]
            delay.seconds = 0  # the examination has hundreds of statements
            async with data_folder.opened() as waypost:
                found |= await faults(waypost, HOSTS)
            report["faults"] = {kind: rows_of[:10] for kind, rows_of in found.items() if rows_of}
            report["requests"] = len(web.seen)
    return report


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="waypost-chaos-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o711)
        print_line(json.dumps(asyncio.run(run(sys.argv[1], folder)), default=str))


if __name__ == "__main__":
    main()
