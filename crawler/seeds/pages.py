"""Read a list that a registry serves in pages: bounded, and resumable after each page.

A source says only how one page is read. The place of the next page is the source's own text, usually the registry's
cursor; it is kept between runs (`Progress`), so that a list of thousands of pages needs no uninterrupted hour.
"""

import hashlib
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import jiter

from crawler.seeds.online import ALL_SECONDS, READ_SECONDS, NotRead, Reader
from crawler.seeds.source import BROKEN_OFF
from registry.core.names.domains import MAX_URL_CHARS
from registry.core.names.seeds import Checkpoint, Refusal, Seed

FOLDER: Final = "seeds"
"""Folder of kept places below the data folder."""

_SHOWN: Final = 200
_EXPIRED: Final = frozenset({400, 404, 410, 422})
"""Statuses with which registries refuse a cursor that they no longer know."""

_SAVED_CAP: Final = 64 * 1024


class Page(NamedTuple):
    """The entries of one page, and the place of the next one; empty after the last."""

    entries: Sequence[Seed | Refusal]
    next: str = ""


ReadPage = Callable[[str], Awaitable[Page]]
"""Reads the page at a place; the empty text is the first one. Raises NotRead."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Most that one run reads. A run that ends at a bound is continued by the next one."""

    pages: int = 5_000
    bytes: int = 1024**3
    names: int = 2_000_000
    seconds: float = ALL_SECONDS - READ_SECONDS


BOUNDS: Final = Bounds()


async def paged(
    url: str,
    reader: Reader,
    read_page: ReadPage,
    start: str = "",
    *,
    bounds: Bounds = BOUNDS,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Seed | Refusal | Checkpoint]:
    """Yield the entries of all pages from `start` on, and a Checkpoint between two pages.

    Nothing is raised: what ends the list early is the last Refusal, with a code that begins with BROKEN_OFF. When the
    registry no longer knows the place `start`, the list is read from its beginning. `url` names the list in refusals.
    """
    place, seen, names, began = start, {start}, 0, clock()
    while True:
        try:
            page = await read_page(place)
        except NotRead as error:
            if place and place == start and len(seen) == 1 and error.status in _EXPIRED:
                place = start = ""
                seen = {place}
                continue
            yield Refusal(url, BROKEN_OFF + "not_read", str(error), url)
            return
        for entry in page.entries:
            yield entry
        if not page.next:
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
    """Where an interrupted run of an online source goes on: one small file for each source and URL."""

    def __init__(self, data: Path, source: str, url: str) -> None:
        """`data`: the data folder. Nothing is written before the first checkpoint."""
        self._of = {"source": source, "url": url}
        name = hashlib.sha256(f"{source}\0{url}".encode()).hexdigest()[:32]
        self._path = data / FOLDER / f"{name}.json"

    def start(self) -> str:
        """Return the kept place; the empty text, which is the beginning, when there is none that can be read."""
        try:
            with self._path.open("rb") as file:
                saved: Any = jiter.from_json(file.read(_SAVED_CAP))
        except (OSError, ValueError):
            return ""
        is_ours = isinstance(saved, dict) and {key: saved.get(key) for key in self._of} == self._of
        place = saved.get("place") if is_ours else None
        return place if isinstance(place, str) and len(place) <= MAX_URL_CHARS else ""

    def keep(self, checkpoint: Checkpoint) -> None:
        """Replace the kept place, atomically. Raise OSError."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        scratch = self._path.with_suffix(f".{os.getpid()}.tmp")
        scratch.write_text(json.dumps({**self._of, "place": checkpoint.position}), encoding="ascii")
        scratch.replace(self._path)

    def forget(self) -> None:
        """Begin at the beginning next time: the list was read to its end, or is to be read anew. Raise OSError."""
        self._path.unlink(missing_ok=True)
