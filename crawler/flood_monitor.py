"""Shuts down connections with endless interim responses (RFC 9110 section 15.2), which no other limit covers.

The HTTP library skips interim responses silently and without a limit, so that one server could use a whole core until
the deadline of its request (13 s of CPU in 15 s, measured). The kernel counts the bytes that each connection receives
(`tcpi_bytes_received` of TCP_INFO). A connection that received more than any legitimate answer is shut down, and its
visit ends. Linux only; elsewhere only the deadlines apply.
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
from typing import Final, Self

import structlog

from crawler.guards import Pin
from crawler.response_body import LARGEST_BODY, BodyMemoryBudget
from crawler.transport import ClientPool

WINDOW: Final = 1.0
MAX_PER_WINDOW: Final = 6 * 1024 * 1024
"""Bytes on one connection in a window of WINDOW seconds: one and a half times the largest answer of a visit."""

MAX_PER_CONNECTION: Final = 32 * 1024 * 1024
"""Bytes on one connection in its lifetime: more than dozens of requests within their caps receive."""

SCAN_INTERVAL: Final = 0.1
SCAN_TIME_SHARE: Final = 0.02
"""Seconds between two scans, and the share of the time that scanning may take: 1,000 connections cost 3.5 ms."""

BUSY_SHARE: Final = 0.4
"""Share of a core. While the process uses less, no large flood is running, and one scan per window suffices."""

_DESCRIPTORS: Final = Path("/proc/self/fd")
_RECEIVED: Final = struct.Struct("=128xQ")  # `tcpi_bytes_received` in `struct tcp_info` of linux/tcp.h, since Linux 4.1
log = structlog.get_logger(__name__)


class FloodMonitor:
    """Watches the connections of `clients` while entered, and records which ones it shut down.

    The limits grow with the largest body that `memory` expects. Runs in a thread: with thousands of concurrent visits
    one turn of the event loop may take half a second.
    """

    def __init__(self, clients: ClientPool, memory: BodyMemoryBudget) -> None:
        self._clients = clients
        self._memory = memory
        self._counts: dict[int, int] = {}  # descriptor -> bytes received when the window began
        self._window_began = 0.0
        self._shut_down: dict[tuple[str, int], float] = {}  # address and port -> when
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="flood-monitor", daemon=True)

    async def __aenter__(self) -> Self:
        if _DESCRIPTORS.is_dir():
            self._thread.start()
        return self

    async def __aexit__(self, *failure: object) -> None:
        self._stop.set()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join)

    def shut_down_since(self, pin: Pin, moment: float) -> bool:
        """Return whether a connection to the pinned address was shut down after `moment` of the monotonic clock."""
        return self._shut_down.get((pin.address, pin.port), 0.0) >= moment > 0.0

    def _watch(self) -> None:
        interval, scanned_at, cpu_seconds = SCAN_INTERVAL, 0.0, time.process_time()
        while not self._stop.wait(interval):
            now, cpu_seconds_before, cpu_seconds = time.monotonic(), cpu_seconds, time.process_time()
            is_busy = cpu_seconds - cpu_seconds_before > BUSY_SHARE * interval
            if self._clients.in_use and (is_busy or now - scanned_at >= WINDOW):
                began, scanned_at = time.thread_time(), now
                self.scan()
                interval = max(SCAN_INTERVAL, (time.thread_time() - began) / SCAN_TIME_SHARE)
            else:
                interval = SCAN_INTERVAL

    def scan(self) -> None:
        """Shut down the connections to pinned addresses that have received too much.

        On a busy machine a scan may start late or be interrupted: a window lasts from before its first reading until
        after the current one, and each further second may have brought one more answer.
        """
        began, received, scale = time.monotonic(), dict(_received()), self._memory.largest / LARGEST_BODY
        windows = int((time.monotonic() - self._window_began) / WINDOW)
        per_window = (MAX_PER_WINDOW + windows * LARGEST_BODY) * scale
        for descriptor, size in received.items():
            if size > MAX_PER_CONNECTION * scale or size - self._counts.get(descriptor, 0) > per_window:  # guard: flood
                self._shut_down_connection(descriptor, size)
        if windows:
            self._counts, self._window_began = received, began

    def _shut_down_connection(self, descriptor: int, size: int) -> None:
        """Shut down a connection. Check it again: the transport may have closed it and reused its descriptor."""
        with contextlib.suppress(OSError), socket.fromfd(descriptor, socket.AF_INET, socket.SOCK_STREAM) as connection:
            peer = connection.getpeername()[:2]
            # guard: flood-own-connections
            if peer in self._clients.addresses() and _bytes_received(connection) >= size:
                self._shut_down[peer] = time.monotonic()  # not the scan's start: the request may be younger than that
                connection.shutdown(socket.SHUT_RDWR)
                log.warning("connection.flood", address=peer[0], received=size)


def _received() -> Iterator[tuple[int, int]]:
    """Yield the descriptor of each TCP connection of this process, and its received bytes."""
    for name in os.listdir(_DESCRIPTORS):  # noqa: PTH208  (a Path for each of thousands costs more than the scan)
        try:
            # With an explicit family and type the constructor makes no system calls; a wrong guess does not matter.
            connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 0, fileno=int(name))
            try:
                received = _bytes_received(connection)
            finally:
                descriptor = connection.detach()  # owned by the transport: do not close it
        except OSError:  # closed meanwhile, or not TCP
            continue
        yield descriptor, received


def _bytes_received(connection: socket.socket) -> int:
    """Return the bytes received. Raise OSError if this is not a TCP connection."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.size)
    return int(_RECEIVED.unpack(info)[0]) if len(info) == _RECEIVED.size else 0
