"""Repository of the change feed: gives committed events their place, reads them by place, prunes and redacts them.

Recording transactions insert events without a place (`ledger.add_changes`). Ids made before the commit cannot order
them: the transaction that began first may commit last, after a reader has passed its id. So `sequence` numbers events
after their commit, one transaction at a time; a place is visible only when all places before it are. Transaction ids
(`pg_snapshot_xmin`) would need no second write, but they restart in another cluster: after a restore from a dump,
events would seem to be from the future.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from sqlalchemy import RowMapping, text

from registry.store.engine import decode
from registry.store.holds import withheld
from registry.store.repository import Repository

SEQUENCED_AT_ONCE: Final = 1_000  # maximum number of events that one transaction gives a place
WINDOW: Final = 20_000
"""Maximum number of places that one page looks at, so that a filter that nothing matches costs little."""

MAX_BYTES: Final = 1_000_000  # bytes of the data of one page; its last event may exceed them
FEED_LOCK: Final = 0x77617904

_NIL: Final = UUID(int=0)

_LOCK = text("SELECT pg_try_advisory_xact_lock(:lock, 0)")

# An interrupted program must not keep the lock. The first digit of `mark` after the version holds the variant (8 to b).
_BEGIN = text("""
INSERT INTO feed_head (key, mark, latest_seq, latest_id, pruned_seq, pruned_id)
SELECT 1, substr(id, 14, 3) || substr(id, 17, 6), 0, CAST(:nil AS uuid), 0, CAST(:nil AS uuid)
FROM (SELECT replace(CAST(gen_random_uuid() AS text), '-', '') AS id) AS random
ON CONFLICT DO NOTHING
""")
_SHORT = text("SET LOCAL idle_in_transaction_session_timeout = '10s'")

# Events of one host are in the order of insertion, which is under the lock of their domain. Rows are locked in that
# order, as `redact` does, so that neither waits for the other in a circle.
#
# event_id (RFC 9562 section 5.7): 48 bits of milliseconds, which never go back, the version, 12 bits of the mark, the
# variant with 22 bits of the mark, and 40 bits of the place.
_SEQUENCE = text("""
WITH head AS MATERIALIZED (
    SELECT mark, latest_seq,
        greatest(
            CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint),
            CAST(CAST('x' || substr(replace(CAST(latest_id AS text), '-', ''), 1, 12) AS bit(48)) AS bigint)
        ) AS ms
    FROM feed_head WHERE key = 1
), unsequenced AS MATERIALIZED (
    SELECT id, arrival FROM changes WHERE seq IS NULL ORDER BY arrival, id LIMIT :most FOR UPDATE
), placed AS MATERIALIZED (
    SELECT id, head.latest_seq + row_number() OVER (ORDER BY arrival, id) AS place, mark, ms
    FROM unsequenced CROSS JOIN head
), written AS (
    UPDATE changes c
    SET seq = p.place,
        event_id = CAST(
            lpad(to_hex(p.ms), 12, '0') || '7' || p.mark || lpad(to_hex(p.place), 10, '0') AS uuid
        )
    FROM placed p WHERE c.id = p.id
    RETURNING c.seq, c.event_id, c.at
), latest AS (SELECT seq, event_id, at FROM written ORDER BY seq DESC LIMIT 1)
UPDATE feed_head SET latest_seq = latest.seq, latest_id = latest.event_id, latest_at = latest.at
FROM latest WHERE key = 1
RETURNING (SELECT count(*) FROM written)
""")

_PULSE = text("""
SELECT coalesce((SELECT latest_seq FROM feed_head WHERE key = 1), 0), EXISTS (SELECT FROM changes WHERE seq IS NULL)
""")

# One statement, so one snapshot: pruning cannot come between the check of the reader's place and the events after it.
# Opt-outs and holds are checked again, because a restored backup may contain events that `redact` had emptied.
_PAGE = text(f"""
WITH head AS MATERIALIZED (
    SELECT *, coalesce(CAST(:after AS bigint), pruned_seq) AS after FROM feed_head WHERE key = 1
)
SELECT h.latest_seq, h.latest_id, h.latest_at, h.pruned_seq, h.pruned_id, h.after,
    (SELECT event_id FROM changes WHERE seq = h.after) AS after_id,
    (SELECT event_id FROM changes WHERE seq = least(h.after + :window, h.latest_seq)) AS end_id,
    e.matching, e.seq, e.event_id, e.domain, e.host, e.kind, e.at, e.data
FROM head h
LEFT JOIN LATERAL (
    SELECT *, count(*) OVER () AS matching,
        sum(octet_length(CAST(data AS text))) OVER (ORDER BY seq ROWS UNBOUNDED PRECEDING)
            - octet_length(CAST(data AS text)) AS bytes_before
    FROM (
        SELECT c.seq, c.event_id, c.domain, c.host, c.kind, c.at,
            CASE WHEN c.kind IN ('service.listed', 'service.changed') AND {withheld("c")}
            THEN CAST('{{"redacted": true}}' AS jsonb) ELSE c.data END AS data
        FROM changes c
        WHERE c.seq > h.after AND c.seq <= h.after + :window
          AND (CAST(:kinds AS text[]) IS NULL OR c.kind = ANY(CAST(:kinds AS text[])))
        ORDER BY c.seq LIMIT :limit) AS matching) e ON e.bytes_before < :most_bytes
ORDER BY e.seq
""")  # noqa: S608  # a condition of our own

_STATE = text("""
SELECT h.latest_seq, h.latest_id, h.latest_at, h.pruned_seq, h.pruned_id,
    (SELECT at FROM changes WHERE seq = h.pruned_seq + 1) AS oldest_at, u.waiting, u.oldest_waiting
FROM (SELECT count(*) AS waiting, min(at) AS oldest_waiting FROM changes WHERE seq IS NULL) AS u
LEFT JOIN feed_head h ON h.key = 1
""")

# Delete the oldest places up to the first event that has to stay, so the rest is always everything after `pruned_seq`.
_PRUNE = text("""
WITH oldest AS MATERIALIZED (
    SELECT seq, event_id, bool_or(at >= :before) OVER (ORDER BY seq) AS stays
    FROM (SELECT seq, event_id, at FROM changes WHERE seq IS NOT NULL ORDER BY seq LIMIT :most) AS first
), last AS (SELECT seq, event_id FROM oldest WHERE NOT stays ORDER BY seq DESC LIMIT 1),
noted AS (
    UPDATE feed_head SET pruned_seq = last.seq, pruned_id = last.event_id FROM last
    WHERE key = 1 AND pruned_seq < last.seq
)
DELETE FROM changes USING last WHERE changes.seq <= last.seq
""")

_REDACT = text("""
WITH held AS MATERIALIZED (
    SELECT id FROM changes
    WHERE domain = :domain AND kind IN ('service.listed', 'service.changed')
      AND (host = :host OR (:below AND (:host = :domain OR right(host, length(:host) + 1) = '.' || :host)))
    ORDER BY arrival, id FOR UPDATE
)
UPDATE changes c SET data = CAST('{"redacted": true}' AS jsonb) FROM held WHERE c.id = held.id
""")

RECENT_WINDOW: Final = 50_000  # places examined for events of a kind, on any host, so that a rare kind costs little
_EVENTS = "seq, event_id, domain, host, kind, at, data"
_KINDS = "(CAST(:kinds AS text[]) IS NULL OR kind = ANY(CAST(:kinds AS text[])))"

_OF_ALL = text(f"""
SELECT {_EVENTS} FROM changes
WHERE seq < :before AND seq >= :before - :window AND {_KINDS}
ORDER BY seq DESC LIMIT :limit
""")  # noqa: S608  (only our own text)

# Use the index of hosts: without MATERIALIZED the planner may walk through the whole feed for a quiet host. Sort only
# the places: a domain may have very many events, each with kilobytes of data.
_OF_HOSTS = text(f"""
WITH theirs AS MATERIALIZED (
    SELECT seq FROM changes
    WHERE domain = ANY(:domains) AND seq < :before AND {_KINDS}
      AND EXISTS (
        SELECT FROM unnest(CAST(:hosts AS text[])) AS named
        WHERE host = named OR (:below AND right(host, length(named) + 1) = '.' || named))
), latest AS MATERIALIZED (SELECT seq FROM theirs ORDER BY seq DESC LIMIT :limit)
SELECT {_EVENTS} FROM latest JOIN changes USING (seq) ORDER BY seq DESC
""")  # noqa: S608  (only our own text)


@dataclass(frozen=True, slots=True)
class FeedRow:
    """An event with its place. `data`: as stored, see registry/core/changes."""

    seq: int
    event_id: UUID
    domain: str
    host: str
    kind: str
    at: datetime
    data: dict[str, Any]


class Place(NamedTuple):
    """A place of the feed: after the event with this number and id. BEGINNING: before the first event ever."""

    seq: int
    event_id: UUID


BEGINNING: Final = Place(0, _NIL)


@dataclass(frozen=True, slots=True)
class Ends:
    """`latest`: the place of the latest event; `latest_at`: when it happened. `pruned`: the last deleted place; the
    oldest kept event comes after it."""

    latest: Place = BEGINNING
    latest_at: datetime | None = None
    pruned: Place = BEGINNING


@dataclass(frozen=True, slots=True)
class FeedState:
    """`oldest_at`: when the oldest kept event happened. `unsequenced`: number of events without a place, which readers
    do not see; `unsequenced_since`: when the oldest of them happened."""

    ends: Ends
    oldest_at: datetime | None
    unsequenced: int
    unsequenced_since: datetime | None


@dataclass(frozen=True, slots=True)
class Stretch:
    """Events in order after `after`. `end`: the last place examined, possibly of an event that the filter excludes.
    `after.event_id` is nil if its event is not stored."""

    events: tuple[FeedRow, ...]
    after: Place
    end: Place
    ends: Ends


class Feed(Repository):
    async def sequence(self) -> int:
        """Give at most SEQUENCED_AT_ONCE committed events their place; return their number. Return 0 if another
        transaction is doing it. Call this in a separate transaction and commit at once: until then no other process can
        number events."""
        if not (await self._execute(_LOCK, {"lock": FEED_LOCK})).scalar_one():  # guard: feed-one-sequencer
            return 0
        await self._execute(_SHORT)
        bound = {"most": SEQUENCED_AT_ONCE}
        # Separate statement: its snapshot must be newer than the commit of the lock's previous holder.
        numbered = (await self._execute(_SEQUENCE, bound)).scalar()
        if numbered is None and await self._touched(_BEGIN, {"nil": _NIL}):
            numbered = (await self._execute(_SEQUENCE, bound)).scalar()
        return numbered or 0

    async def pulse(self) -> tuple[int, bool]:
        """Return the latest place, and whether events wait for one."""
        latest, has_unsequenced = (await self._execute(_PULSE)).one()
        return latest, has_unsequenced

    async def after(self, seq: int | None, kinds: Collection[str] | None, *, limit: int) -> Stretch:
        """Return at most `limit` events after the place `seq` (None: from the oldest kept one) of these kinds (None:
        all); fewer if they exceed MAX_BYTES. Examine at most WINDOW places."""
        bound = {"after": seq, "kinds": _sorted(kinds), "limit": limit, "window": WINDOW, "most_bytes": MAX_BYTES}
        rows = (await self._execute(_PAGE, bound)).mappings().all()
        if not rows:
            return Stretch((), BEGINNING if seq is None else Place(seq, _NIL), BEGINNING, Ends())
        head, ends = rows[0], _ends(rows[0])
        events = tuple(_event(row) for row in rows if row["seq"] is not None)
        after = Place(head["after"], head["after_id"] or _NIL)
        if after.seq == ends.pruned.seq:
            after = ends.pruned
        if events and (len(events) == limit or len(events) < head["matching"]):
            end = Place(events[-1].seq, events[-1].event_id)
        else:
            end_seq = min(after.seq + WINDOW, ends.latest.seq)
            end = ends.latest if end_seq == ends.latest.seq else Place(end_seq, head["end_id"] or _NIL)
        return Stretch(events, after, end, ends)

    async def state(self) -> FeedState:
        row = (await self._execute(_STATE)).mappings().one()
        ends = Ends() if row["latest_seq"] is None else _ends(row)
        return FeedState(ends, row["oldest_at"], row["waiting"], row["oldest_waiting"])

    async def prune(self, before: datetime, *, most: int) -> int:
        """Delete the oldest events up to the first that happened since `before`; return their number. Events without a
        place stay: call `sequence` first."""
        return await self._touched(_PRUNE, {"before": before, "most": most})

    async def redact(self, domain: str, host: str, *, below: bool = True) -> int:
        """Delete the data of events of the host and of all hosts below it, or of the whole domain; keep the events as
        tombstones. The caller has locked the domain. Return the number of events."""
        return await self._touched(_REDACT, {"domain": domain, "host": host, "below": below})

    async def latest_of_all(self, before: int, kinds: Collection[str] | None, *, limit: int) -> list[FeedRow]:
        """Return the events before a place, the latest first. Examine at most RECENT_WINDOW places."""
        bound = {"before": before, "window": RECENT_WINDOW, "kinds": _sorted(kinds), "limit": limit}
        return [_event(row) for row in (await self._execute(_OF_ALL, bound)).mappings()]

    async def latest_of_hosts(
        self,
        before: int,
        kinds: Collection[str] | None,
        domains: Collection[str],
        hosts: Collection[str],
        *,
        below: bool,
        limit: int,
    ) -> list[FeedRow]:
        """Return the events of these hosts before a place, the latest first; with `below` also of all hosts below them.
        `domains`: the registrable domains of the hosts."""
        bound = {"before": before, "kinds": _sorted(kinds), "below": below, "limit": limit}
        bound |= {"domains": list(domains), "hosts": list(hosts)}
        return [_event(row) for row in (await self._execute(_OF_HOSTS, bound)).mappings()]


def _ends(row: RowMapping) -> Ends:
    return Ends(
        Place(row["latest_seq"], row["latest_id"]), row["latest_at"], Place(row["pruned_seq"], row["pruned_id"])
    )


def _event(row: RowMapping) -> FeedRow:
    values = {name: row[name] for name in FeedRow.__dataclass_fields__}
    return FeedRow(**{**values, "data": decode(row["data"])})


def _sorted(kinds: Collection[str] | None) -> list[str] | None:
    return None if kinds is None else sorted(kinds)
