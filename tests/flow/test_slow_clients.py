"""Clients that never finish their requests keep nobody else out, and leave file descriptors for the database."""

import asyncio
import contextlib
import resource
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.hang import HANG_SECONDS
from tests.support.running import new_data_folder, until
from tests.support.sites import Sites

pytestmark = [pytest.mark.slow]

UNFINISHED = 1_200
OPEN_FILES = 700
"""A limit of open files that the unfinished requests alone would exhaust."""


@pytest.mark.parametrize("addresses", [pytest.param(1, marks=pytest.mark.long), 24])
async def test_unfinished_requests_keep_nobody_out(tmp_path: Path, addresses: int) -> None:
    async with Sites({"site.example": b""}) as web:
        with new_data_folder(tmp_path / "data", web, web.write_authority(tmp_path)) as data_folder:
            serving = data_folder.start("serve", "--port", "0")
            resource.prlimit(serving.process.pid, resource.RLIMIT_NOFILE, (256, OPEN_FILES))
            url = (await serving.line_with("the API answers at")).split()[4]
            port = int(url.rpartition(":")[2])
            async with unfinished(port, addresses):
                assert await status(port) == 200
                await data_folder.kill_postmaster()
                await until_ready(port)
            assert "Too many open files" not in serving.output
            assert "Traceback" not in serving.output


@contextlib.asynccontextmanager
async def unfinished(port: int, addresses: int) -> AsyncIterator[None]:
    """Hold connections with incomplete requests while the block runs: those that the server closes come again."""

    async def hold(source: str) -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(source, 0))
                writer.write(b"POST /api/validate HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")
                await reader.read()
                writer.close()
            await asyncio.sleep(0.5)

    holding = [asyncio.create_task(hold(f"127.0.1.{number % addresses}")) for number in range(UNFINISHED)]
    await asyncio.sleep(2)
    try:
        yield
    finally:
        for task in holding:
            task.cancel()
        await asyncio.gather(*holding, return_exceptions=True)


async def status(port: int) -> int:
    """Return the status of a read by another client, 0 when it gets no answer."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.2.1", 0))
        writer.write(b"GET /api/services HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        async with asyncio.timeout(HANG_SECONDS):
            answer = await reader.read()
        writer.close()
    except ConnectionError:
        return 0
    return int(answer.split()[1]) if answer else 0


async def until_ready(port: int) -> None:
    """Wait until the API reads from the database again."""
    seen = [503]

    async def poll() -> None:
        while seen[-1] != 200:
            seen.append(await status(port))
            await asyncio.sleep(0.2)

    polling = asyncio.create_task(poll())
    await until(polling.done, HANG_SECONDS, lambda: f"answers: {seen}")
    assert set(seen) <= {200, 503}
