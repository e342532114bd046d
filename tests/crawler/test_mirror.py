"""A mirror and its origin over real TLS on loopback. The origin lies, breaks off and forgets; the mirror does not."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import pytest

from crawler import mirror as mirroring
from crawler.mirror import Mirror, MirrorOrigin
from crawler.seeds.online import ReadError, retry_seconds
from crawler.seeds.source import BadSource
from registry.settings import Settings
from registry.store.dump_files import BadDump, DumpFileManifest, DumpWriter, read_manifest
from registry.store.recorded import RecordedListener
from registry.store.unit_of_work import Store
from registry.wiring import Waypost
from registry.wiring.reference import Reference
from tests.actions.test_received import record_of
from tests.support.database import rows, until_true
from tests.support.hang import HANG_SECONDS
from tests.support.sites import Exchange, Reply, Sites

HOST = "origin.example"
URL = f"https://{HOST}"
FIRST, SECOND = "20261124T010000Z", "20261125T010000Z"


def service(host: str, name: str = "Post", **changes: Any) -> dict[str, Any]:
    raw = json.loads(record_of())
    listing = {**raw["listing"], "host": host, "domain": host, "name": name}
    return {**raw, "host": host, "manifest_url": f"https://{host}/a", "listing": listing, **changes}


@dataclass
class Fake:
    """An origin made by hand. `broken`: replaces the answer of a path; `feed`: pages by cursor."""

    folder: Path
    lines: list[Any]
    feed: dict[str, dict[str, Any]] = field(default_factory=dict)
    records: dict[str, Any] = field(default_factory=dict)
    sequence: int = 10
    broken: dict[str, Callable[[Exchange], Reply | None]] = field(default_factory=dict)
    ranges: list[str] = field(default_factory=list)

    def dump(self, snapshot: str = FIRST, **changes: Any) -> DumpFileManifest:
        with DumpWriter(self.folder, snapshot) as writer:
            for number, line in enumerate(self.lines):
                writer.add(f"{number:09}", line if isinstance(line, bytes) else json.dumps(line).encode())
            about = {
                "created_at": "2999-01-01T00:00:00+00:00", "registry": URL, "cursor": "start", "sequence": 5,
                "restricted": True, "terms": {}, "counts": {}, **changes,
            }  # fmt: skip
            writer.publish(DumpFileManifest(snapshot, **about, parts=writer.finish()), keep=2)
        return read_manifest((self.folder / "manifest.json").read_bytes())

    async def answer(self, exchange: Exchange) -> None:
        path = urlsplit(exchange.path).path
        if (broken := self.broken.get(path)) is not None and (reply := broken(exchange)) is not None:
            await exchange.send(reply.encode())
            return
        await exchange.send(self._reply(exchange, path).encode())

    def _reply(self, exchange: Exchange, path: str) -> Reply:
        if path == "/api/feed":
            (cursor,) = parse_qs(urlsplit(exchange.path).query)["cursor"]
            page = self.feed.get(cursor, {"events": [], "cursor": cursor, "has_more": False})
            return Reply(json.dumps(page))
        if path == "/api/records":
            hosts = json.loads(exchange.body)["hosts"]
            found = [self.records.get(host, {"kind": "absent", "host": host}) for host in hosts]
            return Reply(json.dumps({"sequence": self.sequence, "cursor": "x", "records": found, "left": []}))
        name = path.removeprefix("/dumps/")
        if not path.startswith("/dumps/") or not (self.folder / name).is_file():
            return Reply("{}", 404)
        raw = (self.folder / name).read_bytes()
        asked = exchange.headers.get("range")
        if asked is None:
            return Reply(raw)
        self.ranges.append(asked)
        first, last = map(int, asked.removeprefix("bytes=").split("-"))
        return Reply(
            raw[first : last + 1], 206, "application/zstd", (("Content-Range", f"bytes {first}-{last}/{len(raw)}"),)
        )


def event(host: str) -> dict[str, Any]:
    return {"type": "service.changed", "entity": {"kind": "service", "id": host}, "occurred_at": "2026-11-24T00:00:00Z"}


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path / "origin", [service("a.example"), service("b.example"), service("c.example")])


Mirroring: TypeAlias = Callable[..., AbstractAsyncContextManager[Mirror]]


@pytest.fixture
def mirror(store: Store, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirroring:
    """Return a context that yields a mirror of the fake origin."""

    def no_search() -> Any:
        raise AssertionError("a mirror does not search")

    @asynccontextmanager
    async def mirror(**options: Any) -> AsyncIterator[Mirror]:
        async with Sites({HOST: fake.answer}) as sites, asyncio.timeout(HANG_SECONDS):
            monkeypatch.setenv("SSL_CERT_FILE", str(sites.write_authority(tmp_path)))
            names = tuple(f"{name}:443:127.0.0.1:1" for name in ("a.example", "b.example", "c.example"))
            settings = Settings(data=tmp_path, resolve="table", connect_to=(*sites.connect_to(), *names))
            async with RecordedListener(store) as listener, MirrorOrigin(URL, settings) as source:
                waypost = Waypost(settings, store, no_search, listener, Reference(store))
                yield Mirror(waypost, source, tmp_path / "parts", timedelta(hours=1), **options)

    return mirror


Copying: TypeAlias = Callable[..., Awaitable[None]]


@pytest.fixture
def copy_once(mirror: Mirroring) -> Copying:
    """Return a function that applies all current records of the origin."""

    async def copy_once(**options: Any) -> None:
        async with mirror(**options) as copying:
            await copying.run(once=True)

    return copy_once


async def services(store: Store) -> list[tuple[str, str]]:
    return [(host, name) for host, name in await rows(store, "SELECT host, name FROM services ORDER BY host")]


ALL = [("a.example", "Post"), ("b.example", "Post"), ("c.example", "Post")]


async def test_the_dump_then_the_feed(copy_once: Copying, store: Store, fake: Fake, tmp_path: Path) -> None:
    fake.dump()
    fake.feed["start"] = {
        "events": [event("a.example"), event("b.example"), event("a.example"), {"odd": 1}, 3, event("not a host")],
        "cursor": "next",
        "has_more": True,
    }
    fake.records["a.example"] = service("a.example", "Renamed")
    await copy_once()
    assert await services(store) == [("a.example", "Renamed"), ("c.example", "Post")]
    assert await rows(store, "SELECT phase, cursor, sequence, behind_s FROM mirror") == [("following", "next", 10, 0)]
    assert not (tmp_path / "parts").exists()


async def test_a_download_that_broke_off_goes_on_where_it_was(
    mirror: Mirroring, store: Store, fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "RANGE_BYTES", 100)
    (part,) = fake.dump().parts
    path = f"/dumps/{part.name}"
    fake.broken[path] = lambda exchange: (
        Reply("{}", 503) if exchange.headers["range"].startswith("bytes=200-") else None
    )
    async with mirror() as copying:
        with pytest.raises(ReadError):
            await copying.run(once=True)
        assert (tmp_path / "parts" / part.name).stat().st_size == 200
        del fake.broken[path]
        fake.ranges.clear()
        await copying.run(once=True)
    assert fake.ranges[0] == "bytes=200-299", "the first two ranges are not asked for again"
    assert await services(store) == ALL


async def test_a_part_with_another_hash_is_not_used(mirror: Mirroring, store: Store, fake: Fake) -> None:
    (part,) = fake.dump().parts
    good = (fake.folder / part.name).read_bytes()
    (fake.folder / part.name).write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    async with mirror() as copying:
        with pytest.raises(BadDump):
            await copying.run(once=True)
        assert await services(store) == []
        (fake.folder / part.name).write_bytes(good)
        await copying.run(once=True)
    assert await services(store) == ALL


async def test_bad_records_are_refused_one_by_one_and_the_reason_is_kept(
    copy_once: Copying, store: Store, fake: Fake
) -> None:
    fake.lines[1:2] = [b"{", b"[]", service("b.example", listing={}), {"kind": "service", "host": "127.0.0.1"}]
    fake.dump()
    await copy_once()
    assert await services(store) == [ALL[0], ALL[2]]
    assert await rows(store, "SELECT host, reason FROM mirrored WHERE state = 'refused'") == [
        ("b.example", "bad_shape")
    ]
    assert await rows(store, "SELECT refused FROM mirror") == [(3,)]


@pytest.mark.parametrize(("status", "cursor"), [(410, "old"), (400, "old")])
async def test_a_cursor_that_expired_leads_to_a_new_dump(
    mirror: Mirroring, store: Store, fake: Fake, status: int, cursor: str
) -> None:
    fake.dump(cursor="old")
    async with mirror() as copying:
        await copying.run(once=True)
        fake.lines = [service("a.example", "Later")]
        fake.dump(SECOND, sequence=7)
        fake.broken["/api/feed"] = lambda exchange: Reply("{}", status) if "cursor=old" in exchange.path else None
        await copying.run(once=True)
    assert await services(store) == [("a.example", "Later")]


async def test_a_dump_older_than_the_feed_is_not_loaded_for_ever(copy_once: Copying, fake: Fake) -> None:
    fake.dump()
    fake.broken["/api/feed"] = lambda _: Reply("{}", 410)
    with pytest.raises(ReadError, match="older than what the feed keeps"):
        await copy_once()


async def test_a_dump_that_is_gone_is_given_up_for_the_newest(copy_once: Copying, store: Store, fake: Fake) -> None:
    (part,) = fake.dump().parts

    def replaced(_: Exchange) -> Reply:
        if len(list(fake.folder.glob("manifest-*"))) == 1:
            fake.lines = [service("c.example", "Newest")]
            fake.dump(SECOND)
        return Reply("{}", 404)

    fake.broken[f"/dumps/{part.name}"] = replaced
    await copy_once()
    assert await services(store) == [("c.example", "Newest")]


async def test_a_newer_dump_is_loaded_when_the_last_one_is_old(copy_once: Copying, store: Store, fake: Fake) -> None:
    fake.dump(created_at="2026-01-01T00:00:00+00:00")
    await copy_once()
    fake.lines = [service("b.example", seen_at="2026-11-24T00:00:00+00:00")]
    fake.dump(SECOND, created_at="2026-01-01T00:00:00+00:00")
    await copy_once()
    assert await rows(store, "SELECT host, seen_at::date::text FROM services") == [("b.example", "2026-11-24")]


async def test_a_dump_can_be_read_from_a_folder(copy_once: Copying, store: Store, fake: Fake) -> None:
    fake.dump()
    await copy_once(source=fake.folder)
    assert await services(store) == ALL
    assert fake.ranges == [] and (fake.folder / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("path", "reply"),
    [
        ("/dumps/manifest.json", Reply(b"x" * 100_000)),
        ("/dumps/manifest.json", Reply(b"", 302, None, (("Location", "https://elsewhere.example/"),))),
        ("/dumps/manifest.json", Reply(b"", 302, None, (("Location", "http://169.254.169.254/"),))),
        ("/dumps/manifest.json", Reply("{}", 500)),
        ("/api/feed", Reply("[")),
        ("/api/feed", Reply("[]")),
        ("/api/feed", Reply(json.dumps({"events": [], "cursor": 3}))),
        ("/api/feed", Reply(json.dumps({"events": [], "cursor": "x" * 501}))),
        ("/api/feed", Reply("[" * 100_000)),
        ("/api/records", Reply("{}")),
        ("/api/records", Reply(json.dumps({"sequence": 2**70, "records": []}))),
        ("/api/records", Reply(json.dumps({"sequence": 9, "records": [], "left": ["a.example"]}))),
    ],
)
async def test_answers_that_make_no_sense_change_nothing(
    copy_once: Copying, store: Store, fake: Fake, path: str, reply: Reply
) -> None:
    fake.dump()
    fake.feed["start"] = {"events": [event("a.example")], "cursor": "next", "has_more": False}
    fake.broken[path] = lambda _: reply
    with pytest.raises((ReadError, BadDump)):
        await copy_once()
    assert await services(store) == (ALL if path.startswith("/api/") else [])
    assert await rows(store, "SELECT cursor FROM mirror") == [("start" if path.startswith("/api/") else None,)]


FEED = {
    "events": [event("a.example"), event("b.example"), event("c.example")], "cursor": "next", "has_more": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b'{"kind":"service","host":"b.example","host":"b.example"}', "duplicate_key"),
        (b'{"kind":"service","host":"b.example","model":' + b"[" * 100 + b"]" * 100 + b"}", "unstorable"),
        (b'{"kind":"service","host":"b.example","model":' + b"9" * 5_000 + b"}", "not_json"),
        (b'{"kind":"service","host":"b.example","model":[' + b"0," * 300_000 + b"0]}", "too_many"),
        (b'{"kind":"service","host":"b.example","model":[' + b"{}," * 150_000 + b"{}]}", "too_many"),
        (b'{"kind":"service","host":"b.example"', None),
        (b"7", "no_host"),
        (b"", "not_json"),
    ],
)
async def test_one_bad_record_of_an_answer_is_refused_by_itself(
    mirror: Mirroring, store: Store, fake: Fake, record: bytes, reason: str | None
) -> None:
    fake.dump()
    fake.feed["start"] = FEED
    good = [json.dumps(service(host, "Renamed")).encode() for host in ("a.example", "c.example")]
    answer = b'{"sequence": 10, "records": [%s], "left": []}' % b",".join((good[0], record, good[1]))
    fake.broken["/api/records"] = lambda _: Reply(answer)
    async with mirror() as copying:
        if reason is None:  # the whole answer has no end
            with pytest.raises(ReadError):
                await copying.run(once=True)
            assert await services(store) == ALL
            return
        await copying.run(once=True)
    assert await services(store) == [("a.example", "Renamed"), ("c.example", "Renamed")]
    refused = await rows(store, "SELECT host, reason FROM mirrored WHERE state = 'refused'")
    assert refused == [("b.example", reason)]
    assert await rows(store, "SELECT cursor FROM mirror") == [("next",)]


async def test_a_record_that_is_too_large_is_refused_and_smaller_answers_are_asked_for(
    copy_once: Copying, store: Store, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "RECORDS_BYTES", 20_000)
    fake.dump()
    fake.feed["start"] = FEED
    fake.records = {host: service(host, "Renamed") for host in ("a.example", "c.example")}
    fake.records["b.example"] = service("b.example", odd="x" * 20_000)
    await copy_once()
    assert await services(store) == [("a.example", "Renamed"), ("c.example", "Renamed")]
    assert await rows(store, "SELECT host, reason FROM mirrored WHERE state = 'refused'") == [
        ("b.example", "too_large")
    ]


async def test_a_page_that_is_too_large_is_asked_for_in_smaller_ones(
    copy_once: Copying, store: Store, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "FEED_BYTES", 1_000)
    fake.dump()
    asked = []

    def page(exchange: Exchange) -> Reply | None:
        query = parse_qs(urlsplit(exchange.path).query)
        asked.append(query["limit"][0])
        if query["cursor"] == ["start"] and asked[-1] != "50":
            return Reply(b" " * 1_001)
        return None

    fake.broken["/api/feed"] = page
    fake.feed["start"] = {"events": [event("a.example")], "cursor": "next", "has_more": False}
    await copy_once()
    assert asked == ["200", "100", "50"]
    assert await rows(store, "SELECT cursor FROM mirror") == [("next",)]


async def test_an_event_that_cannot_be_read_is_counted_and_the_others_apply(
    copy_once: Copying, store: Store, fake: Fake
) -> None:
    fake.dump()
    events = [b"[" * 100 + b"]" * 100, b'{"a":1,"a":2}', json.dumps(event("a.example")).encode()]
    page = b'{"events": [%s], "cursor": "next", "has_more": false}' % b",".join(events)
    fake.broken["/api/feed"] = lambda exchange: Reply(page) if "cursor=start" in exchange.path else None
    await copy_once()
    assert await services(store) == ALL[1:]
    assert await rows(store, "SELECT cursor, refused FROM mirror") == [("next", 2)]


def test_records_are_parsed_a_few_at_a_time() -> None:
    dense = b"[" + b"0," * (mirroring.VALUES_AT_ONCE // 2)
    large = b"x" * (mirroring.BYTES_AT_ONCE // 2)
    for lines, count in (([dense] * 4, 2), ([large] * 4, 3), ([b"{}"] * 200, mirroring.LINES_AT_ONCE)):
        batch, is_over = mirroring._next_batch(iter(lines))
        assert (len(batch), is_over) == (count, False)


async def test_an_answer_that_is_too_large_is_not_read_to_its_end(
    copy_once: Copying, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring.dumps, "MANIFEST_BYTES", 1_000)
    fake.dump()
    fake.broken["/dumps/manifest.json"] = lambda _: Reply(b" " * 1_000_000)
    with pytest.raises(ReadError, match="too large"):
        await copy_once()


@pytest.mark.parametrize("missing", [b"", b"x", b"x" * 10_000])
async def test_a_range_must_be_the_one_that_was_asked_for(
    copy_once: Copying, store: Store, fake: Fake, missing: bytes
) -> None:
    (part,) = fake.dump().parts
    fake.broken[f"/dumps/{part.name}"] = lambda _: Reply(
        missing, 206, "application/zstd", (("Content-Range", f"bytes 0-{part.bytes - 1}/{part.bytes}"),)
    )
    with pytest.raises(ReadError):
        await copy_once()
    assert await services(store) == []


async def test_an_origin_that_fails_is_asked_again_later(
    mirror: Mirroring, store: Store, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "AGAIN_SECONDS", (0.01, 0.02))
    fake.dump()
    failures = iter([503, 429, 500])

    def failing(_: Exchange) -> Reply | None:
        status = next(failures, None)
        return None if status is None else Reply("{}", status, headers=(("Retry-After", "0"),))

    fake.broken["/dumps/manifest.json"] = failing
    async with mirror() as copying:
        running = asyncio.create_task(copying.run())
        await until_true(lambda: rows(store, "SELECT 1 FROM mirror WHERE phase = 'following'"))
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert await services(store) == ALL


@pytest.mark.parametrize(
    "url", ["http://origin.example", "https://127.0.0.1", "https://origin.example:8443", "ftp://x"]
)
def test_only_https_of_a_public_name_is_mirrored(tmp_path: Path, url: str) -> None:
    with pytest.raises(BadSource):
        MirrorOrigin(url, Settings(data=tmp_path, resolve="table"))


def test_a_long_wait_is_bounded() -> None:
    assert retry_seconds("99999999") == 3_600
    assert [retry_seconds(text) for text in ("", "x", "-1", "٣")] == [None] * 4
