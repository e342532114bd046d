"""How every search backend folds copies and finds named services; inherited like tests/search/contract.py."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from registry.core.model.listing import Filters, Listing, TrustLevel
from registry.core.ranking import parse_query
from registry.core.ranking.copies import SHOWN_COPIES, Copies, FoldedHosts, Standings, standing_of
from registry.core.ranking.naming import MOST_NAMED
from registry.search.backend import Backend
from tests.search.contract import SHOP, fill, found, pool, upsert
from tests.search.listings import listing

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
POST = listing(
    "pigeons.example",
    "Pigeon Post: Books, prices and tracks parcels with local couriers in every town",
    ("track_parcel", "Says where a parcel is"),
    offered_since=NOW,
)


def copies_of(service: Listing, number: int) -> list[Listing]:
    """Return the same service on domains of its own, copied one day after another, with ever better scores."""
    return [
        replace(
            service,
            host=f"copy{n:03}.example",
            domain=f"copy{n:03}.example",
            score=min(100, service.score + n),
            offered_since=NOW + timedelta(days=n + 1),
        )
        for n in range(number)
    ]


def folded(services: list[Listing], filters: Filters) -> dict[str, FoldedHosts]:
    """Return the hosts in front, of those that pass the filters, and what is folded behind each."""
    passing = [
        service
        for service in services
        if (not filters.shown_levels or service.trust_level in filters.shown_levels)
        and (not filters.formats or set(service.formats) & set(filters.formats))
        and (not filters.auth_types or service.auth_type in filters.auth_types)
        and (filters.max_score is None or service.score <= filters.max_score)
        and (not filters.domains or service.domain in filters.domains)
    ]
    copies = Copies(
        Standings.of([standing_of(service) for service in passing]),
        np.array([service.score for service in passing]),
        lambda positions: [passing[position].host for position in positions],
    )
    found = copies.folded(np.ones(len(passing), np.bool_))
    behind = {
        position: [passing[other].host for other in found.behind(position)]
        for position in range(len(passing))
        if position not in found.positions
    }
    return {
        passing[position].host: FoldedHosts(tuple(hosts[:SHOWN_COPIES]), len(hosts))
        for position, hosts in behind.items()
    }


class FoldingContract:
    @pytest.mark.parametrize("text", ["track a parcel", ""])
    async def test_copies_are_folded_into_the_oldest(self, backend: Backend, text: str) -> None:
        await fill(backend, [*copies_of(POST, 40), POST, SHOP])
        answer = await pool(backend, text)
        assert sorted(answer.candidates.hosts) == ["pigeons.example", "shop.example"]
        by_host = dict(zip(answer.candidates.hosts, map(answer.candidates.copies, range(2)), strict=True))
        assert by_host["shop.example"] == ((), 0)
        assert by_host["pigeons.example"].hosts[:3] == ("copy000.example", "copy001.example", "copy002.example")
        assert by_host["pigeons.example"].total == 40
        assert text or answer.matching == 2

    async def test_copies_take_no_place_of_others(self, backend: Backend) -> None:
        others = [listing(f"h{n:02}.example", "Parcels") for n in range(20)]
        await fill(backend, [*copies_of(POST, 150), POST, *others])
        for text in ("track parcels", ""):
            answer = await backend.candidates(parse_query(text), Filters(), 21)
            assert set(answer.candidates.hosts) == {"pigeons.example", *(other.host for other in others)}

    async def test_many_copies_hide_nothing_that_few_copies_show(self, backend: Backend) -> None:
        """Words of the copies are frequent, but rare without them. The copies name hosts, which are words, too."""
        padded = replace(POST, description=f"{POST.description}. Umbrellas, lanterns, bicycles")
        copies = [
            replace(copy, description=f"{copy.description}. See lantern.example, umbrella.example and {copy.host}")
            for copy in copies_of(padded, 400)
        ]
        original = replace(padded, description=f"{padded.description}. See a.example, b.example and c.example")
        others = [
            listing(f"h{n:02}.example", word)
            for n, word in enumerate(["Umbrella", "Lantern", "Bicycle", "Courier", "Parcel"] * 12)
        ]
        text = "a courier that brings umbrellas, a lantern, bicycles and a parcel"
        answers = []
        for number in (1, len(copies)):
            await fill(backend, [*copies[:number], original, *others])
            answers.append((await backend.candidates(parse_query(text), Filters(), 100)).candidates)
        assert [sorted(answer.hosts) for answer in answers] == [sorted([POST.host, *(o.host for o in others)])] * 2
        assert [answer.copies(list(answer.hosts).index(POST.host)).total for answer in answers] == [1, len(copies)]

    @pytest.mark.parametrize("seed", range(2))
    async def test_hosts_are_those_of_folding_everything(self, backend: Backend, seed: int) -> None:
        dice = random.Random(seed)
        services = [
            replace(
                copy,
                trust_level=dice.choice(list(TrustLevel)),
                offered_since=NOW + timedelta(days=dice.randrange(9)),
                score=dice.randrange(4),
                formats=dice.choice([("adp",), ("awp",)]),
                auth_type=dice.choice(["none", "oauth2"]),
            )
            for group in range(6)
            for copy in copies_of(replace(POST, description=f"{POST.description} number{group}"), dice.randrange(1, 30))
        ]
        services = [
            replace(service, host=f"h{n}.example", domain=f"h{n}.example") for n, service in enumerate(services)
        ]
        await fill(backend, services)
        for filters in (
            {},
            {"formats": ("awp",), "include_unverified": True},
            {"auth_types": ("oauth2",)},
            {"max_score": 2},
            {"include_unverified": True, "domains": tuple(service.domain for service in services[::3])},
        ):
            expected = folded(services, Filters(**filters))
            for text in ("track parcel", ""):
                candidates = (await pool(backend, text, **filters)).candidates
                behind = map(candidates.copies, range(len(candidates)))
                assert dict(zip(candidates.hosts, behind, strict=True)) == expected

    async def test_copies_are_candidates_if_asked_for(self, backend: Backend) -> None:
        await fill(backend, [*copies_of(POST, 5), POST])
        assert len(await found(backend, "parcel", unique=False)) == 6
        assert len(await found(backend, "", unique=False)) == 6

    async def test_only_copies_that_pass_the_filters_are_compared(self, backend: Backend) -> None:
        await fill(backend, [*copies_of(POST, 5), POST])
        for text in ("parcel", ""):
            assert await found(backend, text, domains=("copy003.example", "copy001.example")) == ["copy001.example"]
            assert await found(backend, text, min_score=POST.score + 2) == ["copy002.example"]

    async def test_the_front_follows_changes_of_the_copies(self, backend: Backend) -> None:
        copies = copies_of(POST, 3)
        await fill(backend, [*copies, POST])
        await backend.delete([POST.host])
        await upsert(backend)
        assert await found(backend, "parcel") == ["copy000.example"]
        await upsert(backend, replace(copies[0], trust_level=TrustLevel.UNVERIFIED))
        assert await found(backend, "parcel") == ["copy001.example"]
        await upsert(backend, replace(copies[2], offered_since=NOW))
        assert await found(backend, "parcel") == ["copy002.example"]
        await upsert(backend, replace(copies[1], description="Books, prices and tracks parcels, and letters too"))
        assert await found(backend, "parcel") == ["copy001.example", "copy002.example"]

    @pytest.mark.parametrize("text", ["copy002.example", "see https://copy002.example/x", "copy002"])
    async def test_a_named_copy_is_a_candidate(self, backend: Backend, text: str) -> None:
        await fill(backend, [*copies_of(POST, 3), POST])
        answer = await pool(backend, text)
        named = [answer.candidates.hosts[position] for position in answer.candidates.named]
        assert named == ["copy002.example"]
        assert list((await pool(backend, text, formats=("awp",))).candidates.named) == []
        behind = await pool(backend, f"parcel {text}" if "." in text else text)
        fronts = dict(zip(behind.candidates.hosts, map(behind.candidates.copies, range(9)), strict=False))
        assert "copy002.example" not in fronts.get("pigeons.example", ((), 0))[0]

    async def test_few_of_many_named_services_are_added(self, backend: Backend) -> None:
        hosts = [f"pigeonpost.tld{n:02}" for n in range(20)]
        await fill(backend, [listing(host, "Anything", domain=host) for host in hosts])
        assert len((await pool(backend, "pigeonpost")).candidates.named) == MOST_NAMED
