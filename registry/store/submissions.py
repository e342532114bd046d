"""Repositories of the last day's submissions and recheck requests by client, and of places in the visit queue.

A submission records its client, the name looked up for it, and the result. The places let clients take turns
(start-time fair queueing).
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert

from registry.store.repository import AT_ONCE, Repository
from registry.store.tables import RecheckRow, SubmissionRow

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


class SubmissionCount(NamedTuple):
    """A number of rows, and the time of the oldest; None if the number is 0."""

    number: int
    since: datetime | None


class Submissions(Repository):
    async def add(self, client: str, domain: str, host: str, *, now: datetime) -> None:
        row = {"client": client, "domain": domain, "host": host, "asked_at": now}
        await self._execute(insert(SubmissionRow).values(row).on_conflict_do_nothing())

    async def hosts_of(self, client: str, domain: str, *, but: str, since: datetime) -> SubmissionCount:
        """Count the sub-hosts of the domain that the client submitted since then, except `but` and www."""
        bound = {"client": client, "domain": domain, "but": but, "since": since}
        return await self._one(SubmissionCount, _OF_DOMAIN, bound)

    async def unresolved_of(self, client: str, *, since: datetime) -> SubmissionCount:
        """Count the client's submissions since then whose names certainly had no address."""
        return await self._one(SubmissionCount, _UNRESOLVED, {"client": client, "since": since})

    async def settle(self, resolved: Collection[tuple[str, str, bool]]) -> None:
        """Note for visited (domain, host) whether the name had an address, or may have one."""
        if resolved:
            domains, hosts, results = zip(*sorted(resolved), strict=True)
            bound = {"domains": list(domains), "hosts": list(hosts), "resolved": list(results)}
            await self._execute(_SETTLE, bound)

    async def erase(self, *, before: datetime) -> int:
        """Delete a bounded number of submissions up to then, the oldest first; return how many."""
        return await self._touched(_ERASE, {"before": before, "most": AT_ONCE})


_RECHECKS_OF_DOMAIN = text("""
SELECT count(*), min(asked_at) FROM rechecks WHERE domain = :domain AND client IS NOT NULL AND asked_at > :since
""")
_OF_CLIENT = text("SELECT count(*), min(asked_at) FROM rechecks WHERE client = :client AND asked_at > :since")
_OF_BOTH = text("""
SELECT count(*), min(asked_at) FROM rechecks WHERE domain = :domain AND client = :client AND asked_at > :since
""")
_ERASE_RECHECKS = text("""
DELETE FROM rechecks WHERE (domain, host, asked_at) IN (
    SELECT domain, host, asked_at FROM rechecks WHERE asked_at <= :before ORDER BY asked_at
    LIMIT :most FOR UPDATE SKIP LOCKED)
""")


class Rechecks(Repository):
    async def add(self, domain: str, host: str, client: str | None, *, now: datetime) -> None:
        """Store a visit requested by a client, or by the host's owner (None)."""
        row = {"domain": domain, "host": host, "client": client, "asked_at": now}
        await self._execute(insert(RecheckRow).values(row).on_conflict_do_nothing())

    async def of_domain(self, domain: str, *, since: datetime) -> SubmissionCount:
        """Count the visits that strangers requested since then on all hosts of the domain."""
        return await self._one(SubmissionCount, _RECHECKS_OF_DOMAIN, {"domain": domain, "since": since})

    async def of_client(self, client: str, *, since: datetime, domain: str | None = None) -> SubmissionCount:
        """Count the visits that the client requested since then, on all domains or on one."""
        bound = {"client": client, "since": since}
        statement = _OF_CLIENT
        if domain is not None:
            statement, bound = _OF_BOTH, {**bound, "domain": domain}
        return await self._one(SubmissionCount, statement, bound)

    async def erase(self, *, before: datetime) -> int:
        """Delete a bounded number of rows up to then, the oldest first; return how many."""
        return await self._touched(_ERASE_RECHECKS, {"before": before, "most": AT_ONCE})


STEP: Final = timedelta(milliseconds=1)
"""Distance in the queue of two submissions of one client."""

# Start-time fair queueing (Goyal, Vin and Cheng, 1996) over `domains.next_visit_at`. The virtual time is the earliest
# place of a waiting submission; domains being visited have a later one. A client's submission gets the virtual time, or
# the place one step after its last one, whichever is later. So a new client's first submission waits for at most one of
# each other client, however many those have sent.
_NOW: Final = "coalesce((SELECT min(next_visit_at) FROM domains WHERE next_visit_at <= :latest), :earliest)"
_PEEK = text(f"""
SELECT least(:latest, greatest({_NOW}, (SELECT due + :step FROM turns WHERE client = :client)))
""")  # noqa: S608  # our own texts
_TAKE = text(f"""
INSERT INTO turns AS t (client, due, asked_at) VALUES (:client, {_NOW}, :now)
ON CONFLICT (client) DO UPDATE
SET due = least(:latest, greatest(excluded.due, t.due + :step)), asked_at = excluded.asked_at
RETURNING due
""")  # noqa: S608  # our own texts
_ERASE_TURNS = text("""
DELETE FROM turns WHERE client IN (
    SELECT client FROM turns WHERE asked_at <= :before ORDER BY asked_at LIMIT :most FOR UPDATE SKIP LOCKED)
""")


class SubmissionTurns(Repository):
    """Places of submissions. `earliest`: the place if no other submission waits. `latest`: the last possible place."""

    async def peek(self, client: str | None, *, earliest: datetime, latest: datetime) -> datetime:
        """Return the place of the client's next submission. None: the operator or the owner, who is next."""
        bound = {"client": client, "earliest": earliest, "latest": latest, "step": STEP}
        due: datetime = (await self._execute(_PEEK, bound)).scalar_one()
        return due

    async def take(self, client: str, *, earliest: datetime, latest: datetime, now: datetime) -> datetime:
        """Return the place of a submission of the client; its next submission gets a later one."""
        bound = {"client": client, "earliest": earliest, "latest": latest, "step": STEP, "now": now}
        due: datetime = (await self._execute(_TAKE, bound)).scalar_one()
        return due

    async def erase(self, *, before: datetime) -> int:
        """Delete the places of a bounded number of clients that submitted nothing since then; return how many."""
        return await self._touched(_ERASE_TURNS, {"before": before, "most": AT_ONCE})
