"""The list of guards in tests/guards/README.md: `python -m tests.guards.page` writes it."""

from tests.guards.guard import find
from tests.guards.table import GUARDS
from tests.support.shared import ROOT

PAGE = ROOT / "tests" / "guards" / "README.md"
_HEAD = """<!-- Written by `python -m tests.guards.page`. -->

# Guards, and what turns red without them

`rows/` holds the smallest edit that switches each guard off; `# guard: <key>` marks the place in the source. `make
guards` makes each edit in a copy of the tree and expects the named tests to fail. docs/safety.md says which threats the
guards end, and what has no row.

| guard | where | red without it |
| --- | --- | --- |
"""


def page() -> str:
    rows = [
        f"| {guard.name} | `{find(ROOT, guard.key).relative_to(ROOT)}` | {', '.join(map(_short, guard.tests))} |\n"
        for guard in GUARDS
    ]
    return _HEAD + "".join(rows)


def _short(test: str) -> str:
    return f"`{test.removeprefix('tests/').replace('::test_', ' ')}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
