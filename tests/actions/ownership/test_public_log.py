"""What everybody reads in the audit log of owners."""

from registry.store.unit_of_work import Store
from tests.actions.ownership.test_ownership import API, HOST, SITES, owner_of
from tests.support.builders import HOUR, NOW, crawl, on


async def test_everybody_reads_who_speaks_for_a_host(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store, HOST)
    await on(store).ownership.set_note(owner, HOST, "Closed on Sundays.")
    await on(store, NOW + HOUR).ownership.give_up(owner, HOST)
    actions = ["ownership.ended", "host.note_set", "ownership.token_issued", "ownership.proven"]
    decided = await on(store).access.decisions(HOST)
    assert sorted((entry.action, entry.actor, entry.detail) for entry in decided) == [
        (one, "owner", {}) for one in sorted(actions)
    ]
    assert await on(store).access.decisions(API) == [], "none of them concerns the hosts below"
    await owner_of(store, HOST, "domain", now=NOW + 2 * HOUR)
    assert [entry.action for entry in await on(store).access.decisions(API)] == ["ownership.proven"]
