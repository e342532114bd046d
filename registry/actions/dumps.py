"""Dumps of all public records at one moment, and the records of single hosts for mirrors.

All rows and the feed position are read in one transaction (REPEATABLE READ), and every later change has an event in the
feed. So a reader that loads the dump and then follows the feed from the position misses nothing (docs/adr/0030,
docs/adr/0032). `registry/actions/mirroring/received.py` reads the records.
"""

import asyncio
import base64
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

import orjson

from registry.actions import Clock
from registry.actions.feed import encode, sequence
from registry.core.changes.kinds import ALL
from registry.core.merging.merge import Usage, usage_of
from registry.core.model.services import Policies, from_json
from registry.core.names.domains import registrable_domain
from registry.core.reading.foreign_lists import RECORD_VALUES, count_values
from registry.settings import Settings
from registry.store.dump_files import (
    LINE_BYTES,
    MANIFEST,
    MANIFEST_BYTES,
    BadDump,
    DumpError,
    DumpFileManifest,
    DumpFolder,
    DumpWriter,
    Part,
    lines,
    read_manifest,
    verify,
)
from registry.store.mirroring import ORIGIN_BLOCK
from registry.store.public_records import SHOWN, PublicRecord
from registry.store.unit_of_work import Store, UnitOfWork

__all__ = [
    "ANSWER_BYTES", "LINE_BYTES", "MANIFEST", "MANIFEST_BYTES", "MOST_HOSTS", "BadDump", "DumpActions",
    "DumpError", "DumpFigures", "DumpFileManifest", "Part", "RecordLookup", "lines", "read_manifest", "verify",
]  # fmt: skip

"""Name of the folder of dumps in the data folder."""


class DumpPosition(NamedTuple):
    """Position in the change feed. `cursor`: where the unfiltered feed continues after `sequence`."""

    sequence: int
    cursor: str


async def position(uow: UnitOfWork) -> DumpPosition:
    latest = (await uow.feed.state()).ends.latest
    return DumpPosition(latest.seq, encode(latest, ALL))


BODIES_BYTES: Final = 8 * 1024 * 1024  # bytes of bodies in one record; further ones are left out

OptOutState = Literal["opted_out", "blocked"]


def usage_of_record(record: PublicRecord) -> Usage:
    """Return what the site says about the use of its texts."""
    try:
        stored = record.service["policies"]
        policies = from_json({"policies": orjson.loads(stored)}).policies if stored else Policies()
    except ValueError:
        policies = Policies(training="unreadable")
    return usage_of(policies, record.visit["robots_body"], record.service["robots"])


_MEMBERS: Final = {"well_known_url": "manifest_url"}


def encoded(record: PublicRecord, usage: Usage, bodies: Mapping[bytes, bytes] | None = None) -> bytes:
    """Return the JSON of a record. `bodies`: its documents by SHA-256, added as base64."""
    left = BODIES_BYTES
    documents = []
    for document in record.documents:
        entry = {**document, "sha256": document["sha256"].hex()}
        body = (bodies or {}).get(document["sha256"])
        if body is not None and len(body) <= left:
            left -= len(body)
            entry["body"] = base64.b64encode(body).decode()
        documents.append(entry)
    grade = record.score and {**record.score, "breakdown": orjson.Fragment(record.score["breakdown"])}
    visit = {name: value for name, value in record.visit.items() if name != "robots_body"}
    return orjson.dumps(
        {
            "kind": "service",
            **{_MEMBERS.get(name, name): record.service[name] for name in SHOWN},
            "visit": {**visit, "reason": visit["reason"] or ""},
            "usage": usage.to_json(),
            "model": orjson.Fragment(record.service["model"]),
            "capabilities": [
                {"name": name, "data": orjson.Fragment(data)}
                | ({} if detail is None else {"detail": orjson.Fragment(detail)})
                for name, data, detail in record.capabilities
            ],
            "listing": orjson.Fragment(record.service["listing"]),
            "findings": record.findings,
            "grade": grade,
            "documents": documents,
            "untrusted_text": True,
        }
    )


def tombstone(host: str, state: str, covering: Mapping[str, str] | None = None) -> bytes:
    """Return the JSON of a host without a service. `state`: opted_out, blocked or absent. `covering`: the opt-outs that
    cover the host, host -> state."""
    told = [{"host": name, "kind": kind} for name, kind in covering.items()] if covering else None
    return orjson.dumps({"kind": state, "host": host} | ({"covering": told} if told else {}))


def state_of_opt_out(how: str) -> OptOutState:
    """Return the public state of an opt-out: by the site itself, or by an operator."""
    return "blocked" if how in ("operator", ORIGIN_BLOCK) else "opted_out"


PAGE: Final = 100  # records in memory at once
TERMS: Final = (
    "The texts are those of the sites, which keep their rights; this dump grants none. `usage` of each record states "
    "what its site says about training and attribution: whoever uses a record must honour it. Hosts that opted out are "
    "listed by name only, so that copies delete them. Texts are data, never instructions."
)


@dataclass(frozen=True, slots=True)
class DumpFigures:
    """Figures of a dump. `counts`: as in its manifest. `bytes`: of all parts, compressed."""

    snapshot: str
    counts: dict[str, int]
    parts: int
    bytes: int


async def _pages(
    uow: UnitOfWork, counts: Counter[str], with_documents: bool, without_restricted: bool
) -> AsyncIterator[list[tuple[str, bytes]]]:
    """Yield lines with their keys, page by page: services first, then opt-outs."""
    counts.update(services=0, opted_out=0, blocked=0, training_restricted=0, attribution_required=0)
    after = ("", "")
    while records := await uow.records.page(after, limit=PAGE):
        entries = []
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
            entries.append((" ".join(record.key), line))
        yield entries
        after = records[-1].key
    after = ("", "")
    while rows := await uow.records.opt_outs(after, limit=10 * PAGE):
        entries = []
        for domain, host, how, _ in rows:
            state = state_of_opt_out(how)
            counts[state] += 1
            entries.append((f"{domain} {host}", tombstone(host, state)))
        yield entries
        after = (rows[-1][0], rows[-1][1])


MOST_HOSTS: Final = 50
ANSWER_BYTES: Final = 8 * 1024 * 1024
"""Bytes of records after which the other hosts are left for another request. One record is always returned."""


@dataclass(frozen=True, slots=True)
class RecordLookup:
    """Public records. `records`: JSON objects, one per host. `left`: hosts that did not fit. `sequence`: a position in
    the feed; no record is older than it."""

    sequence: int
    cursor: str
    records: tuple[bytes, ...]
    left: tuple[str, ...]
    size: int


class DumpActions:
    """Dumps: writing them, finding their files, and the records of single hosts."""

    def __init__(self, store: Store, clock: Clock, settings: Settings) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._folder = DumpFolder(settings.dumps_folder)

    async def manifest(self) -> bytes | None:
        """Return the newest manifest; None if there is no dump."""
        return await asyncio.to_thread(self._folder.manifest)

    async def part(self, name: str) -> tuple[Part, Path] | None:
        """Return a part of a kept dump, and its file; None for any other name."""
        part = await asyncio.to_thread(self._folder.part, name)
        return None if part is None else (part, self._folder.path(part))

    async def export(
        self, folder: Path | None = None, *, with_documents: bool = False, without_restricted: bool | None = None
    ) -> DumpFigures:
        """Write a dump, make it the newest of its folder, and delete old ones. Memory use is constant.

        `folder`: by default where `waypost serve` finds it. `without_restricted`: leave out services whose site forbids
        or restricts training; by default as configured. Cancelling leaves no trace. Raise
        DumpRunning, DumpError and StoreUnavailable; earlier dumps then stay unchanged.
        """
        now, settings = self._clock(), self._settings
        if without_restricted is None:
            without_restricted = not settings.dump_restricted
        await sequence(self._store)  # so that the position is near the end of the feed
        snapshot = now.strftime("%Y%m%dT%H%M%SZ")
        counts = Counter[str]()
        with DumpWriter(folder or self._folder.folder, snapshot) as writer:
            async with self._store.snapshot() as uow:
                at = await position(uow)
                async for entries in _pages(uow, counts, with_documents, without_restricted):
                    await asyncio.to_thread(writer.add_all, entries)
            parts = await asyncio.to_thread(writer.finish)
            manifest = DumpFileManifest(
                snapshot=snapshot,
                created_at=now.isoformat(),
                registry=settings.public_url.rstrip("/"),
                cursor=at.cursor,
                sequence=at.sequence,
                restricted=not without_restricted,
                terms={"text": TERMS, "url": settings.dump_terms_url},
                counts={name: counts[name] for name in sorted(counts)},
                parts=parts,
            )
            await asyncio.to_thread(writer.publish, manifest, keep=settings.keep_dumps)
        return DumpFigures(snapshot, dict(counts), len(parts), sum(part.bytes for part in parts))

    async def records(self, hosts: Collection[str]) -> RecordLookup:
        """Return the public records of at most MOST_HOSTS hosts in canonical spelling, also of hosts without a service.
        All are read in one snapshot. Raise StoreUnavailable."""
        keys = [(registrable_domain(host), host) for host in dict.fromkeys(hosts)]
        async with self._store.snapshot() as uow:
            at = await position(uow)
            limits = await uow.holds.limits({domain for domain, _ in keys})
            found: list[bytes] = []
            left: list[str] = []
            size = 0
            for domain, host in keys:
                if found and size > ANSWER_BYTES:
                    left.append(host)
                    continue
                states = {name: state_of_opt_out(how) for name, how in limits[domain].told_closed(host).items()}
                records = [] if states else await uow.records.of([(domain, host)])
                if records:
                    raw = await asyncio.to_thread(encoded, records[0], usage_of_record(records[0]))
                else:
                    raw = tombstone(host, states[min(states, key=len)] if states else "absent", states)
                found.append(raw)
                size += len(raw)
        return RecordLookup(at.sequence, at.cursor, tuple(found), tuple(left), size)
