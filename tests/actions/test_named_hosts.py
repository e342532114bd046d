"""Hosts that documents name: a domain that names thousands of its own gets a few of them at a time."""

from registry.actions.seed import MAX_HOSTS_NAMED, fold_candidates
from registry.store.records import CandidateRecord
from registry.store.unit_of_work import Store
from tests.actions.test_lease import NOW
from tests.support.database import rows


async def test_hosts_that_a_document_names_come_ten_at_a_time(store: Store) -> None:
    named = [CandidateRecord("big.com", f"s{n}.big.com", "x.com", "item", "https://x.com/", NOW) for n in range(30)]
    async with store.begin() as uow:
        await uow.candidates.add(named)
    for _ in range(3):
        await fold_candidates(store, now=NOW)
    assert await rows(store, "SELECT count(*) FROM hosts WHERE domain = 'big.com'") == [(MAX_HOSTS_NAMED,)]
