"""Every guard, the smallest edit of the source that switches it off, and the tests that must then turn red.

A test that stays green without the guard it is meant for tests nothing. `python -m tests.guards` (`make guards`) makes
each edit in a copy of the tree and runs the named tests with and without it; `tests/guards/test_table.py` checks in
every run of the tests that the edits still fit and the tests still exist. The rows are in `tests/guards/rows/`, by what
they guard. docs/safety.md shows the list, and says what has no row.
"""

from typing import Final

from tests.guards.rows import addresses, answers, copies, documents, names, politeness, queue, scrapy_settings

GUARDS: Final = (
    *addresses.GUARDS,
    *names.GUARDS,
    *answers.GUARDS,
    *politeness.GUARDS,
    *queue.GUARDS,
    *documents.GUARDS,
    *scrapy_settings.GUARDS,
    *copies.GUARDS,
)
