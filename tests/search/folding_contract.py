"""How every search backend folds copies and finds named services; inherited like tests/search/contract.py."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from registry.core.model.listing import Filters, Listing, TrustLevel
from registry.core.ranking import parse_query
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
        assert (await pool(backend, text, formats=("awp",))).candidates.named == ()
        behind = await pool(backend, f"parcel {text}" if "." in text else text)
        fronts = dict(zip(behind.candidates.hosts, map(behind.candidates.copies, range(9)), strict=False))
        assert "copy002.example" not in fronts.get("pigeons.example", ((), 0))[0]

    async def test_few_of_many_named_services_are_added(self, backend: Backend) -> None:
        hosts = [f"pigeonpost.tld{n:02}" for n in range(20)]
        await fill(backend, [listing(host, "Anything", domain=host) for host in hosts])
        assert len((await pool(backend, "pigeonpost")).candidates.named) == MOST_NAMED
