"""The list of another waypost: its pages, and where a later run ends."""

import json
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from crawler.seeds.online import Reader, ReadError
from crawler.seeds.pages import Since
from crawler.seeds.source import BROKEN_OFF
from crawler.seeds.waypost import OVERLAP, PAGE_SIZE, base_of, names
from registry.core.names.seeds import Checkpoint, Refusal, Seed

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
URL = "https://registry.example/"


class List:
    """A registry with `size` services, one listed a second before the other; the newest is s0.com."""

    received = 0

    def __init__(self, size: int, **odd: Any) -> None:
        self.rows = [
            {"domain": f"s{n}.com", "created_at": f"2026-11-24T11:{59 - n // 60:02}:{59 - n % 60:02}.000Z"}
            for n in range(size)
        ]
        self.odd = odd
        self.asked: list[str] = []

    async def read(self, url: str, *, accept: str, cap: int) -> tuple[str, bytes]:
        self.asked.append(url)
        offset = int(url.rpartition("offset=")[2])
        if (body := self.odd.get(f"at_{offset}")) is not None:
            if body == "404":
                raise ReadError("the answer was 404", 404)
            return url, body.encode()
        return url, json.dumps({"data": self.rows[offset : offset + PAGE_SIZE]}).encode()

    async def all(self, start: str = "") -> list[Any]:
        entries = names(URL, cast(Reader, self), start, clock=lambda: NOW)
        return [entry async for entry in entries]


def hosts(entries: list[Any]) -> list[str]:
    return list(dict.fromkeys(entry.name for entry in entries if isinstance(entry, Seed)))


def test_the_base_is_found_in_the_url_of_the_list() -> None:
    assert base_of("https://a.example/api/services/") == base_of("https://a.example/") == "https://a.example"


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 250])
async def test_all_services_are_read(size: int) -> None:
    origin = List(size)
    entries = await origin.all()
    assert hosts(entries) == [row["domain"] for row in origin.rows]
    last = entries[-1]
    assert isinstance(last, Checkpoint) and last.is_complete
    assert last.position == "2026-11-24T11:00:00.000Z  "


async def test_pages_overlap() -> None:
    origin = List(150)
    await origin.all()
    assert [url.rpartition("=")[2] for url in origin.asked] == ["0", str(PAGE_SIZE - OVERLAP)]


async def test_a_later_run_ends_at_what_was_listed_before() -> None:
    origin = List(250)
    entries = await origin.all("2026-11-24T11:59:50.000Z  ")
    assert hosts(entries) == [f"s{n}.com" for n in range(10)]
    assert len(origin.asked) == 1


async def test_an_interrupted_run_keeps_the_time_at_which_it_began() -> None:
    place = Since("", "2026-11-24T10:00:00.000Z", "90").at("90")
    entries = await List(150).all(place)
    assert entries[-1] == Checkpoint("2026-11-24T09:00:00.000Z  ", is_complete=True)


@pytest.mark.parametrize("place", ["x", " x ", "  -5", "2026 2026 \u0665", "0 0 0"])
async def test_a_place_that_nobody_wrote_is_read_from_the_beginning(place: str) -> None:
    assert hosts(await List(3).all(place)) == ["s0.com", "s1.com", "s2.com"]


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"data": 7}', "404"])
async def test_what_is_no_list_breaks_the_run_off(body: str) -> None:
    entries = await List(0, at_0=body).all()
    assert [entry.code for entry in entries if isinstance(entry, Refusal)] == [BROKEN_OFF + "not_read"]
    assert not [entry for entry in entries if isinstance(entry, Checkpoint)]


async def test_odd_rows_are_told() -> None:
    body = json.dumps({"data": [7, {}, {"domain": 7}, {"domain": "a.com", "created_at": 7}]})
    entries = await List(0, at_0=body).all("2026-11-24T11:00:00.000Z  ")
    assert [entry.code for entry in entries if isinstance(entry, Refusal)] == ["no_service"] * 3
    assert hosts(entries) == ["a.com"]
