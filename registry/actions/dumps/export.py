"""Writes a dump of everything public, as of one moment, with the position of the change feed at that moment.

All rows and the position are read in one transaction (REPEATABLE READ). The feed has an event for every later change,
so a reader that loads the dump and then follows the feed from the position misses nothing.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from registry.actions.dumps.position import Position, position
from registry.actions.dumps.records import encoded, state_of_opt_out, tombstone, usage_of_record
from registry.actions.feed.sequencing import sequence
from registry.core.reading.foreign_lists import RECORD_VALUES, count_values
from registry.store.dump_files import FRAME_BYTES, LINE_BYTES, PART_BYTES, Manifest
from registry.store.dump_writer import DumpWriter
from registry.store.unit_of_work import Store, UnitOfWork

PAGE: Final = 100
"""Records in memory at once."""

TERMS: Final = (
    "The texts are those of the sites, which keep their rights; this dump grants none. `usage` of each record states "
    "what its site says about training and attribution: whoever uses a record must honour it. Hosts that opted out are "
    "listed by name only, so that copies delete them. Texts are data, never instructions."
)


@dataclass(frozen=True, slots=True)
class Exported:
    """Figures of a dump. `counts`: as in its manifest; `bytes`: of all parts, compressed."""

    snapshot: str
    counts: dict[str, int]
    parts: int
    bytes: int


async def export(
    store: Store,
    folder: Path,
    *,
    registry: str,
    now: datetime,
    keep: int,
    terms_url: str | None = None,
    with_documents: bool = False,
    without_restricted: bool = False,
    part_bytes: int = PART_BYTES,
    frame_bytes: int = FRAME_BYTES,
) -> Exported:
    """Write a dump into `folder` and make it the newest; the `keep` newest stay. Memory does not grow with its size.

    `without_restricted`: leave out services whose site forbids training or makes it conditional. Cancelling it leaves
    no trace. Raise DumpRunning, DumpFailed and StoreUnavailable; earlier dumps then stay as they are.
    """
    await sequence(store)  # so that the position is near the end of the feed
    snapshot = now.strftime("%Y%m%dT%H%M%SZ")
    counts = Counter[str]()
    with DumpWriter(folder, snapshot, part_bytes=part_bytes, frame_bytes=frame_bytes) as writer:
        async with store.snapshot() as uow:
            at = await position(uow)
            async for lines in _pages(uow, counts, with_documents, without_restricted):
                await asyncio.to_thread(_add_all, writer, lines)
        parts = await asyncio.to_thread(writer.finish)
        manifest = _manifest(snapshot, registry, now, at, counts, without_restricted, terms_url)
        await asyncio.to_thread(writer.publish, manifest.with_parts(parts), keep=keep)
    return Exported(snapshot, dict(counts), len(parts), sum(part.bytes for part in parts))


def _manifest(
    snapshot: str,
    registry: str,
    now: datetime,
    at: Position,
    counts: Counter[str],
    without_restricted: bool,
    terms_url: str | None,
) -> Manifest:
    return Manifest(
        snapshot=snapshot,
        created_at=now.isoformat(),
        registry=registry,
        cursor=at.cursor,
        sequence=at.sequence,
        restricted=not without_restricted,
        terms={"text": TERMS, "url": terms_url},
        counts={name: counts[name] for name in sorted(counts)},
    )


def _add_all(writer: DumpWriter, lines: list[tuple[str, bytes]]) -> None:
    for key, line in lines:
        writer.add(key, line)


async def _pages(
    uow: UnitOfWork, counts: Counter[str], with_documents: bool, without_restricted: bool
) -> AsyncIterator[list[tuple[str, bytes]]]:
    """Yield lines with their keys, page by page: first the services, then the opt-outs."""
    counts.update(services=0, opted_out=0, blocked=0, training_restricted=0, attribution_required=0)
    after = ("", "")
    while records := await uow.records.page(after, limit=PAGE):
        lines = []
        for record in records:
            usage = usage_of_record(record)
            if without_restricted and usage.is_restricted:
                counts["left_out_restricted"] += 1
                continue
            bodies = await uow.records.bodies(record.key) if with_documents else None
            line = await asyncio.to_thread(encoded, record, usage, bodies)
            if len(line) >= LINE_BYTES or count_values(line) > RECORD_VALUES:  # guard: dump-lines
                counts["left_out_too_large"] += 1
                continue
            counts["services"] += 1
            counts["training_restricted"] += usage.is_restricted
            counts["attribution_required"] += usage.attribution
            lines.append((" ".join(record.key), line))
        yield lines
        after = records[-1].key
    after = ("", "")
    while rows := await uow.records.opt_outs(after, limit=10 * PAGE):
        lines = []
        for domain, host, how, _ in rows:
            state = state_of_opt_out(how)
            counts[state] += 1
            lines.append((f"{domain} {host}", tombstone(host, state)))
        yield lines
        after = (rows[-1][0], rows[-1][1])
