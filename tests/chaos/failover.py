"""`python -m tests.chaos.failover kill`: lose the primary in the middle of a crawl, promote the standby, and examine.

Two workers, two schedules and two `serve` work against the URL of both servers. A hundred hosts are submitted while the
primary dies (`kill`), freezes (`stop`) or is cut off (`cut`), and the synchronous standby is promoted two seconds
later. Then the old primary comes back, still believing to be the primary; with `blink` at once, so that its sessions
survive. The last line is a report in JSON; its
`faults` are empty when every promise was kept. Runs only in namespaces of its own: see tests/chaos/test_failover.py.
"""

import asyncio
import json
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.chaos.pair import DATABASE, Server, enclose, migrate, start_pair
from tests.flow.kills import print_line
from tests.flow.test_kill import HOSTS, Web
from tests.support.consistency import faults
from tests.support.running import Command, DataFolder, new_data_folder, until

SUBMITTED: Final = [f"sent{number:03}.example" for number in range(100)]
BEFORE: Final = 30
"""Submissions acknowledged when the primary fails."""

PAUSE: Final = 0.15
"""Delay of each response in seconds: a visit takes five seconds, so many are in progress when the primary fails."""

DETECTED: Final = 2.0
"""Seconds until the standby is promoted, as a fast failover manager would."""

PROMISED: Final = 30.0
"""Seconds after the promotion within which every process works again."""

WATCHED: Final = 20.0
"""Seconds for which the old primary is watched after its return."""

OFTEN: Final = {
    "WAYPOST_LEASE_BATCH": "5", "WAYPOST_HOSTS_IN_FLIGHT": "10", "WAYPOST_SUBMIT_RATE": "100000",
    "WAYPOST_DOMAIN_DAILY_BUDGET": "10000", "WAYPOST_BLOCK_DAILY_BUDGET": "10000000",
    "WAYPOST_RECRAWL_INTERVAL": "2", "WAYPOST_REFRESH_INTERVAL": "0", "WAYPOST_EXPORT_INTERVAL": "0",
    "WAYPOST_REINDEX_INTERVAL": "0", "WAYPOST_COMPUTE_PROCESSES": "1",
}  # fmt: skip

_LEASED: Final = "SELECT count(*) FROM domains WHERE lease_token IS NOT NULL"
_LEADERS: Final = """SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 2002876675
AND objid = (hashtext('lead')::bigint & 4294967295)::oid"""
_CRAWLERS: Final = """SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = 2002876673"""
_RESUMED: Final = """SELECT count(*) FROM domains JOIN pg_locks ON classid = 2002876673 AND objid::bigint = lease_holder
WHERE locktype = 'advisory' AND granted"""
_OVERLAPS: Final = """SELECT a.job, a.started_at, b.started_at FROM job_runs a JOIN job_runs b
ON a.job = b.job AND a.started_at < b.started_at AND b.started_at < coalesce(a.finished_at, 'infinity')"""
_SESSIONS: Final = """SELECT application_name, state, left(query, 60) FROM pg_stat_activity
WHERE application_name LIKE 'waypost%' AND backend_start < now() - interval '5 s'
AND greatest(backend_start, query_start) > """
"""A new connection asks every server for its timeline, and leaves the old one at once. Sessions from before the failure
stay until the server notices that their clients have gone; they may do nothing."""


def break_primary(kind: str, primary: Server) -> None:
    match kind:
        case "kill":
            primary.signal(signal.SIGKILL)
        case "stop" | "blink":
            primary.signal(signal.SIGSTOP)
        case "cut":
            primary.cut()


def bring_back(kind: str, primary: Server) -> None:
    """Let the old primary go on as what it was: it does not know of the promotion."""
    match kind:
        case "kill":
            (primary.data / "postmaster.pid").unlink()  # its process is not reaped here, so its number is still taken
            primary.start()
        case "stop" | "blink":
            primary.signal(signal.SIGCONT)
        case "cut":
            primary.cut(False)


class Submitter:
    """Submits each host until it is acknowledged, by all `serve` processes in turn."""

    def __init__(self, urls: list[str]) -> None:
        self.acknowledged: dict[str, float] = {}
        self.last_by_url: dict[str, float] = {}
        self._urls = urls

    async def run(self) -> None:
        urls = cycle(self._urls)
        names = iter(SUBMITTED)
        await asyncio.gather(*(self._submit(names, urls) for _ in range(4)))

    async def _submit(self, names: Any, urls: Any) -> None:
        async with httpx2.AsyncClient(timeout=5) as client:
            for name in names:
                while name not in self.acknowledged:
                    await self.send(client, next(urls), name)
                    await asyncio.sleep(0.3)

    async def send(self, client: httpx2.AsyncClient, url: str, name: str) -> None:
        """Only a 2xx response, or a 409 after an answer that was lost, acknowledges it."""
        try:
            response = await client.post(f"{url}/api/services?wait=0", json={"domain": name})
        except httpx2.HTTPError:
            return
        if response.is_success or response.status_code == 409:
            self.acknowledged.setdefault(name, time.monotonic())
            self.last_by_url[url] = time.monotonic()


class Reigns:
    """From when to when each schedule took itself for the leader, by its log."""

    def __init__(self, schedules: list[Command]) -> None:
        self._schedules = schedules
        self._leaders: dict[int, float] = {}
        self.ended: list[tuple[float, float, int]] = []

    def look(self) -> None:
        """Read what the logs have newly; the lines have no time of their own."""
        now = time.monotonic()
        for number, command in enumerate(self._schedules):
            lines = [
                line for line in command.output.splitlines() if '"leader.elected"' in line or '"leader.lost"' in line
            ]
            if lines and '"leader.elected"' in lines[-1]:
                self._leaders.setdefault(number, now)
            elif number in self._leaders:
                self.ended.append((self._leaders.pop(number), now, number))

    async def watch(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(0.05)

    def all(self) -> list[tuple[float, float, int]]:
        """Return (begin, end, schedule), in order."""
        return sorted([*self.ended, *((begun, time.monotonic(), number) for number, begun in self._leaders.items())])


async def seconds_until(condition: Callable[[], Awaitable[object] | object], since: float, limit: float) -> float:
    """Poll; return the seconds from `since` until the condition holds, at most `limit` from now."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        try:
            held = condition()
            if await held if isinstance(held, Awaitable) else held:
                break
        except OSError:
            pass
        await asyncio.sleep(0.2)
    return time.monotonic() - since


async def run(kind: str, folder: Path) -> dict[str, Any]:
    primary, standby = start_pair(folder / "pair")
    url = await migrate(folder / "migrating", primary, standby)
    async with Web([*HOSTS, *SUBMITTED], PAUSE) as web:
        with new_data_folder(folder / "data", web, web.write_authority(folder), url) as data_folder:
            data_folder.environment |= OFTEN
            async with data_folder.opened() as waypost:
                await waypost.frontier.seed(HOSTS, source="test")
            serving = [data_folder.start("serve", "--port", "0") for _ in range(2)]
            urls = [(await command.line_with("the API answers at")).split()[4] for command in serving]
            reigns = Reigns([data_folder.start("schedule") for _ in range(2)])
            watching = asyncio.create_task(reigns.watch())
            for _ in range(2):
                data_folder.start("worker")
            await asyncio.wait_for(web.asked(50), 120)
            submitter = Submitter(urls)
            submitting = asyncio.create_task(submitter.run())
            await until(lambda: len(submitter.acknowledged) >= BEFORE, 120, lambda: "no submissions")
            leased = await asyncio.to_thread(primary.rows, _LEASED)
            print_line(f"{kind}, after {len(submitter.acknowledged)} submissions, during {leased[0][0]} visits")
            report: dict[str, Any] = {
                "kind": kind, "acknowledged before": len(submitter.acknowledged), "visits in progress": leased[0][0]
            }  # fmt: skip
            break_primary(kind, primary)
            broken = time.monotonic()
            await asyncio.sleep(DETECTED)
            await asyncio.to_thread(standby.promote)
            promoted = time.monotonic()
            print_line("promoted")
            if kind == "blink":
                bring_back(kind, primary)
            report["seconds from failure to promotion"] = round(promoted - broken, 1)

            def each_answers() -> bool:
                return all(submitter.last_by_url.get(url, 0) > promoted for url in urls)

            async def is_led() -> bool:
                return (await asyncio.to_thread(standby.rows, _LEADERS)) == [(1,)]

            async def each_leases() -> bool:
                return (await asyncio.to_thread(standby.rows, _CRAWLERS)) == [(2,)]

            async def visits_go_on() -> bool:
                return (await asyncio.to_thread(standby.rows, _RESUMED)) != [(0,)]

            waits = {"submissions": each_answers, "leader": is_led, "workers": each_leases, "visits": visits_go_on}
            took = await asyncio.gather(*(seconds_until(wait, promoted, 2 * PROMISED) for wait in waits.values()))
            report["seconds from promotion until"] = {
                name: round(value, 1) for name, value in zip(waits, took, strict=True)
            }
            print_line(str(report))
            if kind != "blink":
                bring_back(kind, primary)
            report["old primary"] = await watch_old(primary)
            print_line(str(report["old primary"]))
            await asyncio.wait_for(submitting, 120)
            ended = await seconds_until(lambda: all_done(data_folder, standby), time.monotonic(), 200)
            report["seconds until everything was visited"] = round(ended, 1)
            for command in data_folder.commands:
                command.send_signal(signal.SIGTERM)
            report["exit codes"] = [await command.exit_code(60) for command in data_folder.commands]
            report["faults"] = await examine(kind, primary, standby, data_folder, web, reigns, submitter, report)
            watching.cancel()
            report["requests"] = len(web.seen)
    return report


async def watch_old(primary: Server) -> dict[str, Any]:
    """Watch who uses the old primary for WATCHED seconds; return the last sessions and how much it wrote."""
    await asyncio.sleep(3)  # what its sessions were doing when it froze ends
    before = await asyncio.to_thread(primary.rows, "SELECT (SELECT count(*) FROM visits), (SELECT count(*) FROM hosts)")
    [(returned,)] = await asyncio.to_thread(primary.rows, "SELECT quote_literal(now())")
    seen: set[str] = set()
    ends = time.monotonic() + WATCHED
    while time.monotonic() < ends:
        seen |= {str(row) for row in await asyncio.to_thread(primary.rows, _SESSIONS + returned)}
        await asyncio.sleep(0.5)
    after = await asyncio.to_thread(primary.rows, "SELECT (SELECT count(*) FROM visits), (SELECT count(*) FROM hosts)")
    return {"sessions": sorted(seen), "rows before and after": [before, after]}


async def all_done(data_folder: DataFolder, standby: Server) -> bool:
    rows = await asyncio.to_thread(
        standby.rows, "SELECT count(*) FROM hosts WHERE last_visit_at IS NULL UNION ALL "
        "SELECT count(*) FROM domains WHERE lease_token IS NOT NULL"
    )  # fmt: skip
    return all(number == 0 for (number,) in rows)


async def examine(
    kind: str, primary: Server, standby: Server, data_folder: DataFolder, web: Web, reigns: Reigns,
    submitter: Submitter, report: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Return the broken promises by kind."""
    reigns.look()
    primary.cut()  # from here on only the new primary counts
    found: dict[str, Any] = {}
    known = {host for (host,) in standby.rows("SELECT host FROM hosts")}
    found["acknowledged and lost"] = sorted(submitter.acknowledged.keys() - known)
    found["not acknowledged"] = sorted(set(SUBMITTED) - submitter.acknowledged.keys())
    found["overlapping runs of a job"] = [str(row) for row in standby.rows(_OVERLAPS)]
    found["two leaders"] = [
        f"{first[1] - second[0]:.1f} s" for first, second in pairwise(reigns.all()) if first[1] > second[0] + 0.1
    ]
    found["asked by two at once"] = sorted(web.interleaved())
    found["late"] = [
        f"{name}: {value} s" for name, value in report["seconds from promotion until"].items() if value > PROMISED
    ]
    found["used the old primary"] = report["old primary"]["sessions"]
    before, after = report["old primary"]["rows before and after"]
    found["wrote to the old primary"] = [] if before == after else [str(before), str(after)]
    found["broke"] = [command.output[-800:] for command in data_folder.commands if "Traceback" in command.output]
    found["exit codes"] = [code for code in report["exit codes"] if code != 0]
    data_folder.environment["DATABASE_URL"] = f"postgresql://postgres@{standby.address}/{DATABASE}"
    async with data_folder.opened() as waypost:
        for fault, rows in (await faults(waypost, [*HOSTS, *SUBMITTED])).items():
            found[fault] = rows[:20]
    return {name: rows for name, rows in found.items() if rows}


def main() -> None:
    enclose()
    with tempfile.TemporaryDirectory(prefix="waypost-failover-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "pair").mkdir()
        report = asyncio.run(run(sys.argv[1], folder))
        print_line(json.dumps(report))


if __name__ == "__main__":
    main()
