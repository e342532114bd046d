"""Whoever owns a domain is one voice, and no owner hides another."""

from collections.abc import Sequence

from registry.core.listing import Listing
from registry.core.ranking import CorpusStats, Ranking, ask, explain, fold, make_record, rank
from tests.search.listings import listing
from tests.support.candidates import Candidate, side_by_side

TEXT = "Weather: the forecast of rain and sun for the whole wide world, hour by hour"


def folded(listings: Sequence[Listing], text: str = "weather forecast", **how: int) -> Ranking:
    held = [Candidate(one.host, one.score, make_record(one)) for one in listings]
    return fold(rank(ask(text), side_by_side(held), CorpusStats.of(one.record for one in held)), **how)


def test_near_duplicates_of_one_owner_are_one_hit_that_names_the_others() -> None:
    ranking = folded(
        [
            listing("eu.shop.example", TEXT, score=60),
            listing("us.shop.example", TEXT + " daily", score=50),
            listing("shop.example", "Weather shop: sells barometers"),
        ]
    )
    assert ranking.hosts == ["eu.shop.example", "shop.example"]
    assert explain(ranking, 0).alike == ("us.shop.example",)
    assert explain(ranking, 1).alike == ()


def test_the_same_text_of_two_owners_is_two_hits() -> None:
    assert folded([listing("a.example", TEXT), listing("b.example", TEXT)]).hosts == ["a.example", "b.example"]


def test_tenants_of_a_shared_platform_are_owners_of_their_own() -> None:
    hosts = ["one.github.io", "two.github.io"]
    assert folded([listing(host, TEXT) for host in hosts]).hosts == hosts


def test_an_owner_of_many_different_services_does_not_fill_the_page_and_loses_none() -> None:
    many = [listing(f"h{n}.big.example", f"Weather {n}: forecast of place{n} kind{n} sort{n}") for n in range(5)]
    small = listing("small.example", "Almanac: a forecast among many other things that it tells of the weather")
    ranking = folded([*many, small])
    assert ranking.hosts.index("small.example") == 3
    assert sorted(ranking.hosts) == sorted(one.host for one in [*many, small])
    assert folded([*many, small], per_domain=1).hosts[1] == "small.example"


def test_texts_that_differ_are_not_folded() -> None:
    ranking = folded(
        [listing("a.x.example", "Weather: rain"), listing("b.x.example", "Weather: hail, storms and snow")]
    )
    assert len(ranking) == 2
