"""Lists of submitted hosts: once for each key, each host with its own answer, and its state afterwards."""

import asyncio
import hashlib
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from registry.actions.frontier.submit import (
    ABANDONED_AFTER,
    BATCH,
    LISTS_KEPT,
    MAX_PER_CLIENT,
    REMEMBERED,
    ListInProgress,
    ReusedKey,
    SubmissionList,
)
from registry.actions.queries.inspect import SubmissionListStatus
from registry.store.records import OptOutRecord
from registry.store.submissions import SubmissionListRecord
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, HOUR, NOW, Page, adp_site, crawl, leased, on
from tests.support.database import execute, rows

CLIENT, OTHER = "198.51.100.1", "203.0.113.7"
NAMES = ("good.com", "empty.com")


async def submitted(
    store: Store, *names: str, key: str | None = None, client: str = CLIENT, now: datetime = NOW, **options: Any
) -> SubmissionList:
    digest = hashlib.sha256("\n".join(names).encode()).digest()
    options = {"body_sha256": digest} | options
    return await on(store, now).frontier.submit_list(names, client=client, key=key, **options)


async def status(
    store: Store, list_id: UUID, *, after: int = 0, limit: int = 100, now: datetime = NOW
) -> SubmissionListStatus:
    found = await on(store, now).queries.list_status(list_id, after=after, limit=limit)
    assert found is not None
    return found


def states(found: SubmissionListStatus) -> dict[str, str]:
    return {host.now.host: host.now.state for host in found.hosts}


async def test_each_host_is_accepted_or_refused_by_its_place(store: Store) -> None:
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("out.com", "out.com", "file", "", NOW)])
    names = ["good.com", "10.0.0.1", "GOOD.com.", "out.com", *(f"s{number}.good.com" for number in range(6))]
    answer = await submitted(store, *names)
    codes = [(refused["index"], refused["code"]) for refused in answer.refused]
    assert codes == [(1, codes[0][1]), (2, "repeated"), (3, "opted_out"), (9, "client_domain")]
    assert answer.refused[-1]["retry_at"] == (NOW + REMEMBERED).isoformat()
    found = await status(store, answer.id)
    assert found.counts == {"waiting": 6} and found.is_done
    assert [host.now.index for host in found.hosts] == [0, 4, 5, 6, 7, 8]


async def test_a_long_list_keeps_its_order_in_the_queue(store: Store) -> None:
    names = [f"{letter}{number}.com" for number in range(BATCH) for letter in "zma"]
    answer = await submitted(store, *names[:70], "10.0.0.1", *names[70:], names[0])
    assert [(refused["index"], refused["code"]) for refused in answer.refused][1:] == [(3 * BATCH + 1, "repeated")]
    assert answer.refused[0]["index"] == 70
    queue = await rows(store, "SELECT domain, next_visit_at FROM domains ORDER BY next_visit_at")
    assert [domain for domain, _ in queue] == names
    assert len({due for _, due in queue}) == len(names), "one place each"


async def test_bounds_count_what_the_same_list_submitted_before(store: Store) -> None:
    answer = await submitted(store, *(f"s{number}.good.com" for number in range(MAX_PER_CLIENT + 2)))
    assert [refused["code"] for refused in answer.refused] == ["client_domain"] * 2
    refused_only = await submitted(store, "s8.good.com", "s9.good.com", "10.0.0.1")
    assert len(refused_only.refused) == 3
    assert await rows(store, "SELECT domain FROM domains") == [("good.com",)]


async def test_lists_in_opposite_orders_do_not_wait_for_each_other_for_ever(store: Store) -> None:
    names = [f"host-{number}.com" for number in range(2 * BATCH)]
    orders = [names, names[::-1], sorted(names), sorted(names, reverse=True)]
    answers = await asyncio.gather(
        *(submitted(store, *order, client=f"198.51.100.{number}") for number, order in enumerate(orders))
    )
    assert [answer.refused for answer in answers] == [[]] * 4
    assert await rows(store, "SELECT count(*), count(DISTINCT domain) FROM hosts") == [(2 * BATCH, 2 * BATCH)]


async def test_a_list_whose_process_died_after_a_batch_is_finished(store: Store) -> None:
    names, digest, late = [f"host-{number}.com" for number in range(2 * BATCH)], bytes(32), NOW + ABANDONED_AFTER
    async with store.begin() as uow:
        assert await uow.submissions.add_list(
            SubmissionListRecord(uuid4(), NOW, None, digest, []), client=CLIENT, key="k"
        )
    for name in names[:BATCH]:
        await on(store).frontier.submit(name, client=CLIENT)
    answer = await submitted(store, *names, key="k", body_sha256=digest, now=late)
    assert answer.refused == []
    assert (await status(store, answer.id, limit=1, now=late)).counts == {"waiting": 2 * BATCH}


async def test_the_state_of_each_host_follows_its_visit(store: Store) -> None:
    answer = await submitted(store, *NAMES, "dropped.com", "leaves.com")
    assert set(states(await status(store, answer.id)).values()) == {"waiting"}
    await leased(store, limit=1)
    assert sorted(states(await status(store, answer.id)).values()) == ["visiting", "waiting", "waiting", "waiting"]
    await execute(store, "UPDATE domains SET lease_token = NULL, attempts = 0, next_visit_at = created_at")
    broken = {"/.well-known/agent": Page(b'{"spec_version": "1.0", }')}
    await crawl(store, {"good.com": adp_site("good.com", "buy"), "empty.com": broken}, NOW + HOUR)
    await execute(store, "DELETE FROM hosts WHERE host = 'dropped.com'")
    async with store.begin() as uow:
        await uow.opt_outs.add([OptOutRecord("leaves.com", "leaves.com", "file", "", NOW)])
    found = await status(store, answer.id, now=NOW + HOUR)
    assert states(found) == {
        "good.com": "listed", "empty.com": "not_listed", "dropped.com": "dropped", "leaves.com": "opted_out",
    }  # fmt: skip
    assert found.counts == {"listed": 1, "not_listed": 1, "dropped": 1, "opted_out": 1}
    about = {host.now.host: host.status for host in found.hosts}
    assert about["dropped.com"] is None and about["leaves.com"] is None
    empty = about["empty.com"]
    assert empty is not None and empty.reasons and empty.next_visit_at is not None


async def test_lists_are_read_in_pages(store: Store) -> None:
    answer = await submitted(store, *(f"host-{number}.com" for number in range(5)))
    first = await status(store, answer.id, limit=2)
    assert (len(first.hosts), first.next_index) == (2, 2)
    last = await status(store, answer.id, after=4, limit=2)
    assert (len(last.hosts), last.next_index) == (1, None)
    assert await on(store).queries.list_status(uuid4(), after=0, limit=1) is None


async def test_a_key_gets_the_same_answer_for_the_same_body(store: Store) -> None:
    first = await submitted(store, *NAMES, "10.0.0.1", key="k")
    again = await submitted(store, *NAMES, "10.0.0.1", key="k", now=NOW + HOUR)
    assert (again.id, again.refused, again.is_repeated) == (first.id, first.refused, True)
    assert await rows(store, "SELECT count(*) FROM submission_lists") == [(1,)]
    with pytest.raises(ReusedKey):
        await submitted(store, "other.com", key="k")
    assert (await submitted(store, "other.com", key="k", client=OTHER)).id != first.id, "keys belong to a client"
    assert (await submitted(store, *NAMES)).id != first.id


async def test_a_key_is_forgotten_after_a_day(store: Store) -> None:
    first = await submitted(store, *NAMES, key="k")
    assert (await submitted(store, "other.com", key="k", now=NOW + REMEMBERED)).id != first.id
    await on(store, NOW + 2 * DAY).frontier.erase_clients()
    assert set(await rows(store, "SELECT client, key FROM submission_lists")) == {(None, None)}
    assert (await status(store, first.id)).is_done, "the list itself is kept"


async def test_a_request_that_is_being_worked_on_is_not_repeated(store: Store) -> None:
    digest = bytes(32)
    async with store.begin() as uow:
        record = SubmissionListRecord(uuid4(), NOW, None, digest, [])
        assert await uow.submissions.add_list(record, client=CLIENT, key="k")
    options = {"key": "k", "body_sha256": digest}
    with pytest.raises(ListInProgress):
        await submitted(store, *NAMES, **options)
    late = NOW + ABANDONED_AFTER
    finished = await submitted(store, *NAMES, **options, now=late)  # the first one's process has ended
    assert finished.id == record.id and not finished.is_repeated
    assert set(states(await status(store, finished.id, now=late))) == set(NAMES)


async def test_requests_with_one_key_at_the_same_time_submit_once(store: Store) -> None:
    results = await asyncio.gather(*(submitted(store, *NAMES, key="k") for _ in range(6)), return_exceptions=True)
    lists = {result.id for result in results if isinstance(result, SubmissionList)}
    assert len(lists) == 1
    assert all(isinstance(result, SubmissionList | ListInProgress) for result in results)


async def test_old_lists_are_deleted(store: Store) -> None:
    first = await submitted(store, *NAMES)
    await submitted(store, "other.com", now=NOW + LISTS_KEPT)
    assert await on(store).queries.list_status(first.id, after=0, limit=1) is None
    assert await rows(store, "SELECT host FROM submitted_hosts") == [("other.com",)]


async def test_a_forgotten_host_leaves_its_lists(store: Store) -> None:
    answer = await submitted(store, *NAMES)
    await on(store, NOW + timedelta(minutes=1)).opt_outs.forget("good.com", opt_out="file", evidence="", reason="")
    assert set(states(await status(store, answer.id))) == {"empty.com"}
