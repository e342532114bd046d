"""Reads files and standard input as blocks of bytes, decompressed if needed, with bounded memory.

Compression is detected by the first bytes, not by the name. A compressed file that grows too much is refused: lists of
names become 3 to 20 times as large.
"""

import gzip
import io
import os
import select
import sys
import threading
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast

from crawler.seeds.source import BROKEN_OFF, BadSource
from registry.core.names.seeds import Refusal

STDIN: Final = "-"
BLOCK: Final = 256 * 1024
MAX_LINE: Final = 64 * 1024  # maximum bytes of a line; no name and no row of a list is this long
MAX_UNPACKED: Final = 4 * 1024**3
MAX_RATIO: Final = 200
RATIO_FROM: Final = 16 * 1024**2
"""Unpacked bytes from which MAX_RATIO applies: a few kilobytes of one repeated line are not a bomb."""

_MAX_DIRECTORY = 1024 * 1024
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2})
"""LZMA is not read: the archive itself says how much memory its reader takes."""

_SHOWN = 200
_WAIT_SECONDS = 0.5
_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_MARKS = ((b"\xef\xbb\xbf", ""), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
_BREAKS = (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, RuntimeError)
"""Errors of reading: truncated, corrupt, encrypted or of an unknown method (both RuntimeError), or a failing disk."""


class OpenList:
    """An open list. `name`: its name in hosts.referrer."""

    def __init__(self, name: str, stream: IO[bytes], raw: "_Raw") -> None:
        self.name = name
        self._stream = stream
        self._raw = raw
        self.close = raw.close
        """Closes the list. A read in another thread, even one that waits for standard input, then returns the end."""

    def lines(self) -> Iterator[tuple[int, str] | Refusal]:
        """Yield (number from 1, stripped line) for all lines that are not blank.

        Never raise: a line that is too long is a Refusal, and so is the end of a truncated file. Invalid UTF-8 becomes
        lone surrogates, which no valid name contains.
        """
        number, remainder = 0, b""
        skipping = False
        for block in self._blocks():
            if isinstance(block, Refusal):
                yield block
                return  # the rest is dropped: a truncated name could be another domain
            raw_lines = (remainder + block).splitlines(keepends=True)
            remainder = raw_lines.pop() if raw_lines and not raw_lines[-1].endswith(b"\n") else b""
            for raw_line in raw_lines:
                number += 1
                if skipping:
                    skipping = False
                elif len(raw_line) > MAX_LINE:
                    yield self._too_long(raw_line, number)
                elif text := raw_line.decode("utf-8", "surrogateescape").strip():
                    yield number, text
            if len(remainder) > MAX_LINE:
                if not skipping:
                    yield self._too_long(remainder, number + 1)
                skipping, remainder = True, b""
        if not skipping and (text := remainder.decode("utf-8", "surrogateescape").strip()):
            yield number + 1, text

    def all(self, cap: int) -> bytes:
        """Return the whole list. Raise BadSource if it is truncated or has more than `cap` bytes."""
        blocks: list[bytes] = []
        size = 0
        for block in self._blocks():
            if isinstance(block, Refusal):
                raise BadSource(f"{self.name}: {block.message}")
            blocks.append(block)
            if (size := size + len(block)) > cap:
                raise BadSource(f"{self.name}: more than {cap >> 20} MB")
        return b"".join(blocks)

    def _too_long(self, line: bytes, number: int) -> Refusal:
        beginning = line[:_SHOWN].decode("utf-8", "replace")
        return Refusal(beginning, "line_too_long", f"the line is longer than {MAX_LINE} bytes", self.name, number)

    def _blocks(self) -> Iterator[bytes | Refusal]:
        size, is_first = 0, True
        while True:
            try:
                block = self._stream.read1(BLOCK) if hasattr(self._stream, "read1") else self._stream.read(BLOCK)
            except _BREAKS as error:
                yield self._broken(f"it broke off: {_error_text(error)}")
                return
            if not block:
                return
            size += len(block)
            limit = min(MAX_UNPACKED, max(RATIO_FROM, MAX_RATIO * max(self._raw.count, 1)))
            if self._stream is not self._raw.reader and size > limit:
                yield self._broken(f"it unpacks to more than {size >> 20} MB, which no list of names does")
                return
            if is_first:
                block = next((block.removeprefix(mark) for mark, _ in _MARKS if block.startswith(mark)), block)
                is_first = False
            yield block

    def _broken(self, message: str) -> Refusal:
        return Refusal("", BROKEN_OFF + "broken", message, self.name)


class _Raw(io.RawIOBase):
    """A file or standard input; counts the bytes read. Reading standard input polls, so that it can be closed while a
    thread waits for it."""

    def __init__(self, target: str) -> None:
        self._is_stdin = target == STDIN
        self._read_lock = threading.Lock()  # first, because `close` is called even when the file cannot be opened
        self._descriptor = -1
        self._descriptor = sys.stdin.fileno() if self._is_stdin else os.open(target, os.O_RDONLY | os.O_CLOEXEC)
        self.count = 0
        self.reader: io.BufferedReader = io.BufferedReader(self, BLOCK)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return not self._is_stdin

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return os.lseek(self._descriptor, offset, whence)

    def readinto(self, buffer: Any) -> int:
        waits = self._is_stdin
        while waits and not self.closed:
            waits = not select.select([self._descriptor], [], [], _WAIT_SECONDS)[0]
        with self._read_lock:
            if self.closed:
                return 0
            data = os.read(self._descriptor, len(buffer))
        buffer[: len(data)] = data
        self.count += len(data)
        return len(data)

    def close(self) -> None:
        if self._is_stdin:
            super().close()
            return
        with self._read_lock:  # otherwise a running read could hit another file that reuses the descriptor
            if not self.closed:
                super().close()
                if self._descriptor >= 0:
                    os.close(self._descriptor)


@contextmanager
def opened(target: str) -> Iterator[OpenList]:
    """Open a file by its path, or standard input for `-`. Raise BadSource."""
    try:
        raw = _Raw(target)
        head = raw.reader.peek(4)[:4]
    except (OSError, ValueError) as error:
        raise BadSource(f"{target}: {_error_text(error)}") from None
    name = "standard input" if target == STDIN else Path(target).name
    try:
        yield OpenList(name, _unpacked(raw, head, name), raw)
    finally:
        raw.close()


def _unpacked(raw: _Raw, head: bytes, name: str) -> IO[bytes]:
    for mark, encoding in _MARKS:
        if encoding and head.startswith(mark):
            raise BadSource(f"{name}: this is {encoding}; save it as UTF-8")
    if head.startswith(_GZIP):
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw.reader))
    if head.startswith(_ZIP):
        return _archive_member(raw, name)
    return cast(IO[bytes], raw.reader)


def _archive_member(raw: _Raw, name: str) -> IO[bytes]:
    """Return the only file of an archive. Raise BadSource."""
    if not raw.seekable():
        raise BadSource("a zip archive cannot be read from standard input; give its name, or unpack it (unzip -p)")
    try:
        archive = zipfile.ZipFile(_DirectoryReader(raw, BLOCK))
        files = [
            entry for entry in archive.infolist() if not entry.is_dir() and not entry.filename.startswith("__MACOSX/")
        ]
        if len(files) != 1:
            raise BadSource(f"{name}: an archive of {len(files)} files; unpack it and name one file")
        if files[0].compress_type not in _METHODS:
            raise BadSource(f"{name}: its compression method is not read; unpack it first")
        return archive.open(files[0])
    except _BREAKS as error:
        if isinstance(error, BadSource):
            raise
        raise BadSource(f"{name}: {_error_text(error)}") from None


class _DirectoryReader(io.BufferedReader):
    """Reads an archive. `zipfile` reads the whole directory at once and keeps an object for each file in it."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _MAX_DIRECTORY:
            raise ValueError("an archive of too many files")
        return super().read(_MAX_DIRECTORY if size is None or size < 0 else size)  # no size: its last record


def _error_text(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0][:_SHOWN] or type(error).__name__
