"""docs/crawler.md lists the same paths as the code."""

import re
from collections.abc import Iterable

from registry.core.visiting import probes
from registry.core.visiting.probes import Step
from tests.support.shared import ROOT

Listed = tuple[str, str, bool]  # stage or label, path, whether it is requested only without the one before

_ROW = re.compile(r"^\| `?(\w+)`? \| (.*) \|$", re.MULTILINE)
_PATH = re.compile(r"(else )?`(/[^`]*)`")


def section(heading: str) -> str:
    page = (ROOT / "docs" / "crawler.md").read_text(encoding="utf-8")
    return page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def listed(heading: str) -> list[Listed]:
    return [
        (name, path, bool(other))
        for name, cell in _ROW.findall(section(heading))
        for other, path in _PATH.findall(cell)
    ]


def planned(name: str, steps: Iterable[Step]) -> list[Listed]:
    return [(name or step.stage, step.path, step.fallback_of is not None) for step in steps]


def test_the_page_lists_every_path_in_order() -> None:
    assert listed("Paths") == planned("", probes.STEPS)


def test_the_page_lists_the_conditional_paths_in_order() -> None:
    table, _, by_turns = section("Conditions").partition("Only by turns: ")
    first_cells = " ".join(line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `"))
    paths = [path for _, path in _PATH.findall(f"{first_cells} {by_turns}")]
    assert paths == [step.path for step, _ in probes.CONDITIONAL]


def test_the_page_lists_the_paths_of_sub_hosts() -> None:
    expected = [row for label, steps in probes.SHORT.items() for row in planned(label, steps)]
    assert listed("Sub-hosts") == expected
