"""Repositories of opt-outs, and of requests to check whether a host opts out, or no longer does.

A request is open until it has a verdict. Workers share the open ones by claims, which expire.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

from sqlalchemy import delete, func, or_, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.engine import StoreUnavailable, listed
from registry.store.opt_out_file import OptOutFile, OptOutLine
from registry.store.records import OptOutRecord, OptOutRequestRecord
from registry.store.repository import Repository, selected
from registry.store.tables import OptOutRequestRow, OptOutRow
from registry.store.values import clean

REPORTED = ("origin", "origin_block")
"""How opt-outs were declared that the origin of a mirror reports."""

_OPTED_OUT = "SELECT domain, host FROM opt_outs WHERE domain = ANY(string_to_array(%(domains)s, ' '))"

OPERATOR: Final = "operator"
"""The client of requests by an operator of this registry. No address is spelled like this."""

# Start-time fair queueing (Goyal, Vin and Cheng, 1996). The first open request of a client is in the current round (the
# earliest round with open requests), and each further one in the round after. So a client waits for at most one request
# of each other client, however many these have queued.
_ROUND = text("""
SELECT greatest(
    (SELECT min(round) FROM opt_out_requests WHERE checked_at IS NULL),
    (SELECT max(round) + 1 FROM opt_out_requests WHERE checked_at IS NULL AND client = :client), 0)
""")

# `place`: in the queue of its client, after the requests that are being checked. Requests whose client was erased share
# one queue. The second condition is checked again when the row is locked, because another worker may have claimed it
# since the first check.
# guard: opt-out-turns
_CLAIM = text("""
WITH queued AS (
    SELECT domain, host, row_number() OVER (
        PARTITION BY client ORDER BY coalesce(claimed_until > :now, false) DESC, round, asked_at) AS place
    FROM opt_out_requests WHERE checked_at IS NULL),
picked AS (
    SELECT r.domain, r.host FROM opt_out_requests r JOIN queued q ON r.domain = q.domain AND r.host = q.host
    WHERE q.place <= :per_client
      AND r.checked_at IS NULL AND coalesce(r.claimed_until, '-infinity') <= :now
    ORDER BY r.client IS DISTINCT FROM :operator, q.place, r.round, r.asked_at LIMIT :limit
    FOR UPDATE OF r SKIP LOCKED)
UPDATE opt_out_requests r SET claimed_until = :until FROM picked
WHERE r.domain = picked.domain AND r.host = picked.host
RETURNING r.domain, r.host, r.wish, r.asked_at
""")

# Visited hosts, the apex and `www.` are not counted, because they cannot be invented.
_INVENTED = text("""
SELECT count(*) FROM opt_out_requests r
WHERE domain = :domain AND asked_at >= :since AND host NOT IN (:but, :domain, 'www.' || :domain)
  AND NOT EXISTS (SELECT FROM hosts h WHERE h.domain = r.domain AND h.host = r.host AND h.last_visit_at IS NOT NULL)
""")

# guard: opt-out-settled
_SETTLE = text("""
UPDATE opt_out_requests SET checked_at = :now, verdict = :verdict, client = NULL, claimed_until = NULL
WHERE domain = :domain AND host = :host AND asked_at = :asked_at AND checked_at IS NULL
""")

_ERASE_CLIENTS = text("UPDATE opt_out_requests SET client = NULL WHERE client IS NOT NULL AND asked_at < :before")

_OPT_OUT: Final = selected(OptOutRow, OptOutRecord)
_REQUEST: Final = selected(OptOutRequestRow, OptOutRequestRecord)


class OptOuts(Repository):
    """Reads and writes opt-outs. `file`: where opt-outs of this registry and their ends are written first, or None."""

    def __init__(self, connection: AsyncConnection, file: OptOutFile | None = None) -> None:
        super().__init__(connection)
        self._file = file

    async def add(self, opt_outs: Iterable[OptOutRecord]) -> None:
        """Insert opt-outs. A host keeps its first opt-out with its evidence, except that a local one replaces the
        report of a mirror's origin. Raise StoreUnavailable if the file cannot be written."""
        opt_outs = list(opt_outs)
        local = [one for one in opt_outs if one.how not in REPORTED]
        await self._write([OptOutLine("out", one.host, one.how, clean(one.evidence), one.created_at) for one in local])
        rows = [asdict(one) | {"evidence": clean(one.evidence)} for one in opt_outs]
        statement = insert(OptOutRow)
        new = {name: statement.excluded[name] for name in ("how", "evidence", "created_at")}
        statement = statement.on_conflict_do_update(
            index_elements=["domain", "host"], set_=new, where=or_(*(OptOutRow.how == how for how in REPORTED))
        )
        await self._many(statement, rows)

    async def rows(self, domain: str) -> list[OptOutRecord]:
        """Return all opt-outs of a domain, with how and where they were declared."""
        return await self._list(OptOutRecord, select(*_OPT_OUT).where(OptOutRow.domain == domain))

    async def local(self) -> list[OptOutRecord]:
        """Return all opt-outs of this registry, except those of a mirror's origin."""
        return await self._list(OptOutRecord, select(*_OPT_OUT).where(OptOutRow.how.not_in(REPORTED)))

    async def remove(self, domain: str, host: str, *, how: str, now: datetime) -> None:
        """Delete the opt-out of exactly this host. Raise StoreUnavailable if the file cannot be written."""
        await self._write([OptOutLine("in", host, how, "", now)] if how not in REPORTED else [])
        await self._execute(delete(OptOutRow).where(OptOutRow.domain == domain, OptOutRow.host == host))

    async def _write(self, lines: Sequence[OptOutLine]) -> None:
        """Write to the file before the commit: an opt-out that is not in the file must not take effect."""
        if self._file is None or not lines:
            return
        try:
            await asyncio.to_thread(self._file.append, lines)  # guard: opt-out-file-first
        except OSError as error:
            raise StoreUnavailable(f"the file of opt-outs cannot be written: {error.strerror}") from error

    async def of(self, domains: Collection[str]) -> dict[str, frozenset[str]]:
        """Return the hosts that opted out, by domain; see `is_covered`."""
        found: dict[str, set[str]] = {}
        for domain, host in await self._driver.rows(_OPTED_OUT, {"domains": listed(domains)}):
            found.setdefault(domain, set()).add(host)
        return {domain: frozenset(hosts) for domain, hosts in found.items()}


class OptOutRequests(Repository):
    async def get(self, domain: str, host: str) -> OptOutRequestRecord | None:
        """Return the latest request of the host."""
        statement = select(*_REQUEST).where(OptOutRequestRow.domain == domain, OptOutRequestRow.host == host)
        return await self._first(OptOutRequestRecord, statement)

    async def invented(self, domain: str, *, but: str, since: datetime) -> int:
        """Return the number of hosts of the domain, other than `but`, with requests since then that may be invented.
        The apex, `www.` and visited hosts cannot be invented and are not counted."""
        return await self._number(_INVENTED, {"domain": domain, "but": but, "since": since})

    async def open_of(self, client: str) -> int:
        """Return how many open requests a client has."""
        row = OptOutRequestRow
        statement = select(func.count()).where(row.client == client, row.checked_at.is_(None))
        return await self._number(statement)

    async def add(self, request: OptOutRequestRecord, *, client: str) -> None:
        """Store a request; it replaces an earlier closed request of the host, never an open one."""
        values = await self._values(request, client, None)
        statement = insert(OptOutRequestRow).values(values)
        settled = OptOutRequestRow.checked_at.is_not(None)
        # guard: opt-out-owner
        statement = statement.on_conflict_do_update(index_elements=["domain", "host"], set_=values, where=settled)
        await self._execute(statement)

    async def put_claimed(self, request: OptOutRequestRecord, *, until: datetime) -> None:
        """Store a request of an operator as claimed by the caller; it replaces any earlier one of the host."""
        await self._replace(OptOutRequestRow, await self._values(request, OPERATOR, until))

    async def claim(self, *, limit: int, per_client: int, now: datetime, until: datetime) -> list[OptOutRequestRecord]:
        """Claim at most `limit` open requests until then and return them, in no particular order.

        Operators' requests come first. Then come clients with the fewest claimed ones, then by round, then the oldest.
        A client has at most `per_client` claimed at once, over all workers. Requests claimed by others are left out,
        unless their claim expired.
        """
        bound = {"limit": limit, "per_client": per_client, "now": now, "until": until, "operator": OPERATOR}
        return await self._list(OptOutRequestRecord, _CLAIM, bound)

    async def settle(self, request: OptOutRequestRecord, verdict: str, *, now: datetime) -> None:
        """Record the verdict and erase the client, unless the request has a verdict or was replaced meanwhile."""
        bound = {"now": now, "verdict": verdict, "domain": request.domain, "host": request.host}
        await self._execute(_SETTLE, {**bound, "asked_at": request.asked_at})

    async def erase_clients(self, *, before: datetime) -> None:
        """Erase the clients of requests made before then."""
        await self._execute(_ERASE_CLIENTS, {"before": before})

    async def _values(
        self, request: OptOutRequestRecord, client: str, claimed_until: datetime | None
    ) -> dict[str, Any]:
        queue_round = await self._number(_ROUND, {"client": client})
        return asdict(request) | {"client": client, "claimed_until": claimed_until, "round": queue_round}
