"""The edits of the table fit the source, its tests exist, and docs/safety.md shows it as it is."""

import ast
import re
from collections import Counter

import pytest

from tests.guards.guard import Guard
from tests.guards.page import shown, table
from tests.guards.table import GUARDS
from tests.support.shared import ROOT


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_a_guard_can_still_be_switched_off(guard: Guard) -> None:
    source = (ROOT / guard.file).read_text(encoding="utf-8")
    assert source.count(guard.old) == 1, f"{guard.file} was changed: mend the edit in tests/guards/rows"
    ast.parse(source.replace(guard.old, guard.new))


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: guard.name)
def test_its_tests_exist(guard: Guard) -> None:
    assert guard.tests
    for test in guard.tests:
        file, _, function = test.partition("::")
        source = (ROOT / file).read_text(encoding="utf-8")
        name, _, case = function.partition("[")
        assert not name or re.search(rf"^(async )?def {name}\(", source, re.MULTILINE), test
        assert not case or f'"{case.removesuffix("]")}"' in source, test


def test_names_differ() -> None:
    assert max(Counter(guard.name for guard in GUARDS).values()) == 1


def test_the_page_shows_the_table() -> None:
    assert shown() == table(), "run `python -m tests.guards.page`"
