"""What bounds the reading of other registries for names."""

from typing import Final

from tests.guards.guard import NEVER, Guard

GUARDS: Final = (
    Guard(
        "seed-bounds",
        "one run reads a bounded part of a list",
        NEVER,
        ("tests/crawler/seeds/test_pages.py::test_a_run_ends_at_each_bound_and_the_next_one_goes_on",),
    ),
)
