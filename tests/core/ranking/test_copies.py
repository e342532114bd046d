"""Of copies, the best proven and the oldest stay in front, whoever else appears later."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.core.ranking.copies import Copies, CopyStanding, FoldedCopies, Standings

VERIFIED, COMMUNITY, UNVERIFIED = range(3)


def copies_of(standings: Sequence[CopyStanding], scores: Sequence[int] | None = None) -> Copies:
    return Copies(
        Standings.of(standings),
        np.array(scores or [50] * len(standings)),
        lambda positions: [f"h{position:03}.example" for position in positions.tolist()],
    )


def shown(
    standings: Sequence[CopyStanding], scores: Sequence[int] | None = None, only: Sequence[int] = ()
) -> list[int]:
    passing = np.isin(np.arange(len(standings)), only) if only else np.ones(len(standings), np.bool_)
    folded = copies_of(standings, scores).folded(passing)
    return sorted(set(np.flatnonzero(passing).tolist()) - set(folded.positions.tolist()))


def copy(level: int, offered: int, offer: int = 7) -> CopyStanding:
    return CopyStanding(offer, level, offered, offered)


def test_the_oldest_of_equally_proven_copies_is_shown() -> None:
    assert shown([copy(VERIFIED, 300), copy(VERIFIED, 100), copy(VERIFIED, 200)], scores=[99, 1, 98]) == [1]


def test_a_better_proven_copy_of_the_same_age_or_older_comes_before_others() -> None:
    assert shown([copy(COMMUNITY, 200), copy(VERIFIED, 100), copy(UNVERIFIED, 300)]) == [1]
    assert shown([copy(COMMUNITY, 200), copy(VERIFIED, 200)]) == [1]


def test_a_late_copy_that_is_better_proven_stands_beside_the_original() -> None:
    assert shown([copy(COMMUNITY, 100), copy(COMMUNITY, 150), copy(VERIFIED, 200), copy(VERIFIED, 300)]) == [0, 2]


def test_equals_are_decided_by_score_then_by_host() -> None:
    assert shown([copy(VERIFIED, 1)] * 3, scores=[10, 30, 20]) == [1]
    assert shown([copy(VERIFIED, 1)] * 3) == [0]


def test_an_original_that_does_not_pass_gives_way_to_the_next() -> None:
    standings = [copy(VERIFIED, 100), copy(VERIFIED, 300), copy(VERIFIED, 200)]
    assert shown(standings, only=[1, 2]) == [2]
    assert shown(standings, only=[1]) == [1]


def test_services_without_a_fingerprint_are_all_shown() -> None:
    assert shown([copy(VERIFIED, 1, offer=0)] * 3) == [0, 1, 2]


def test_the_folded_are_listed_behind_the_best_proven_one() -> None:
    standings = [copy(VERIFIED, 3), copy(VERIFIED, 1), copy(COMMUNITY, 2), copy(VERIFIED, 2, offer=8)]
    folded: FoldedCopies = copies_of(standings).folded(np.ones(4, np.bool_))
    assert [folded.behind(position).tolist() for position in range(4)] == [[], [0, 2], [], []]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 5)), max_size=60), st.randoms())
def test_one_row_per_level_at_most_and_never_without_the_oldest(
    drawn: list[tuple[int, int, int]], dice: random.Random
) -> None:
    standings = [CopyStanding(offer, level, age, age) for offer, level, age in drawn]
    only = [position for position in range(len(standings)) if dice.random() < 0.7] or list(range(len(standings)))
    kept = shown(standings, only=only)
    for offer in {standings[position].offer for position in only} - {0}:
        group = [position for position in only if standings[position].offer == offer]
        levels = [standings[position].level for position in kept if standings[position].offer == offer]
        ages = [standings[position].offered for position in kept if standings[position].offer == offer]
        assert len(levels) == len(set(levels)) > 0
        assert min(levels) == min(standings[position].level for position in group)
        assert min(ages) == min(standings[position].offered for position in group)
    assert {position for position in only if standings[position].offer == 0} <= set(kept)


@pytest.mark.parametrize("late", [0, 2**32 - 1])
def test_any_age_is_compared_exactly(late: int) -> None:
    assert shown([copy(VERIFIED, 2**32 - 1), copy(VERIFIED, 2**32 - 2), copy(COMMUNITY, late)]) == (
        [1, 2] if late == 0 else [1]
    )
