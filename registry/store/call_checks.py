"""Repository of the checks of addresses that documents name for calls."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import text

from registry.core.visiting.call_checks import CallCheck
from registry.store.repository import Key, Repository
from registry.store.tables import CallCheckRow
from registry.store.values import REASON_CHARS, clean, url_hash

_LAST_OF = text("""
SELECT domain, host, url, max(checked_at) FROM call_checks
WHERE domain = ANY(:domains) AND host = ANY(:hosts) GROUP BY domain, host, url
""")
_CURRENT = text("""
SELECT DISTINCT ON (url_hash) url, method, answers, status, reason, checked_at FROM call_checks
WHERE domain = :domain AND host = :host ORDER BY url_hash, checked_at DESC
""")


class CallChecks(Repository):
    async def add(self, checks: Mapping[Key, Sequence[CallCheck]]) -> None:
        """Insert the checks of visits. Recording a visit twice changes nothing."""
        rows = [
            {"domain": domain, "host": host, "url_hash": url_hash(check.url), **check._asdict()}
            | {"url": clean(check.url), "reason": clean(check.reason, REASON_CHARS)}
            for (domain, host), host_checks in checks.items()
            for check in host_checks
        ]
        await self._put_all(CallCheckRow, rows, overwrite=())

    async def last_of(self, keys: Collection[Key]) -> dict[Key, dict[str, datetime]]:
        """Return by host when each address was checked last."""
        found: dict[Key, dict[str, datetime]] = {}
        bound = {"domains": [domain for domain, _ in keys], "hosts": [host for _, host in keys]}
        for domain, host, url, checked_at in await self._execute(_LAST_OF, bound):
            found.setdefault((domain, host), {})[url] = checked_at
        return found

    async def of_host(self, domain: str, host: str) -> tuple[CallCheck, ...]:
        """Return the last check of each address of a host, also of addresses that no document names any more."""
        return tuple(await self._list(CallCheck, _CURRENT, {"domain": domain, "host": host}))
