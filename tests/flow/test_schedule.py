"""`waypost schedule` as processes: one leads, a killed leader is replaced, `--once` does what cron wants of it."""

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

from registry.core.addresses import REGISTRY_V4, REGISTRY_V6
from registry.core.jobs import Outcome
from registry.wiring import Waypost
from tests.actions.test_refresh import IANA, LIST, Publishers
from tests.flow.test_kill import manifest
from tests.support.consistency import faults
from tests.support.running import PATIENCE, Command, House, house, until
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
async def registry(folder: Path, **intervals: int) -> AsyncIterator[tuple[Web, House]]:
    """Jobs that are not named never run by themselves."""
    async with Web() as web, asyncio.timeout(3 * PATIENCE):
        with house(folder / "data", web, web.write_authority(folder)) as made:
            for job in ("recrawl", "rescore", "reindex", "prune", "refresh"):
                made.environment[f"WAYPOST_{job.upper()}_INTERVAL"] = str(intervals.get(job, 0))
            made.environment |= {
                "WAYPOST_SUFFIX_LIST_URL": f"https://{LIST}/list.dat",
                "WAYPOST_IPV4_REGISTRY_URL": f"https://{IANA}/v4.csv",
                "WAYPOST_IPV6_REGISTRY_URL": f"https://{IANA}/v6.csv",
            }
            async with made.opened():  # the database is there before anybody needs it
                yield web, made
            await made.is_empty()


async def runs(made: House, job: str) -> list[Any]:
    """The oldest first."""
    async with made.opened() as waypost:
        return list(reversed(await waypost.last_runs(job)))


async def more_runs(made: House, job: str, number: int) -> None:
    """Waits for so many more runs of the job that are done."""
    since = datetime.now(UTC)
    async with asyncio.timeout(PATIENCE), made.opened() as waypost:
        while True:
            found = [one for one in await waypost.last_runs(job) if one.started_at > since]
            if sum(one.outcome is Outcome.DONE for one in found) >= number:
                return
            await asyncio.sleep(0.1)


async def once(made: House, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and the runs that it told, of `waypost schedule --once --json`."""
    command = made.start("schedule", "--once", "--json", *arguments)
    code = await command.ended()
    return code, [json.loads(line) for line in command.said.splitlines() if line.startswith('{"job":"')]


def leaders(commands: list[Command]) -> list[Command]:
    return [one for one in commands if one.process.poll() is None and '"schedule.leads"' in one.said]


async def test_a_killed_leader_is_replaced_and_no_job_runs_twice_at_a_time(tmp_path: Path) -> None:
    async with registry(tmp_path, recrawl=1, prune=1) as (_, made):
        both = [made.start("schedule"), made.start("schedule")]
        await until(lambda: leaders(both), PATIENCE, lambda: str([one.said for one in both]))
        await until(
            lambda: any('"schedule.stands_by"' in one.said for one in both), PATIENCE, lambda: "nobody stands by"
        )
        (first,) = leaders(both)
        (second,) = (one for one in both if one is not first)
        await more_runs(made, "recrawl", 2)
        assert '"job.started"' not in second.said

        first.tell(signal.SIGKILL)
        await first.ended()
        await until(lambda: leaders(both) == [second], PATIENCE, lambda: second.said)
        await more_runs(made, "recrawl", 2)

        second.tell(signal.SIGTERM)
        assert await second.ended() == 0
        assert "Traceback" not in first.said + second.said
        async with made.opened() as waypost:
            assert await overlapping(waypost) == []
        for job in ("recrawl", "prune"):
            assert {run.outcome for run in await runs(made, job)} <= {Outcome.DONE, Outcome.LOST, Outcome.STOPPED}


async def overlapping(waypost: Waypost) -> list[Any]:
    question = """
        SELECT a.job, a.started_at FROM job_runs a JOIN job_runs b ON a.job = b.job AND a.started_at < b.started_at
        AND b.started_at < a.finished_at"""
    async with waypost._store.engine.connect() as connection:
        return [tuple(row) for row in await connection.execute(text(question))]


async def test_a_registry_without_a_worker_is_kept_by_the_clock_alone(tmp_path: Path) -> None:
    """Seeds, one pass, new reference data, tenants that become strangers, and a search that knows all of it."""
    async with registry(tmp_path) as (web, made):
        async with made.opened() as waypost:
            await waypost.seed(HOSTS, source="test")
        code, told = await once(made, "recrawl")
        assert (code, [one["outcome"] for one in told]) == (0, ["done"])
        assert told[0]["figures"]["visited"] >= len(HOSTS)  # and what lies beside a hit (`mcp.`, `api.`, `docs.`)
        assert await domains(made) == {"alice.shops.com": "shops.com", "bob.shops.com": "shops.com",
                                       "lone.example": "lone.example"}  # fmt: skip

        code, told = await once(made, "refresh", "prune", "rescore")
        assert (code, [one["job"] for one in told]) == (0, ["refresh", "prune", "rescore"])
        moved = told[0]["figures"]["moved_hosts"]
        assert {"alice.shops.com", "bob.shops.com"} <= set(moved) and all(one.endswith(".shops.com") for one in moved)
        assert sorted(told[0]["figures"]["changed"]) == sorted([REGISTRY_V4, REGISTRY_V6, "public-suffix-list"])
        assert await domains(made) == {host: host for host in HOSTS}

        asked = len(web.seen)
        code, told = await once(made, "recrawl")
        assert code == 0 and "visited" not in told[0]["figures"] and len(web.seen) == asked  # nothing is due
        async with made.opened() as waypost:
            assert await faults(waypost, HOSTS) == {}
            assert (await waypost.overview()).services == len(HOSTS)


async def domains(made: House) -> dict[str, str]:
    async with made.opened() as waypost, waypost._store.engine.connect() as connection:
        found = await connection.execute(text("SELECT host, domain FROM services"))
        return dict(tuple(one) for one in found)


async def test_bad_reference_data_fails_the_job_and_nothing_else(tmp_path: Path) -> None:
    async with registry(tmp_path) as (web, made):
        web.pages["/list.dat"] = Reply(b"<!doctype html><p>Welcome", type="text/html")
        code, told = await once(made, "refresh")
        assert (code, told[0]["outcome"]) == (1, "failed")
        assert told[0]["error"].startswith("public-suffix-list: the list does not have its sections")
        assert sorted(told[0]["figures"]["changed"]) == sorted([REGISTRY_V4, REGISTRY_V6])
        assert "Welcome" not in made.commands[-1].said

        listed = made.start("schedule", "--list", "--json")
        assert await listed.ended() == 0
        lines = {one["job"]: one for one in map(json.loads, listed.said.splitlines()) if "says" in one}
        assert lines["refresh"]["last"]["outcome"] == "failed" and lines["refresh"]["next_at"] is None
        assert lines["prune"]["last"] is None
