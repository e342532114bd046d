"""The walks of docs/architecture.md name functions and classes that are in the files the page links to."""

import re
from collections.abc import Mapping

from tests.support.shared import ROOT

PAGE = ROOT / "docs" / "architecture.md"
MAX_STOPS = 12

_STOP = re.compile(r"^\d+\. (.*)$", re.MULTILINE)
_LINK = re.compile(r"\[`(\w+)`\]\(\.\./([\w/.]+)\)")


def walks() -> Mapping[str, list[str]]:
    """Return the stops of each walk, by its heading."""
    section = PAGE.read_text(encoding="utf-8").split("\n## Three walks through the code\n", 1)[1].split("\n## ", 1)[0]
    parts = (part.split("\n", 1) for part in section.split("\n### ")[1:])
    return {heading: _STOP.findall(text) for heading, text in parts}


def test_there_are_three_walks_of_a_few_stops() -> None:
    assert len(walks()) == 3
    assert {heading: len(stops) for heading, stops in walks().items() if not 3 <= len(stops) <= MAX_STOPS} == {}


def test_every_stop_is_defined_in_the_linked_file() -> None:
    linked = [link for stops in walks().values() for stop in stops for link in _LINK.findall(stop)]
    assert len(linked) > 30
    assert [link for link in linked if not _defines(*link)] == []


def test_every_stop_has_a_link() -> None:
    assert [stop for stops in walks().values() for stop in stops if not _LINK.search(stop)] == []


def test_a_wrong_stop_is_noticed() -> None:
    assert not _defines("seed", "registry/actions/frontier/lease.py") and not _defines("seed", "registry/planted.py")
    assert _defines("seed", "registry/actions/frontier/frontier.py")


def _defines(name: str, file: str) -> bool:
    path = ROOT / file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return re.search(rf"^\s*(?:async def|def|class) {name}\b", text, re.MULTILINE) is not None
