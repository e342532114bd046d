"""Repository of the submissions of the last day: which client caused the look-up of which name, and its result."""

from collections.abc import Collection
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.tables import SubmissionRow

_AT_ONCE: Final = 1_000

_OF_DOMAIN = text("""
SELECT count(DISTINCT host), min(asked_at) FROM submissions
WHERE client = :client AND domain = :domain AND host NOT IN (:but, domain, 'www.' || domain) AND asked_at > :since
""")
_UNRESOLVED = text("""
SELECT count(*), min(asked_at) FROM submissions WHERE client = :client AND NOT resolved AND asked_at > :since
""")
_SETTLE = text("""
UPDATE submissions s SET resolved = visited.resolved
FROM unnest(CAST(:domains AS text[]), CAST(:hosts AS text[]), CAST(:resolved AS boolean[]))
     AS visited (domain, host, resolved)
WHERE s.domain = visited.domain AND s.host = visited.host AND s.resolved IS NULL
""")
_ERASE = text("""
DELETE FROM submissions WHERE (domain, host, asked_at) IN (
    SELECT domain, host, asked_at FROM submissions WHERE asked_at <= :before ORDER BY asked_at
    LIMIT :most FOR UPDATE SKIP LOCKED)
""")


class Counted(NamedTuple):
    """How many, and when the oldest of them was submitted; None for none."""

    number: int
    since: datetime | None


class Submissions:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, client: str, domain: str, host: str, *, now: datetime) -> None:
        row = {"client": client, "domain": domain, "host": host, "asked_at": now}
        await self._connection.execute(insert(SubmissionRow).values(row).on_conflict_do_nothing())

    async def hosts_of(self, client: str, domain: str, *, but: str, since: datetime) -> Counted:
        """Count the sub-hosts of the domain that the client submitted since then, but one; www is none."""
        bound = {"client": client, "domain": domain, "but": but, "since": since}
        return Counted(*(await self._connection.execute(_OF_DOMAIN, bound)).one())

    async def unresolved_of(self, client: str, *, since: datetime) -> Counted:
        """Count the submissions of the client since then whose names certainly had no address."""
        return Counted(*(await self._connection.execute(_UNRESOLVED, {"client": client, "since": since})).one())

    async def settle(self, resolved: Collection[tuple[str, str, bool]]) -> None:
        """Note for visited (domain, host) whether the name had an address, or may have one."""
        if resolved:
            domains, hosts, results = zip(*sorted(resolved), strict=True)
            bound = {"domains": list(domains), "hosts": list(hosts), "resolved": list(results)}
            await self._connection.execute(_SETTLE, bound)

    async def erase(self, *, before: datetime) -> int:
        """Delete the oldest submissions up to then, a bounded number of them; return how many."""
        return (await self._connection.execute(_ERASE, {"before": before, "most": _AT_ONCE})).rowcount
