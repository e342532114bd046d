"""Every guard, the smallest edit of the source that switches it off, and the tests that must then turn red.

A test that stays green without the guard it is meant for tests nothing. `python -m tests.guards` (`make guards`) makes
each edit in a copy of the tree and runs the named tests with and without it; `tests/guards/test_table.py` checks in
every run of the tests that the edits still fit and the tests still exist. The rows are in `tests/guards/rows/`, by what
they guard. README.md here shows the list; docs/safety.md says what has no row.
"""

import importlib
import pkgutil
from typing import Final

from tests.guards import rows
from tests.guards.guard import Guard

GUARDS: Final[tuple[Guard, ...]] = tuple(
    guard
    for module in pkgutil.iter_modules(rows.__path__)
    for guard in importlib.import_module(f"{rows.__name__}.{module.name}").GUARDS
)
