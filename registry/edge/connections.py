"""Limits on the connections of the API: how many there are, and how long each may wait for its client.

uvicorn has no deadline for the head and the body of a request, no limit on the size of a head and none on connections
per client, so one address with unfinished requests could keep everyone else out (docs/adr/0028). `limited_protocol`
adds these limits to its HTTP protocol. `ConnectionTable` holds the open connections; its `sweep` ends overdue ones,
which costs less than a timer for each request.

Only the client's time counts. While the application works on a request, its connection has no deadline.
"""

import asyncio
import contextlib
import heapq
import math
import random
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal
from uuid import uuid4

import orjson
import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from registry.edge import problems
from registry.edge.limiter import ClientIdentifier
from registry.tasks import running_beside

HEAD_SECONDS: Final = 10.0
"""From the connection, or from the first byte of a later request, to the end of the request's head."""

BODY_SECONDS: Final = 30.0  # from the end of a request's head to the end of its body
SPREAD: Final = 0.25
"""The largest part by which the deadline of a head or a body is extended at random. Connections that were opened
together then do not all expire, and reconnect, at the same time."""

WRITE_SECONDS: Final = 20.0
"""How long a client may read nothing while a response waits to be sent, or while its connection is being closed."""

LOST_SECONDS: Final = 60
"""How long the kernel sends again to a client that acknowledges nothing, in place of a quarter of an hour: a client of
an event stream that lost its network says no goodbye (Linux only)."""

IDLE_SECONDS: Final = 5  # how long a connection without a request stays open (kept by uvicorn itself)
HEAD_BYTES: Final = 32 * 1024

SWEEP_SECONDS: Final = 1.0
LOG_SECONDS: Final = 60.0

_ENDED_AT_ONCE: Final = 20  # some 50 µs each
_EVICTED_SHARE: Final = 16  # a full table evicts this part of it at once, so that a search for victims is rare
_EXTENSION: Final = "waypost.connection"

log = structlog.get_logger(__name__)

Held = Literal["long_poll", "stream"]
"""How a connection is held open for events: for one answer, or for an answer that does not end."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of this process: `total` connections, and `per_client` (limiter.ClientIdentifier).

    Connections held open for events do not count in `per_client`: long polls and event streams each have their own
    limits, in all and per client. Trusted proxies have no limit per client.
    """

    total: int
    per_client: int
    long_polls: int
    long_polls_per_client: int
    streams: int
    streams_per_client: int

    def of(self, held: "Held") -> tuple[int, int]:
        """Return how many connections may be held open in this way, in all and per client."""
        if held == "stream":
            return self.streams, self.streams_per_client
        return self.long_polls, self.long_polls_per_client


class ConnectionTable:
    """The open connections of one process. `clock` returns monotonic seconds, `chance` a random number below 1."""

    def __init__(
        self,
        limits: ConnectionLimits,
        clients: ClientIdentifier,
        clock: Callable[[], float],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.clock = clock
        self._chance = chance
        self.limited: Counter[str] = Counter()  # what the limits did
        self._logged: Counter[str] = Counter()  # the part of it that was logged
        self._limits = limits
        self._clients = clients
        self._connections: set[LimitedProtocol] = set()
        self._of_client: Counter[str] = Counter()
        self._held: dict[Held, Counter[str]] = {"long_poll": Counter(), "stream": Counter()}
        self._logged_at = clock()

    def __len__(self) -> int:
        return len(self._connections)

    @property
    def held(self) -> Mapping[str, int]:
        """The connections held open for events, counted by the way in which they are held."""
        return {way: counts.total() for way, counts in self._held.items()}

    def deadline(self, seconds: float) -> float:
        """Return the time in `seconds` from now, extended at random by at most SPREAD of them."""
        return self.clock() + seconds * (1 + SPREAD * self._chance())  # guard: deadlines-apart

    def admit(self, connection: "LimitedProtocol") -> bool:
        """Add a new connection. Return False when its client has too many, or when the table is full and none can be
        ended."""
        peer = connection.client[0] if connection.client else None
        connection.peer_key = self._clients.key(peer, "")
        connection.is_proxy = self._clients.trusts(peer)
        is_over = self._of_client[connection.peer_key] >= self._limits.per_client
        if is_over and not connection.is_proxy:  # guard: connections-per-client
            self.limited["refused_client"] += 1
            return False
        if len(self._connections) >= self._limits.total and not self._evict():  # guard: connections-in-all
            self.limited["refused_total"] += 1
            return False
        self._connections.add(connection)
        self._of_client[connection.peer_key] += 1
        return True

    def remove(self, connection: "LimitedProtocol") -> None:
        """Remove a connection that has ended. Do nothing when it was not admitted."""
        if connection in self._connections:
            self._connections.remove(connection)
            if not connection.is_held:
                _subtract(self._of_client, connection.peer_key)

    @contextlib.contextmanager
    def hold(self, connection: "LimitedProtocol", held: Held, client: str | None = None) -> Iterator[bool]:
        """Count a connection as held open while the block runs. Yield False when there are too many: do not wait then.
        `client`: the client for which a trusted proxy asks; by default the peer."""
        peer, counts = connection.peer_key, self._held[held]
        key = client or peer  # guard: long-polls-of-clients
        most, most_per_client = self._limits.of(held)
        is_shared = connection.is_proxy and key == peer  # the proxy names no client
        is_over = counts[key] >= most_per_client and not is_shared
        if is_over or counts.total() >= most:  # guard: long-polls
            self.limited[f"refused_{held}"] += 1
            yield False
            return
        counts[key] += 1
        _subtract(self._of_client, peer)
        connection.is_held = True
        try:
            yield True
        finally:
            connection.is_held = False
            _subtract(counts, key)
            if connection in self._connections:
                self._of_client[peer] += 1

    def sweep(self) -> Iterator[None]:
        """End overdue connections, and yield after each, so that the caller can let others work. Then log what the
        limits did, at most once in LOG_SECONDS."""
        now = self.clock()
        for connection in [one for one in self._connections if one.deadline(now) <= now]:
            if connection in self._connections and connection.deadline(now) <= now:
                connection.expire()
                yield
        if now - self._logged_at >= LOG_SECONDS and (unlogged := self.limited - self._logged):
            log.warning("connections.limited", **unlogged)
            self._logged = self.limited.copy()
            self._logged_at = now

    def _evict(self) -> bool:
        """End connections that wait for their clients: from the clients with the most connections, the longest waiting
        first.

        Return False when there is nothing to end. Connections of trusted proxies, and connections whose request is
        being answered, stay.
        """
        waiting = [one for one in self._connections if one.is_waiting and not one.is_proxy]
        count = max(1, self._limits.total // _EVICTED_SHARE)
        victims = heapq.nsmallest(count, waiting, key=lambda one: (-self._of_client[one.peer_key], one.waits_since))
        for victim in victims:
            self.remove(victim)
            victim.transport.abort()
        self.limited["evicted"] += len(victims)
        return bool(victims)


class LimitedProtocol(HttpToolsProtocol):
    """One connection. Make the class with `limited_protocol`, which binds its table."""

    table: ConnectionTable

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.peer_key = ""
        self.is_proxy = False
        self.is_held = False
        self.waits_since = 0.0
        self._receiving: str | None = None  # what is being received: "head" or "body"
        self._head_bytes = 0
        self._read_deadline = math.inf
        self._write_deadline = math.inf
        self._close_deadline: float | None = None

    @property
    def is_waiting(self) -> bool:
        """True while only the client can act: by sending a request, by reading, or by beginning a new request."""
        return self._is_idle or self._receiving is not None or self._write_deadline != math.inf

    @property
    def _is_idle(self) -> bool:
        """True between requests."""
        return self._receiving is None and (self.cycle is None or self.cycle.response_complete)

    def deadline(self, now: float) -> float:
        """Return when this connection ends unless its client acts, in seconds of the table's clock."""
        if not self.transport.is_closing():
            return min(self._read_deadline, self._write_deadline)
        if self._close_deadline is None:  # a client that reads nothing could keep a closing connection for ever
            self._close_deadline = now + WRITE_SECONDS
        return self._close_deadline  # guard: closing-connections

    def expire(self) -> None:
        """End the connection, with status 408 when a request is incomplete and unanswered."""
        part = "write" if self._receiving is None else self._receiving
        self.table.limited[f"{part}_timeout"] += 1
        has_begun = self._receiving == "body" or self._head_bytes > 0
        is_answered = self._receiving == "body" and self.cycle.response_started
        if self.transport.is_closing() or self._receiving is None or not has_begun or is_answered:
            self.transport.abort()
            return
        seconds = HEAD_SECONDS if part == "head" else BODY_SECONDS
        self._refuse(
            problems.REQUEST_TIMEOUT, f"The {part} of the request was not complete after {seconds:.0f} seconds."
        )

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn declares it
        super().connection_made(transport)
        if not self.table.admit(self):
            self._refuse(problems.TOO_MANY_CONNECTIONS, "This client, or this server, has too many connections.")
            return
        connected, option = transport.get_extra_info("socket"), getattr(socket, "TCP_USER_TIMEOUT", None)
        if option is not None and connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
            connected.setsockopt(socket.IPPROTO_TCP, option, 1_000 * LOST_SECONDS)  # guard: lost-clients
        self._begin_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self.table.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._is_idle:
            self._begin_head()  # also for bytes that the parser skips, such as empty lines before a request
        if self._receiving == "head":
            self._head_bytes += len(data)
        super().data_received(data)
        if self._receiving == "head" and self._head_bytes > HEAD_BYTES:  # guard: head-bytes
            self.table.limited["head_too_large"] += 1
            self._refuse(problems.HEAD_TOO_LARGE, f"The head of a request may have at most {HEAD_BYTES} bytes.")

    def send_400_response(self, msg: str) -> None:
        self.table.limited["invalid"] += 1
        self._refuse(problems.BAD_REQUEST, msg)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {_EXTENSION: self}  # type: ignore[dict-item]  # an extension of our own
        if self._receiving is None:  # pipelined behind a request that is being answered
            self._begin_head()

    def on_headers_complete(self) -> None:
        self._receiving, self._read_deadline = "body", self.table.deadline(BODY_SECONDS)  # guard: body-deadline
        # Trailing blanks are no part of a value (RFC 9110 section 5.5); the parser removes leading ones.
        for number, (name, value) in enumerate(self.headers):
            if value.endswith((b" ", b"\t")):
                self.headers[number] = name, value.rstrip(b" \t")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._receiving, self._read_deadline = None, math.inf
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self.waits_since = self.table.clock()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self.waits_since = self.table.clock()
        self._write_deadline = self.waits_since + WRITE_SECONDS  # guard: write-deadline
        super().pause_writing()

    def resume_writing(self) -> None:
        self._write_deadline = math.inf
        super().resume_writing()

    def _begin_head(self) -> None:
        self.waits_since = self.table.clock()
        self._receiving, self._head_bytes = "head", 0
        self._read_deadline = self.table.deadline(HEAD_SECONDS)  # guard: head-deadline

    def _refuse(self, kind: problems.ProblemType, detail: str) -> None:
        """Send a problem without the request middleware, and close the connection."""
        content = orjson.dumps(problems.body(kind, detail, uuid4().urn))
        lines = (
            f"HTTP/1.1 {kind.status} {HTTPStatus(kind.status).phrase}",
            f"Content-Type: {problems.MEDIA_TYPE}",
            f"Content-Length: {len(content)}",
            "Cache-Control: no-store",
            "Access-Control-Allow-Origin: *",  # the path may be unknown yet, and the text is the same on all paths
            "X-Content-Type-Options: nosniff",
            "Connection: close",
        )
        self.transport.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
        self.transport.close()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()


def limited_protocol(connections: ConnectionTable) -> type[LimitedProtocol]:
    """Return the protocol for uvicorn's setting `http`."""
    return type("LimitedProtocol", (LimitedProtocol,), {"table": connections})


@contextlib.asynccontextmanager
async def sweeping(connections: ConnectionTable) -> AsyncIterator[None]:
    """Sweep regularly while the block runs."""

    async def sweep_regularly() -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            for number, _ in enumerate(connections.sweep(), 1):
                if number % _ENDED_AT_ONCE == 0:
                    await asyncio.sleep(0)

    async with running_beside(sweep_regularly()):
        yield


@contextlib.contextmanager
def long_poll(scope: MutableMapping[str, Any], held: Held = "long_poll") -> Iterator[bool]:
    """Yield whether the request of `scope` may wait for events, and count its connection apart while the block runs. A
    server without this protocol (in tests) counts nothing and lets all wait."""
    connection: LimitedProtocol | None = scope.get("extensions", {}).get(_EXTENSION)
    if connection is None:
        yield True
        return
    with connection.table.hold(connection, held, scope.get("waypost.client")) as may_wait:
        yield may_wait


def _subtract(counts: Counter[str], key: str) -> None:
    counts[key] -= 1
    if counts[key] <= 0:
        del counts[key]
