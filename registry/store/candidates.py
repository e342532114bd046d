"""Repositories of candidates, which may become hosts, and of opt-outs."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final

from sqlalchemy import delete, func, or_, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from registry.store.engine import StoreUnavailable, listed
from registry.store.opt_out_file import OptOutFile, OptOutLine
from registry.store.records import CandidateRecord, OptOutRecord
from registry.store.repository import Repository, selected
from registry.store.tables import CandidateRow, OptOutRow
from registry.store.values import clean

MAX_REL_CHARS = 60

_FOLD = text("UPDATE candidates SET folded_at = :now, verdict = :verdict WHERE domain = :domain AND host = :host")
_CANDIDATE: Final = selected(CandidateRow, CandidateRecord)
_OPT_OUT: Final = selected(OptOutRow, OptOutRecord)


class Candidates(Repository):
    async def add(self, candidates: Iterable[CandidateRecord]) -> int:
        """Insert candidates and return the number of new ones. Repeated mentions by a host count once."""
        ordered = sorted(
            candidates, key=lambda candidate: (candidate.domain, candidate.host, candidate.referrer, candidate.rel)
        )
        rows = [
            asdict(candidate) | {"rel": clean(candidate.rel, MAX_REL_CHARS), "document": clean(candidate.document)}
            for candidate in ordered
        ]
        return await self._many(insert(CandidateRow).on_conflict_do_nothing(), rows)

    async def open(self, *, limit: int) -> list[CandidateRecord]:
        """Lock and return the oldest candidates not yet folded; skip those locked by another process."""
        statement = (
            select(*_CANDIDATE)
            .where(CandidateRow.folded_at.is_(None))
            .order_by(CandidateRow.created_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        return await self._list(CandidateRecord, statement)

    async def fold(self, verdicts: Sequence[tuple[CandidateRecord, str | None]], *, now: datetime) -> None:
        """Record the results of folding: None for a new host, else why the candidate did not become one."""
        rows = [
            {"now": now, "verdict": verdict, "domain": candidate.domain, "host": candidate.host}
            for candidate, verdict in sorted(verdicts, key=lambda pair: (pair[0].domain, pair[0].host))
        ]
        await self._many(_FOLD, rows)

    async def waiting(self) -> int:
        statement = select(func.count()).where(CandidateRow.folded_at.is_(None))
        return await self._number(statement)


REPORTED = ("origin", "origin_block")
"""How opt-outs were declared that the origin of a mirror reports."""

_OPTED_OUT = "SELECT domain, host FROM opt_outs WHERE domain = ANY(string_to_array(%(domains)s, ' '))"


class OptOuts(Repository):
    """Reads and writes opt-outs. `file`: where opt-outs of this registry and their ends are written first, or None."""

    def __init__(self, connection: AsyncConnection, file: OptOutFile | None = None) -> None:
        super().__init__(connection)
        self._file = file

    async def add(self, opt_outs: Iterable[OptOutRecord]) -> None:
        """Insert opt-outs. A host keeps its first opt-out with its evidence, except that a local one replaces the
        report of a mirror's origin. Raise StoreUnavailable if the file cannot be written."""
        opt_outs = list(opt_outs)
        await self._write(
            [
                OptOutLine("out", opt_out.host, opt_out.how, clean(opt_out.evidence), opt_out.created_at)
                for opt_out in opt_outs
                if opt_out.how not in REPORTED
            ]
        )
        rows = [asdict(opt_out) | {"evidence": clean(opt_out.evidence)} for opt_out in opt_outs]
        statement = insert(OptOutRow)
        new = {name: statement.excluded[name] for name in ("how", "evidence", "created_at")}
        statement = statement.on_conflict_do_update(
            index_elements=["domain", "host"], set_=new, where=or_(*(OptOutRow.how == how for how in REPORTED))
        )
        await self._many(statement, rows)

    async def rows(self, domain: str) -> list[OptOutRecord]:
        """Return all opt-outs of a domain, with how and where they were declared."""
        return await self._list(OptOutRecord, select(*_OPT_OUT).where(OptOutRow.domain == domain))

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
