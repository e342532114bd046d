"""Reads a list that a registry serves in pages: bounded, and resumable after each page.

A source only defines how to read one page. The place of the next page is a text of the source, usually the registry's
cursor. It is kept between runs (`Progress`), so that a list of thousands of pages needs no uninterrupted hour.
"""

import hashlib
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import jiter

from crawler.seeds.online import ALL_SECONDS, READ_SECONDS, Reader, ReadError
from crawler.seeds.source import BROKEN_OFF
from registry.core.model.documents import Json
from registry.core.names.domains import MAX_URL_CHARS
from registry.core.names.seeds import Checkpoint, Refusal, Seed
from registry.core.reading.foreign_lists import ForeignList, cut_list, read_entry, reason_of
from registry.core.reading.reader import Unreadable

FOLDER: Final = "seeds"  # folder of kept places below the data folder
_T = TypeVar("_T")

_SHOWN: Final = 200
_EXPIRED: Final = frozenset({400, 404, 410, 422})
"""Statuses with which registries refuse a cursor that they no longer know."""

_SAVED_CAP: Final = 64 * 1024

PAGE_CAP: Final = 8 * 1024 * 1024
MAX_ENTRIES: Final = 10_000
"""Maximum bytes and entries of one page; a hundred entries are requested."""

OVERLAP: Final = timedelta(hours=1)
"""The run after a complete one requests changes from this long before its beginning: clocks differ, and registries date
rows before they show them."""


class Page(NamedTuple):
    """The entries of one page, and the place of the next one; empty after the last. `later`: the place at which the run
    after a complete one begins; empty for sources without a filter by time."""

    entries: Sequence[Seed | Refusal]
    next: str = ""
    later: str = ""


class Since(NamedTuple):
    """A place in a list that can be filtered by time: `moment` (empty: everything), when this run of it began, and the
    cursor of the page. Both times are ISO 8601 in UTC with milliseconds and `Z`."""

    moment: str
    began: str
    cursor: str

    @classmethod
    def of(cls, place: str, clock: Callable[[], datetime]) -> "Since":
        """Return the place written by `at` or `later`; a run without a beginning begins now."""
        moment, _, rest = place.partition(" ")
        began, _, cursor = rest.partition(" ")
        return cls(moment if _is_time(moment) else "", began if _is_time(began) else _written(clock()), cursor)

    def at(self, cursor: str) -> str:
        return f"{self.moment} {self.began} {cursor}"

    def later(self) -> str:
        """Return the place at the list's beginning with only what is new since this run began."""
        return f"{_written(datetime.fromisoformat(self.began) - OVERLAP)}  "


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_time(text: str) -> bool:
    """Return whether a text of a kept place is a time with a zone: a person may have edited the file."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def cut_page(body: bytes, member: str) -> ForeignList:
    """Return a page cut into the entries of its list. Raise ReadError."""
    try:
        return cut_list(body, member, max_entries=MAX_ENTRIES)
    except Unreadable as refusal:
        raise ReadError(f"this cannot be read: {reason_of(refusal)}") from None


def member(value: Any, name: str, kind: type[_T]) -> _T | None:
    """Return a member of an object; None if it is missing or of another type, or if the value is no object."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None


def readable_entries(entries: Iterable[bytes], referrer: str | None) -> "Iterator[Json | Refusal]":
    """Yield the entries of a list one by one; a Refusal for invalid JSON or an entry over a cap of documents."""
    for raw in entries:
        try:
            yield read_entry(raw)
        except Unreadable as refusal:
            code = reason_of(refusal)
            yield Refusal(raw[:_SHOWN].decode("utf-8", "replace"), code, f"this entry cannot be read: {code}", referrer)


ReadPage = Callable[[str], Awaitable[Page]]
"""Reads the page at a place; the empty text is the first one. Raises ReadError."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of one run. The next run continues after a limit."""

    pages: int = 5_000
    bytes: int = 1024**3
    names: int = 2_000_000
    seconds: float = ALL_SECONDS - READ_SECONDS


BOUNDS: Final = Bounds()


async def paged(
    url: str, reader: Reader, read_page: ReadPage, start: str = "", *, bounds: Bounds = BOUNDS,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Seed | Refusal | Checkpoint]:  # fmt: skip
    """Yield the entries of all pages from `start` on, and a Checkpoint between two pages.

    Never raise: if the list ends early, the last Refusal says why, with a code that begins with BROKEN_OFF. If the
    registry no longer knows the place `start`, the list is read from its beginning. `url` names the list in refusals.
    """
    place, seen, names, began = start, {start}, 0, clock()
    while True:
        try:
            page = await read_page(place)
        except ReadError as error:
            if place and place == start and len(seen) == 1 and error.status in _EXPIRED:
                place = start = ""
                seen = {place}
                continue
            yield Refusal(url, BROKEN_OFF + "not_read", str(error), url)
            return
        for entry in page.entries:
            yield entry
        if not page.next:
            if page.later:
                yield Checkpoint(page.later, is_complete=True)
            return
        if page.next in seen or len(page.next) > MAX_URL_CHARS:
            message = "the pages lead in a circle, or nowhere"
            yield Refusal(page.next[:_SHOWN], BROKEN_OFF + "cursor", message, url)
            return
        place = page.next
        seen.add(place)
        names += len(page.entries)
        yield Checkpoint(place)
        is_over = (
            len(seen) > bounds.pages
            or reader.received >= bounds.bytes
            or names >= bounds.names
            or clock() - began >= bounds.seconds
        )
        if is_over:  # guard: seed-bounds
            yield Refusal(url, BROKEN_OFF + "bound", "one run reads no more; run it again to continue", url)
            return


class Progress:
    """Where the next run of an online source begins: one small file for each source and URL. `is_complete`: the last
    kept run read the source to its end, and the next one reads only what is new."""

    def __init__(self, data: Path, source: str, url: str) -> None:
        """`data`: the data folder. Nothing is written before the first checkpoint."""
        self._of = {"source": source, "url": url}
        name = hashlib.sha256(f"{source}\0{url}".encode()).hexdigest()[:32]
        self._path = data / FOLDER / f"{name}.json"
        self.is_complete = False

    def start(self) -> str:
        """Return the kept place; empty, which means the beginning, if there is no readable one."""
        try:
            with self._path.open("rb") as file:
                saved: Any = jiter.from_json(file.read(_SAVED_CAP))
        except (OSError, ValueError):
            return ""
        is_ours = isinstance(saved, dict) and {key: saved.get(key) for key in self._of} == self._of
        place = saved.get("place") if is_ours else None
        if not isinstance(place, str) or len(place) > MAX_URL_CHARS:
            return ""
        self.is_complete = saved.get("complete") is True
        return place

    def keep(self, checkpoint: Checkpoint) -> None:
        """Replace the kept place atomically. Raise OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        scratch = self._path.with_suffix(f".{os.getpid()}.tmp")
        self.is_complete = checkpoint.is_complete
        content = {**self._of, "place": checkpoint.position, "complete": self.is_complete}
        scratch.write_text(json.dumps(content), encoding="ascii")
        scratch.replace(self._path)

    def forget(self) -> None:
        """Start the next run at the beginning. Raise OSError."""
        self._path.unlink(missing_ok=True)
