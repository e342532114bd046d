"""Files and standard input as blocks of bytes, unpacked where they are packed, and never more than fits.

What is packed is told by its first bytes, not by its name. A packed file that grows beyond reason is given up:
lists of names become 3 to 20 times as large.
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
from registry.core.seeds import Refusal

STDIN: Final = "-"
BLOCK: Final = 256 * 1024
MAX_LINE: Final = 64 * 1024
"""Bytes of a line that are looked at; no name and no row of a list is as long."""

MAX_UNPACKED: Final = 4 * 1024**3
MAX_RATIO: Final = 200
RATIO_FROM: Final = 16 * 1024**2
"""Unpacked bytes from which the ratio counts: a few kilobytes of one repeated line are no bomb."""

_SHOWN = 200
_WAIT_SECONDS = 0.5
_GZIP, _ZIP = b"\x1f\x8b", b"PK"
_MARKS = ((b"\xef\xbb\xbf", ""), (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
_BREAKS = (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, RuntimeError)
"""Of the unpackers: cut off, corrupt, encrypted or of an unknown method (both RuntimeError); a disk that fails."""


class Opened:
    """A list that is open. `name`: how it is called in hosts.referrer."""

    def __init__(self, name: str, stream: IO[bytes], raw: "_Raw") -> None:
        self.name = name
        self._stream = stream
        self._raw = raw

    def close(self) -> None:
        """The list ends here for whoever reads it in another thread; one that waits for standard input lets go."""
        self._raw.close()

    def lines(self) -> Iterator[tuple[int, str] | Refusal]:
        """Lines with their numbers from 1, blank ones left out, without their ends.

        Total: a line that is too long is a Refusal, and so is the end of a file that breaks off. Bytes that are no
        UTF-8 become lone surrogates, which no name has.
        """
        number, rest = 0, b""
        skipping = False
        for block in self._blocks():
            if isinstance(block, Refusal):
                yield block
                return  # a name that was cut would be somebody else's
            parts = (rest + block).splitlines(keepends=True)
            rest = parts.pop() if parts and not parts[-1].endswith(b"\n") else b""
            for part in parts:
                number += 1
                if skipping:
                    skipping = False
                elif len(part) > MAX_LINE:
                    yield self._too_long(part, number)
                elif text := part.decode("utf-8", "surrogateescape").strip():
                    yield number, text
            if len(rest) > MAX_LINE:
                if not skipping:
                    yield self._too_long(rest, number + 1)
                skipping, rest = True, b""
        if not skipping and (text := rest.decode("utf-8", "surrogateescape").strip()):
            yield number + 1, text

    def all(self, cap: int) -> bytes:
        """The whole list at once. Raises BadSource where it breaks off or has more than `cap` bytes."""
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
        shown = line[:_SHOWN].decode("utf-8", "replace")
        return Refusal(shown, "line_too_long", f"the line is longer than {MAX_LINE} bytes", self.name, number)

    def _blocks(self) -> Iterator[bytes | Refusal]:
        size, first = 0, True
        while True:
            try:
                block = self._stream.read1(BLOCK) if hasattr(self._stream, "read1") else self._stream.read(BLOCK)
            except _BREAKS as error:
                yield self._broken(f"it broke off: {_in_words(error)}")
                return
            if not block:
                return
            size += len(block)
            if self._stream is not self._raw.reader and _is_bomb(size, self._raw.count):
                yield self._broken(f"it unpacks to more than {size >> 20} MB, which no list of names does")
                return
            if first:
                block = _without_mark(block)
                first = False
            yield block

    def _broken(self, message: str) -> Refusal:
        return Refusal("", BROKEN_OFF + "broken", message, self.name)


class _Raw(io.RawIOBase):
    """A file or standard input; counts what was read. Standard input is waited for in turns, so that it can be closed
    under a thread that waits for it."""

    def __init__(self, target: str) -> None:
        self._is_stdin = target == STDIN
        self._descriptor = sys.stdin.fileno() if self._is_stdin else os.open(target, os.O_RDONLY | os.O_CLOEXEC)
        self._reading = threading.Lock()
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
        with self._reading:
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
        with self._reading:  # or its number could be another file's while somebody reads from it
            if not self.closed:
                super().close()
                os.close(self._descriptor)


@contextmanager
def opened(target: str) -> Iterator[Opened]:
    """A file by its path, or `-`. Raises BadSource."""
    try:
        raw = _Raw(target)
        head = raw.reader.peek(4)[:4]
    except (OSError, ValueError) as error:
        raise BadSource(f"{target}: {_in_words(error)}") from None
    name = "standard input" if target == STDIN else Path(target).name
    try:
        yield Opened(name, _unpacked(raw, head, name), raw)
    finally:
        raw.close()


def _unpacked(raw: _Raw, head: bytes, name: str) -> IO[bytes]:
    for mark, encoding in _MARKS:
        if encoding and head.startswith(mark):
            raise BadSource(f"{name}: this is {encoding}; save it as UTF-8")
    if head.startswith(_GZIP):
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw.reader))
    if head.startswith(_ZIP):
        return _member(raw, name)
    return cast(IO[bytes], raw.reader)


def _member(raw: _Raw, name: str) -> IO[bytes]:
    """The one file of an archive. Raises BadSource."""
    if not raw.seekable():
        raise BadSource("a zip archive cannot be read from standard input; give its name, or unpack it (unzip -p)")
    try:
        archive = zipfile.ZipFile(raw.reader)
        files = [one for one in archive.infolist() if not one.is_dir() and not one.filename.startswith("__MACOSX/")]
        if len(files) != 1:
            raise BadSource(f"{name}: an archive of {len(files)} files; unpack it and give the one that is meant")
        return archive.open(files[0])
    except _BREAKS as error:
        if isinstance(error, BadSource):
            raise
        raise BadSource(f"{name}: {_in_words(error)}") from None


def _is_bomb(unpacked: int, packed: int) -> bool:
    return unpacked > MAX_UNPACKED or (unpacked > RATIO_FROM and unpacked > MAX_RATIO * max(packed, 1))


def _without_mark(block: bytes) -> bytes:
    return next((block.removeprefix(mark) for mark, _ in _MARKS if block.startswith(mark)), block)


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).partition("\n")[0][:_SHOWN] or type(error).__name__
