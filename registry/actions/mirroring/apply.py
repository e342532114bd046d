"""Applies the statements of a mirror's origin: first a dump, then the records of hosts that the feed names.

Replication is by state: each statement is the whole record of a host as of a feed position, and an older state never
replaces a newer one. Progress is written in the transaction of the records, so any step may be interrupted and
repeated. A mirror decides nothing about its entries: submissions, claims, owners, reports and rechecks belong to its
origin. Its local opt-outs and holds take precedence over the origin.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

import orjson

from registry.actions import Clock, call_of
from registry.actions.mirroring.received import ReceivedRecord, RefusedRecord, received
from registry.core.names.domains import registrable_domain
from registry.core.names.opt_out import is_covered
from registry.store.dump_files import DumpFileManifest, read_manifest
from registry.store.engine import Unstorable
from registry.store.mirroring import ORIGIN, ORIGIN_BLOCK, MirroredRecord
from registry.store.mirroring import MirrorRecord as MirrorRecord  # interfaces name it
from registry.store.opt_outs import REPORTED
from registry.store.records import OptOutRecord
from registry.store.repository import Key
from registry.store.unit_of_work import Store, UnitOfWork

DROPPED_AT_ONCE: Final = 500


_log = logging.getLogger(__name__)


class NotAMirror(Exception):
    """This database cannot mirror that registry; the message says why."""


class StaleProgress(Exception):
    """Another process has applied something meanwhile: read the progress again."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The origin's record of a host as of a feed position. `refused`: why the record cannot be used."""

    host: str
    sequence: int
    received: ReceivedRecord | None = None
    refused: str = ""


@dataclass(slots=True)
class ApplyCounts:
    """Numbers of hosts: put, removed, left out, refused. `older`: a newer state was stored already."""

    put: int = 0
    removed: int = 0
    left_out: int = 0
    older: int = 0
    refused: dict[str, str] = field(default_factory=dict)

    def add(self, other: "ApplyCounts") -> None:
        self.put += other.put
        self.removed += other.removed
        self.left_out += other.left_out
        self.older += other.older
        self.refused |= other.refused


async def _apply_together(
    uow: UnitOfWork, mirror: MirrorRecord, statements: Sequence[Statement], now: datetime
) -> ApplyCounts:
    latest = {statement.host: statement for statement in statements}
    keys = {host: (registrable_domain(host), host) for host in latest}
    covering = {
        (keys[host][0], name)
        for host, statement in latest.items()
        for name, _ in (statement.received.covering if statement.received else None) or ()
    }
    known = await uow.mirroring.of({*keys.values(), *covering})
    domains = sorted({domain for domain, _ in keys.values()})
    opt_outs = {domain: await uow.opt_outs.rows(domain) for domain in domains}
    limits = await uow.holds.limits(domains)
    applied, work = ApplyCounts(), _Work(snapshot=_snapshot(mirror))
    for host, statement in latest.items():
        previous = known.get(host)
        if previous is not None and previous.sequence > statement.sequence:  # guard: mirror-order
            applied.older += 1
            continue
        key, received = keys[host], statement.received
        rows = [row for row in opt_outs[key[0]] if is_covered(host, [row.host])]
        if received is None:
            applied.refused[host] = statement.refused
            work.remove(key, statement, "refused", statement.refused)
        elif received.service is None:
            applied.removed += 1
            work.remove(key, statement, received.state)
            told = received.covering or (((host, received.state),) if received.state != "absent" else ())
            if received.covering is not None or received.state == "absent":
                work.ended += [(row.domain, row.host) for row in rows]
            for name, state in told:
                work.opt_out(key[0], name, state, mirror.origin, now)
                noted = known.get(name)
                if noted is None or noted.sequence <= statement.sequence:
                    work.note((key[0], name), statement, state)
        elif any(row.how not in REPORTED for row in rows):  # guard: mirror-own-opt-outs
            applied.left_out += 1
            work.remove(key, statement, "left_out", "opted_out_here")
        elif mirror.without_restricted and received.usage.is_restricted:
            applied.left_out += 1
            work.remove(key, statement, "left_out", "restricted")
        else:
            applied.put += 1
            work.ended += [(row.domain, row.host) for row in rows]
            # Held services are stored too, so that they can be shown when the hold ends.
            is_held = bool(limits[key[0]].of(host))  # guard: hold-mirror
            work.put.append(replace(received, service=replace(received.service, hidden=is_held)))
            work.note(key, statement, "listed", robots=received.usage.robots)
    await _write(uow, work, now)
    return applied


@dataclass(slots=True)
class _Work:
    """Rows to write in one transaction."""

    snapshot: str
    put: list[ReceivedRecord] = field(default_factory=list)
    cleared: list[Key] = field(default_factory=list)
    covered: list[Key] = field(default_factory=list)  # opt-outs: these hosts and all below them
    ended: list[Key] = field(default_factory=list)
    opt_outs: list[OptOutRecord] = field(default_factory=list)
    notes: dict[Key, MirroredRecord] = field(default_factory=dict)

    def note(self, key: Key, statement: Statement, state: str, reason: str = "", robots: str | None = None) -> None:
        self.notes[key] = MirroredRecord(*key, state, statement.sequence, self.snapshot, reason, robots)

    def opt_out(self, domain: str, host: str, state: str, origin: str, now: datetime) -> None:
        how = ORIGIN_BLOCK if state == "blocked" else ORIGIN
        self.opt_outs.append(OptOutRecord(domain, host, how, origin, now))
        self.covered.append((domain, host))

    def remove(self, key: Key, statement: Statement, state: str, reason: str = "") -> None:
        self.cleared.append(key)
        self.note(key, statement, state, reason)


async def _write(uow: UnitOfWork, work: _Work, now: datetime) -> None:
    for domain, host in work.covered:
        work.cleared += [(domain, below) for below in await uow.mirroring.below(domain, host)]
    services = [received.service for received in work.put if received.service is not None]
    stored = await uow.services.of({service.domain for service in services})
    # `services.put` keeps the creation time of a service. A service that was removed and listed again meanwhile is new.
    renewed = [
        (service.domain, service.host)
        for service in services
        if (old := stored.get(service.host)) is not None and old.created_at != service.created_at
    ]
    await uow.mirroring.clear([*work.cleared, *renewed])
    await uow.mirroring.end_opt_outs(work.ended)
    await uow.opt_outs.add(work.opt_outs)
    keys = [(service.domain, service.host) for service in services]
    await uow.mirroring.clear_details(keys)
    await uow.hosts.put([received.visit for received in work.put if received.visit is not None])
    await uow.documents.put([document for received in work.put for document in received.documents])
    await uow.services.put(services)
    await uow.services.replace_capabilities({(one.domain, one.host): one.capabilities for one in work.put}, now=now)
    await uow.services.replace_findings({(one.domain, one.host): one.findings for one in work.put})
    await uow.services.add_scores([received.score for received in work.put if received.score is not None])
    await uow.mirroring.note(work.notes.values())


def _snapshot(mirror: MirrorRecord) -> str:
    """Return the dump to which the current statements belong; a newer state keeps its position."""
    return str((mirror.manifest or {}).get("snapshot", ""))


async def _locked(uow: UnitOfWork) -> MirrorRecord:
    await uow.mirroring.lock()
    mirror = await uow.mirroring.get()
    if mirror is None:
        raise StaleProgress
    return mirror


async def _require_progress(uow: UnitOfWork, before: MirrorRecord) -> None:
    """Raise StaleProgress unless the progress is still `before`."""
    now = await _locked(uow)
    places = [(one.phase, one.part, one.line, one.cursor, _snapshot(one)) for one in (now, before)]
    if places[0] != places[1]:  # guard: mirror-progress
        raise StaleProgress


class DecidedAtOrigin(Exception):
    """This registry mirrors another one, which decides about the host (None: all hosts). `origin`: its base URL."""

    code: Final = "mirrored"

    def __init__(self, origin: str, host: str | None) -> None:
        super().__init__(f"this registry mirrors {origin}: ask there")
        self.origin = origin
        self.host = host


async def refuse_in_mirror(uow: UnitOfWork, host: str | None = None) -> None:
    """Raise DecidedAtOrigin if this registry is a mirror."""
    mirror = await uow.mirroring.get()
    if mirror is not None:  # guard: mirror-decides-nothing
        raise DecidedAtOrigin(mirror.origin, host)


def _statements(
    records: Sequence[bytes], sequence: int, hosts: Sequence[str], exempt: Collection[str]
) -> tuple[list[Statement], int]:
    found, nameless = [], 0
    for number, raw in enumerate(records):
        try:
            record = received(raw, exempt=exempt)
        except RefusedRecord as refusal:
            host = refusal.host or next(iter(hosts[number : number + 1]), None)
            if host is None:
                nameless += 1
            else:
                found.append(Statement(host, sequence, refused=refusal.code))
            continue
        found.append(Statement(record.host, sequence, record))
    return found, nameless


@dataclass(eq=False)
class MirrorActions:
    """The copy of another registry: its progress, and the statements that it applies. `_exempt`: names that may be
    special-use names."""

    _store: Store
    _clock: Clock
    _exempt: Collection[str] = ()

    progress = call_of(lambda uow: uow.mirroring.get)
    counts = call_of(lambda uow: uow.mirroring.counts)
    refused = call_of(lambda uow: uow.mirroring.refused)

    async def statements(
        self, records: Sequence[bytes], sequence: int, hosts: Sequence[str] = ()
    ) -> tuple[list[Statement], int]:
        """Return the statements in records, and how many records name no host. Every record is checked separately.
        `hosts`: the requested ones in the order of the records, for records that cannot be read."""
        return await asyncio.to_thread(_statements, records, sequence, hosts, self._exempt)

    async def begin(self, origin: str) -> MirrorRecord:
        """Make this database a mirror of `origin` unless it already is; return its progress. Raise NotAMirror if the
        database has local services or owners, or mirrors another origin."""
        async with self._store.begin() as uow:
            await uow.mirroring.lock()
            mirror = await uow.mirroring.get()
            if mirror is not None and mirror.origin != origin:
                raise NotAMirror("this database mirrors another registry; use another database or data folder")
            if mirror is None:
                if await uow.mirroring.has_own_entries():  # guard: mirror-own-services
                    raise NotAMirror("this registry already has services or owners; a mirror needs an empty database")
                mirror = MirrorRecord(origin, "loading")
                await uow.mirroring.put(mirror)
            return mirror

    async def start_dump(self, manifest: DumpFileManifest, *, forget_cursor: bool = False) -> MirrorRecord:
        """Start to load a dump from its first line, unless it is being loaded; return the progress. `forget_cursor`:
        the feed no longer reaches back to where the mirror stopped."""
        async with self._store.begin() as uow:
            mirror = await _locked(uow)
            is_same = mirror.manifest is not None and mirror.manifest.get("snapshot") == manifest.snapshot
            if is_same and mirror.phase == "loading" and not forget_cursor:
                return mirror
            mirror = replace(
                mirror,
                phase="loading",
                manifest=manifest.to_json(),
                part=0,
                line=0,
                cursor=None if forget_cursor else mirror.cursor,
                without_restricted=not manifest.restricted,
            )
            await uow.mirroring.put(mirror)
            return mirror

    async def load(
        self, before: MirrorRecord, statements: Sequence[Statement], *, part: int, line: int, nameless: int
    ) -> tuple[MirrorRecord, ApplyCounts]:
        """Apply lines of the dump; afterwards `part` parts, and `line` lines of the next part, are loaded. `nameless`:
        refused lines that name no host. Raise StaleProgress."""
        after = replace(before, part=part, line=line, refused=before.refused + nameless)
        return after, await self._apply(before, after, statements, self._clock())

    async def finish_dump(self, before: MirrorRecord) -> tuple[MirrorRecord, int]:
        """Remove hosts that are not in the dump, then continue with the feed; return how many were removed. Raise
        StaleProgress."""
        manifest = read_manifest(orjson.dumps(before.manifest))  # it was checked when it was stored
        removed = 0
        while True:
            async with self._store.begin() as uow:
                await _require_progress(uow, before)
                gone = await uow.mirroring.outdated(
                    snapshot=manifest.snapshot, until=manifest.sequence, limit=DROPPED_AT_ONCE
                )
                if gone:
                    await uow.mirroring.drop(gone)
                    removed += len(gone)
                    continue
                is_ahead = before.cursor is not None and before.sequence >= manifest.sequence
                after = replace(
                    before,
                    phase="following",
                    cursor=before.cursor if is_ahead else manifest.cursor,
                    sequence=max(before.sequence, manifest.sequence) if is_ahead else manifest.sequence,
                )
                await uow.mirroring.put(after)
                return after, removed

    async def follow(
        self,
        before: MirrorRecord,
        statements: Sequence[Statement],
        *,
        cursor: str | None,
        behind: timedelta,
        nameless: int = 0,
    ) -> tuple[MirrorRecord, ApplyCounts]:
        """Apply the records of the hosts that a page of the feed names, and move on to `cursor`. `nameless`: refused
        events that name no host. Raise StaleProgress."""
        now = self._clock()
        sequence = max([before.sequence, *(statement.sequence for statement in statements)])
        after = replace(
            before,
            cursor=cursor,
            sequence=sequence,
            behind_s=max(0, round(behind.total_seconds())),
            contact_at=now,
            refused=before.refused + nameless,
        )
        return after, await self._apply(before, after, statements, now)

    async def _apply(
        self, before: MirrorRecord, after: MirrorRecord, statements: Sequence[Statement], now: datetime
    ) -> ApplyCounts:
        """Apply all statements and the progress in one transaction. If the database refuses a value, apply them one by
        one to find it. The progress then comes last, which is safe because every statement may be applied twice."""
        try:
            async with self._store.begin() as uow:
                await _require_progress(uow, before)
                applied = await _apply_together(uow, before, statements, now)
                await uow.mirroring.put(after)
                return applied
        except Unstorable:
            if not statements:
                raise
        applied = ApplyCounts()
        for statement in statements:
            try:
                async with self._store.begin() as uow:
                    await _require_progress(uow, before)
                    applied.add(await _apply_together(uow, before, [statement], now))
            except Unstorable:
                _log.warning("a record of %s cannot be stored", statement.host)
                async with self._store.begin() as uow:
                    await _require_progress(uow, before)
                    refused = replace(statement, received=None, refused="unstorable")
                    applied.add(await _apply_together(uow, before, [refused], now))
        async with self._store.begin() as uow:
            await _require_progress(uow, before)
            await uow.mirroring.put(after)
        return applied
