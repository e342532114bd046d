"""Hosts that documents name: a domain that names thousands of its own hosts gets a few of them at a time."""

from registry.actions.frontier.seed import MAX_HOSTS_NAMED
from registry.store.records import CandidateRecord, OptOutRecord
from registry.store.unit_of_work import Store
from tests.support.builders import NOW, hosts_of, on, take
from tests.support.database import rows


async def test_candidates_of_one_domain_are_limited(store: Store) -> None:
    candidates = [
        CandidateRecord("big.com", f"s{n}.big.com", "x.com", "item", "https://x.com/", NOW) for n in range(30)
    ]
    async with store.begin() as uow:
        await uow.candidates.add(candidates)
    for _ in range(3):
        await on(store).frontier.fold_candidates()
    assert await rows(store, "SELECT count(*) FROM hosts WHERE domain = 'big.com'") == [(MAX_HOSTS_NAMED,)]


async def test_a_host_that_opted_out_while_it_waited_is_not_leased(store: Store) -> None:
    await on(store).frontier.seed(["shop.com", "open.com"], source="test")
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("shop.com", "shop.com", "robots", "", NOW)])
    assert hosts_of(await take(store)) == ["open.com"]
