"""The list of guards in docs/safety.md: `python -m tests.guards.page` writes it between its two marks."""

from tests.guards.guard import find
from tests.guards.table import GUARDS
from tests.support.shared import ROOT

PAGE = ROOT / "docs" / "safety.md"
BEGIN, END = "<!-- guards: written by `python -m tests.guards.page` -->\n", "<!-- end of guards -->"


def table() -> str:
    rows = [
        f"| {guard.name} | `{find(ROOT, guard.key).relative_to(ROOT)}` | {', '.join(map(_short, guard.tests))} |"
        for guard in GUARDS
    ]
    return "\n".join(["| guard | where | red without it |", "| --- | --- | --- |", *rows]) + "\n"


def shown() -> str:
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def _short(test: str) -> str:
    return f"`{test.removeprefix('tests/').replace('::test_', ' ')}`"


if __name__ == "__main__":
    before, _, remainder = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + remainder.partition(END)[2], encoding="utf-8")
