"""Hits of one domain are collapsed and limited, and never hide those of another domain."""

from collections.abc import Sequence

from registry.core.model.listing import Listing
from registry.core.ranking import Ranking, collapse, explain
from tests.search.listings import listing
from tests.support.candidates import ranking_of

TEXT = "Weather: the forecast of rain and sun for the whole wide world, hour by hour"


def collapsed(listings: Sequence[Listing], text: str = "weather forecast", **options: int) -> Ranking:
    return collapse(ranking_of(text, *listings), **options)


def test_near_duplicates_of_one_domain_are_one_hit_that_names_the_others() -> None:
    ranking = collapsed(
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
    assert collapsed([listing("a.example", TEXT), listing("b.example", TEXT)]).hosts == ["a.example", "b.example"]


def test_tenants_of_a_shared_platform_are_owners_of_their_own() -> None:
    hosts = ["one.github.io", "two.github.io"]
    assert collapsed([listing(host, TEXT) for host in hosts]).hosts == hosts


def test_many_services_of_one_domain_are_spread_and_none_is_lost() -> None:
    many = [listing(f"h{n}.big.example", f"Weather {n}: forecast of place{n} kind{n} sort{n}") for n in range(5)]
    small = listing("small.example", "Almanac: a forecast among many other things that it tells of the weather")
    ranking = collapsed([*many, small])
    assert ranking.hosts.index("small.example") == 3
    assert sorted(ranking.hosts) == sorted(listed.host for listed in [*many, small])
    assert collapsed([*many, small], per_domain=1).hosts[1] == "small.example"


def test_texts_that_differ_are_not_folded() -> None:
    ranking = collapsed(
        [listing("a.x.example", "Weather: rain"), listing("b.x.example", "Weather: hail, storms and snow")]
    )
    assert len(ranking) == 2
