"""The queue of opt-out requests: who is checked first, what one client may ask for, and what survives a worker."""

import asyncio
from collections import Counter
from datetime import datetime

import pytest

from registry.actions.maintenance.opt_out import (
    CLAIM_FOR,
    MAX_CLAIMED,
    MAX_OPEN,
    Proof,
    TooManyRequests,
    Wish,
)
from registry.store.engine import make_engine
from registry.store.records import OptOutRequestRecord
from registry.store.unit_of_work import Store
from tests.actions.test_prune import KEEP
from tests.support.builders import DAY, HOUR, NOW, adp_site, crawl, finish, leased, on, record, take
from tests.support.database import rows

pytestmark = pytest.mark.slow  # thousands of rows

HONEST, OWNER = "pigeons.com", "203.0.113.7"
LATER = NOW + HOUR / 60


async def queue(store: Store, client: str, *hosts: str, at: datetime = NOW, wish: Wish = "out") -> None:
    """Store open requests of a client, without the checks of `request`."""
    async with store.begin() as uow:
        for host in hosts:
            await uow.opt_out_requests.add(OptOutRequestRecord(host, host, wish, at), client=client)


async def queue_of_many(store: Store, clients: int, each: int) -> None:
    """Store the same number of requests for each of some clients, in turn, so that none comes first as a whole."""
    for number in range(each):
        for client in range(clients):
            await queue(store, f"198.51.100.{client}", f"c{client}-{number}.com", at=NOW + number * HOUR / 3_600)


async def claimed(store: Store, limit: int, now: datetime = LATER) -> list[str]:
    return sorted(request.host for request in await on(store, now).opt_outs.claim(limit=limit))


async def open_requests(store: Store) -> list[str]:
    return [host for (host,) in await rows(store, "SELECT host FROM opt_out_requests WHERE checked_at IS NULL")]


def client_of(host: str) -> str:
    return host.partition("-")[0]


async def test_a_new_client_is_next_whatever_others_have_queued(store: Store) -> None:
    """1,000 requests of 20 clients came before; 60 of them at most are checked before the last one has its turn."""
    await queue_of_many(store, clients=20, each=50)
    await queue(store, OWNER, HONEST, at=LATER)
    first = await claimed(store, 21)
    assert HONEST in first
    assert max(Counter(map(client_of, first)).values()) == 1, "one of each client"
    rest = await claimed(store, 64)
    assert len(rest) == 20 * (MAX_CLAIMED - 1), "no client takes more places than that, though some are free"
    assert max(Counter(map(client_of, first + rest)).values()) == MAX_CLAIMED


async def test_with_more_clients_than_places_those_without_a_check_go_first(store: Store) -> None:
    await queue_of_many(store, clients=30, each=3)
    first = await on(store, LATER).opt_outs.claim(limit=20)
    await queue(store, OWNER, HONEST, at=LATER)
    second = await claimed(store, 11)
    assert HONEST in second
    assert len({client_of(request.host) for request in first} | set(map(client_of, second))) == 31
    await on(store, LATER).opt_outs.settle(first[0], Proof())
    (third,) = await claimed(store, 1)
    assert client_of(third) == client_of(first[0].host), "again the one for whom nothing is being checked"


async def test_clients_take_turns_when_there_are_more_than_places(store: Store) -> None:
    """A new client waits for one request of each of the others, not for all that they queued before it."""
    await queue_of_many(store, clients=30, each=9)
    served = await on(store, LATER).opt_outs.claim(limit=30)
    await queue(store, OWNER, HONEST, at=LATER)
    for request in served:
        await on(store, LATER).opt_outs.settle(request, Proof())
    assert await claimed(store, 1) == [HONEST]


async def test_requests_of_one_client_are_checked_in_order(store: Store) -> None:
    await queue(store, OWNER, *(f"{number}.com" for number in range(5)))
    assert await claimed(store, 2) == ["0.com", "1.com"]
    assert await claimed(store, 9) == ["2.com"], "three at once"


async def test_the_operator_goes_first(store: Store) -> None:
    await queue_of_many(store, clients=5, each=2)
    await on(store, LATER).opt_outs.request_as_operator(HONEST, "out")
    assert HONEST not in await claimed(store, 3), "the command checks it"
    assert await claimed(store, 1, now=LATER + CLAIM_FOR) == [HONEST], "the command died"


async def test_two_workers_never_claim_the_same_request(store: Store, database_url: str) -> None:
    await queue_of_many(store, clients=20, each=6)
    other = Store(make_engine(database_url, pool_size=5))
    claims = await asyncio.gather(
        *(on(worker, LATER).opt_outs.claim(limit=7) for _ in range(6) for worker in (store, other))
    )
    await other.close()
    hosts = [request.host for requests in claims for request in requests]
    assert len(hosts) == len(set(hosts)) == 20 * MAX_CLAIMED
    assert set(Counter(map(client_of, hosts)).values()) == {MAX_CLAIMED}


async def test_a_claim_expires(store: Store) -> None:
    """A worker that was killed settles nothing."""
    await queue(store, OWNER, HONEST)
    assert await claimed(store, 9) == [HONEST]
    assert await claimed(store, 9, now=LATER + CLAIM_FOR * 0.9) == []
    (request,) = await on(store, LATER + CLAIM_FOR).opt_outs.claim(limit=9)
    await on(store, LATER + CLAIM_FOR).opt_outs.settle(request, Proof())
    assert await claimed(store, 9, now=LATER + DAY) == []


async def test_the_first_verdict_counts(store: Store) -> None:
    """The slower of two workers, whose claim had expired, does not replace the verdict that was published."""
    await queue(store, OWNER, HONEST)
    (request,) = await on(store).opt_outs.claim(limit=1)
    await on(store, LATER).opt_outs.settle(request, Proof())
    await on(store, LATER + HOUR).opt_outs.settle(request, Proof((), ("dns",)))
    assert await rows(store, "SELECT verdict FROM opt_out_requests") == [("no_proof",)]


async def test_open_requests_of_a_client_are_limited(store: Store) -> None:
    for number in range(MAX_OPEN):
        await on(store).opt_outs.request(f"a{number}.com", "out", client="198.51.100.1")
    with pytest.raises(TooManyRequests) as refused:
        await on(store).opt_outs.request("one-more.com", "out", client="198.51.100.1")
    assert refused.value.retry_after.total_seconds() > 0
    (request,) = await on(store).opt_outs.claim(limit=1)
    await on(store).opt_outs.settle(request, Proof())
    await on(store).opt_outs.request("one-more.com", "out", client="198.51.100.1")
    await on(store).opt_outs.request(HONEST, "out", client=OWNER)
    assert len(await open_requests(store)) == MAX_OPEN + 1


@pytest.mark.parametrize("wish", ["out", "in"])
async def test_an_open_request_keeps_its_place_and_owner(store: Store, wish: Wish) -> None:
    await on(store).opt_outs.request(HONEST, "out", client=OWNER)
    reply = await on(store, LATER).opt_outs.request(HONEST, wish, client="198.51.100.1")
    assert reply.request == OptOutRequestRecord(HONEST, HONEST, "out", NOW)
    assert await rows(store, "SELECT wish, client FROM opt_out_requests") == [("out", OWNER)]
    async with store.begin() as uow:  # two requests at the same time: each finds none
        await uow.opt_out_requests.add(OptOutRequestRecord(HONEST, HONEST, "in", LATER), client="198.51.100.1")
    assert await rows(store, "SELECT wish, client FROM opt_out_requests") == [("out", OWNER)]


async def test_invented_hosts_do_not_block_the_others_of_their_domain(store: Store) -> None:
    visited = f"api.{HONEST}"
    await crawl(store, {visited: adp_site(visited)})
    for number in range(10):
        await on(store).opt_outs.request(f"h{number}.{HONEST}", "out", client="198.51.100.1")
    assert len(await open_requests(store)) == 3
    for host in (HONEST, f"www.{HONEST}", visited):
        reply = await on(store).opt_outs.request(host, "out", client=OWNER)
        assert reply.request is not None and reply.request.host == host
    assert (await on(store).opt_outs.request(f"h9.{HONEST}", "out", client=OWNER)).request is None


async def test_checked_hosts_do_not_block_an_invented_one(store: Store) -> None:
    visited = [f"{label}.{HONEST}" for label in "abcd"]
    await crawl(store, {host: adp_site(host) for host in visited})
    for host in (HONEST, f"www.{HONEST}", *visited):
        await on(store).opt_outs.request(host, "out", client="198.51.100.1")
    assert (await on(store).opt_outs.request(f"new.{HONEST}", "out", client=OWNER)).request is not None


async def test_pointless_requests_do_not_use_up_the_checks_of_a_host(store: Store) -> None:
    """A check delays the next one by hours: strangers must not cause one that cannot change anything."""
    assert (await on(store).opt_outs.request(HONEST, "in", client="198.51.100.1")).request is None
    await on(store).opt_outs.forget(HONEST, opt_out="file")
    assert (await on(store).opt_outs.request(HONEST, "out", client="198.51.100.1")).request is None
    reply = await on(store).opt_outs.request(HONEST, "in", client=OWNER)
    assert reply.request is not None and reply.opt_out is not None
    assert await open_requests(store) == [HONEST]


async def test_who_asked_is_erased_with_the_verdict(store: Store) -> None:
    await on(store).opt_outs.request(HONEST, "out", client=OWNER)
    assert await rows(store, "SELECT client FROM opt_out_requests") == [(OWNER,)]
    (request,) = await on(store).opt_outs.claim(limit=1)
    await on(store).opt_outs.settle(request, Proof())
    assert await rows(store, "SELECT client, claimed_until FROM opt_out_requests") == [(None, None)]


async def test_who_asked_is_erased_after_a_day_without_a_worker(store: Store) -> None:
    await queue(store, OWNER, HONEST, "doves.com")
    await queue(store, OWNER, "young.com", at=NOW + HOUR)
    await on(store, NOW + DAY + HOUR / 2).maintenance.prune(KEEP)
    assert await rows(store, "SELECT host FROM opt_out_requests WHERE client IS NOT NULL") == [("young.com",)]
    assert await claimed(store, 9, now=NOW + 2 * DAY) == ["doves.com", HONEST, "young.com"], "nothing is lost"


async def test_a_check_does_not_wait_for_the_lease_and_the_visit_is_dropped(store: Store) -> None:
    """The visit under the lease began before the opt-out: nothing of it is stored, and no other one begins."""
    await crawl(store, {HONEST: adp_site(HONEST)}, NOW - 30 * DAY)
    lease = await leased(store)
    assert [job.domain for job in lease.domains] == [HONEST]
    await on(store).opt_outs.request(HONEST, "out", client=OWNER)
    (request,) = await on(store).opt_outs.claim(limit=1)
    await on(store).opt_outs.forget(request.host, opt_out="file")
    recorded = await record(
        store, lease.token, [finish(job, {HONEST: adp_site(HONEST)}) for job in lease.domains], now=NOW
    )
    assert (recorded.hosts, recorded.lost) == ([], [HONEST])
    assert await rows(store, "SELECT host FROM services") == await rows(store, "SELECT host FROM hosts") == []
    assert await take(store, now=NOW + 400 * DAY) is None
    assert (await on(store).opt_outs.status(HONEST)).opt_out is not None


async def test_a_site_that_returns_during_a_visit_of_its_domain_is_due_after_it(store: Store) -> None:
    closed = f"api.{HONEST}"
    await crawl(store, {HONEST: adp_site(HONEST)}, NOW - 30 * DAY)
    await on(store, NOW - 2 * DAY).opt_outs.forget(closed, opt_out="file")
    lease = await leased(store)
    await on(store).opt_outs.request(closed, "in", client=OWNER)
    (request,) = await on(store).opt_outs.claim(limit=1)
    assert await on(store).opt_outs.settle(request, Proof()) == "readmitted"
    assert await take(store) is None, "the first visit is still going on"
    await record(store, lease.token, [finish(job, {HONEST: adp_site(HONEST)}) for job in lease.domains])
    again = await leased(store)
    assert [job.host for job in again.domains[0].hosts] == [closed]
