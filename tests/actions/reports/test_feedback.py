"""Feedback is a signal: kept within bounds, without clients, and without any effect on answers."""

from datetime import datetime

import pytest

from registry.actions.feedback import MAX_OF_CLIENT, MAX_OF_HOST, FeedbackRefusal, GivenFeedback
from registry.actions.frontier.submit import REMEMBERED
from registry.actions.queries.discover import SearchActions
from registry.core.model.feedback import Verdict
from registry.core.model.listing import Query
from registry.store.unit_of_work import Store
from tests.actions.test_prune import KEEP
from tests.support.builders import DAY, NOW, adp_site, crawl, on
from tests.support.database import rows

pytestmark = pytest.mark.slow  # seconds of PostgreSQL and an index

HOST, OTHER, CLIENT = "pigeons.com", "doves.com", "198.51.100.1"
SHOWN = ("services", "capabilities", "hosts", "findings", "scores", "changes", "search_dirty", "domains", "documents")


async def listed(store: Store) -> None:
    await crawl(store, {HOST: adp_site(HOST, "create_parcel", "track_parcel"), OTHER: adp_site(OTHER)}, NOW - DAY)


async def give(
    store: Store, verdict: Verdict = "wrong", host: str = HOST, *, client: str = CLIENT, now: datetime = NOW,
    capability: str | None = "create_parcel", status: int | None = None, note: str = "",
) -> str:  # fmt: skip
    """Return "new", "replaced", or why it was refused."""
    given = await on(store, now).feedback.give(
        host, verdict, client=client, capability=capability, status=status, note=note
    )
    match given:
        case FeedbackRefusal(why):
            return why
        case GivenFeedback(_, replaced):
            return "replaced" if replaced else "new"


async def figures(store: Store, host: str = HOST) -> dict[tuple[str, str, int | None], int]:
    found = (await on(store).feedback.about(host)).figures
    return {(one.capability, one.verdict, one.status): one.count for one in found}


async def test_feedback_is_counted_by_capability_verdict_and_status(store: Store) -> None:
    await listed(store)
    for number in range(3):
        await give(store, "call_failed", client=f"198.51.100.{number}", status=404)
    await give(store, "call_failed", client="2001:db8:1:2::", status=500, note="It says: internal error.")
    await give(store, "right", capability=None, now=NOW + DAY)
    assert await figures(store) == {
        ("create_parcel", "call_failed", 404): 3,
        ("create_parcel", "call_failed", 500): 1,
        ("", "right", None): 1,
    }
    about = await on(store).feedback.about(HOST)
    assert [(one.note, one.status) for one in about.texts] == [("It says: internal error.", 500)]
    (of_host,) = await on(store).feedback.of_hosts(limit=10)
    assert (of_host.host, of_host.right, of_host.wrong, of_host.call_failed) == (HOST, 1, 0, 4)
    assert of_host.last_at == NOW + DAY


async def test_a_client_counts_once_a_day_for_each_capability(store: Store) -> None:
    await listed(store)
    assert [await give(store, verdict) for verdict in ("wrong", "wrong", "right")] == ["new", "replaced", "replaced"]
    assert await give(store, capability="track_parcel") == await give(store, host=OTHER) == "new"
    assert await give(store, "right", now=NOW + DAY) == "new"
    assert (await figures(store))["create_parcel", "right", None] == 2


async def test_a_client_gives_feedback_within_a_budget(store: Store) -> None:
    await listed(store)
    async with store.begin() as uow:
        await uow._connection.exec_driver_sql(
            "INSERT INTO capabilities (domain, host, name, position, data) SELECT domain, host, 'c' || n, n, '{}'"
            f" FROM services, generate_series(10, {MAX_OF_CLIENT + 10}) n WHERE host = '{HOST}'"
        )
    given = [await give(store, capability=f"c{number + 10}") for number in range(MAX_OF_CLIENT + 1)]
    assert given == ["new"] * MAX_OF_CLIENT + ["client_budget"]
    refused = await on(store).feedback.give(HOST, "right", client=CLIENT)
    assert isinstance(refused, FeedbackRefusal) and refused.retry_at == NOW.replace(hour=0) + DAY
    assert await give(store, client="203.0.113.9") == await give(store, now=NOW + DAY) == "new"


async def test_unknown_and_opted_out_hosts_are_refused(store: Store) -> None:
    await listed(store)
    assert await give(store, host="unknown.com") == "unknown"
    assert await give(store, capability="no_such") == "unknown_capability"
    assert await give(store) == "new"
    await on(store).opt_outs.forget(HOST, opt_out="operator")
    assert await rows(store, "SELECT count(*) FROM feedback") == [(0,)]
    assert await give(store) == await give(store, host=f"api.{HOST}") == "opted_out"


async def test_clients_are_not_stored_and_are_forgotten(store: Store) -> None:
    await listed(store)
    await give(store)
    [(stored,)] = await rows(store, "SELECT f::text FROM feedback f")
    assert CLIENT not in stored
    assert await on(store, NOW + REMEMBERED).frontier.erase_clients() == 1
    assert await rows(store, "SELECT client FROM feedback") == [(None,)]
    assert sum((await figures(store)).values()) == 1


async def test_a_thousand_verdicts_change_no_answer(store: Store, search: SearchActions) -> None:
    """They fill the storage of a host up to its bound."""
    await listed(store)
    await search.reindex()
    shown = "SELECT " + ", ".join(f"(SELECT coalesce(jsonb_agg(t), '[]') FROM {table} t)::text" for table in SHOWN)
    question = Query("send a parcel with pigeons")
    before, answer = await rows(store, shown), [hit[:4] for hit in (await search.discover(question)).hits]
    first = answer[0][0].host
    assert await give(store, "wrong", first, note="0", now=NOW - DAY) == "new"
    async with store.begin() as uow:
        await uow._connection.exec_driver_sql(
            "INSERT INTO feedback SELECT domain, host, ('019a' || lpad(to_hex(n), 28, '0'))::uuid, capability, verdict,"
            f" status, q, n::text, md5(n::text), at FROM feedback, generate_series(1, {MAX_OF_HOST}) n"
        )
        await uow._connection.exec_driver_sql("DELETE FROM feedback WHERE note = '0'")
    for note, capability in (("1001", "create_parcel"), ("1002", None)):
        assert await give(store, "wrong", first, note=note, capability=capability) == "new"
    assert await rows(store, "SELECT count(*), min(note::int) FROM feedback") == [(MAX_OF_HOST, 3)]
    await search.drain()
    assert await rows(store, shown) == before
    assert [hit[:4] for hit in (await search.discover(question)).hits] == answer


async def test_old_feedback_is_pruned(store: Store) -> None:
    await listed(store)
    await give(store, now=NOW - 400 * DAY)
    await give(store, now=NOW - DAY, note="kept")
    assert (await on(store, NOW).maintenance.prune(KEEP))["feedback"] == 1
    assert await rows(store, "SELECT note FROM feedback") == [("kept",)]
