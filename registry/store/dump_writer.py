"""Writes dumps, so that a reader always finds a complete one.

A part is written under a temporary name, synced and renamed; the manifest comes last, in the same way. Older dumps are
kept until `keep` newer ones exist, so that a reader can finish one. A failed dump leaves the existing ones unchanged.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

import orjson
import zstandard

from registry.core.reading.plain_text import unbroken
from registry.store.dump_files import (
    FRAME_BYTES,
    KEPT_MANIFEST,
    LINE_BYTES,
    MANIFEST,
    PART_BYTES,
    PART_NAME,
    BadDump,
    DumpFileManifest,
    Part,
    read_manifest,
)

LEVEL: Final = 6
_TEMPORARY: Final = ".writing"


class DumpError(Exception):
    """A dump could not be written; the message says why. Earlier dumps are unharmed."""


class DumpRunning(DumpError):
    """Another process writes a dump to this folder."""


class DumpWriter:
    """Writes one dump into `folder`. A context manager: without `publish`, it deletes its files at exit.

    Raise DumpRunning if another process writes there, DumpError for errors of the file system (disk full).
    """

    def __init__(
        self, folder: Path, snapshot: str, *, part_bytes: int = PART_BYTES, frame_bytes: int = FRAME_BYTES
    ) -> None:
        self._folder = folder
        self._snapshot = snapshot
        self._part_bytes = part_bytes
        self._frame_bytes = frame_bytes
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
                self._open = _OpenPart(
                    self._folder / f"{self._snapshot}-{len(self._parts) + 1:05}{_TEMPORARY}", self._frame_bytes
                )
            self._open.add(key, line)

    def finish(self) -> tuple[Part, ...]:
        """End the last part and return all. Raise DumpError."""
        with _as_dump_failed():
            self._end_part()
        return tuple(self._parts)

    def publish(self, manifest: DumpFileManifest, *, keep: int) -> None:
        """Make the dump the newest, and delete all except the `keep` newest. Raise DumpError."""
        raw = orjson.dumps(manifest.to_json(), option=orjson.OPT_INDENT_2)
        with _as_dump_failed():
            _sync_folder(self._folder)  # sync the parts before the manifest names them
            _write(self._folder / f"manifest-{self._snapshot}.json", raw)
            _write(self._folder / MANIFEST, raw)
            _sync_folder(self._folder)
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
        self._pending = 0
        self._hash = hashlib.sha256()
        self._bytes = 0
        self._rows = 0
        self._first = self._last = ""
        self.size = 0

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


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
