"""Repositories of hosts, with their schedule and the facts kept between visits, and of candidates for hosts."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Final, LiteralString

from sqlalchemy import func, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert

from registry.core.model.documents import Outcome
from registry.core.scheduling.policy import DueReason
from registry.store.engine import Row, decode, listed, recordset
from registry.store.records import CandidateRecord, HostRecord
from registry.store.repository import Repository, is_or_below, selected
from registry.store.tables import CandidateRow, HostRow
from registry.store.values import REASON_CHARS, clean, clean_json

_FIELDS = tuple(HostRecord.__dataclass_fields__)
_COLUMNS: Final[LiteralString] = ", ".join(_FIELDS)
_KEPT = frozenset({"domain", "host", "source", "referrer", "created_at", "turn"})
_STATE: Final[LiteralString] = ", ".join(f"{name} = excluded.{name}" for name in _FIELDS if name not in _KEPT)

# All rows of a batch in one statement and one parameter cost a fifth of `executemany` (benchmarks/record).
_PUT: Final[LiteralString] = f"""
INSERT INTO hosts ({_COLUMNS}) SELECT {_COLUMNS} FROM json_populate_recordset(NULL::hosts, %(hosts)s)
ON CONFLICT (domain, host) DO UPDATE SET {_STATE}
"""  # noqa: S608  # our own columns
_OF: Final[LiteralString] = f"""
SELECT {_COLUMNS} FROM hosts WHERE domain = ANY(string_to_array(%(domains)s, ' ')) ORDER BY domain, host
"""  # noqa: S608  # our own columns
_ONE: Final[LiteralString] = f"SELECT {_COLUMNS} FROM hosts WHERE domain = %(domain)s AND host = %(host)s"  # noqa: S608  # our own columns
_DUE: Final[LiteralString] = f"""
SELECT {_COLUMNS} FROM hosts
WHERE domain = ANY(string_to_array(%(domains)s, ' ')) AND next_visit_at <= %(now)s ORDER BY domain, host
"""  # noqa: S608  # our own columns

# Submitted sub-hosts without a visit.
_SUBMITTED: Final = """
FROM hosts WHERE domain = :domain AND source = 'submission' AND last_visit_at IS NULL
    AND host NOT IN (domain, 'www.' || domain)
"""
_WAITING_SUBMITTED = text(f"SELECT count(*), coalesce(max(turn), 0) {_SUBMITTED}")
_DROP_WAITING = text(
    f"DELETE FROM hosts WHERE (domain, host) IN (SELECT domain, host {_SUBMITTED}"  # noqa: S608  # our own columns
    " ORDER BY turn, submitted_at OFFSET :but)"
)

# Named hosts without a visit, by who named them (shares.is_named_by_others).
_WAITING_NAMED = text("""
SELECT domain, count(*), source = 'document' AND coalesce(
    referrer <> domain AND right(referrer, length(domain) + 1) <> '.' || domain, true) AS by_others
FROM hosts WHERE domain = ANY(:domains) AND source <> 'submission' AND last_visit_at IS NULL
GROUP BY domain, by_others
""")

_DUE_AS_NEW = text(
    "UPDATE hosts SET next_visit_at = :due, next_visit_why = 'asked', whole_plan_at = NULL, robots_at = NULL"
    " WHERE domain = :domain AND host = :host"
)


MAX_REL_CHARS = 60

_FOLD = text("UPDATE candidates SET folded_at = :now, verdict = :verdict WHERE domain = :domain AND host = :host")
_CANDIDATE: Final = selected(CandidateRow, CandidateRecord)


class Hosts(Repository):
    async def add(self, hosts: Iterable[HostRecord]) -> int:
        """Insert new hosts and return their number. They are sorted, so that two writers cannot deadlock."""
        rows = [asdict(_storable(host)) for host in sorted(hosts, key=lambda host: (host.domain, host.host))]
        return await self._many(insert(HostRow).on_conflict_do_nothing(), rows)

    async def put(self, hosts: Iterable[HostRecord]) -> None:
        """Write the state after a visit. The source of a known host does not change."""
        rows = {(host.domain, host.host): _storable(host) for host in hosts}
        if rows:
            await self._driver.run(_PUT, {"hosts": recordset(list(rows.values()))})

    async def get(self, domain: str, host: str) -> HostRecord | None:
        rows = await self._driver.rows(_ONE, {"domain": domain, "host": host})
        return _record(rows[0]) if rows else None

    async def of(self, domains: Collection[str]) -> list[HostRecord]:
        return [_record(row) for row in await self._driver.rows(_OF, {"domains": listed(domains)})]

    async def due(self, domains: Collection[str], *, now: datetime) -> list[HostRecord]:
        return [_record(row) for row in await self._driver.rows(_DUE, {"domains": listed(domains), "now": now})]

    async def unschedule(self, domain: str, host: str, why: DueReason = DueReason.OPTED_OUT) -> None:
        """Unschedule the host and all hosts below it."""
        statement = update(HostRow).where(HostRow.domain == domain, is_or_below(HostRow.host, host))
        await self._execute(statement.values(next_visit_at=None, next_visit_why=why))

    async def make_due(self, keys: Sequence[tuple[str, str]], *, due: datetime) -> int:
        """Make hosts due at `due` with the whole plan, as if new, including robots.txt; return their number."""
        rows = [{"due": due, "domain": domain, "host": host} for domain, host in sorted(keys)]
        return await self._many(_DUE_AS_NEW, rows)

    async def waiting_submitted(self, domain: str) -> tuple[int, int]:
        """Return the number of submitted sub-hosts that were never visited, and the last turn among them."""
        number, last_turn = (await self._execute(_WAITING_SUBMITTED, {"domain": domain})).one()
        return number, last_turn

    async def drop_waiting(self, domain: str, *, but: int) -> None:
        """Delete submitted sub-hosts that were never visited, the last turns first, until `but` are left."""
        await self._execute(_DROP_WAITING, {"domain": domain, "but": but})

    async def waiting_named(self, domains: Collection[str]) -> dict[tuple[str, bool], int]:
        """Return the number of never visited hosts that were not submitted, by domain and whether others named them."""
        rows = await self._execute(_WAITING_NAMED, {"domains": list(domains)})
        return {(domain, by_others): number for domain, number, by_others in rows}

    async def count_due(self, keys: Collection[tuple[str, str]], *, now: datetime) -> int:
        """Return how many of these hosts are due, including those under running leases."""
        is_one = tuple_(HostRow.domain, HostRow.host).in_(list(keys))
        return await self._number(select(func.count()).where(is_one, HostRow.next_visit_at <= now))

    async def outcomes(self) -> dict[str, int]:
        """Return the number of visited hosts by the outcome of their last visit."""
        statement = select(HostRow.outcome, func.count()).where(HostRow.outcome.is_not(None)).group_by(HostRow.outcome)
        return {outcome: number for outcome, number in await self._execute(statement) if outcome}


class Candidates(Repository):
    async def add(self, candidates: Iterable[CandidateRecord]) -> int:
        """Insert candidates and return the number of new ones. Repeated mentions by a host count once."""
        rows = [
            asdict(one) | {"rel": clean(one.rel, MAX_REL_CHARS), "document": clean(one.document)}
            for one in sorted(candidates, key=lambda one: (one.domain, one.host, one.referrer, one.rel))
        ]
        return await self._many(insert(CandidateRow).on_conflict_do_nothing(), rows)

    async def open(self, *, limit: int) -> list[CandidateRecord]:
        """Lock and return the oldest candidates not yet folded; skip those locked by another process."""
        statement = select(*_CANDIDATE).where(CandidateRow.folded_at.is_(None)).order_by(CandidateRow.created_at)
        return await self._list(CandidateRecord, statement.limit(limit).with_for_update(skip_locked=True))

    async def fold(self, verdicts: Sequence[tuple[CandidateRecord, str | None]], *, now: datetime) -> None:
        """Record the results of folding: None for a new host, else why the candidate did not become one."""
        rows = [
            {"now": now, "verdict": verdict, "domain": candidate.domain, "host": candidate.host}
            for candidate, verdict in sorted(verdicts, key=lambda pair: (pair[0].domain, pair[0].host))
        ]
        await self._many(_FOLD, rows)

    async def waiting(self) -> int:
        return await self._number(select(func.count()).where(CandidateRow.folded_at.is_(None)))


def _storable(host: HostRecord) -> HostRecord:
    """Return the host with storable texts, nearly always unchanged: a copy would be the costliest step of a row."""
    reason = clean(host.reason, REASON_CHARS)
    if reason == host.reason and not host.pending:
        return host
    return replace(host, reason=reason, pending=clean_json(host.pending))


def _record(row: Row) -> HostRecord:
    """Return the host of a row. Drop undecodable `pending` probes: the next whole plan finds them again. Undecodable
    days of further paths are dropped too: those paths are requested again."""
    values = list(row)
    if values[_OUTCOME]:
        values[_OUTCOME] = Outcome(values[_OUTCOME])
    values[_WHY] = DueReason(values[_WHY])
    for place, nothing in ((_PENDING, []), (_ASKED, {})):
        try:
            values[place] = decode(values[place])
        except ValueError:
            values[place] = nothing
    return HostRecord(*values)


_OUTCOME, _WHY, _PENDING, _ASKED = map(_FIELDS.index, ("outcome", "next_visit_why", "pending", "asked"))
