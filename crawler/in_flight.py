"""The domains that a crawl holds leases on: its bound counts them, and at its end the rest must be released."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from registry.core.visiting.visits import Lease


class InFlight:
    """Domains from their lease until they are recorded or released."""

    def __init__(self) -> None:
        self._tokens: dict[str, UUID] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tokens)

    def add(self, lease: Lease) -> None:
        self._tokens |= dict.fromkeys((job.domain for job in lease.domains), lease.token)

    def token(self, domain: str) -> UUID | None:
        """Return the token of the lease, or None when the domain is not in flight."""
        return self._tokens.get(domain)

    def remove(self, domains: Iterable[str]) -> None:
        for domain in domains:
            self._tokens.pop(domain, None)
        self.wake()

    def by_lease(self) -> dict[UUID, list[str]]:
        """Return the domains in flight, by the token of their lease."""
        domains_by_token: dict[UUID, list[str]] = defaultdict(list)
        for domain, token in self._tokens.items():
            domains_by_token[token].append(domain)
        return domains_by_token

    async def change(self, seconds: float | None = None) -> None:
        """Wait until domains are removed, `wake` is called or `seconds` have passed."""
        changed = self._changed
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), seconds)

    async def empty(self) -> None:
        """Wait until nothing is in flight."""
        while self._tokens:
            await self.change()

    def wake(self) -> None:
        """Wake all tasks that wait in `change`."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
