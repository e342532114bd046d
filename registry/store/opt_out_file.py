"""The file of opt-outs: an append-only line for each opt-out and for each end of an opt-out.

A database restored from a backup lacks the newer opt-outs. This file is not part of the database, so it still has them;
`replay` (actions/maintenance/opt_out.py) applies it before anything is served or crawled.

A line is a JSON object: `at` (ISO 8601), `action` ("out", "in"), `host`, `how`, `evidence`, and `sum`, the beginning of
the SHA-256 of the others. Lines are synced to the disk (fsync) before the opt-out's transaction commits, so if the
process dies in between, the opt-out takes effect at the next start and is never lost.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

import orjson

from registry.core.names.domains import InvalidName, host_syntax

MAX_LINE_BYTES: Final = 16_384
"""Bytes of a line; the evidence of an opt-out is a URL or the words of an operator, at most 2,000 characters."""

_SUM_CHARS: Final = 16


@dataclass(frozen=True, slots=True)
class OptOutLine:
    """`how`: as in `opt_outs`. `at`: when the opt-out or its end took effect."""

    action: Literal["out", "in"]
    host: str
    how: str
    evidence: str
    at: datetime


class OptOutFile:
    """The file. Several processes of a machine may append at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, lines: Iterable[OptOutLine]) -> None:
        """Append lines and return when they are on the disk. Raise OSError."""
        raw = b"".join(encoded(line) for line in lines)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not self.path.exists()
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_torn(descriptor):
                raw = b"\n" + raw
            while raw:
                raw = raw[os.write(descriptor, raw) :]
            os.fsync(descriptor)  # guard: opt-out-file-synced
        finally:
            os.close(descriptor)
        if is_new:
            sync_folder(self.path.parent)

    def read(self) -> tuple[list[OptOutLine], int]:
        """Return the lines and the number of unreadable ones; empty if the file is missing. Raise OSError."""
        try:
            return self.read_existing()
        except FileNotFoundError:
            return [], 0

    def read_existing(self) -> tuple[list[OptOutLine], int]:
        """Do what `read` does, but raise OSError also if the file is missing."""
        with self.path.open("rb") as file:
            return read_lines(file)


def encoded(line: OptOutLine) -> bytes:
    """Return the line of the file, with its end."""
    members = asdict(line) | {"at": line.at.isoformat()}
    return orjson.dumps(members | {"sum": _sum(members)}, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def read_lines(raw: Iterable[bytes]) -> tuple[list[OptOutLine], int]:
    """Return the readable lines in their order, and the number of others, which were changed or left incomplete by a
    process that died."""
    lines, unreadable = [], 0
    for text in _bounded(raw):
        line = _decoded(text)
        if line is not None:
            lines.append(line)
        elif text.strip():
            unreadable += 1
    return lines, unreadable


def _bounded(raw: Iterable[bytes]) -> Iterator[bytes]:
    return (text if len(text) <= MAX_LINE_BYTES else b"?" for text in raw)


def _decoded(text: bytes) -> OptOutLine | None:
    try:
        members = orjson.loads(text)
        if members.pop("sum") != _sum(members):  # guard: opt-out-file-sums
            return None
        at = datetime.fromisoformat(members["at"])
        if (
            members["action"] not in ("out", "in")
            or at.tzinfo is None
            or host_syntax(members["host"]) != members["host"]
        ):
            return None
        return OptOutLine(members["action"], members["host"], str(members["how"]), str(members["evidence"]), at)
    except (ValueError, TypeError, KeyError, AttributeError, InvalidName):
        return None


def _sum(members: dict[str, object]) -> str:
    return hashlib.sha256(orjson.dumps(members, option=orjson.OPT_SORT_KEYS)).hexdigest()[:_SUM_CHARS]


def _is_torn(descriptor: int) -> bool:
    """Return whether the last line has no end, because a process died while writing it."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the name of a new file is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
