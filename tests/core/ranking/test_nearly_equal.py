"""Nearly equal services of many owners do not fill a page, none is folded, and honest ones keep their rank."""

import random
from collections.abc import Mapping, Sequence

import pytest

from registry.core.model.listing import Listing
from registry.core.ranking import Ranking, collapse, make_record, parse_query, rank
from registry.core.ranking.collapsing import PER_OFFER
from registry.core.ranking.copies import CopyStanding, standing_of
from tests.search.listings import listing
from tests.support.candidates import Candidate, count_corpus, side_by_side

TEXT = (
    "Weather: the forecast of rain, sun, wind and snow for every town of the wide world, hour by hour and day by day, "
    "with warnings of storms, floods and heat, and the climate of the last hundred years for comparison"
)
OTHERS = [
    listing(
        f"other{n}.example",
        f"Almanac {word}: of the {word}, all about every {word}, {word} news, and at the end a forecast",
    )
    for n, word in enumerate(("tide", "moon", "star", "soil", "bee", "barley", "harvest", "river", "cloud", "fog"))
]
VERIFIED, COMMUNITY = 0, 1


def order(
    listings: Sequence[Listing], standings: Mapping[str, tuple[int, int]] | None = None, **options: bool
) -> list[str]:
    """Return the hosts; `standings`: host -> level and age."""
    candidates = [
        Candidate(
            listed.host,
            listed.score,
            make_record(listed),
            standing_of(listed)._replace(
                **dict(zip(("level", "listed"), (standings or {}).get(listed.host, (0, 0)), strict=True))
            ),
        )
        for listed in listings
    ]
    stats = count_corpus(candidate.record for candidate in candidates)
    ranking: Ranking = collapse(rank(parse_query("weather forecast"), side_by_side(candidates), stats), **options)
    assert len(set(ranking.hosts)) == len(ranking) == len(listings)
    return ranking.hosts


def variants(number: int) -> list[Listing]:
    dice = random.Random(number)
    return [
        listing(f"v{n:02}.example", f"{TEXT} {''.join(dice.choices('abcdefghij', k=9))}", score=99)
        for n in range(number)
    ]


def test_forty_copies_with_a_word_each_keep_a_few_rows_and_the_rest_come_last() -> None:
    hosts = order([*variants(40), *OTHERS])
    front = hosts[: len(OTHERS) + PER_OFFER]
    assert sum(host.startswith("v") for host in front) == PER_OFFER
    assert {listed.host for listed in OTHERS} <= set(front)


def test_all_rows_keep_their_rank_if_asked_for() -> None:
    assert all(host.startswith("v") for host in order([*variants(40), *OTHERS], across_owners=False)[:40])


def test_the_original_keeps_its_rank_among_later_and_better_proven_variants() -> None:
    original = listing("original.example", TEXT, score=1)
    standings = {"original.example": (COMMUNITY, 100)} | {f"v{n:02}.example": (VERIFIED, 200 + n) for n in range(40)}
    hosts = order([*variants(40), original, *OTHERS], standings)
    assert hosts.index("original.example") < len(OTHERS) + PER_OFFER + 1


def test_at_most_a_few_of_each_trust_level_keep_their_rank() -> None:
    """Also when each is younger than all better proven ones, so that none precedes another in trust and in age."""
    standings = {f"v{n:02}.example": (n % 2, 1_000 - n if n % 2 else 2_000 - n) for n in range(40)}
    front = order([*variants(40), *OTHERS], standings)[: len(OTHERS) + 2 * PER_OFFER]
    assert sum(host.startswith("v") for host in front) == 2 * PER_OFFER


def test_a_few_nearly_equal_services_change_nothing() -> None:
    listings = [*variants(PER_OFFER), *OTHERS]
    assert order(listings) == order(listings, across_owners=False)


@pytest.mark.parametrize("text", ["Weather", "Weather: forecast"])
def test_services_of_few_words_are_not_compared(text: str) -> None:
    listings = [*(listing(f"v{n:02}.example", text) for n in range(9)), *OTHERS]
    assert order(listings) == order(listings, across_owners=False)


def test_different_services_of_one_field_are_not_alike() -> None:
    assert order(OTHERS) == order(OTHERS, across_owners=False)


def test_no_standing_is_no_copy() -> None:
    assert CopyStanding(0, 0, 0, 0) == standing_of(listing("a.example"))
