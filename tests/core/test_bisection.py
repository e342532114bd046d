"""`Bisection` isolates failing items and keeps the order of the rest."""

from collections.abc import Sequence

import pytest

from registry.core.scheduling.bisection import Bisection


def run(items: Sequence[int], bad: frozenset[int]) -> tuple[list[int], list[int], int]:
    """Return the items written, those set aside, and the number of attempts."""
    written, refused, attempts = list[int](), list[int](), 0
    batches = Bisection(items)
    for batch in batches:
        attempts += 1
        if bad.isdisjoint(batch):
            written += batch
        elif not batches.split(batch):
            refused += batch
    return written, refused, attempts


@pytest.mark.parametrize(
    "bad", [frozenset[int](), frozenset({0}), frozenset({6}), frozenset({2, 3}), frozenset(range(7))]
)
def test_only_failing_items_are_set_aside_and_order_is_kept(bad: frozenset[int]) -> None:
    written, refused, _ = run(range(7), bad)
    assert written == [item for item in range(7) if item not in bad]
    assert refused == sorted(bad)


def test_one_failing_item_of_many_costs_two_attempts_per_halving() -> None:
    assert run(range(64), frozenset({40}))[2] == 1 + 2 * 6
    assert run([], frozenset())[2] == 0
