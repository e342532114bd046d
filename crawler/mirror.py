"""Copies another waypost, its origin (`waypost mirror`): loads its newest dump, then applies the hosts in its feed.

Each step stores its progress with the applied records, so that a killed process continues where it was. If the feed no
longer reaches back to the cursor (410), a new dump is loaded, which also removes hosts that the origin has dropped. A
new dump is also loaded if the last one is older than `reload`: times of visits change without an event, and only a dump
brings them (docs/adr/0032).
"""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

import orjson
import structlog

from crawler.politeness import NoBudgets, RequestPacer
from crawler.seeds.online import ReadError, accepted, json_post, readable
from crawler.seeds.pages import member
from crawler.session import CrawlResources, FetchSession, InterruptedVisit
from registry.actions import dumps
from registry.actions.dumps import BadDump, DumpFileManifest, Part
from registry.actions.mirroring.apply import MirrorRecord, StaleProgress, Statement
from registry.core.model.documents import FetchResult, Post, Probe, Purpose
from registry.core.names.domains import InvalidName, host_syntax
from registry.core.reading import foreign_lists
from registry.core.reading.reader import Unreadable
from registry.core.visiting.shares import DomainBudget
from registry.settings import Settings

if TYPE_CHECKING:
    from registry.wiring import Waypost

LINES_AT_ONCE: Final = 100
BYTES_AT_ONCE: Final = 4 * 1024 * 1024
VALUES_AT_ONCE: Final = foreign_lists.RECORD_VALUES
"""Records that are parsed at once and that one transaction applies; the last of them may exceed the bounds."""

EVENTS_AT_ONCE: Final = 200
HOSTS_AT_ONCE: Final = 50
FEED_BYTES: Final = 8 * 1024 * 1024
RECORDS_BYTES: Final = dumps.ANSWER_BYTES + dumps.LINE_BYTES + foreign_lists.ENVELOPE_BYTES
"""Bytes of an answer: an origin ends one after ANSWER_BYTES, with a record that is at most a line of a dump."""

AGAIN_SECONDS: Final = (1.0, 300.0)
"""Seconds before a failed request is made again: the first time and at most; doubled each time."""

MAX_BYTES: Final = 256 * 1024**3  # maximum bytes of all parts of a dump together
CURSOR_CHARS: Final = 500
LOOK_SECONDS: Final = 600.0  # minimum seconds between two looks for a newer dump
RANGE_BYTES: Final = 4 * 1024 * 1024  # bytes of a part per request: lost if it breaks off, and held in memory
REQUEST_SECONDS: Final = 90.0  # seconds for one request, including a long poll
WAIT_SECONDS: Final = 20
_CONNECTION: Final = timedelta(minutes=10)

log = structlog.get_logger(__name__)


class MirrorOrigin(CrawlResources):
    """The connection to the origin, renewed from time to time: the address guard, pins, caps and deadlines of visits.

    The operator has named the origin and only its API is read, so there is no robots.txt, pause or budget. Redirects
    stay inside its registrable domain. Its answers raise only ReadError.
    """

    def __init__(self, url: str, settings: Settings, stop: asyncio.Event | None = None) -> None:
        """`url`: of the registry. Raise BadSource if it must not be read, and guards.BadSetup."""
        limits = {
            "request_timeout": REQUEST_SECONDS,
            "host_deadline": _CONNECTION.total_seconds(),
            "request_delay": 0.0,
        }
        super().__init__(settings.model_copy(update=limits), stop)
        self.block_budgets = NoBudgets()
        self.url = readable(url.rstrip("/") + "/", self.guard.connect_to.entries).rstrip("/")
        self._stack = contextlib.AsyncExitStack()
        self._session: FetchSession | None = None
        self._renew_at = datetime.now(UTC)

    async def __aexit__(self, *failure: object) -> None:
        await self._stack.aclose()
        await super().__aexit__(*failure)

    async def listed(
        self, path: str, member: str, *, post: Post | None = None, cap: int, max_entries: int
    ) -> foreign_lists.ForeignList:
        """Return the answer to a GET or a `post`, cut into the entries of its list. Raise ReadError."""
        body = (await self._answer(path, "application/json", cap, post=post)).body
        try:
            return await asyncio.to_thread(foreign_lists.cut_list, body, member, max_entries=max_entries)
        except Unreadable as refusal:
            raise ReadError(f"the answer cannot be read: {foreign_lists.reason_of(refusal)}") from None

    async def file(self, path: str, *, cap: int) -> bytes:
        """Return the body of a GET. Raise ReadError."""
        return (await self._answer(path, "*/*", cap)).body

    async def span(self, path: str, start: int, end: int, etag: str) -> bytes:
        """Return the bytes from `start` up to, not including, `end` of a file with this ETag. Raise ReadError."""
        fetched = await self._answer(path, "*/*", end - start, 206, span=(start, end - 1, etag))
        stated = fetched.headers.get("content-range", "")
        if not stated.startswith(f"bytes {start}-{end - 1}/") or len(fetched.body) != end - start:
            raise ReadError("the answer is not the range that was asked for", 206)
        return fetched.body

    async def _answer(self, path: str, accept: str, cap: int, status: int = 200, **options: Any) -> FetchResult:
        probe = Probe(self.url + path, Purpose.POINTER, "S5", accept, cap, **options)
        try:
            fetched = await (await self._connected()).fetch(probe)
        except InterruptedVisit:
            raise asyncio.CancelledError from None
        if fetched.failure is not None:
            await self._disconnect()
        return accepted(fetched, status)

    async def _connected(self) -> FetchSession:
        now = datetime.now(UTC)
        if self._session is None or now >= self._renew_at:
            await self._disconnect()
            self._renew_at = now + _CONNECTION / 2
            session = FetchSession(self, RequestPacer(0, DomainBudget(1_000_000)), now + 3 * _CONNECTION, ())
            self._session = await self._stack.enter_async_context(session)
        return self._session

    async def _disconnect(self) -> None:
        self._session = None
        await self._stack.aclose()


class ExpiredFeed(Exception):
    """The feed does not reach back to the cursor."""


@dataclass(slots=True)
class Mirror:
    """`folder`: for parts while they are loaded. `reload`: age of a dump after which a newer one is loaded. `source`: a
    folder with a dump to begin with, instead of the origin's newest."""

    waypost: "Waypost"
    origin: MirrorOrigin
    folder: Path
    reload: timedelta
    source: Path | None = None
    _once: bool = False
    _bad_snapshot: str = ""
    _events_at_once: int = EVENTS_AT_ONCE  # lowered after a page that is too large
    _next_look: float = 0.0  # when to look for a newer dump, in seconds of the event loop

    async def run(self, *, once: bool = False) -> None:
        """Run until cancelled; with `once`, until all current records of the origin are applied. Failures of the origin
        are logged and retried; with `once` they are raised: ReadError and BadDump. Raise NotAMirror."""
        self._once = once
        progress = await self.waypost.mirror.begin(self.origin.url)
        pause = AGAIN_SECONDS[0]
        while True:
            try:
                progress, is_current = await self._step(progress)
                pause = AGAIN_SECONDS[0]
                if once and is_current:
                    return
                continue
            except StaleProgress:
                log.warning("mirror.superseded", hint="another process mirrors into this database")
                progress = await self.waypost.mirror.begin(self.origin.url)
            except (ReadError, BadDump) as error:
                if isinstance(error, BadDump):
                    self._bad_snapshot = (progress.manifest or {}).get("snapshot", "")
                if once and getattr(error, "status", None) != 429:
                    raise
                log.warning("mirror.origin_failed", reason=str(error), again_seconds=pause)
                await asyncio.sleep(max(pause, getattr(error, "after", None) or 0))
                pause = min(2 * pause, AGAIN_SECONDS[1])

    async def _step(self, progress: MirrorRecord) -> tuple[MirrorRecord, bool]:
        """Do the next step; return the progress and whether everything known is applied."""
        if progress.phase == "loading":
            return await self._load(progress), False
        if self._is_old(progress):
            with contextlib.suppress(ReadError, BadDump):  # the old dump still serves
                manifest = await self._manifest(use_source=False)
                if manifest.snapshot != (progress.manifest or {}).get("snapshot"):
                    return await self.waypost.mirror.start_dump(manifest), False
        try:
            return await self._follow(progress)
        except ExpiredFeed:
            log.warning("mirror.expired", hint="the feed no longer reaches back: begin with a new dump")
            manifest = await self._manifest(use_source=False)
            if progress.cursor == manifest.cursor:
                raise ReadError("the newest dump is older than what the feed keeps") from None
            return await self.waypost.mirror.start_dump(manifest, forget_cursor=True), False

    def _is_old(self, progress: MirrorRecord) -> bool:
        """Return whether to look for a newer dump now."""
        now = asyncio.get_running_loop().time()
        if now < self._next_look:
            return False
        self._next_look = now + LOOK_SECONDS
        created = (progress.manifest or {}).get("created_at", "")
        try:
            return datetime.now(UTC) - datetime.fromisoformat(created) > self.reload
        except (ValueError, TypeError):
            return True

    # the dump

    async def _manifest(self, *, use_source: bool) -> DumpFileManifest:
        """Return the newest manifest. Raise ReadError and BadDump."""
        if use_source and self.source is not None:
            path = self.source / dumps.MANIFEST
            try:
                raw = await asyncio.to_thread(path.read_bytes)
            except OSError as error:
                raise ReadError(f"{path}: {error.strerror}") from None
        else:
            raw = await self.origin.file(f"/dumps/{dumps.MANIFEST}", cap=dumps.MANIFEST_BYTES)
        manifest = dumps.read_manifest(raw)
        if sum(part.bytes for part in manifest.parts) > MAX_BYTES:
            raise BadDump("the dump is larger than a mirror loads")
        return manifest

    async def _load(self, progress: MirrorRecord) -> MirrorRecord:
        """Load the rest of a dump, then continue with the feed. Give up a dump that the origin has dropped."""
        if progress.manifest is None:
            progress = await self.waypost.mirror.start_dump(await self._manifest(use_source=True))
        manifest = dumps.read_manifest(orjson.dumps(progress.manifest))
        if manifest.snapshot == self._bad_snapshot:
            newest = await self._manifest(use_source=False)
            if newest.snapshot != manifest.snapshot:
                return await self.waypost.mirror.start_dump(newest)
        try:
            for number in range(progress.part, len(manifest.parts)):
                async with self._fetched(manifest.parts[number]) as path:
                    progress = await self._load_part(progress, manifest, number, path)
        except ReadError as error:
            if error.status != 404:
                raise
            newest = await self._manifest(use_source=False)
            if newest.snapshot == manifest.snapshot:
                raise
            log.warning("mirror.dump_replaced", snapshot=newest.snapshot)
            return await self.waypost.mirror.start_dump(newest)
        progress, removed = await self.waypost.mirror.finish_dump(progress)
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)
        log.info("mirror.loaded", snapshot=manifest.snapshot, removed=removed, **await self.waypost.mirror.counts())
        return progress

    async def _load_part(
        self, progress: MirrorRecord, manifest: DumpFileManifest, number: int, path: Path
    ) -> MirrorRecord:
        part = manifest.parts[number]
        reading = islice(dumps.lines(path, part), progress.line, None)
        done = progress.line
        is_over = False
        while not is_over:
            batch, is_over = await asyncio.to_thread(_next_batch, reading)
            done += len(batch)
            statements, nameless = await self.waypost.mirror.statements(batch, manifest.sequence)
            progress, applied = await self.waypost.mirror.load(
                progress, statements, part=number + is_over, line=0 if is_over else done, nameless=nameless
            )
            _log_refused(applied.refused)
            if nameless:
                log.warning("mirror.refused_lines", part=part.name, lines=nameless)
        return progress

    @contextlib.asynccontextmanager
    async def _fetched(self, part: Part) -> AsyncIterator[Path]:
        """Yield the verified file of a part; delete it afterwards if it was downloaded. Raise ReadError and BadDump."""
        if self.source is not None and (path := self.source / part.name).is_file():
            await asyncio.to_thread(dumps.verify, path, part)
            yield path
            return
        await asyncio.to_thread(self.folder.mkdir, parents=True, exist_ok=True)
        path = self.folder / part.name
        await self._download(part, path)
        try:
            await asyncio.to_thread(dumps.verify, path, part)
        except BadDump:
            await asyncio.to_thread(path.unlink)  # none of it can be trusted, so begin again
            raise
        yield path
        await asyncio.to_thread(path.unlink, missing_ok=True)

    async def _download(self, part: Part, path: Path) -> None:
        """Append the missing bytes to the file, range by range."""
        size = (await asyncio.to_thread(path.stat)).st_size if await asyncio.to_thread(path.exists) else 0
        if size > part.bytes:
            await asyncio.to_thread(path.unlink)
            size = 0
        while size < part.bytes:
            end = min(size + RANGE_BYTES, part.bytes)
            data = await self.origin.span(f"/dumps/{part.name}", size, end, f'"{part.sha256}"')
            await asyncio.to_thread(_append, path, data)
            size = end

    # the feed

    async def _follow(self, progress: MirrorRecord) -> tuple[MirrorRecord, bool]:
        """Apply one page of the feed; wait for it if it is empty. Raise ExpiredFeed and ReadError."""
        question: dict[str, str | int] = {"limit": self._events_at_once}
        if progress.cursor is not None:
            question["cursor"] = progress.cursor
        if progress.behind_s == 0 and not self._once:
            question["wait"] = WAIT_SECONDS
        path, max_entries = f"/api/feed?{urlencode(question)}", 10 * EVENTS_AT_ONCE
        try:
            listed = await self.origin.listed(path, "events", cap=FEED_BYTES, max_entries=max_entries)
            page = await asyncio.to_thread(_page, listed)
        except ReadError as error:
            if error.is_too_large and self._events_at_once > 1:
                self._events_at_once //= 2
                return progress, False
            if error.status == 410 or (error.status == 400 and progress.cursor is not None):
                raise ExpiredFeed from None
            raise
        self._events_at_once = min(2 * self._events_at_once, EVENTS_AT_ONCE)
        # the maximum age of the first event after this page
        behind = datetime.now(UTC) - page.latest if page.has_more and page.latest is not None else timedelta()
        waiting, size = page.hosts, HOSTS_AT_ONCE
        while waiting:
            asked, waiting = waiting[:size], waiting[size:]
            try:
                answer = await self._records(asked)
            except ReadError as error:
                if not error.is_too_large:
                    raise
                if len(asked) > 1:
                    waiting, size = [*asked, *waiting], len(asked) // 2
                    continue
                answer = _Answer(progress.sequence, iter(()), asked, [], "too_large")
            waiting = [*answer.left, *waiting]
            progress = await self._apply(progress, answer, behind)
        # A restart up to here reads the page again, which changes nothing.
        if page.refused:
            log.warning("mirror.refused_events", events=page.refused)
        progress, _ = await self.waypost.mirror.follow(
            progress, [], cursor=page.cursor, behind=behind, nameless=page.refused
        )
        return progress, not page.has_more

    async def _records(self, hosts: Sequence[str]) -> "_Answer":
        """Request the records of some hosts. Raise ReadError."""
        post, max_entries = json_post(orjson.dumps({"hosts": hosts})), 2 * HOSTS_AT_ONCE
        path = "/api/records"
        listed = await self.origin.listed(path, "records", post=post, cap=RECORDS_BYTES, max_entries=max_entries)
        answer = listed.envelope if isinstance(listed.envelope, dict) else {}
        sequence, left = answer.get("sequence"), answer.get("left")
        if type(sequence) is not int or sequence < 0 or not listed.is_list:
            raise ReadError("the answer holds no records")
        missing = [host for host in hosts if isinstance(left, list) and host in left]
        if len(missing) == len(hosts):
            raise ReadError("the answer leaves out every host")
        return _Answer(sequence, iter(listed), [host for host in hosts if host not in missing], missing)

    async def _apply(self, progress: MirrorRecord, answer: "_Answer", behind: timedelta) -> MirrorRecord:
        """Apply an answer in batches, without moving the cursor. Refuse hosts that the answer does not cover."""
        told: set[str] = set()
        done, is_over = 0, False
        while not is_over:
            batch, is_over = await asyncio.to_thread(_next_batch, answer.entries)
            found, _ = await self.waypost.mirror.statements(batch, answer.sequence, answer.hosts[done:])
            statements = [statement for statement in found if statement.host in answer.hosts]
            done += len(batch)
            told.update(statement.host for statement in statements)
            if is_over:
                untold = (host for host in answer.hosts if host not in told)
                statements += [Statement(host, answer.sequence, refused=answer.refused) for host in untold]
            progress, applied = await self.waypost.mirror.follow(
                progress, statements, cursor=progress.cursor, behind=behind
            )
            _log_refused(applied.refused)
            log.info(
                "mirror.applied", put=applied.put, removed=applied.removed, left_out=applied.left_out,
                refused=len(applied.refused), behind_seconds=progress.behind_s, sequence=progress.sequence,
            )  # fmt: skip
        return progress


class _Answer(NamedTuple):
    """The records of `hosts` at a position of the feed. `left`: did not fit. `refused`: why a host has no record."""

    sequence: int
    entries: Iterator[bytes]
    hosts: Sequence[str]
    left: list[str]
    refused: str = "no_record"


class _Page(NamedTuple):
    """A page of the feed: the hosts of its events in order, the time of the last one, and the unreadable events."""

    cursor: str
    has_more: bool
    hosts: list[str]
    latest: datetime | None
    refused: int


def _page(listed: foreign_lists.ForeignList) -> _Page:
    """Return the page. Skip events that name no host, and unknown kinds. Raise ReadError."""
    page = listed.envelope
    cursor = member(page, "cursor", str)
    if cursor is None or not listed.is_list or len(cursor) > CURSOR_CHARS:
        raise ReadError("the answer is no page of a feed")
    hosts: dict[str, None] = {}
    latest: datetime | None = None
    refused = 0
    for raw in listed:
        try:
            event: Any = foreign_lists.read_entry(raw)
        except Unreadable:
            refused += 1
            continue
        if (name := member(member(event, "entity", dict), "id", str)) is not None:
            with contextlib.suppress(InvalidName):
                hosts[host_syntax(name)] = None
        with contextlib.suppress(ValueError, TypeError, KeyError, OverflowError):
            latest = datetime.fromisoformat(event["occurred_at"]).astimezone(UTC)
    return _Page(cursor, member(page, "has_more", bool) is True, list(hosts), latest, refused)


def _next_batch(reading: Iterator[bytes]) -> tuple[list[bytes], bool]:
    """Return the next records, bounded in number, bytes and values, and whether they are the last."""
    batch: list[bytes] = []
    size = values = 0
    for line in reading:
        batch.append(line)
        size += len(line)
        values += foreign_lists.count_values(line)
        if len(batch) == LINES_AT_ONCE or size > BYTES_AT_ONCE or values > VALUES_AT_ONCE:  # guard: mirror-batches
            return batch, False
    return batch, True


def _log_refused(refused: Mapping[str, str]) -> None:
    for host, reason in refused.items():
        log.warning("mirror.refused", host=host, reason=reason)


def _append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
