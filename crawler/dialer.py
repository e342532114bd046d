"""The connections of one visit: resolve the host of a URL to a pinned address, and get a client that dials it."""

import time
from collections.abc import Collection
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Final

from pyreqwest.client import Client

from crawler.guards import AddressGuard, Pin
from crawler.outcomes import HOST_DEADLINE, OPTED_OUT, FetchFailure, failure_of
from crawler.resources import VisitDeadlines
from crawler.transport import ClientPool, PinnedClient
from registry.core.names.domains import host_of
from registry.core.names.opt_out import is_covered

_NO_LATEST: Final[tuple[str, Pin | FetchFailure]] = ("no URL begins like this", HOST_DEADLINE)


class Dialer:
    """Resolves, checks and pins each host name once per visit, and keeps one client per host."""

    def __init__(
        self, guard: AddressGuard, clients: ClientPool, deadlines: VisitDeadlines, opted_out: Collection[str]
    ) -> None:
        """Start without pins. `opted_out`: hosts whose address is never resolved."""
        self._guard = guard
        self._pool = clients
        self._deadlines = deadlines
        self._opted_out = opted_out
        self._pins: dict[str, Pin | FetchFailure] = {}
        self._latest = _NO_LATEST  # URL prefix of the latest host, and its pin
        self._pinned_clients: list[PinnedClient] = []
        self.clients: dict[str, Client] = {}

    def latest(self, url: str) -> Pin | FetchFailure | None:
        """Return the pin of the latest host if the URL is on it: nearly all requests go to the same host."""
        prefix, pin = self._latest
        return pin if url.startswith(prefix) else None

    async def pin(self, url: str) -> Pin | FetchFailure:
        """Return the pin of a canonical URL's host, or why it has no pin. A failed look-up is not repeated."""
        host = host_of(url) or ""
        if host not in self._pins:
            # guard: opt-out-before-look-up
            self._pins[host] = OPTED_OUT if is_covered(host, self._opted_out) else await self._resolve(host)
        self._latest = f"https://{host}/", self._pins[host]
        return self._pins[host]

    async def _resolve(self, host: str) -> Pin | FetchFailure:
        began = time.monotonic()
        try:
            return await self._guard.pin(host)
        except Exception as error:
            return failure_of(error)
        finally:
            self._deadlines.host_seconds -= time.monotonic() - began

    async def connect(self, pin: Pin) -> Client:
        """Return a new client for this address, for a host without one."""
        pinned = self._pool.pinned(pin)
        client = self.clients[pin.host] = await pinned.__aenter__()
        self._pinned_clients.append(pinned)
        return client

    def disconnect(self, host: str) -> None:
        """Stop using the client of a host; it is closed with the dialer."""
        self.clients.pop(host, None)

    def use(self, pin: Pin) -> None:
        """Use this address for the rest of the visit."""
        self._pins[pin.host] = pin
        self._latest = _NO_LATEST

    def drop_alternative(self, pin: Pin) -> None:
        """Use only the first address for the rest of the visit, because the second one failed as well."""
        self.disconnect(pin.host)
        self.use(replace(pin, instead=None))

    async def close(self) -> None:
        async with AsyncExitStack() as stack:
            for pinned in self._pinned_clients:
                stack.push_async_exit(pinned)
