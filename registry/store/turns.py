"""Repository of the places in the queue of visits, which let clients take turns (start-time fair queueing)."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

STEP: Final = timedelta(milliseconds=1)
"""Distance in the queue of two submissions of one client."""

_AT_ONCE: Final = 1_000

# Start-time fair queueing (Goyal, Vin and Cheng, 1996) over `domains.next_visit_at`. The virtual time is the earliest
# place that a submission waits at; domains being visited have a later one. A client's submission gets the virtual time,
# or the place one step after its last one, whichever is later. So somebody's first submission is ahead of all but one
# of each other client, however many those have sent.
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
_ERASE = text("""
DELETE FROM turns WHERE client IN (
    SELECT client FROM turns WHERE asked_at <= :before ORDER BY asked_at LIMIT :most FOR UPDATE SKIP LOCKED)
""")


class Turns:
    """`earliest`: the place of a submission while no other waits; `latest`: no submission has a later place."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def peek(self, client: str | None, *, earliest: datetime, latest: datetime) -> datetime:
        """Return the place that the next submission of the client gets; None: of somebody whose turn it always is."""
        bound = {"client": client, "earliest": earliest, "latest": latest, "step": STEP}
        due: datetime = (await self._connection.execute(_PEEK, bound)).scalar_one()
        return due

    async def take(self, client: str, *, earliest: datetime, latest: datetime, now: datetime) -> datetime:
        """Return the place of a submission of the client; the next one gets a later one."""
        bound = {"client": client, "earliest": earliest, "latest": latest, "step": STEP, "now": now}
        due: datetime = (await self._connection.execute(_TAKE, bound)).scalar_one()
        return due

    async def erase(self, *, before: datetime) -> int:
        """Delete the places of clients that submitted nothing since then, a bounded number; return how many."""
        return (await self._connection.execute(_ERASE, {"before": before, "most": _AT_ONCE})).rowcount
