"""Clients that are slow or have many connections, against a real server on loopback and with a clock of the test's."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
import structlog.testing
import uvicorn
from starlette.types import Receive, Scope, Send

from registry.edge.connections import (
    BODY_SECONDS,
    HEAD_BYTES,
    HEAD_SECONDS,
    LOG_SECONDS,
    LOST_SECONDS,
    SPREAD,
    WRITE_SECONDS,
    ConnectionLimits,
    ConnectionTable,
    limited_protocol,
    long_poll,
)
from registry.edge.limiter import ClientIdentifier
from tests.support.hang import HANG_SECONDS

GET = b"GET / HTTP/1.1\r\nHost: registry.example\r\n\r\n"
ONE, OTHER, PROXY = "127.0.0.1", "127.0.0.2", "127.0.0.3"
LIMITS = ConnectionLimits(total=8, per_client=3, long_polls=2, long_polls_per_client=1, streams=2, streams_per_client=1)


@dataclass
class Server:
    """A server whose application reads the body and answers `/` with ok, `/large` with 64 MB, `/wait` when `go` is
    set, and with 503 when it may not wait. `/events` streams what is in `events`, `/flood` without end, both until the
    client is gone; `/header` answers with the value of X-Blank. `X-For` is the client of a proxy."""

    port: int
    table: ConnectionTable
    now: list[float]
    chance: list[float]
    waiting: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    go: asyncio.Event = field(default_factory=asyncio.Event)
    events: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    disconnects: int = 0

    async def connect(self, sent: bytes = b"", source: str = ONE) -> "Client":
        reader, writer = await asyncio.open_connection(ONE, self.port, local_addr=(source, 0), limit=2**20)
        writer.write(sent)
        return Client(reader, writer)

    async def reaches(self, count: int) -> None:
        """Wait until the server has so many connections."""
        async with asyncio.timeout(HANG_SECONDS):
            while len(self.table) != count:  # noqa: ASYNC110  (the table is the code under test)
                await asyncio.sleep(0.01)

    def after(self, seconds: float) -> None:
        """Let the time pass for the server, and the sweep come."""
        self.now[0] += seconds
        for _ in self.table.sweep():
            pass

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, content = 200, b"ok"
        while (message := await receive()).get("more_body"):
            pass
        if message["type"] == "http.disconnect":
            self.disconnects += 1
            return
        fields = dict(scope["headers"])
        if b"x-for" in fields:
            scope["waypost.client"] = fields[b"x-for"].decode()
        if scope["path"] == "/header":
            content = fields[b"x-blank"]
        if scope["path"] in ("/events", "/flood"):
            with long_poll(scope):
                await self._stream(scope["path"], receive, send)
            return
        if scope["path"] == "/wait":
            with long_poll(scope) as may_wait:
                self.waiting.release()
                if may_wait:
                    await self.go.wait()
                else:
                    status = 503
        if scope["path"] == "/large":
            content = bytes(64_000_000)
        headers = [(b"content-length", str(len(content)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})

    async def _stream(self, path: str, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        gone = asyncio.ensure_future(receive())
        while not gone.done():
            if path == "/flood":
                await send({"type": "http.response.body", "body": bytes(65_536), "more_body": True})
                continue
            event = asyncio.ensure_future(self.events.get())
            await asyncio.wait({event, gone}, return_when=asyncio.FIRST_COMPLETED)
            if event.done():
                await send({"type": "http.response.body", "body": event.result(), "more_body": True})
            event.cancel()
        self.disconnects += 1


@dataclass
class Client:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def response(self) -> tuple[int, bytes]:
        """Return the status and body of the next response; status 0 when the connection ends without one."""
        async with asyncio.timeout(HANG_SECONDS):
            try:
                head = await self.reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionResetError):
                return 0, b""
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            return int(head.split()[1]), await self.reader.readexactly(int(length.split(b":")[1]))

    async def ends(self) -> None:
        """Wait until the server has closed the connection."""
        async with asyncio.timeout(HANG_SECONDS):
            with contextlib.suppress(ConnectionResetError):
                while await self.reader.read(65_536):
                    pass


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    now, chance = [1_000.0], [0.0]
    table = ConnectionTable(LIMITS, ClientIdentifier([PROXY]), lambda: now[0], lambda: chance[0])
    listening = socket.create_server((ONE, 0))
    tested = Server(listening.getsockname()[1], table, now, chance)
    config = uvicorn.Config(
        tested.app,
        http=limited_protocol(table),
        ws="none",
        lifespan="off",
        interface="asgi3",
        proxy_headers=False,
        log_config=None,
        timeout_keep_alive=3_600,
    )
    running = uvicorn.Server(config)
    running.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
    task = asyncio.create_task(running.serve(sockets=[listening]))
    yield tested
    tested.go.set()
    running.should_exit = running.force_exit = True
    await task


async def test_an_unfinished_head_ends_with_408(server: Server) -> None:
    client = await server.connect(b"GET / HTTP/1.1\r\nX-Slow: ")
    await server.reaches(1)
    await asyncio.sleep(0.05)  # the bytes above have arrived
    server.after(HEAD_SECONDS - 1)
    assert len(server.table) == 1
    client.writer.write(b"y")  # a byte now and then does not postpone the deadline
    server.after(1)
    status, content = await client.response()
    assert status == 408
    assert json.loads(content)["type"] == "/api/problems/request-timeout"
    await client.ends()
    await server.reaches(0)


async def test_connections_that_were_opened_together_end_one_by_one(server: Server) -> None:
    """A flood of them would come again together, and all answers would wait for it each time."""
    clients = []
    for number, source in enumerate((ONE, OTHER) * LIMITS.per_client):
        server.chance[0] = number / 6
        clients.append(await server.connect(b"GET / ", source))
        await server.reaches(number + 1)
    server.chance[0] = 0
    await asyncio.sleep(0.05)  # the bytes above have arrived
    server.after(HEAD_SECONDS)
    await server.reaches(5)
    server.after(SPREAD * HEAD_SECONDS / 6)
    await server.reaches(4)
    server.now[0] += SPREAD * HEAD_SECONDS
    for left, _ in zip((3, 2, 1, 0), server.table.sweep(), strict=True):
        await server.reaches(left)


@pytest.mark.parametrize("sent", [b"", b"\r\n\r\n"], ids=["silent", "empty lines"])
async def test_a_connection_without_a_request_ends(server: Server, sent: bytes) -> None:
    client = await server.connect(sent)
    await server.reaches(1)
    server.after(HEAD_SECONDS)
    await client.ends()
    await server.reaches(0)


async def test_empty_lines_after_a_response_do_not_keep_a_connection(server: Server) -> None:
    client = await server.connect(GET)
    assert await client.response() == (200, b"ok")
    client.writer.write(b"\r\n")
    await asyncio.sleep(0.05)
    server.after(HEAD_SECONDS)
    await client.ends()


async def test_an_unfinished_body_ends_with_408_and_the_application_sees_a_disconnect(server: Server) -> None:
    client = await server.connect(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
    await server.reaches(1)
    await asyncio.sleep(0.05)
    server.after(BODY_SECONDS - 1)
    assert len(server.table) == 1
    server.after(1)
    assert (await client.response())[0] == 408
    await client.ends()
    assert server.disconnects == 1


@pytest.mark.parametrize("connection", [b"keep-alive", b"close"], ids=["keep-alive", "close"])
async def test_a_client_that_reads_nothing_is_cut_off(server: Server, connection: bytes) -> None:
    client = await server.connect(b"GET /large HTTP/1.1\r\nHost: x\r\nConnection: " + connection + b"\r\n\r\n")
    await client.reader.readuntil(b"\r\n\r\n")  # its stream buffers one megabyte, then stops reading
    await asyncio.sleep(0.1)
    server.after(0)
    server.after(WRITE_SECONDS - 1)
    assert len(server.table) == 1
    server.after(1)
    await server.reaches(0)


async def test_time_of_the_application_is_not_the_clients(server: Server) -> None:
    client = await server.connect(b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
    await server.waiting.acquire()
    server.after(3_600)
    server.go.set()
    assert await client.response() == (200, b"ok")


async def test_several_requests_share_a_connection(server: Server) -> None:
    client = await server.connect()
    for _ in range(3):
        client.writer.write(GET)
        assert await client.response() == (200, b"ok")
        server.after(HEAD_SECONDS - 1)
    client.writer.write(GET + GET + GET[:10])  # pipelined
    assert await client.response() == (200, b"ok")
    assert await client.response() == (200, b"ok")
    client.writer.write(GET[10:])
    assert await client.response() == (200, b"ok")


async def test_a_head_of_any_length_is_refused(server: Server) -> None:
    client = await server.connect(b"GET / HTTP/1.1\r\n")
    field = b"X-Long: " + b"a" * 1_000 + b"\r\n"
    with contextlib.suppress(ConnectionError):
        for _ in range(HEAD_BYTES // len(field) + 1):
            client.writer.write(field)
            await client.writer.drain()
            await asyncio.sleep(0)
    assert (await client.response())[0] == 431


async def test_what_is_no_http_gets_a_problem_and_no_log_line(server: Server) -> None:
    with structlog.testing.capture_logs() as events:
        client = await server.connect(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
        status, content = await client.response()
    assert (status, json.loads(content)["status"]) == (400, 400)
    assert events == []


async def test_one_client_has_a_limited_number_of_connections(server: Server) -> None:
    held = [await server.connect(b"GET / HT") for _ in range(3)]
    await server.reaches(3)
    refused = await server.connect()
    status, content = await refused.response()
    assert status == 503
    assert json.loads(content)["type"] == "/api/problems/too-many-connections"
    other = await server.connect(GET, OTHER)
    assert await other.response() == (200, b"ok")
    held[0].writer.close()
    await server.reaches(3)  # two held ones and the other client's
    assert await (await server.connect(GET)).response() == (200, b"ok")


async def test_a_trusted_proxy_has_no_limit_of_its_own(server: Server) -> None:
    clients = [await server.connect(GET, PROXY) for _ in range(LIMITS.per_client + 2)]
    assert [await client.response() for client in clients] == [(200, b"ok")] * len(clients)


async def test_a_full_table_evicts_the_longest_waiting_of_the_largest_client(server: Server) -> None:
    single, crowd = [], []
    for source in ("127.0.2.0", "127.0.2.1", "127.0.2.2"):
        single.append(await server.connect(b"GET /", source))
        await server.reaches(len(single))
        server.after(1)
    for source in ("127.0.1.0", "127.0.1.0", "127.0.1.0", "127.0.1.1", "127.0.1.1"):
        crowd.append(await server.connect(b"GET /", source))
        await server.reaches(len(single) + len(crowd))
        server.after(1)
    assert await (await server.connect(GET, OTHER)).response() == (200, b"ok")
    await crowd[0].ends()
    assert server.table.limited == {"evicted": 1}
    for client in (*crowd[1:], *single):  # the others are still served
        client.writer.write(b" HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await client.response() == (200, b"ok")


async def test_requests_being_answered_are_never_evicted(server: Server) -> None:
    wait = b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"
    clients = [await server.connect(wait, PROXY) for _ in range(2)]
    for _ in clients:
        await server.waiting.acquire()
    proxied = [await server.connect(b"", PROXY) for _ in range(LIMITS.total - 2)]
    await server.reaches(LIMITS.total)
    assert (await (await server.connect(GET, OTHER)).response())[0] == 503
    server.go.set()
    assert [await client.response() for client in clients] == [(200, b"ok")] * 2
    assert len(proxied) == LIMITS.total - 2


async def test_long_polls_are_counted_apart(server: Server) -> None:
    wait = b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"
    first = await server.connect(wait)
    await server.waiting.acquire()
    assert (await (await server.connect(wait)).response())[0] == 503  # a second one of this client
    held = [await server.connect(b"GET /") for _ in range(LIMITS.per_client)]
    await server.reaches(1 + len(held))
    other = await server.connect(wait, OTHER)
    await server.waiting.acquire()
    await server.waiting.acquire()
    assert (await (await server.connect(wait, "127.0.0.9")).response())[0] == 503  # a third one in all
    server.go.set()
    assert await first.response() == await other.response() == (200, b"ok")


async def test_a_long_poll_that_is_abandoned_is_not_counted_any_more(server: Server) -> None:
    wait = b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n"
    for _ in range(4):
        client = await server.connect(wait)
        await server.waiting.acquire()
        client.writer.close()
        await server.reaches(0)
        server.go.set()
        await asyncio.sleep(0.05)
        server.go.clear()
    held = [await server.connect(b"GET /") for _ in range(LIMITS.per_client)]
    await server.reaches(LIMITS.per_client)
    assert len(held) == LIMITS.per_client


async def test_what_the_limits_did_is_logged_once_a_minute(server: Server) -> None:
    with structlog.testing.capture_logs() as events:
        for _ in range(2):
            for _ in range(2):
                client = await server.connect(b"\x00\r\n\r\n")
                await client.response()
            server.after(LOG_SECONDS / 2)
    assert [(event["event"], event["invalid"]) for event in events] == [("connections.limited", 4)]


async def test_white_space_around_a_header_value_is_no_part_of_it(server: Server) -> None:
    client = await server.connect(b"GET /header HTTP/1.1\r\nHost: x\r\nX-Blank: \t a b \t \r\n\r\n")
    assert await client.response() == (200, b"a b")
    client = await server.connect(b"GET /header HTTP/1.1\r\nHost: x\r\nX-Blank: \t \r\n\r\n")
    assert await client.response() == (200, b"")


async def test_an_event_stream_stays_while_its_client_reads(server: Server) -> None:
    """However long nothing happens, and however long the client itself has nothing to say."""
    client = await server.connect(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(HANG_SECONDS):
        await client.reader.readuntil(b"\r\n\r\n")
        for number in range(3):
            server.after(10 * max(HEAD_SECONDS, BODY_SECONDS, WRITE_SECONDS))
            server.events.put_nowait(b": heartbeat %d\n\n" % number)
            await client.reader.readuntil(b": heartbeat %d\n\n" % number)
    assert (len(server.table), server.table.held["long_poll"]) == (1, 1)


async def test_an_event_stream_ends_when_its_client_reads_nothing(server: Server) -> None:
    client = await server.connect(b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n")
    await client.reader.readuntil(b"\r\n\r\n")
    connection = next(iter(server.table._connections))
    async with asyncio.timeout(HANG_SECONDS):
        while connection._write_deadline == float("inf"):  # noqa: ASYNC110  (until the buffers on the way are full)
            await asyncio.sleep(0.01)
    server.after(WRITE_SECONDS - 1)
    assert len(server.table) == 1
    server.after(1)
    await server.reaches(0)
    async with asyncio.timeout(HANG_SECONDS):
        while not server.disconnects:  # noqa: ASYNC110  (the application notices by itself)
            await asyncio.sleep(0.01)
    assert server.table.held["long_poll"] == 0


async def test_long_polls_behind_a_proxy_are_those_of_its_clients(server: Server) -> None:
    def wait(client: str) -> bytes:
        return f"GET /wait HTTP/1.1\r\nHost: x\r\nX-For: {client}\r\n\r\n".encode()

    first = await server.connect(wait("192.0.2.1"), PROXY)
    await server.waiting.acquire()
    assert (await (await server.connect(wait("192.0.2.1"), PROXY)).response())[0] == 503
    other = await server.connect(wait("192.0.2.2"), PROXY)
    await server.waiting.acquire()
    server.go.set()
    assert await first.response() == await other.response() == (200, b"ok")


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="an option of Linux")
async def test_the_kernel_gives_up_on_lost_clients(server: Server) -> None:
    await server.connect(b"GET /")
    await server.reaches(1)
    connected = next(iter(server.table._connections)).transport.get_extra_info("socket")
    assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 1_000 * LOST_SECONDS
