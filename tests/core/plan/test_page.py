"""docs/crawler.md lists the same paths as the code."""

import re

from registry.core.visiting import probes
from registry.core.visiting.probes import Step
from tests.support.shared import ROOT

Row = tuple[str, str, str, bool]  # stage or label, path, format, has a fallback condition

_ROW = re.compile(r"^\| `?([\w]+)`? \| `(/[^`]*)` \| (?:`([^`]+)`)? ?\| ?(.*?) ?\|$", re.MULTILINE)


def row(stage: str, step: Step) -> Row:
    return stage, step.path, step.format or "", step.fallback_of is not None


def rows(heading: str) -> list[Row]:
    page = (ROOT / "docs" / "crawler.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return [(stage, path, form, "is absent" in condition) for stage, path, form, condition in _ROW.findall(section)]


def test_the_page_lists_every_path_in_order() -> None:
    assert rows("Paths") == [row(step.stage, step) for step in probes.STEPS]


def test_the_page_lists_the_conditional_paths_in_order() -> None:
    listed = [listed_row[:3] for listed_row in rows("Conditions")]
    assert listed == [row(step.stage, step)[:3] for step, _ in probes.CONDITIONAL]


def test_the_page_lists_the_paths_of_sub_hosts() -> None:
    assert rows("Sub-hosts") == [row(label, step) for label, steps in probes.SHORT.items() for step in steps]
