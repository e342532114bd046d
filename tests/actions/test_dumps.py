"""Dumps: what is in them, as of which moment, and how a mirror applies them. Two databases, no network."""

import asyncio
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from registry.actions.dumps import DumpActions
from registry.actions.feed import decode
from registry.actions.mirroring.apply import NotAMirror, StaleProgress, Statement
from registry.actions.mirroring.received import received
from registry.core.changes.kinds import ALL
from registry.settings import Settings
from registry.store.dump_files import DumpFileManifest, lines, read_manifest, verify
from registry.store.mirroring import MirrorRecord
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, NOW, Page, adp_site, again, awp_manifest, crawl, on, take
from tests.support.database import execute, rows

POST, BIKES, PRIVATE = "post.example", "bikes.example", "private.example"
ORIGIN = "https://origin.example"
EXEMPT = frozenset({POST, BIKES, PRIVATE, "sub.post.example"})
SITES = {
    POST: adp_site(POST, "create_parcel", "track_parcel"),
    BIKES: {"/agent.json": Page(awp_manifest(BIKES))},
}


REFUSING = f"""
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.host = '{POST}' THEN RAISE EXCEPTION 'refused' USING ERRCODE = '22021'; END IF;
    RETURN NEW;
END $$
"""


async def dump(store: Store, folder: Path, **options: Any) -> DumpFileManifest:
    now = options.pop("now", NOW)
    settings = Settings(public_url=ORIGIN, keep_dumps=options.pop("keep", 2))
    await DumpActions(store, lambda: now, settings).export(folder, **options)
    return read_manifest((folder / "manifest.json").read_bytes())


def raw_lines(folder: Path, manifest: DumpFileManifest) -> Iterator[bytes]:
    for part in manifest.parts:
        verify(folder / part.name, part)
        yield from lines(folder / part.name, part)


def values(folder: Path, manifest: DumpFileManifest) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in raw_lines(folder, manifest)]


async def load(copy: Store, folder: Path, manifest: DumpFileManifest) -> MirrorRecord:
    await on(copy).mirror.begin(ORIGIN)
    progress = await on(copy).mirror.start_dump(manifest)
    statements = [
        Statement(record.host, manifest.sequence, record)
        for line in raw_lines(folder, manifest)
        for record in [received(line, exempt=EXEMPT)]
    ]
    progress, _ = await on(copy).mirror.load(progress, statements, part=1, line=0, nameless=0)
    progress, _ = await on(copy).mirror.finish_dump(progress)
    return progress


async def public(store: Store, folder: Path) -> list[dict[str, Any]]:
    """Return everything public of a registry, as a dump holds it."""
    shutil.rmtree(folder, ignore_errors=True)
    found = values(folder, await dump(store, folder))
    return sorted(found, key=lambda record: (record["kind"], record["host"]))


async def catch_up(origin: Store, copy: Store, progress: MirrorRecord) -> MirrorRecord:
    """Follow the feed of the origin to its end."""
    while True:
        assert progress.cursor is not None
        found = await on(origin).feed.page(decode(progress.cursor, ALL), limit=3)
        hosts = list(dict.fromkeys(event.host for event in found.events))
        answers = await on(origin).dumps.records(hosts)
        statements = [
            Statement(record.host, answers.sequence, record)
            for raw in answers.records
            for record in [received(raw, exempt=EXEMPT)]
        ]
        progress, _ = await on(copy).mirror.follow(progress, statements, cursor=found.cursor, behind=timedelta())
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


def stable(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record without what changes at every visit, for which the feed has no event."""
    left_out = ("seen_at", "visit", "crawl_failures")
    return {
        **{key: value for key, value in record.items() if key not in left_out},
        "listing": {key: value for key, value in record.get("listing", {}).items() if key != "seen_on"},
        "documents": [
            {key: value for key, value in document.items() if key != "seen_at"}
            for document in record.get("documents", ())
        ],
    }


async def same(origin: Store, copy: Store, folder: Path) -> None:
    ours, theirs = await public(copy, folder / "compared"), await public(origin, folder / "compared")
    assert [stable(record) for record in ours] == [stable(record) for record in theirs]


async def test_every_kind_of_change_reaches_the_copy(store: Store, copy: Store, tmp_path: Path) -> None:
    await crawl(store, SITES)
    progress = await load(copy, tmp_path / "dump", await dump(store, tmp_path / "dump"))

    changed = {**SITES, POST: adp_site(POST, "create_parcel", name="Another name")}
    await again(store, changed, NOW + 30 * DAY)
    progress = await catch_up(store, copy, progress)
    await same(store, copy, tmp_path)

    await on(store, NOW + 31 * DAY).opt_outs.forget(POST, opt_out="file", evidence=f"https://{POST}/")
    progress = await catch_up(store, copy, progress)
    await same(store, copy, tmp_path)
    assert [record["kind"] for record in await public(copy, tmp_path / "copy")] == ["opted_out", "service"]

    await on(store, NOW + 31 * DAY).opt_outs.forget(BIKES)
    progress = await catch_up(store, copy, progress)
    await same(store, copy, tmp_path)
    assert await rows(copy, "SELECT host FROM services") == []
    assert await rows(copy, "SELECT host FROM documents") == []


async def test_a_host_that_is_listed_again_is_a_new_one_in_the_copy(store: Store, copy: Store, tmp_path: Path) -> None:
    """When both events are read together, the copy never sees that the host was gone."""
    await crawl(store, SITES)
    progress = await load(copy, tmp_path / "dump", await dump(store, tmp_path / "dump"))
    await on(store, NOW + DAY).opt_outs.forget(BIKES)
    await crawl(store, {BIKES: SITES[BIKES]}, NOW + 2 * DAY)
    await catch_up(store, copy, progress)
    await same(store, copy, tmp_path)


async def test_a_dump_and_the_feed_miss_nothing_that_is_written_meanwhile(
    store: Store, copy: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = [f"shop{number}.example" for number in range(12)]
    monkeypatch.setattr("tests.actions.test_dumps.EXEMPT", frozenset(hosts))
    sites = {host: adp_site(host) for host in hosts}
    await crawl(store, sites)
    monkeypatch.setattr("registry.actions.dumps.PAGE", 1)

    async def write() -> int:
        written = 0
        while not exporting.done():
            number = written % len(hosts)
            when = NOW + DAY + timedelta(minutes=written)
            await on(store, when).opt_outs.forget(hosts[number])
            renamed = {hosts[number]: adp_site(hosts[number], name=f"Name {written}")}
            await crawl(store, renamed, when)
            written += 1
        return written

    exporting = asyncio.create_task(dump(store, tmp_path / "dump"))
    written, manifest = await asyncio.gather(write(), exporting)
    assert written, "nothing was written while the dump was made"
    progress = await load(copy, tmp_path / "dump", manifest)
    await catch_up(store, copy, progress)
    await same(store, copy, tmp_path)


async def test_an_older_state_never_replaces_a_newer_one(store: Store, copy: Store, tmp_path: Path) -> None:
    await crawl(store, SITES)
    manifest = await dump(store, tmp_path / "dump")
    progress = await load(copy, tmp_path / "dump", manifest)
    old = [received(line, exempt=EXEMPT) for line in raw_lines(tmp_path / "dump", manifest)]
    await on(store, NOW + DAY).opt_outs.forget(POST)
    progress = await catch_up(store, copy, progress)
    stale = [Statement(record.host, manifest.sequence, record) for record in old]
    progress, applied = await on(copy).mirror.follow(progress, stale, cursor=progress.cursor, behind=timedelta())
    assert (applied.older, applied.put) == (1, 1)  # the other host has had no later event
    assert await rows(copy, "SELECT host FROM services") == [(BIKES,)]


async def test_a_new_dump_removes_what_it_no_longer_has(store: Store, copy: Store, tmp_path: Path) -> None:
    """As after a cursor that expired: the events between were never read."""
    await crawl(store, SITES)
    await on(store).opt_outs.forget(PRIVATE, opt_out="dns", evidence="TXT")
    await load(copy, tmp_path / "first", await dump(store, tmp_path / "first"))
    assert await rows(copy, "SELECT host, how FROM opt_outs") == [(PRIVATE, "origin")]
    await on(store, NOW + DAY).opt_outs.forget(POST)
    async with store.begin() as uow:
        await uow.opt_outs.remove(PRIVATE, PRIVATE, how="file", now=NOW)
    manifest = await dump(store, tmp_path / "second", now=NOW + DAY)
    await on(copy).mirror.start_dump(manifest, forget_cursor=True)
    await load(copy, tmp_path / "second", manifest)
    await same(store, copy, tmp_path)
    assert await rows(copy, "SELECT host FROM opt_outs") == []
    assert await rows(copy, "SELECT host FROM mirrored") == [(BIKES,)]


async def test_opt_outs_of_the_copy_itself_win_and_stay(store: Store, copy: Store, tmp_path: Path) -> None:
    await crawl(store, SITES)
    manifest = await dump(store, tmp_path / "dump")
    progress = await load(copy, tmp_path / "dump", manifest)
    await on(copy).opt_outs.forget(POST, opt_out="operator", evidence="by us")
    again_loaded = [
        Statement(record.host, manifest.sequence, record)
        for line in raw_lines(tmp_path / "dump", manifest)
        for record in [received(line, exempt=EXEMPT)]
    ]
    progress, applied = await on(copy).mirror.follow(progress, again_loaded, cursor=progress.cursor, behind=timedelta())
    assert (applied.left_out, applied.put) == (1, 1)
    await on(store).opt_outs.forget(POST, opt_out="file", evidence="by the site")
    progress = await catch_up(store, copy, progress)
    async with store.begin() as uow:
        await uow.opt_outs.remove(POST, POST, how="file", now=NOW)
    await crawl(store, {POST: SITES[POST]}, NOW + DAY)
    await catch_up(store, copy, progress)
    assert await rows(copy, "SELECT host, how FROM opt_outs") == [(POST, "operator")]
    assert await rows(copy, "SELECT host FROM services") == [(BIKES,)]


async def test_holds_of_the_copy_itself_win_and_stay(store: Store, copy: Store, tmp_path: Path) -> None:
    await crawl(store, SITES)
    progress = await load(copy, tmp_path / "dump", await dump(store, tmp_path / "dump"))
    await on(copy).access.hold(POST, "quarantined", actor="operator:cli", reason="by us")
    await crawl(store, {POST: SITES[POST]}, NOW + DAY)
    await release_of_origin(store)
    progress = await catch_up(store, copy, progress)
    assert await rows(copy, "SELECT host, hidden FROM services ORDER BY host") == [(BIKES, False), (POST, True)]
    await on(copy).access.release(POST, "quarantined", actor="operator:cli", reason="")
    assert await rows(copy, "SELECT host FROM services WHERE NOT hidden ORDER BY host") == [(BIKES,), (POST,)]


async def release_of_origin(store: Store) -> None:
    """Have an event of POST in the feed, so that its record is applied again."""
    await on(store).access.hold(POST, "hidden", actor="owner:1", reason="")
    await on(store).access.release(POST, "hidden", actor="owner:1", reason="")


async def test_progress_moves_with_the_records_or_not_at_all(store: Store, copy: Store, tmp_path: Path) -> None:
    await crawl(store, SITES)
    manifest = await dump(store, tmp_path / "dump")
    await on(copy).mirror.begin(ORIGIN)
    progress = await on(copy).mirror.start_dump(manifest)
    records = [received(line, exempt=EXEMPT) for line in raw_lines(tmp_path / "dump", manifest)]
    statements = [Statement(record.host, manifest.sequence, record) for record in records]
    await on(copy).mirror.load(progress, statements[:1], part=0, line=1, nameless=0)
    with pytest.raises(StaleProgress):  # as a second process would, that has read the progress before
        await on(copy).mirror.load(progress, statements, part=0, line=2, nameless=0)
    assert await rows(copy, "SELECT host FROM services") == [(statements[0].host,)]
    assert await rows(copy, "SELECT part, line FROM mirror") == [(0, 1)]


async def test_a_record_that_the_database_refuses_costs_only_itself(store: Store, copy: Store, tmp_path: Path) -> None:
    await crawl(store, SITES)
    manifest = await dump(store, tmp_path / "dump")
    async with copy.engine.begin() as connection:
        await connection.exec_driver_sql(REFUSING)
        await connection.exec_driver_sql(
            "CREATE TRIGGER refuse BEFORE INSERT ON services FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
    await load(copy, tmp_path / "dump", manifest)
    assert await rows(copy, "SELECT host, state, reason FROM mirrored ORDER BY host") == [
        (BIKES, "listed", ""),
        (POST, "refused", "unstorable"),
    ]
    assert await rows(copy, "SELECT part, phase FROM mirror") == [(1, "following")]


async def test_a_registry_that_crawls_is_no_mirror(store: Store) -> None:
    await crawl(store, SITES)
    with pytest.raises(NotAMirror):
        await on(store).mirror.begin(ORIGIN)


async def test_a_mirror_has_one_origin(copy: Store) -> None:
    await on(copy).mirror.begin(ORIGIN)
    await on(copy).mirror.begin(ORIGIN)
    with pytest.raises(NotAMirror):
        await on(copy).mirror.begin("https://other.example")


async def test_a_mirror_visits_nothing(copy: Store) -> None:
    await on(copy).mirror.begin(ORIGIN)
    with pytest.raises(AssertionError, match="nothing is due"):
        await crawl(copy, SITES)
    assert await take(copy, now=NOW + DAY) is None


async def test_a_mirror_is_not_rescored(store: Store, copy: Store, tmp_path: Path) -> None:

    await crawl(store, SITES)
    await load(copy, tmp_path / "dump", await dump(store, tmp_path / "dump"))
    assert (await on(copy, NOW + DAY).maintenance.rescore()).hosts == 0
    await same(store, copy, tmp_path)


async def test_a_record_that_is_too_large_is_left_out_and_counted(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await crawl(store, SITES)
    records = {value["host"]: len(orjson.dumps(value)) for value in values(tmp_path, await dump(store, tmp_path))}
    limit = (records[POST] + records[BIKES]) // 2
    smaller = min(records, key=records.__getitem__)
    for module in ("registry.actions.dumps", "registry.store.dump_files"):
        monkeypatch.setattr(f"{module}.LINE_BYTES", limit)
    manifest = await dump(store, tmp_path, now=NOW + DAY)
    assert [value["host"] for value in values(tmp_path, manifest)] == [smaller]
    assert manifest.counts["left_out_too_large"] == 1


async def test_restricted_services_are_counted_and_can_be_left_out(store: Store, copy: Store, tmp_path: Path) -> None:
    await crawl(store, SITES)
    await execute(
        store,
        'UPDATE services SET model = model || \'{"policies": {"training": "deny", "attribution": "required"}}\''
        f" WHERE host = '{POST}'",
    )
    whole = await dump(store, tmp_path / "whole")
    assert (whole.counts["training_restricted"], whole.counts["attribution_required"]) == (1, 1)
    usage = next(value["usage"] for value in values(tmp_path / "whole", whole) if value["host"] == POST)
    assert (usage["training"], usage["attribution"]) == ("forbidden", "required")

    part = await dump(store, tmp_path / "part", without_restricted=True)
    assert [value["host"] for value in values(tmp_path / "part", part)] == [BIKES]
    assert (part.restricted, part.counts["left_out_restricted"]) == (False, 1)
    progress = await load(copy, tmp_path / "part", part)
    record = next(
        received(line, exempt=EXEMPT) for line in raw_lines(tmp_path / "whole", whole) if POST.encode() in line
    )
    _, applied = await on(copy).mirror.follow(
        progress, [Statement(POST, part.sequence + 1, record)], cursor="", behind=timedelta()
    )
    assert applied.left_out == 1, "what the dump leaves out does not come back through the feed"
