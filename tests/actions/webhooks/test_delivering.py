"""Which messages are due, what they say, and what follows from attempts, on a real database."""

import json
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from registry.actions.feed import decode, sequence
from registry.actions.webhooks import BadReceiver, Outgoing
from registry.core.changes.kinds import ALL, Types
from registry.core.names.domains import InvalidName
from registry.core.webhooks import DELAYS, GATHER, Attempt, DeliveryState, Disable, Retry, Verdict
from registry.store.records import ChangeRecord
from registry.store.unit_of_work import Store
from registry.store.webhooks import MAX_DELIVERIES, WebhookCounts, WebhookRecord
from tests.actions.test_prune import KEEP
from tests.support.builders import NOW, on

BASE = "https://registry.example"
URL = "https://receiver.example/hook?key=1"
FAILED, DONE = Attempt(500, "http_500", duration_ms=7), Attempt(200)


async def subscribe(store: Store, types: Types = ALL, hosts: tuple[str, ...] = ()) -> str:
    webhook = await on(store, exempt={"receiver.example"}).webhooks.add(URL, types, hosts)
    return webhook.id


async def verified(store: Store, types: Types = ALL, hosts: tuple[str, ...] = ()) -> str:
    """Add a webhook that has answered its challenge."""
    webhook = await subscribe(store, types, hosts)
    [challenge] = await due(store)
    await record(store, challenge, DONE)
    return webhook


async def happen(store: Store, *hosts: str, kind: str = "service.changed") -> None:
    async with store.begin() as uow:
        await uow.ledger.add_changes([ChangeRecord(host, host, kind, NOW, {}) for host in hosts])


async def due(store: Store, now: datetime = NOW, limit: int = 10, busy: Collection[str] = ()) -> list[Outgoing]:
    return await on(store, now).webhooks.due(limit=limit, busy=busy)


async def record(store: Store, outgoing: Outgoing, attempt: Attempt, now: datetime = NOW) -> Verdict | None:
    return await on(store, now).webhooks.record(outgoing, attempt)


async def stored(store: Store) -> WebhookRecord:
    [webhook] = await on(store).webhooks.all()
    return webhook


def data_of(outgoing: Outgoing) -> dict[str, object]:
    data: dict[str, object] = json.loads(outgoing.message.body)["data"]
    return data


async def test_a_receiver_is_told_nothing_before_it_answered_a_challenge(store: Store) -> None:
    await subscribe(store)
    await happen(store, "a.example")
    [challenge] = await due(store)
    assert challenge.message.purpose == "challenge"
    assert data_of(challenge) == {"challenge": challenge.message.token}
    assert await record(store, challenge, Attempt(200, "wrong_token")) == Retry(NOW + DELAYS[0])
    assert await due(store) == []
    [second] = await due(store, NOW + DELAYS[0])
    assert second.message.purpose == "challenge"
    assert second.message.token != challenge.message.token and second.message.id != challenge.message.id
    await record(store, second, DONE, NOW + DELAYS[0])
    [events] = await due(store, NOW + DELAYS[0])
    assert events.message.purpose == "events"
    assert data_of(events)["events"] == 1


async def test_the_address_of_a_message_leads_to_exactly_its_events(store: Store) -> None:
    await happen(store, "before.example")
    types = Types.of(["service.listed"])
    await verified(store, types)
    await happen(store, "a.example", "b.example", kind="service.listed")
    await happen(store, "c.example")
    [outgoing] = await due(store)
    data = data_of(outgoing)
    assert data["events"] == 2
    query = parse_qs(urlsplit(str(data["url"])).query)
    assert query["types"] == ["service.listed"]
    read = await on(store).feed.page(decode(query["cursor"][0], types), types)
    assert [event.host for event in read.events] == ["a.example", "b.example"]
    assert read.cursor == data["cursor"] and not read.has_more


async def test_a_message_stays_as_it_is_until_it_is_delivered_and_one_tells_the_rest(store: Store) -> None:
    await verified(store)
    await happen(store, "a.example")
    [first] = await due(store)
    await happen(store, "b.example", "c.example")
    assert await due(store) == [first], "it was not recorded: the sender was killed"
    await record(store, first, FAILED)
    assert await due(store) == []
    later = NOW + DELAYS[0]
    assert await due(store, later) == [first]
    assert await record(store, first, DONE, later) == DeliveryState(later + GATHER)
    assert await due(store, later) == [], "events gather"
    [second] = await due(store, later + GATHER)
    assert data_of(second)["events"] == 2 and second.message.id != first.message.id
    await record(store, second, DONE, later + GATHER)
    assert await due(store, later + GATHER * 2) == []


async def test_events_that_pass_no_filter_make_no_message(store: Store) -> None:
    webhook = await verified(store, hosts=("shop.example",))
    await happen(store, "other.example", "workshop.example")
    assert await due(store) == []
    assert (await stored(store)).seq == 2
    await happen(store, "shop.example", "api.shop.example", "other.example")
    [outgoing] = await due(store)
    assert data_of(outgoing)["events"] == 2 and outgoing.webhook == webhook


async def test_one_message_at_a_time_and_no_more_than_wanted(store: Store) -> None:
    webhooks = {await subscribe(store) for _ in range(3)}
    first = await due(store, limit=2)
    assert len(first) == 2
    [third] = await due(store, busy={outgoing.webhook for outgoing in first})
    assert {outgoing.webhook for outgoing in (*first, third)} == webhooks


async def test_410_and_days_of_failures_disable_until_an_operator_enables(store: Store) -> None:
    webhook = await verified(store)
    await happen(store, "a.example")
    [message] = await due(store)
    assert await record(store, message, Attempt(410, "http_410")) == Disable("gone")
    assert await due(store, NOW + timedelta(days=9)) == []
    assert (await stored(store)).disabled_reason == "gone"
    assert await on(store).webhooks.enable(webhook) is not None
    [challenge] = await due(store)
    assert challenge.message.purpose == "challenge", "the address may have another owner by now"
    await record(store, challenge, DONE)
    assert await due(store) == [message], "nothing is lost"
    now = NOW
    for _ in range(30):
        verdict = await record(store, message, FAILED, now)
        if isinstance(verdict, Disable):
            break
        assert isinstance(verdict, Retry)
        now = verdict.at
    assert verdict == Disable("failed for 5 days: http_500")
    assert timedelta(days=5) <= now - NOW <= timedelta(days=6)
    assert await on(store).webhooks.counts() == WebhookCounts(active=0, unverified=0, disabled=1, pending=0, failing=0)


async def test_counts_by_state(store: Store) -> None:
    await verified(store)
    await happen(store, "a.example")
    [message] = await due(store)
    await record(store, message, FAILED)
    await subscribe(store)
    assert await on(store).webhooks.counts() == WebhookCounts(active=1, unverified=1, disabled=0, pending=1, failing=1)


async def test_both_secrets_sign_until_a_rotation_ends(store: Store) -> None:
    webhook = await subscribe(store)
    old = (await stored(store)).secret
    rotated = await on(store).webhooks.rotate(webhook, overlap=timedelta(hours=1))
    assert rotated is not None and rotated.secret != old
    [outgoing] = await due(store)
    assert outgoing.secrets == (rotated.secret, old)
    [outgoing] = await due(store, NOW + timedelta(hours=1))
    assert outgoing.secrets == (rotated.secret,)
    again = await on(store).webhooks.rotate(webhook, overlap=timedelta())
    assert again is not None and again.secrets(NOW) == (again.secret,)
    assert await on(store).webhooks.rotate("wh_none", overlap=timedelta()) is None


async def test_an_attempt_of_a_webhook_that_was_removed_is_not_stored(store: Store) -> None:
    webhook = await verified(store)
    await happen(store, "a.example")
    [message] = await due(store)
    assert await on(store).webhooks.remove(webhook)
    assert not await on(store).webhooks.remove(webhook)
    assert await record(store, message, DONE) is None
    assert await on(store).webhooks.deliveries(webhook, limit=10) == []


async def test_attempts_are_listed_and_a_message_can_be_sent_again(store: Store) -> None:
    webhook = await verified(store)
    await happen(store, "a.example")
    [message] = await due(store)
    await record(store, message, FAILED, NOW + timedelta(seconds=1))
    await record(store, message, DONE, NOW + timedelta(seconds=9))
    attempts = await on(store).webhooks.deliveries(webhook, limit=2)
    assert [(one.status, one.reason, one.duration_ms) for one in attempts] == [(200, "", 0), (500, "http_500", 7)]
    again = await on(store).webhooks.again(webhook, message.message.id)
    assert again == message
    before = await stored(store)
    assert await record(store, message, FAILED, NOW + timedelta(minutes=1)) is None, "it is not pending any more"
    assert await stored(store) == before
    assert await on(store).webhooks.again(webhook, "msg_none") is None
    trial = await on(store).webhooks.trial(webhook)
    assert trial is not None and await record(store, trial, Attempt(410, "http_410")) is None


async def test_only_the_latest_attempts_are_kept(store: Store) -> None:
    webhook, other = await subscribe(store), await subscribe(store)
    outgoing = await due(store)
    for number in range(MAX_DELIVERIES + 5):
        for one in outgoing if number < 2 else [one for one in outgoing if one.webhook == webhook]:
            await record(store, one, replace(FAILED, duration_ms=number), NOW + timedelta(seconds=number))
    kept = await on(store).webhooks.deliveries(webhook, limit=1_000)
    assert [one.duration_ms for one in kept] == list(range(MAX_DELIVERIES + 4, 4, -1))
    assert len(await on(store).webhooks.deliveries(other, limit=1_000)) == 2


async def test_events_that_were_pruned_before_they_were_told(store: Store) -> None:
    """The cursor in the message is then too old, which the feed says to the receiver."""
    webhook = await verified(store)
    await happen(store, *(f"h{number}.example" for number in range(5)))
    await sequence(store)
    await on(store, NOW + timedelta(days=9_999)).maintenance.prune(KEEP)
    await happen(store, "late.example")
    [message] = await due(store)
    assert data_of(message)["events"] == 1 and message.webhook == webhook


@pytest.mark.parametrize(
    "url",
    ["http://receiver.example/", "https://receiver.example:8443/", "https://10.0.0.1/", "https://[::1]/",
     "https://a:b@receiver.example/", "file:///etc/passwd", "", "receiver.example",
     "https://receiver.example/" + "x" * 9_000],
)  # fmt: skip
async def test_addresses_that_cannot_be_receivers_are_refused(store: Store, url: str) -> None:
    with pytest.raises(BadReceiver):
        await on(store, exempt={"receiver.example"}).webhooks.add(url, ALL, ())


@pytest.mark.parametrize("url", ["https://localhost/", "https://hook.internal/", "https://receiver.example/"])
async def test_names_that_are_not_public_are_refused(store: Store, url: str) -> None:
    with pytest.raises(InvalidName):
        await on(store, exempt=()).webhooks.add(url, ALL, ())
