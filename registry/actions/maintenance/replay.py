"""Applies lines of a file of opt-outs to a database that may be older than they are.

The last line of each host counts. What the database knows already stays as it is, so a replay may be repeated, and
several processes may do it at once. The audit log tells when an opt-out ended: the line of an opt-out that ended later,
at another machine, brings nothing back.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, get_args

from registry.actions.frontier.apply_opt_out import apply_opt_out
from registry.actions.maintenance.forget import How, forget
from registry.actions.maintenance.opt_out import end_opt_out
from registry.core.access.audit import AuditEntry, system_actor
from registry.core.names.domains import registrable_domain
from registry.store.candidates import REPORTED
from registry.store.opt_out_file import OptOutLine as OptOutLine  # wiring names it
from registry.store.opt_out_file import encoded as encoded  # the command line prints lines
from registry.store.records import ChangeRecord, OptOutRecord
from registry.store.unit_of_work import Store

ACTOR: Final = system_actor("replay")

_PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class Replayed:
    """`opted_out`, `readmitted`: hosts that the database did not know to have opted out, or to be readmitted.
    `lines`: all that were read."""

    lines: int
    opted_out: tuple[str, ...] = ()
    readmitted: tuple[str, ...] = ()


async def replay(store: Store, lines: Iterable[OptOutLine], *, now: datetime) -> Replayed:
    """Raise StoreUnavailable; may be repeated."""
    lines = sorted(lines, key=lambda line: line.at)
    last = list({line.host: line for line in lines}.values())
    opted_out, readmitted = [], []
    for first in range(0, len(last), _PAGE):
        for line in await _unknown(store, last[first : first + _PAGE]):
            if line.action == "in":
                readmitted.append(line.host)
                await _end(store, line, now)
            else:
                opted_out.append(line.host)
                await _opt_out(store, line, now)
    return Replayed(len(lines), tuple(opted_out), tuple(readmitted))


async def _unknown(store: Store, lines: list[OptOutLine]) -> list[OptOutLine]:
    """Return the lines that the database does not follow."""
    unknown = []
    async with store.begin() as uow:
        rows = {
            row.host: row
            for domain in sorted({registrable_domain(line.host) for line in lines})
            for row in await uow.opt_outs.rows(domain)
            if row.how not in REPORTED
        }
        for line in lines:
            row = rows.get(line.host)
            if line.action == "in":
                if row is not None and row.created_at <= line.at:
                    unknown.append(line)
            elif row is None:
                ended_at = await uow.audit.last(line.host, "host.readmitted")
                if ended_at is None or ended_at < line.at:  # guard: replay-readmitted
                    unknown.append(line)
    return unknown


async def _opt_out(store: Store, line: OptOutLine, now: datetime) -> None:
    how = next((how for how in get_args(How) if how == line.how), None)
    if how is not None:
        await forget(
            store, line.host, now=now, opt_out=how, evidence=line.evidence, since=line.at, actor=ACTOR,
            reason="replayed from the file of opt-outs",
        )  # fmt: skip
        return
    # Declared in robots.txt, or in a way that only a later version knows: hidden and not visited, nothing is deleted.
    domain = registrable_domain(line.host)
    async with store.begin() as uow:
        await uow.domains.lock([domain])
        await uow.opt_outs.add([OptOutRecord(domain, line.host, line.how, line.evidence, line.at)])
        await apply_opt_out(uow, domain, line.host, now=now)
        await uow.forgetting.fence(domain)
        data = {"state": "opted_out", "how": line.how}
        await uow.ledger.add_changes([ChangeRecord(domain, line.host, "host.opted_out", now, data)])
        await uow.audit.add(AuditEntry(ACTOR, "host.opted_out", domain, line.host, "", {"how": line.how}), now=now)


async def _end(store: Store, line: OptOutLine, now: datetime) -> None:
    domain = registrable_domain(line.host)
    async with store.begin() as uow:
        await uow.domains.lock([domain])
        row = next((row for row in await uow.opt_outs.rows(domain) if row.host == line.host), None)
        if row is not None:
            await end_opt_out(uow, row, actor=ACTOR, now=now)
