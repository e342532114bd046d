"""What everybody reads in the audit log of owners."""

from registry.actions.access import decisions
from registry.actions.ownership import owning
from registry.store.unit_of_work import Store
from tests.actions.ownership.test_ownership import API, HOST, SITES, owner_of
from tests.support.builders import HOUR, NOW, crawl


async def test_everybody_reads_who_speaks_for_a_host(store: Store) -> None:
    await crawl(store, SITES)
    owner = await owner_of(store, HOST)
    await owning.set_note(store, owner, HOST, "Closed on Sundays.", now=NOW)
    await owning.give_up(store, owner, HOST, now=NOW + HOUR)
    actions = ["ownership.ended", "host.note_set", "ownership.token_issued", "ownership.proven"]
    decided = await decisions(store, HOST)
    assert sorted((entry.action, entry.actor, entry.detail) for entry in decided) == [
        (one, "owner", {}) for one in sorted(actions)
    ]
    assert await decisions(store, API) == [], "none of them concerns the hosts below"
    await owner_of(store, HOST, "domain", now=NOW + 2 * HOUR)
    assert [entry.action for entry in await decisions(store, API)] == ["ownership.proven"]
