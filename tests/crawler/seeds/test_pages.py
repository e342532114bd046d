"""Lists in pages: their bounds, what ends them, and how an interrupted run goes on."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

from crawler.seeds.online import Reader, ReadError
from crawler.seeds.pages import FOLDER, Bounds, Page, Progress, paged
from crawler.seeds.source import BROKEN_OFF
from registry.core.names.seeds import Checkpoint, Refusal, Seed
from registry.store.unit_of_work import Store
from tests.support.builders import on
from tests.support.database import rows

URL = "https://registry.example/list"


@dataclass
class Received:
    """The one property of a Reader that `paged` looks at."""

    received: int = 0


@dataclass
class Origin:
    """A list of `size` pages with one name each, whose places are numbers. `refuses`: place -> status."""

    size: int = 4
    refuses: dict[str, int] | None = None

    def __post_init__(self) -> None:
        self.asked: list[str] = []
        self.reader = Received()

    async def read(self, place: str) -> Page:
        self.asked.append(place)
        if status := (self.refuses or {}).get(place):
            raise ReadError(f"the answer was {status}", status)
        self.reader.received += 1_000
        number = int(place or 0)
        return Page([Seed(f"site{number}.com")], str(number + 1) if number + 1 < self.size else "")

    async def all(self, start: str = "", bounds: Bounds | None = None, **options: Any) -> list[Any]:
        entries = paged(URL, cast(Reader, self.reader), self.read, start, bounds=bounds or Bounds(), **options)
        return [entry async for entry in entries]


def names(entries: Sequence[Any]) -> list[str]:
    return [entry.name for entry in entries if isinstance(entry, Seed)]


def codes(entries: Sequence[Any]) -> list[str]:
    return [entry.code for entry in entries if isinstance(entry, Refusal)]


def places(entries: Sequence[Any]) -> list[str]:
    return [entry.position for entry in entries if isinstance(entry, Checkpoint)]


async def test_a_checkpoint_stands_between_two_pages() -> None:
    entries = await Origin(3).all()
    assert names(entries) == ["site0.com", "site1.com", "site2.com"]
    assert places(entries) == ["1", "2"]
    assert [type(entry) for entry in entries] == [Seed, Checkpoint, Seed, Checkpoint, Seed]


async def test_a_run_begins_at_its_place() -> None:
    origin = Origin(4)
    assert names(await origin.all("2")) == ["site2.com", "site3.com"]
    assert origin.asked == ["2", "3"]


@pytest.mark.parametrize("status", [400, 404, 410, 422])
async def test_a_place_that_the_registry_forgot_leads_to_the_beginning(status: int) -> None:
    origin = Origin(2, {"7": status})
    assert names(await origin.all("7")) == ["site0.com", "site1.com"]
    assert origin.asked == ["7", "", "1"]


async def test_a_registry_that_refuses_all_places_is_asked_twice() -> None:
    origin = Origin(2, {"7": 410, "": 410})
    assert codes(await origin.all("7")) == [BROKEN_OFF + "not_read"]
    assert origin.asked == ["7", ""]


@pytest.mark.parametrize(("place", "status"), [("7", 503), ("7", 500), ("1", 410)])
async def test_another_failure_ends_the_run(place: str, status: int) -> None:
    origin = Origin(9, {place: status})
    assert codes(await origin.all("7" if place == "7" else "")) == [BROKEN_OFF + "not_read"]
    assert origin.asked[-1] == place, "and its place is kept"


@pytest.mark.parametrize("bounds", [Bounds(pages=2), Bounds(bytes=2_000), Bounds(names=2), Bounds(seconds=2)])
async def test_a_run_ends_at_each_bound_and_the_next_one_goes_on(bounds: Bounds) -> None:
    clock = count()
    origin = Origin(5)
    first = await origin.all(bounds=bounds, clock=lambda: float(next(clock)))
    assert names(first) == ["site0.com", "site1.com"]
    assert codes(first) == [BROKEN_OFF + "bound"]
    assert names(await origin.all(places(first)[-1])) == ["site2.com", "site3.com", "site4.com"]


async def test_a_circle_ends() -> None:
    async def read(place: str) -> Page:
        return Page([Seed("site.com")], "b" if place == "a" else "a")

    entries = [entry async for entry in paged(URL, cast(Reader, Received()), read)]
    assert codes(entries) == [BROKEN_OFF + "cursor"]
    assert len(names(entries)) == 3


def test_the_place_is_kept_for_each_source_and_url(tmp_path: Path) -> None:
    progress = Progress(tmp_path, "mcp-registry", URL)
    assert progress.start() == ""
    progress.keep(Checkpoint("a"))
    progress.keep(Checkpoint("\xfcb"))
    assert Progress(tmp_path, "mcp-registry", URL).start() == "\xfcb"
    assert Progress(tmp_path, "ard-registry", URL).start() == ""
    assert Progress(tmp_path, "mcp-registry", URL + "2").start() == ""
    assert len(list((tmp_path / FOLDER).iterdir())) == 1, "nothing else is left"
    progress.forget()
    progress.forget()
    assert progress.start() == ""


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"place": "a"}', "\ufffd", "[" * 9_000])
def test_a_damaged_file_means_the_beginning(tmp_path: Path, content: str) -> None:
    progress = Progress(tmp_path, "mcp-registry", URL)
    progress.keep(Checkpoint("a"))
    (file,) = (tmp_path / FOLDER).iterdir()
    file.write_text(content)
    assert progress.start() == ""
    saved = {"source": "mcp-registry", "url": URL, "place": 7}
    file.write_text(json.dumps(saved))
    assert progress.start() == ""


async def test_a_checkpoint_is_reported_when_the_names_before_it_are_committed(store: Store) -> None:
    committed: list[tuple[str, int]] = []

    def on_checkpoint(checkpoint: Checkpoint) -> None:
        committed.append((checkpoint.position, reported[-1]))

    reported: list[int] = []
    origin = Origin(3)
    report = await on(store).frontier.seed(
        paged(URL, cast(Reader, origin.reader), origin.read),
        source="mcp-registry",
        progress=lambda report: reported.append(report.hosts),
        on_checkpoint=on_checkpoint,
    )
    assert committed == [("1", 1), ("2", 2)]
    assert report.hosts == 3
    assert await rows(store, "SELECT count(*) FROM hosts") == [(3,)]
