"""Dumps: what is in them, as of which moment, and how a mirror applies them. Two databases, no network."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from registry.actions.dumps.export import export
from registry.actions.dumps.lookup import lookup
from registry.actions.dumps.records import RefusedRecord, received
from registry.actions.feed.cursors import decode
from registry.actions.feed.reading import page
from registry.actions.maintenance.forget import forget
from registry.actions.mirroring import apply
from registry.actions.mirroring.apply import NotAMirror, Statement, Superseded
from registry.core.changes.kinds import ALL
from registry.store.dump_files import Manifest, lines, read_manifest, verify
from registry.store.engine import make_engine
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, NOW, Page, adp_site, again, awp_manifest, crawl, take
from tests.support.database import MigratedDatabases, rows

POST, BIKES, PRIVATE = "post.example", "bikes.example", "private.example"
ORIGIN = "https://origin.example"
EXEMPT = frozenset({POST, BIKES, PRIVATE, "sub.post.example"})
SITES = {
    POST: adp_site(POST, "create_parcel", "track_parcel"),
    BIKES: {"/agent.json": Page(awp_manifest(BIKES))},
}


@pytest.fixture
async def copy(migrated_databases: MigratedDatabases) -> AsyncIterator[Store]:
    """A second, empty database."""
    with migrated_databases.borrowed() as url:
        opened = Store(make_engine(url, pool_size=3))
        yield opened
        await opened.close()


async def dump(store: Store, folder: Path, **options: Any) -> Manifest:
    await export(store, folder, registry=ORIGIN, now=options.pop("now", NOW), keep=options.pop("keep", 2), **options)
    return read_manifest((folder / "manifest.json").read_bytes())


def raw_lines(folder: Path, manifest: Manifest) -> Iterator[bytes]:
    for part in manifest.parts:
        verify(folder / part.name, part)
        yield from lines(folder / part.name, part)


def values(folder: Path, manifest: Manifest) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in raw_lines(folder, manifest)]


async def load(copy: Store, folder: Path, manifest: Manifest) -> apply.MirrorRecord:
    await apply.begin(copy, ORIGIN)
    progress = await apply.start_dump(copy, manifest)
    statements = [
        Statement(record.host, manifest.sequence, record)
        for line in raw_lines(folder, manifest)
        for record in [received(line, exempt=EXEMPT)]
    ]
    progress, _ = await apply.load(copy, progress, statements, part=1, line=0, nameless=0, now=NOW)
    progress, _ = await apply.finish_dump(copy, progress)
    return progress


async def public(store: Store, folder: Path) -> list[dict[str, Any]]:
    """Return everything public of a registry, as a dump holds it."""
    found = values(folder, await dump(store, folder))
    return sorted(found, key=lambda record: (record["kind"], record["host"]))


async def catch_up(origin: Store, copy: Store, progress: apply.MirrorRecord) -> apply.MirrorRecord:
    """Follow the feed of the origin to its end."""
    while True:
        assert progress.cursor is not None
        found = await page(origin, decode(progress.cursor, ALL), limit=3)
        hosts = list(dict.fromkeys(event.host for event in found.events))
        answers = await lookup(origin, hosts)
        statements = [
            Statement(record.host, answers.sequence, record)
            for raw in answers.records
            for record in [received(raw, exempt=EXEMPT)]
        ]
        progress, _ = await apply.follow(
            copy, progress, statements, cursor=found.cursor, behind=timedelta(), now=NOW
        )
        if not found.has_more:
            return progress


async def test_a_dump_loaded_elsewhere_holds_the_same(store: Store, copy: Store, tmp_path: Path) -> None:
    await crawl(store, SITES)
    manifest = await dump(store, tmp_path / "dump")
    assert manifest.counts == {
        "attribution_required": 0, "blocked": 0, "opted_out": 0, "services": 2, "training_restricted": 0,
    }  # fmt: skip
    await load(copy, tmp_path / "dump", manifest)
    assert await public(copy, tmp_path / "copy") == await public(store, tmp_path / "origin")
