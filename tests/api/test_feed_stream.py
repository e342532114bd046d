"""`GET /api/feed/stream` over real sockets: what it sends, what it costs, and how it ends."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
import uvicorn
from starlette.requests import Request

from registry.api import feed
from registry.cli.interfaces import interfaces_of
from registry.edge.connections import ConnectionLimits, ConnectionTable, limited_protocol, sweeping
from registry.edge.interfaces import compose
from registry.edge.limiter import ClientIdentifier, RateLimiter, Spending
from registry.store.records import ChangeRecord
from tests.api.test_feed import NOW, add, ids
from tests.support.api import Api
from tests.support.database import until_true
from tests.support.hang import HANG_SECONDS


@dataclass
class Stream:
    """An open event stream: its status and head, then its messages."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    status: int = 0
    head: bytes = b""

    async def message(self, event: str | None = None) -> dict[str, Any]:
        """Return the next message, of this event."""
        async with asyncio.timeout(HANG_SECONDS):
            while True:
                fields: dict[str, str] = {}
                while line := (await self._line()).strip():
                    name, _, value = line.partition(":")
                    fields[name] = value.strip()
                if "data" in fields and event in (None, fields["event"]):
                    return {**fields, "data": orjson.loads(fields["data"])}

    async def ends(self) -> None:
        async with asyncio.timeout(HANG_SECONDS):
            while await self.reader.read(65_536):
                pass

    async def _line(self) -> str:
        line = await self.reader.readline()
        if not line:
            raise EOFError
        size = line.strip()
        if size and all(char in b"0123456789abcdef" for char in size):  # the size of a chunk
            return await self._line()
        return line.decode()


@dataclass
class Served:
    api: Api
    port: int
    table: ConnectionTable
    server: uvicorn.Server

    @contextlib.asynccontextmanager
    async def stream(self, query: str = "", method: str = "GET", head: str = "") -> AsyncIterator[Stream]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"{method} /api/feed/stream{query} HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode())
        read = await reader.readuntil(b"\r\n\r\n")
        try:
            yield Stream(reader, writer, int(read.split()[1]), read.lower())
        finally:
            writer.close()


@pytest.fixture
async def served(own_api: Api) -> AsyncIterator[Served]:
    limits = ConnectionLimits(
        total=20, per_client=4, long_polls=2, long_polls_per_client=1, streams=3, streams_per_client=2
    )
    table = ConnectionTable(limits, ClientIdentifier([]), time.monotonic)
    settings = own_api.waypost.settings
    app = compose(interfaces_of(own_api.waypost, settings), settings)
    config = uvicorn.Config(app, port=0, http=limited_protocol(table), lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    async with sweeping(table):
        serving = asyncio.create_task(server.serve())

        async def listens() -> bool:
            return server.started

        await until_true(listens)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Served(own_api, port, table, server)
        own_api.waypost.feed.end_waiting()
        server.should_exit = True
        await serving


async def test_the_stream_has_past_events_then_those_that_come(served: Served) -> None:
    whole = await served.api.json("/api/feed", limit=1000)
    async with served.stream() as stream:
        assert (stream.status, b"content-type: text/event-stream" in stream.head) == (200, True)
        assert b"cache-control: no-store" in stream.head
        first = await stream.message("feed")
        assert ids(first["data"]) == ids(whole)
        assert first["id"] == first["data"]["cursor"] == whole["cursor"]
        for host in ("one.example", "two.example"):
            await add(served.api, host)
            came = await stream.message("feed")
            assert [event["entity"]["id"] for event in came["data"]["events"]] == [host]


async def test_an_idle_stream_has_heartbeats_with_a_cursor(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "HEARTBEAT_SECONDS", 0.05)
    async with served.stream("?cursor=latest") as stream:
        for _ in range(3):
            beat = await stream.message()
            assert (beat["event"], beat["data"]["events"]) == ("heartbeat", [])
        await add(served.api, "one.example")
        assert (await stream.message("feed"))["data"]["events"]
        resumed = await stream.message("heartbeat")
    page = await served.api.json("/api/feed", cursor=resumed["data"]["cursor"])
    assert page["events"] == []


async def test_a_stream_resumes_where_it_was_cut(served: Served) -> None:
    async with served.stream("?cursor=latest") as stream:
        before = await stream.message()
    await add(served.api, "missed.example")
    for query, head in ((f"?cursor={before['id']}", ""), ("?cursor=latest", f"Last-Event-ID: {before['id']}\r\n")):
        async with served.stream(query, head=head) as stream:
            message = await stream.message("feed")
            assert [event["entity"]["id"] for event in message["data"]["events"]] == ["missed.example"]


async def test_streams_are_counted_apart_and_limited(served: Served) -> None:
    async with served.stream("?cursor=latest"), served.stream("?cursor=latest"):
        async with served.stream("?cursor=latest") as third:
            assert third.status == 429
            problem = orjson.loads(await third.reader.readuntil(b"}"))
            assert problem["limit"] == "event-streams"
        ordinary = [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(4)]
        for reader, writer in ordinary:
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b" 200 " in await reader.readline()
            writer.close()

    async def is_free() -> bool:
        return len(served.table) == 0

    await until_true(is_free)
    async with served.stream("?cursor=latest") as again:
        assert again.status == 200


async def test_a_stream_whose_place_is_pruned_says_so_and_ends(served: Served) -> None:
    await add(served.api, "old.example")
    async with served.stream("?cursor=latest") as stream:
        await stream.message()
        async with served.api.store.begin() as uow:  # both in one moment for the stream: it was asleep
            await uow.ledger.add_changes([ChangeRecord("b.example", "b.example", "service.delisted", NOW, {})])
            await uow.feed._connection.exec_driver_sql(
                "UPDATE feed_head SET pruned_seq = latest_seq + 1, latest_seq = latest_seq + 1"
            )
        ended = await stream.message("problem")
        assert ended["data"]["code"] == "cursor_expired"
        await stream.ends()


async def test_streams_end_when_the_server_stops(served: Served) -> None:
    async with served.stream("?cursor=latest") as stream:
        await stream.message()
        served.api.waypost.feed.end_waiting()
        await stream.ends()


async def test_head_of_the_stream_ends_at_once(served: Served) -> None:
    async with served.stream("?cursor=latest", method="HEAD", head="Connection: close\r\n") as stream:
        assert stream.status == 200
        await stream.ends()


async def test_a_stream_waits_for_the_allowance_of_its_client(own_api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "ALLOWANCE_SECONDS", 0.001)
    now = [0.0]
    limiter = RateLimiter("work", 4, 60, lambda: now[0])
    limiter.take("client", 4)
    submissions = RateLimiter("submissions", 1, 60, lambda: now[0])
    app = SimpleNamespace(state=SimpleNamespace(waypost=own_api.waypost))
    request = Request({"type": "http", "app": app, "waypost.spending": Spending("client", limiter, submissions)})
    affording = asyncio.create_task(feed._afford(request, 1))
    refusals = 0
    take = RateLimiter.take

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal refusals
        refusals += 1
        return take(*arguments, **options)

    monkeypatch.setattr(RateLimiter, "take", counted)

    async def was_refused() -> bool:
        return refusals >= 3

    await until_true(was_refused)
    assert not affording.done()
    now[0] += 60
    await affording
