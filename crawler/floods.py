"""Connections that pour: interim responses (RFC 9110 section 15.2) without end, which no cap of ours ever sees.

The transport reads over them without a limit and without a word, so that one server could take a core until the
deadline of its request (13 s of CPU in 15 s, measured). But the kernel counts what each connection has received
(`tcpi_bytes_received` of TCP_INFO), and beyond what an answer may have nothing honest comes: such a connection is shut,
and its visit ends. Linux only; elsewhere the deadlines are all there is.
"""

import asyncio
import contextlib
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import structlog

from crawler.guards import Pin
from crawler.room import LARGEST, Room
from crawler.transport import Clients

WINDOW: Final = 1.0
AT_ONCE: Final = 6 * 1024 * 1024
"""Bytes on one connection in a window of so many seconds: half as much again as the largest answer of a visit."""

IN_ALL: Final = 32 * 1024 * 1024
"""Bytes on one connection in its life: what dozens of requests within their caps do not come to."""

LOOK: Final = 0.1
SHARE: Final = 0.02
"""Seconds between two looks, and the share of the time that looking may take: a thousand connections cost 3.5 ms."""

BUSY: Final = 0.4
"""Share of a core: while the process takes less, nobody can pour much, and a look at each window's end is enough."""

_DESCRIPTORS: Final = Path("/proc/self/fd")
_RECEIVED: Final = struct.Struct("=128xQ")
"""`tcpi_bytes_received` in `struct tcp_info` of linux/tcp.h, since Linux 4.1."""

log = structlog.get_logger(__name__)


class Floods:
    """Watches the connections of `clients` while it is entered, and remembers where it shut one. Bounds grow with the
    largest body that there is `room` for.

    In a thread: while a loop that has thousands of hosts in flight comes round again, a flood takes half a second.
    """

    def __init__(self, clients: Clients, room: Room) -> None:
        self._clients = clients
        self._room = room
        self._before: dict[int, int] = {}  # descriptor -> bytes received when the window began
        self._window_began = 0.0
        self._shut: dict[tuple[str, int], float] = {}  # address and port -> when
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="floods", daemon=True)

    async def __aenter__(self) -> Self:
        if _DESCRIPTORS.is_dir():
            self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)

    def shut_since(self, pin: Pin, moment: float) -> bool:
        """Whether a connection there was shut after that moment of the monotonic clock."""
        return self._shut.get((pin.address, pin.port), 0.0) >= moment > 0.0

    def _watch(self) -> None:
        pause, looked, used = LOOK, 0.0, time.process_time()
        while not self._over.wait(pause):
            now, before, used = time.monotonic(), used, time.process_time()
            is_busy = used - before > BUSY * pause
            if self._clients and (is_busy or now - looked >= WINDOW):
                began, looked = time.thread_time(), now
                self.look()
                pause = max(LOOK, (time.thread_time() - began) / SHARE)
            else:
                pause = LOOK

    def look(self) -> None:
        """Shuts the connections to pinned addresses that have received too much.

        On a busy machine a look comes late, or is held up in the middle: a window lasts from before its first reading
        until after the one at hand, and each further second may have brought one more answer.
        """
        began, received, times = time.monotonic(), dict(_received()), self._room.largest / LARGEST
        windows = int((time.monotonic() - self._window_began) / WINDOW)
        at_once = (AT_ONCE + windows * LARGEST) * times
        for descriptor, size in received.items():
            if size > IN_ALL * times or size - self._before.get(descriptor, 0) > at_once:
                self._shut_it(descriptor, size)
        if windows:
            self._before, self._window_began = received, began

    def _shut_it(self, descriptor: int, size: int) -> None:
        """The transport may have closed it meanwhile, and its number may be another connection's: look once more."""
        with contextlib.suppress(OSError), socket.fromfd(descriptor, socket.AF_INET, socket.SOCK_STREAM) as connection:
            peer = connection.getpeername()[:2]
            if peer in self._clients.addresses() and _bytes_received(connection) >= size:
                self._shut[peer] = time.monotonic()  # not when the look began: the request may be younger than that
                connection.shutdown(socket.SHUT_RDWR)
                log.warning("connection.flood", address=peer[0], received=size)


def _received() -> Iterator[tuple[int, int]]:
    """Every TCP connection of this process by its descriptor, and the bytes that it has received."""
    for name in os.listdir(_DESCRIPTORS):  # noqa: PTH208  (a Path for each of thousands costs more than the look)
        try:
            # told what it is, the object asks nothing; a wrong guess is no matter for what is read from it
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=int(name))
            try:
                received = _bytes_received(connection)
            finally:
                descriptor = connection.detach()  # it is not ours to close
        except OSError:  # closed meanwhile, or no TCP
            continue
        yield descriptor, received


def _bytes_received(connection: socket.socket) -> int:
    """Raises OSError where this is no TCP connection."""
    told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.size)
    return int(_RECEIVED.unpack(told)[0]) if len(told) == _RECEIVED.size else 0
