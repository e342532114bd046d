"""`waypost schedule` as processes: one leads, a killed leader is replaced, `--once` serves cron."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from registry.core.names.addresses import REGISTRY_V4, REGISTRY_V6
from registry.core.scheduling.jobs import RunOutcome
from registry.wiring import Waypost
from tests.actions.test_refresh import IANA, LIST, Publishers
from tests.flow.test_kill import manifest
from tests.support.consistency import faults
from tests.support.hang import HANG_SECONDS
from tests.support.running import Command, DataFolder, new_data_folder, until
from tests.support.sites import Exchange, Reply

pytestmark = pytest.mark.slow

HOSTS = ["alice.shops.com", "bob.shops.com", "lone.example"]


class Web(Publishers):
    """The publishers of reference data and a few hosts that serve a manifest."""

    def __init__(self) -> None:
        super().__init__()
        self.sites |= dict.fromkeys(HOSTS, self._site)
        self._good = self._certificate("good", *self.sites)

    async def _site(self, exchange: Exchange) -> None:
        is_manifest = exchange.path == "/.well-known/agent"
        reply = Reply(manifest(exchange.host)) if is_manifest else Reply(b"nothing here", 404, "text/plain")
        await exchange.send(reply.encode())


@asynccontextmanager
async def registry(folder: Path, database_url: str, **intervals: int) -> AsyncIterator[tuple[Web, DataFolder]]:
    """Yield a web and a registry in which jobs that are not named never run by themselves."""
    async with Web() as web, asyncio.timeout(HANG_SECONDS):
        with new_data_folder(folder / "data", web, web.write_authority(folder), database_url) as data_folder:
            for job in ("recrawl", "rescore", "reindex", "prune", "refresh"):
                data_folder.environment[f"WAYPOST_{job.upper()}_INTERVAL"] = str(intervals.get(job, 0))
            data_folder.environment |= {
                "WAYPOST_SUFFIX_LIST_URL": f"https://{LIST}/list.dat",
                "WAYPOST_IPV4_REGISTRY_URL": f"https://{IANA}/v4.csv",
                "WAYPOST_IPV6_REGISTRY_URL": f"https://{IANA}/v6.csv",
            }
            yield web, data_folder
            await data_folder.until_unused()


async def runs(data_folder: DataFolder, job: str) -> list[Any]:
    """Return the last runs of a job, oldest first."""
    async with data_folder.opened() as waypost:
        return list(reversed(await waypost.jobs.last_runs(job)))


async def more_runs(data_folder: DataFolder, job: str, number: int) -> None:
    """Wait for this many more runs of the job that end as done."""
    since = datetime.now(UTC)
    async with asyncio.timeout(HANG_SECONDS), data_folder.opened() as waypost:
        while True:
            new_runs = [run for run in await waypost.jobs.last_runs(job) if run.started_at > since]
            if sum(run.outcome is RunOutcome.DONE for run in new_runs) >= number:
                return
            await asyncio.sleep(0.1)


async def once(data_folder: DataFolder, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Run `waypost schedule --once --json`; return the exit code and the runs that it printed."""
    command = data_folder.start("schedule", "--once", "--json", *arguments)
    code = await command.exit_code()
    return code, [json.loads(line) for line in command.output.splitlines() if line.startswith('{"job":"')]


def leaders(commands: list[Command]) -> list[Command]:
    return [command for command in commands if command.process.poll() is None and '"leader.elected"' in command.output]


@pytest.mark.long
async def test_a_killed_leader_is_replaced_and_no_job_runs_twice_at_a_time(tmp_path: Path, database_url: str) -> None:
    async with registry(tmp_path, database_url, recrawl=1, prune=1) as (_, data_folder):
        commands = [data_folder.start("schedule"), data_folder.start("schedule")]
        await until(lambda: leaders(commands), HANG_SECONDS, lambda: str([command.output for command in commands]))
        await until(
            lambda: any('"leader.standby"' in command.output for command in commands),
            HANG_SECONDS,
            lambda: "nobody stands by",
        )
        (leader,) = leaders(commands)
        (standby,) = (command for command in commands if command is not leader)
        await more_runs(data_folder, "recrawl", 2)
        assert '"job.started"' not in standby.output

        leader.send_signal(signal.SIGKILL)
        await leader.exit_code()
        await until(lambda: leaders(commands) == [standby], HANG_SECONDS, lambda: standby.output)
        await more_runs(data_folder, "recrawl", 2)

        standby.send_signal(signal.SIGTERM)
        assert await standby.exit_code() == 0
        assert "Traceback" not in leader.output + standby.output
        async with data_folder.opened() as waypost:
            assert await overlapping(waypost) == []
        for job in ("recrawl", "prune"):
            assert {run.outcome for run in await runs(data_folder, job)} <= {
                RunOutcome.DONE,
                RunOutcome.LOST,
                RunOutcome.STOPPED,
            }


async def overlapping(waypost: Waypost) -> list[Any]:
    statement = """
        SELECT a.job, a.started_at FROM job_runs a JOIN job_runs b ON a.job = b.job AND a.started_at < b.started_at
        AND b.started_at < a.finished_at"""
    async with waypost._store.engine.connect() as connection:
        return [tuple(row) for row in await connection.execute(text(statement))]


async def test_jobs_alone_keep_a_registry_without_workers_current(tmp_path: Path, database_url: str) -> None:
    """Seed, crawl once, refresh reference data that makes tenants into own domains; search stays complete."""
    async with registry(tmp_path, database_url) as (web, data_folder):
        async with data_folder.opened() as waypost:
            await waypost.frontier.seed(HOSTS, source="test")
        code, printed_runs = await once(data_folder, "recrawl")
        assert (code, [run["outcome"] for run in printed_runs]) == (0, ["done"])
        # And sub-hosts beside a hit (`mcp.`, `api.`, `docs.`).
        assert printed_runs[0]["figures"]["visited"] >= len(HOSTS)
        assert await domains(data_folder) == {"alice.shops.com": "shops.com", "bob.shops.com": "shops.com",
                                       "lone.example": "lone.example"}  # fmt: skip

        code, printed_runs = await once(data_folder, "refresh", "prune", "rescore")
        assert (code, [run["job"] for run in printed_runs]) == (0, ["refresh", "prune", "rescore"])
        moved_hosts = printed_runs[0]["figures"]["moved_hosts"]
        assert {"alice.shops.com", "bob.shops.com"} <= set(moved_hosts) and all(
            host.endswith(".shops.com") for host in moved_hosts
        )
        assert sorted(printed_runs[0]["figures"]["changed"]) == sorted([REGISTRY_V4, REGISTRY_V6, "public-suffix-list"])
        assert await domains(data_folder) == {host: host for host in HOSTS}

        request_count = len(web.seen)
        code, _ = await once(data_folder, "recrawl")
        assert code == 0 and len(web.seen) == request_count  # only sub-hosts that are not served can be due
        async with data_folder.opened() as waypost:
            assert await faults(waypost, HOSTS) == {}
            assert (await waypost.queries.overview()).services == len(HOSTS)


async def domains(data_folder: DataFolder) -> dict[str, str]:
    async with data_folder.opened() as waypost, waypost._store.engine.connect() as connection:
        result = await connection.execute(text("SELECT host, domain FROM services"))
        return dict(tuple(row) for row in result)


async def test_bad_reference_data_fails_the_job_and_nothing_else(tmp_path: Path, database_url: str) -> None:
    async with registry(tmp_path, database_url) as (web, data_folder):
        web.pages["/list.dat"] = Reply(b"<!doctype html><p>Welcome", type="text/html")
        code, printed_runs = await once(data_folder, "refresh")
        assert (code, printed_runs[0]["outcome"]) == (1, "failed")
        assert printed_runs[0]["error"].startswith("public-suffix-list: the list's sections are missing")
        assert sorted(printed_runs[0]["figures"]["changed"]) == sorted([REGISTRY_V4, REGISTRY_V6])
        assert "Welcome" not in data_folder.commands[-1].output

        list_command = data_folder.start("schedule", "--list", "--json")
        assert await list_command.exit_code() == 0
        lines = {job["job"]: job for job in map(json.loads, list_command.output.splitlines()) if "says" in job}
        assert lines["refresh"]["last"]["outcome"] == "failed" and lines["refresh"]["next_at"] is None
        assert lines["prune"]["last"] is None


async def test_serve_with_nothing_configured_runs_the_jobs_and_says_what_is_missing(tmp_path: Path) -> None:
    async with registry(tmp_path, "", recrawl=3_600) as (_, data_folder):
        data_folder.environment["WAYPOST_EXPORT_INTERVAL"] = "0"
        serving = data_folder.start("serve", "--port", "0")
        url = (await serving.line_with("the API answers at")).split()[4]
        await until(lambda: '"job.ended"' in serving.output, HANG_SECONDS, lambda: serving.output)
        lines = [line.strip() for line in serving.output.splitlines()]
        folder = f"--data {data_folder.data}"
        wanted = [f"pages  {url}/", f"MCP    {url}/mcp", f"data   {data_folder.data}", f"{url}/submit"]
        wanted += [f"waypost {words} {folder}" for words in ("crawl example.com", "seed file hosts.txt")]
        assert set(wanted) <= set(lines), serving.output
        status = data_folder.start("status", "--json")
        await status.exit_code()
        shown = json.loads(next(line for line in status.output.splitlines() if line.startswith('{"healthy')))
        assert (shown["schedule"]["leader"], shown["schedule"]["jobs"]["recrawl"]["outcome"]) == (True, "done")
        assert (shown["crawlers"], shown["index"]["fed"]) == (1, True)
        serving.send_signal(signal.SIGTERM)
        assert await serving.exit_code() == 0
        assert [line for line in serving.output.splitlines() if "Traceback" in line or "shutdown.overdue" in line] == []


async def test_serve_of_a_shared_database_starts_no_schedule_and_says_so(tmp_path: Path, database_url: str) -> None:
    async with registry(tmp_path, database_url, recrawl=1) as (_, data_folder):
        serving = data_folder.start("serve", "--port", "0")
        await serving.line_with("No process runs the recurring jobs")
        await serving.line_with("No process visits sites")
        assert await runs(data_folder, "recrawl") == []
        serving.send_signal(signal.SIGTERM)
        assert await serving.exit_code() == 0
