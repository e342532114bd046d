"""The edits of the table fit the source, its tests exist, and README.md shows the table."""

import ast
import re
from collections import Counter

import pytest

from tests.guards.guard import Edit, Guard, find, keys, switched_off
from tests.guards.page import PAGE, page
from tests.guards.table import GUARDS
from tests.support.shared import ROOT


def test_each_guard_can_still_be_switched_off() -> None:
    for guard in GUARDS:
        source = find(ROOT, guard.key).read_text(encoding="utf-8")
        without = switched_off(source, guard)
        assert ast.dump(ast.parse(without)) != ast.dump(ast.parse(source)), guard.name


def test_each_marker_has_a_row() -> None:
    assert keys(ROOT) == {guard.key for guard in GUARDS}


def test_a_misplaced_marker_is_an_error() -> None:
    guard = Guard("a", "a", Edit("x > 1", "True"), ())
    assert switched_off("if x > 1:  # guard: a\n    y\n", guard) == "if True:  # guard: a\n    y\n"
    assert switched_off("# guard: a\nz = (\n    x > 1\n)\n", guard) == "# guard: a\nz = (\n    True\n)\n"
    for source in ("if y > 1:  # guard: a\n    x > 1\n", "z = x > 1, x > 1  # guard: a\n"):
        with pytest.raises(ValueError, match=r"matches [02] times"):
            switched_off(source, guard)
    with pytest.raises(ValueError, match="0 comments"):
        find(ROOT, "none")


def test_the_tests_of_each_guard_exist() -> None:
    for guard in GUARDS:
        assert guard.tests, guard.name
        for test in guard.tests:
            file, _, function = test.partition("::")
            source = (ROOT / file).read_text(encoding="utf-8")
            name, _, case = function.partition("[")
            assert not name or re.search(rf"^(async )?def {name}\(", source, re.MULTILINE), test
            assert not case or f'"{case.removesuffix("]")}"' in source, test


def test_names_differ() -> None:
    assert max(Counter(guard.name for guard in GUARDS).values()) == 1


def test_the_page_shows_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.guards.page`"
