"""A load of HTTP requests on loopback, cheap enough to leave the server the machine: sockets and bytes, no client."""

import asyncio
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote_plus


class Refused(RuntimeError):
    """An answer that was no 200: its first line."""


def target(question: str, limit: int = 10) -> bytes:
    """The request for the services that answer a question."""
    return (
        f"GET /api/discover?q={quote_plus(question)}&limit={limit} HTTP/1.1\r\nHost: registry.example\r\n"
        "Accept: application/json\r\nUser-Agent: benchmark\r\n\r\n"
    ).encode()


async def closed(port: int, requests: Sequence[bytes], at_once: int) -> None:
    """All requests, `at_once` connections, each asking again when it was answered."""
    left = iter(requests)
    await asyncio.gather(*(_connection(port, left) for _ in range(at_once)))


async def open_loop(port: int, requests: Sequence[bytes], per_second: float, at_most: int = 64) -> list[float]:
    """Requests that come when they come, `per_second` of them, whether the server keeps up or not.

    Gives the milliseconds from when each was due to its last byte, so that waiting for a late one counts.
    """
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(at_most):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    start, took = time.perf_counter(), []

    async def one(request: bytes, due: float) -> None:
        connection = await free.get()
        await _asked(*connection, request)
        took.append(1e3 * (time.perf_counter() - due))
        free.put_nowait(connection)

    asked = []
    for number, request in enumerate(requests):
        due = start + number / per_second
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        asked.append(asyncio.create_task(one(request, due)))
    await asyncio.gather(*asked)
    while not free.empty():
        free.get_nowait()[1].close()
    return took


def cycled(questions: Iterable[str], count: int) -> list[bytes]:
    """`count` requests that go round the questions."""
    return list(itertools.islice(itertools.cycle([target(one) for one in questions]), count))


async def _connection(port: int, left: Iterator[bytes]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for request in left:
            await _asked(reader, writer, request)
    finally:
        writer.close()


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    """The body. Raises Refused."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
    body = await reader.readexactly(length)
    if not head.startswith(b"HTTP/1.1 200"):
        raise Refused(head.partition(b"\r\n")[0].decode("latin-1"))
    return body
