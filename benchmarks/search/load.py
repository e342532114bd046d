"""Send HTTP requests on loopback by plain sockets, without a client library, so that the load itself costs little."""

import asyncio
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote_plus


class Refused(RuntimeError):
    """An answer that was not a 200; the message is its status line."""


def target(question: str, limit: int = 10) -> bytes:
    """Return the bytes of a discover request for a question."""
    return (
        f"GET /api/discover?q={quote_plus(question)}&limit={limit} HTTP/1.1\r\nHost: registry.example\r\n"
        "Accept: application/json\r\nUser-Agent: benchmark\r\n\r\n"
    ).encode()


async def closed_loop(port: int, requests: Sequence[bytes], at_once: int) -> None:
    """Send all requests on `at_once` connections; each connection sends its next request after the last answer."""
    remaining = iter(requests)
    await asyncio.gather(*(_connection(port, remaining) for _ in range(at_once)))


async def open_loop(port: int, requests: Sequence[bytes], per_second: float, at_most: int = 64) -> list[float]:
    """Send `per_second` requests at fixed times, whether the server keeps up or not.

    Return the milliseconds from each request's due time to its last byte, so that queueing counts.
    """
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(at_most):
        free.put_nowait(await asyncio.open_connection("127.0.0.1", port))
    start, milliseconds = time.perf_counter(), []

    async def send(request: bytes, due: float) -> None:
        connection = await free.get()
        await _send(*connection, request)
        milliseconds.append(1e3 * (time.perf_counter() - due))
        free.put_nowait(connection)

    tasks = []
    for number, request in enumerate(requests):
        due = start + number / per_second
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(send(request, due)))
    await asyncio.gather(*tasks)
    while not free.empty():
        free.get_nowait()[1].close()
    return milliseconds


def cycled(questions: Iterable[str], count: int) -> list[bytes]:
    """Return `count` requests that cycle through the questions."""
    return list(itertools.islice(itertools.cycle([target(question) for question in questions]), count))


async def _connection(port: int, remaining: Iterator[bytes]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for request in remaining:
            await _send(reader, writer, request)
    finally:
        writer.close()


async def _send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bytes:
    """Send a request and return the body of the answer. Raise Refused for any status but 200."""
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
    body = await reader.readexactly(length)
    if not head.startswith(b"HTTP/1.1 200"):
        raise Refused(head.partition(b"\r\n")[0].decode("latin-1"))
    return body
