"""A full disk: it is named, nothing acknowledged is lost, crawling stops at the floor and goes on by itself.

The disk is a small tmpfs, which only root can mount.
"""

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from registry.store.embedded_postgres import server as embedded
from tests.flow.test_kill import all_visited, at_work
from tests.flow.test_outage import Log
from tests.support.cluster import copy_cluster
from tests.support.database import until_true
from tests.support.demo import forget_database
from tests.support.hang import HANG_SECONDS
from tests.support.running import until

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a disk needs root"),
]

MAX_SUBMISSIONS = 3_000


@pytest.fixture
def disk() -> Iterator[Path]:
    """Yield a disk of 300 MB that every account can reach."""
    with tempfile.TemporaryDirectory(prefix="waypost-disk-") as name:
        folder = Path(name)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m,mode=0711", "tmpfs", name], check=True)
        try:
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", name], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as filler:
        try:
            while filler.write(bytes(65_536)):
                pass
        except OSError:
            return


async def submit(client: httpx2.AsyncClient, host: str) -> int:
    return (await client.post("/api/services?wait=0", json={"domain": host})).status_code


async def test_a_full_disk_of_the_database_is_named_and_loses_nothing(tmp_path: Path, disk: Path) -> None:
    copy_cluster(disk / "postgres")
    server = embedded.start(disk / "postgres")
    (tmp_path / "work").mkdir()
    try:
        async with at_work(tmp_path / "work", server.dsn, seconds=None) as (_, data_folder):
            data_folder.environment["WAYPOST_SUBMIT_RATE"] = "1000000"
            serving = data_folder.start("serve", "--port", "0")
            url = (await serving.line_with("the API answers at")).split()[4]
            log = Log(serving.log)
            async with httpx2.AsyncClient(base_url=url, timeout=HANG_SECONDS) as client:

                async def is_ready() -> bool:
                    return (await client.get("/readyz")).status_code == 200

                await until_true(is_ready)
                fill(disk)
                answers: dict[str, int] = {}
                while 503 not in answers.values():
                    assert len(answers) < MAX_SUBMISSIONS, "the disk does not fill"
                    host = f"full-{len(answers)}.com"
                    answers[host] = await submit(client, host)
                ready = await client.get("/readyz")
                status = (await client.get("/api/status")).json()["data"]
                (event,) = log.named("database.disk_full")
                assert "No space left on device" in event["reason"], event
                assert not log.named("database.unavailable")
                assert (ready.status_code, ready.json()["notes"]) == (200, ["space: the disk of the database is full"])
                assert "space_low" in [incident["kind"] for incident in status["incidents"]]
                assert status["overall_status"] == "degraded" and status["reasons"]

                (disk / "filler").unlink()
                assert await submit(client, "after-all.com") == 202
                for host, answer in answers.items():
                    assert answer in (202, 503), answers
                    if answer == 202:
                        assert (await client.get(f"/api/services/{host}/status")).status_code == 200, host
    finally:
        server.release()
        forget_database(disk)


async def test_crawling_stops_at_the_floor_and_goes_on_by_itself(tmp_path: Path, disk: Path, database_url: str) -> None:
    async with at_work(tmp_path, database_url, seconds=120) as (web, data_folder):
        data_folder.environment |= {"WAYPOST_DUMPS": str(disk), "WAYPOST_MIN_FREE_MB": "200"}
        (disk / "filler").write_bytes(bytes(150_000_000))
        worker = data_folder.start("worker")
        line = await worker.line_with("space.low")
        assert "less than 200 MB are free on the disk of: dumps" in line
        await asyncio.sleep(5)
        assert not web.seen and worker.output.count("space.low") == 1
        (disk / "filler").unlink()
        await all_visited(data_folder)
        await until(lambda: "space.enough" in worker.output, HANG_SECONDS, lambda: worker.output)
