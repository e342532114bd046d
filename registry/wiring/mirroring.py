"""The actions of a mirror: read its progress, and apply the origin's records."""

import asyncio
from collections.abc import Collection, Sequence
from datetime import timedelta

from registry.actions.dumps import ANSWER_BYTES as ANSWER_BYTES  # the interfaces bound an answer by it
from registry.actions.mirroring import apply, received
from registry.actions.mirroring.apply import NotAMirror as NotAMirror  # the interfaces catch it
from registry.actions.mirroring.apply import StaleProgress as StaleProgress  # the interfaces catch it
from registry.actions.mirroring.apply import Statement as Statement  # the interfaces make it
from registry.store.dump_files import DumpFileManifest
from registry.store.mirroring import MirroredRecord
from registry.store.mirroring import MirrorRecord as MirrorRecord  # the interfaces name it
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now


class MirrorActions:
    """`exempt`: names of the connect-to table, which may be special-use names."""

    def __init__(self, store: Store, exempt: Collection[str]) -> None:
        self._store = store
        self._exempt = exempt

    async def progress(self) -> MirrorRecord | None:
        return await apply.progress(self._store)

    async def begin(self, origin: str) -> MirrorRecord:
        return await apply.begin(self._store, origin)

    async def start_dump(self, manifest: DumpFileManifest, *, forget_cursor: bool = False) -> MirrorRecord:
        return await apply.start_dump(self._store, manifest, forget_cursor=forget_cursor)

    async def load(
        self, before: MirrorRecord, statements: Sequence[Statement], *, part: int, line: int, nameless: int
    ) -> tuple[MirrorRecord, apply.ApplyCounts]:
        return await apply.load(self._store, before, statements, part=part, line=line, nameless=nameless, now=utc_now())

    async def finish_dump(self, before: MirrorRecord) -> tuple[MirrorRecord, int]:
        return await apply.finish_dump(self._store, before)

    async def follow(
        self,
        before: MirrorRecord,
        statements: Sequence[Statement],
        *,
        cursor: str | None,
        behind: timedelta,
        nameless: int = 0,
    ) -> tuple[MirrorRecord, apply.ApplyCounts]:
        return await apply.follow(
            self._store, before, statements, cursor=cursor, behind=behind, nameless=nameless, now=utc_now()
        )

    async def counts(self) -> dict[str, int]:
        async with self._store.begin() as uow:
            return await uow.mirroring.counts()

    async def refused(self, *, limit: int = 100) -> Sequence[MirroredRecord]:
        async with self._store.begin() as uow:
            return await uow.mirroring.refused(limit=limit)

    async def statements(self, lines: Sequence[bytes], sequence: int) -> tuple[list[Statement], int]:
        """Return the statements in lines of a dump, and how many lines name no host. Every line is checked
        separately."""
        return await asyncio.to_thread(self._statements, lines, sequence)

    async def answered(self, entries: Sequence[bytes], hosts: Sequence[str], sequence: int) -> list[Statement]:
        """Return the statements in entries of an answer. `hosts`: the requested ones, in the order of unreadable
        entries."""
        return await asyncio.to_thread(self._answered, entries, hosts, sequence)

    def _statements(self, lines: Sequence[bytes], sequence: int) -> tuple[list[Statement], int]:
        found, nameless = [], 0
        for line in lines:
            try:
                record = received.received(line, exempt=self._exempt)
            except received.RefusedRecord as refusal:
                if refusal.host is None:
                    nameless += 1
                else:
                    found.append(Statement(refusal.host, sequence, refused=refusal.code))
                continue
            found.append(Statement(record.host, sequence, record))
        return found, nameless

    def _answered(self, entries: Sequence[bytes], hosts: Sequence[str], sequence: int) -> list[Statement]:
        found: list[Statement] = []
        for number, entry in enumerate(entries):
            try:
                record = received.received(entry, exempt=self._exempt)
            except received.RefusedRecord as refusal:
                host = refusal.host or next(iter(hosts[number : number + 1]), None)
                if host is not None:
                    found.append(Statement(host, sequence, refused=refusal.code))
                continue
            found.append(Statement(record.host, sequence, record))
        return found
