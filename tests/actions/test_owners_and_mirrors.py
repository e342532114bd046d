"""What owners decide at the origin of a mirror, and that the mirror decides nothing. Two databases, no network."""

from pathlib import Path

import pytest

from registry.actions.mirroring.apply import DecidedAtOrigin, NotAMirror
from registry.core.access.tokens import Token
from registry.store.unit_of_work import Store
from tests.actions.ownership.test_ownership import claimed, owner_of
from tests.actions.test_dumps import BIKES, EXEMPT, ORIGIN, POST, SITES, catch_up, dump, load, public, same
from tests.support.builders import adp_site, crawl, on
from tests.support.database import rows


async def test_what_an_owner_decides_reaches_the_copy(store: Store, copy: Store, tmp_path: Path) -> None:
    """The note and the ownership itself are no part of a record: their events change nothing in the copy."""
    sub = f"sub.{POST}"
    await crawl(store, {**SITES, sub: adp_site(sub, "track_parcel")})
    progress = await load(copy, tmp_path / "dump", await dump(store, tmp_path / "dump"))
    before = await public(copy, tmp_path / "copy")
    owner = await owner_of(store, POST)
    await on(store).ownership.set_note(owner, POST, "Closed on Sundays.")
    progress = await catch_up(store, copy, progress)
    assert await public(copy, tmp_path / "copy") == before
    await same(store, copy, tmp_path)
    await on(store).ownership.hide(owner, POST)
    progress = await catch_up(store, copy, progress)
    await same(store, copy, tmp_path)
    assert await rows(copy, "SELECT host FROM services ORDER BY host") == [(BIKES,), (sub,)]
    await on(store).ownership.give_up(owner, POST)
    progress = await catch_up(store, copy, progress)
    await same(store, copy, tmp_path)
    assert await rows(copy, "SELECT host FROM services ORDER BY host") == [(BIKES,), (POST,), (sub,)]
    assert (await on(store).feed.page()).events[-1].kind == "ownership.ended"


async def test_a_registry_with_owners_becomes_no_mirror(copy: Store) -> None:
    owner = await owner_of(copy, POST)
    with pytest.raises(NotAMirror):
        await on(copy).mirror.begin(ORIGIN)
    await on(copy).ownership.give_up(owner, POST)
    assert (await on(copy).mirror.begin(ORIGIN)).origin == ORIGIN


async def test_a_mirror_decides_nothing_about_its_entries(store: Store, copy: Store, tmp_path: Path) -> None:
    await crawl(store, SITES)
    _, token = await claimed(copy, POST)  # before it became a mirror
    await load(copy, tmp_path / "dump", await dump(store, tmp_path / "dump"))
    for refused in (
        claimed(copy, POST),
        on(copy).claims.ask(token),
        on(copy).ownership.hide(Token("owner", token.id, "x" * 43), POST),
        on(copy, exempt=EXEMPT).frontier.recheck(POST),
        on(copy).reports.file(POST, "wrong", "It copies our service.", client="203.0.113.7"),
    ):
        with pytest.raises(DecidedAtOrigin) as raised:
            await refused
        assert (raised.value.origin, raised.value.host) == (ORIGIN, POST)
    assert await rows(copy, "SELECT count(*) FROM hosts WHERE next_visit_why = 'asked'") == [(0,)]
    assert await rows(copy, "SELECT count(*) FROM reports") == [(0,)]
