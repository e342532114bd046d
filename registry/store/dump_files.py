"""Dumps on disk and how to read them: parts of zstd-compressed NDJSON, and a manifest that names them.

A part consists of frames (RFC 8878) that can be decompressed separately; a line never spans two parts. Names of parts
contain the beginning of their hash and are never reused for other bytes. Dumps of other registries are read here too,
so their content is not trusted.

A reader always finds a complete dump. A part is written under a temporary name, synced and renamed; the manifest comes
last, in the same way. Older dumps are kept until `keep` newer ones exist, so that a reader can finish one. A failed
dump leaves the existing ones unchanged.
"""

import contextlib
import fcntl
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

import orjson
import zstandard

from registry.core.reading.foreign_lists import cut_list, parse_bounded, reason_of
from registry.core.reading.plain_text import unbroken
from registry.core.reading.reader import Unreadable
from registry.store.opt_out_file import sync_folder

FORMAT: Final = "waypost-dump"
VERSION: Final = 1
MANIFEST: Final = "manifest.json"
PART_BYTES: Final = 64 * 1024 * 1024  # bytes of NDJSON after which a part ends
FRAME_BYTES: Final = 4 * 1024 * 1024
"""Bytes of NDJSON after which a frame ends: the minimum that a reader decompresses to see one line."""

LINE_BYTES: Final = 16 * 1024 * 1024  # maximum bytes of one line: an exporter leaves a larger record out and counts it
MAX_PART_BYTES: Final = PART_BYTES + LINE_BYTES  # maximum bytes of a part, decompressed
MAX_RATIO: Final = 1_000  # decompressed bytes for each byte of a part: repeated texts of real dumps are far below
MAX_PARTS: Final = 4_096
MANIFEST_BYTES: Final = 4 * 1024 * 1024
"""Both limit the storage of a mirror: it writes the manifest again with every batch of records."""

_ENTRY_BYTES: Final = 8 * 1024
_ENTRY_VALUES: Final = 100
_SHORTEST_LINE: Final = len(b'{"kind":"absent","host":"a.b"}\n')
_WINDOW_BYTES: Final = 8 * 1024 * 1024
"""Memory that a frame may require of its reader: the size that RFC 8878 section 3.1.1.1.2 recommends."""

PART_NAME: Final = re.compile(r"[0-9]{8}T[0-9]{6}Z-[0-9]{5,6}-[0-9a-f]{16}\.ndjson\.zst")

KEPT_MANIFEST: Final = re.compile(r"manifest-([0-9]{8}T[0-9]{6}Z)\.json")
_READ: Final = 1024 * 1024
LEVEL: Final = 6
_TEMPORARY: Final = ".writing"


class BadDump(ValueError):
    """A manifest or part is invalid. The message contains no text of the dump."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a dump. `first` and `last`: keys ("domain host") of its first and last line. `size`: decompressed."""

    name: str
    sha256: str
    bytes: int
    size: int
    rows: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class DumpFileManifest:
    """The content of `manifest.json`. `cursor`: where the feed continues after the snapshot, at position `sequence`.
    `counts`: rows by kind and by the sites' terms of use. `restricted`: whether records that forbid training are
    included."""

    snapshot: str
    created_at: str
    registry: str
    cursor: str
    sequence: int
    restricted: bool
    terms: Mapping[str, str | None]
    counts: Mapping[str, int]
    parts: tuple[Part, ...] = ()
    format: str = FORMAT
    version: int = VERSION

    def to_json(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "version": self.version,
            "snapshot": self.snapshot,
            "created_at": self.created_at,
            "registry": self.registry,
            "feed": {"cursor": self.cursor, "sequence": self.sequence, "url": f"{self.registry}/api/feed"},
            "restricted": self.restricted,
            "terms": dict(self.terms),
            "counts": dict(self.counts),
            "media_type": "application/x-ndjson",
            "compression": "zstd",
            "parts": [{**asdict(part), "url": f"{self.registry}/dumps/{part.name}"} for part in self.parts],
        }


def read_manifest(raw: bytes) -> DumpFileManifest:
    """Return a checked manifest: names, sizes and numbers are within their bounds. Raise BadDump."""
    if len(raw) > MANIFEST_BYTES:
        raise BadDump("the manifest is too large")
    try:
        listed = cut_list(raw, "parts", max_entries=MAX_PARTS)
    except Unreadable as refusal:
        raise BadDump(f"the manifest cannot be read: {reason_of(refusal)}") from None
    value = listed.envelope
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise BadDump("this is no manifest of a dump")
    if value.get("version") != VERSION:
        raise BadDump("the dump has a version that this program does not read")
    feed, counts, terms = (value.get(name) for name in ("feed", "counts", "terms"))
    if not isinstance(feed, dict) or not listed.is_list or not isinstance(counts, dict):
        raise BadDump("the manifest lacks feed, parts or counts")
    manifest = DumpFileManifest(
        snapshot=_text(value, "snapshot", 40),
        created_at=_text(value, "created_at", 40),
        registry=_text(value, "registry", 2_000),
        cursor=_text(feed, "cursor", 500),
        sequence=_number(feed, "sequence", 2**62),
        restricted=value.get("restricted") is not False,
        terms={str(key)[:40]: item for key, item in terms.items() if isinstance(item, str) and len(item) <= 4_000}
        if isinstance(terms, dict)
        else {},
        counts={str(key)[:40]: count for key, count in counts.items() if type(count) is int and 0 <= count <= 2**62},
        parts=tuple(map(_part, listed)),
    )
    if len({part.name for part in manifest.parts}) < len(manifest.parts):
        raise BadDump("the manifest names a part twice")
    if not re.fullmatch(r"[0-9]{8}T[0-9]{6}Z", manifest.snapshot):
        raise BadDump("the manifest has no valid snapshot")
    return manifest


def _part(raw: bytes) -> Part:
    try:
        value = parse_bounded(raw, max_bytes=_ENTRY_BYTES, max_values=_ENTRY_VALUES)
    except Unreadable as refusal:
        raise BadDump(f"a part of the manifest cannot be read: {reason_of(refusal)}") from None
    if not isinstance(value, dict):
        raise BadDump("a part of the manifest is no object")
    part = Part(
        _text(value, "name", 100), _text(value, "sha256", 64), _number(value, "bytes", 2 * MAX_PART_BYTES),
        _number(value, "size", MAX_PART_BYTES), _number(value, "rows", 2**31), _text(value, "first", 600),
        _text(value, "last", 600),
    )  # fmt: skip
    # guard: dump-part-names
    if not PART_NAME.fullmatch(part.name) or not re.fullmatch("[0-9a-f]{64}", part.sha256):
        raise BadDump("a part of the manifest has an invalid name or hash")
    if part.rows * _SHORTEST_LINE > part.size:
        raise BadDump("a part of the manifest has more lines than it has room for")
    if part.size > part.bytes * MAX_RATIO:  # guard: dump-ratio
        raise BadDump("a part of the manifest is compressed more than any real one")
    return part


def _text(value: Mapping[str, Any], name: str, most: int) -> str:
    text = value.get(name)
    if not isinstance(text, str) or len(text) > most:
        raise BadDump(f"the manifest has no valid {name}")
    return text


def _number(value: Mapping[str, Any], name: str, most: int) -> int:
    number = value.get(name)
    if type(number) is not int or not 0 <= number <= most:
        raise BadDump(f"the manifest has no valid {name}")
    return number


@dataclass(slots=True)
class DumpFolder:
    """The dumps in a folder, for reading. Manifests are cached until they change."""

    folder: Path
    _read_at: tuple[int, ...] | None = None
    _parts: dict[str, Part] = field(default_factory=dict)
    _newest: bytes | None = None

    def manifest(self) -> bytes | None:
        """Return the bytes of the newest manifest; None if there is no dump."""
        self._refresh()
        return self._newest

    def part(self, name: str) -> Part | None:
        """Return an existing part that a kept manifest names; None for every other name."""
        self._refresh()
        return self._parts.get(name)  # guard: dump-paths

    def path(self, part: Part) -> Path:
        return self.folder / part.name

    def _refresh(self) -> None:
        try:
            about = (self.folder / MANIFEST).stat()
        except OSError:
            self._read_at, self._parts, self._newest = None, {}, None
            return
        seen = (about.st_ino, about.st_mtime_ns, about.st_size)
        if seen == self._read_at:
            return
        parts: dict[str, Part] = {}
        for path in sorted(self.folder.iterdir()):
            if KEPT_MANIFEST.fullmatch(path.name):
                with contextlib.suppress(BadDump, OSError):
                    parts |= {part.name: part for part in read_manifest(path.read_bytes()).parts}
        try:
            newest = (self.folder / MANIFEST).read_bytes()
        except OSError:
            return
        self._parts, self._newest, self._read_at = parts, newest, seen


def verify(path: Path, part: Part) -> None:
    """Read a whole part. Raise BadDump unless it has the size and hash stated in the manifest."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(_READ):
            digest.update(block)
            size += len(block)
    if size != part.bytes or digest.hexdigest() != part.sha256:  # guard: dump-hash
        raise BadDump(f"{part.name} does not have the size and hash that the manifest states")


def lines(path: Path, part: Part) -> Iterator[bytes]:
    """Yield the lines of a verified part, with at most one line and one block in memory. A line over LINE_BYTES is
    yielded without its content, so that only this line is refused. Raise BadDump if the part is not zstd, or its
    content differs in size from the manifest."""
    size, rows, rest, is_too_long = 0, 0, bytearray(), False
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    try:
        with path.open("rb") as file, decompressor.stream_reader(file, read_across_frames=True) as reader:
            while block := reader.read(_READ):
                size += len(block)
                if size > part.size:  # guard: dump-bomb
                    raise BadDump(f"{part.name} holds more than the manifest states")
                *ends, beginning = block.split(b"\n")
                for end in ends:
                    rows += 1
                    if rows > part.rows:
                        raise BadDump(f"{part.name} holds more than the manifest states")
                    is_too_long = is_too_long or len(rest) + len(end) > LINE_BYTES  # guard: dump-line-bytes
                    yield b"" if is_too_long else bytes(rest + end)
                    rest.clear()
                    is_too_long = False
                is_too_long = is_too_long or len(rest) + len(beginning) > LINE_BYTES
                if is_too_long:
                    rest.clear()
                else:
                    rest += beginning
    except zstandard.ZstdError:
        raise BadDump(f"{part.name} is not valid zstd") from None
    if size != part.size or rows != part.rows or rest or is_too_long:  # guard: dump-rows
        raise BadDump(f"{part.name} holds less than the manifest states")


class DumpError(Exception):
    """A dump could not be written; the message says why. Earlier dumps are unharmed."""


class DumpRunning(DumpError):
    """Another process writes a dump to this folder."""


class DumpWriter:
    """Writes one dump into `folder`. A context manager: without `publish`, it deletes its files at exit. Raise
    DumpRunning if another process writes there, DumpError for errors of the file system (disk full)."""

    def __init__(
        self, folder: Path, snapshot: str, *, part_bytes: int = PART_BYTES, frame_bytes: int = FRAME_BYTES
    ) -> None:
        self._folder, self._snapshot = folder, snapshot
        self._part_bytes, self._frame_bytes = part_bytes, frame_bytes
        self._parts: list[Part] = []
        self._open: _OpenPart | None = None
        self._lock: BinaryIO | None = None
        self._is_published = False

    def __enter__(self) -> Self:
        with _as_dump_failed():
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self._folder / ".lock").open("ab")
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # guard: one-dump
            except BlockingIOError:
                self._lock.close()
                raise DumpRunning("another process writes a dump to this folder") from None
            if (self._folder / f"manifest-{self._snapshot}.json").exists():
                self._lock.close()
                raise DumpError("there is a dump of this second")
            for leftover in self._folder.glob(f"*{_TEMPORARY}"):  # left by a killed process
                leftover.unlink()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._open is not None:
                self._open.discard()
            if not self._is_published:
                for part in self._parts:
                    (self._folder / part.name).unlink(missing_ok=True)
        finally:
            if self._lock is not None:
                self._lock.close()

    def add(self, key: str, line: bytes) -> None:
        """Append a line, without its end. `key`: names its content and rises from line to line. Raise DumpError."""
        line = unbroken(line)
        if len(line) >= LINE_BYTES:
            raise DumpError("a record is larger than a dump can hold")
        with _as_dump_failed():
            if self._open is not None and self._open.size + len(line) >= self._part_bytes:
                self._end_part()
            if self._open is None:
                name = f"{self._snapshot}-{len(self._parts) + 1:05}{_TEMPORARY}"
                self._open = _OpenPart(self._folder / name, self._frame_bytes)
            self._open.add(key, line)

    def add_all(self, entries: Iterable[tuple[str, bytes]]) -> None:
        """Append lines with their keys, as `add` does."""
        for key, line in entries:
            self.add(key, line)

    def finish(self) -> tuple[Part, ...]:
        """End the last part and return all. Raise DumpError."""
        with _as_dump_failed():
            self._end_part()
        return tuple(self._parts)

    def publish(self, manifest: DumpFileManifest, *, keep: int) -> None:
        """Make the dump the newest, and delete all except the `keep` newest. Raise DumpError."""
        raw = orjson.dumps(manifest.to_json(), option=orjson.OPT_INDENT_2)
        with _as_dump_failed():
            sync_folder(self._folder)  # sync the parts before the manifest names them
            _write(self._folder / f"manifest-{self._snapshot}.json", raw)
            _write(self._folder / MANIFEST, raw)
            sync_folder(self._folder)
            self._is_published = True
            _drop_old(self._folder, keep)

    def _end_part(self) -> None:
        if self._open is not None:
            self._parts.append(self._open.end(f"{self._snapshot}-{len(self._parts) + 1:05}"))
            self._open = None


class _OpenPart:
    """The part being written."""

    def __init__(self, path: Path, frame_bytes: int) -> None:
        self._path = path
        self._file = path.open("wb")
        self._compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        self._frame_bytes = frame_bytes
        self._lines: list[bytes] = []
        self._hash = hashlib.sha256()
        self._pending = self._bytes = self._rows = self.size = 0
        self._first = self._last = ""

    def add(self, key: str, line: bytes) -> None:
        self._first = self._first or key
        self._last = key
        self._rows += 1
        self._lines += (line, b"\n")
        self._pending += len(line) + 1
        self.size += len(line) + 1
        if self._pending >= self._frame_bytes:
            self._end_frame()

    def _end_frame(self) -> None:
        frame = self._compressor.compress(b"".join(self._lines))
        self._lines, self._pending = [], 0
        self._file.write(frame)
        self._hash.update(frame)
        self._bytes += len(frame)

    def end(self, stem: str) -> Part:
        if self._lines:
            self._end_frame()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        digest = self._hash.hexdigest()
        name = f"{stem}-{digest[:16]}.ndjson.zst"
        self._path.rename(self._path.with_name(name))
        return Part(name, digest, self._bytes, self.size, self._rows, self._first, self._last)

    def discard(self) -> None:
        with contextlib.suppress(OSError):  # a full disk fails again when the buffer is flushed
            self._file.close()
        self._path.unlink(missing_ok=True)


@contextlib.contextmanager
def _as_dump_failed() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DumpError(error.strerror or type(error).__name__) from error


def _write(path: Path, raw: bytes) -> None:
    temporary = path.with_name(path.name + _TEMPORARY)
    with temporary.open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def _drop_old(folder: Path, keep: int) -> None:
    """Delete all dumps except the newest, and unnamed parts of killed runs."""
    manifests = sorted(path for path in folder.iterdir() if KEPT_MANIFEST.fullmatch(path.name))
    kept = manifests[-max(1, keep) :]
    named = {MANIFEST}
    for path in kept:
        with contextlib.suppress(BadDump):
            named |= {part.name for part in read_manifest(path.read_bytes()).parts}
    for path in folder.iterdir():
        is_old_manifest = path in manifests and path not in kept
        if is_old_manifest or (PART_NAME.fullmatch(path.name) and path.name not in named):
            path.unlink()
