"""Who may receive messages: the receivers that owners may name, the bound on challenges, and hosts that left."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from registry.actions.ownership.claiming import TooMany
from registry.actions.webhooks import ClosedReceiver, ForeignReceiver
from registry.core.access.tokens import Token
from registry.core.changes.kinds import ALL
from registry.core.webhooks import DELAYS, MAX_CHALLENGES_OF_DOMAIN, MAX_CHALLENGES_OF_HOST, Attempt
from registry.store.unit_of_work import Store
from registry.store.webhooks import WebhookRecord
from tests.actions.ownership.test_ownership import owner_of
from tests.actions.webhooks.test_delivering import DONE, FAILED, due, happen, record, stored
from tests.support.builders import DAY, HOUR, NOW, on
from tests.support.database import rows

pytestmark = pytest.mark.slow  # seconds of PostgreSQL

HOST, BELOW, BESIDE, APEX = "shop.pigeons.com", "hooks.shop.pigeons.com", "other.pigeons.com", "pigeons.com"
FOREIGN = "doves.com"


async def put(
    store: Store,
    owner: Token,
    receiver: str,
    *,
    host: str = HOST,
    path: str = "/hook",
    receiver_token: Token | None = None,
    now: datetime = NOW,
) -> WebhookRecord:
    return await on(store, now, exempt=()).ownership.set_webhook(
        owner, host, f"https://{receiver}{path}", ALL, receiver_token=receiver_token
    )


async def confirm(store: Store) -> None:
    [challenge] = await due(store)
    await record(store, challenge, DONE)


async def fail(store: Store, now: datetime = NOW, limit: int = 10) -> int:
    """Have all messages that are due fail; return their number."""
    messages = await due(store, now, limit)
    for message in messages:
        await record(store, message, FAILED, now)
    return len(messages)


@pytest.mark.parametrize("receiver", [HOST, BELOW, f"www.{HOST}"])
async def test_a_receiver_may_be_on_the_owned_host_or_below_it(store: Store, receiver: str) -> None:
    await put(store, await owner_of(store, HOST), receiver)
    [challenge] = await due(store)
    assert challenge.url == f"https://{receiver}/hook"


async def test_the_owner_of_a_whole_domain_may_name_all_of_its_hosts(store: Store) -> None:
    owner = await owner_of(store, APEX, "domain")
    for receiver in (APEX, BESIDE, BELOW):
        await put(store, owner, receiver)


@pytest.mark.parametrize("receiver", [FOREIGN, f"shop.{FOREIGN}", APEX, BESIDE, f"x{HOST}"])
async def test_a_receiver_on_another_host_is_refused(store: Store, receiver: str) -> None:
    """A platform's customer says nothing for the platform, nor for its other customers."""
    owner = await owner_of(store, HOST)
    with pytest.raises(ForeignReceiver):
        await put(store, owner, receiver)
    assert await due(store) == []
    assert await rows(store, "SELECT * FROM webhooks") == []


async def test_a_receiver_on_another_host_needs_the_proof_of_its_owner(store: Store) -> None:
    owner, other, stranger = await owner_of(store, HOST), await owner_of(store, FOREIGN), await owner_of(store, BESIDE)
    for token in (owner, stranger, Token("owner", other.id, "x" * 43)):
        with pytest.raises(ForeignReceiver):
            await put(store, owner, FOREIGN, receiver_token=token)
    await put(store, owner, FOREIGN, receiver_token=other)
    await confirm(store)
    await happen(store, HOST)
    [events] = await due(store)
    assert events.url == f"https://{FOREIGN}/hook"
    await on(store).ownership.give_up(other, FOREIGN)
    assert await due(store) == []
    assert (await stored(store)).disabled_reason == str(ForeignReceiver())


async def test_webhooks_that_an_earlier_version_added_are_looked_at_too(store: Store) -> None:
    """They name no ownership, and some name a host of somebody else."""
    await put(store, await owner_of(store, HOST), HOST)
    earlier = replace(await stored(store), claim=None, url=f"https://{FOREIGN}/hook")
    async with store.begin() as uow:
        await uow.webhooks.put(earlier)
    assert await due(store) == []
    assert (await stored(store)).disabled_reason == str(ForeignReceiver())


@pytest.mark.parametrize("left", [BELOW, HOST, APEX])
async def test_hosts_that_left_are_no_receivers(store: Store, left: str) -> None:
    await on(store).opt_outs.forget(left, opt_out="operator")
    owner = await owner_of(store, HOST, now=NOW + HOUR)
    with pytest.raises(ClosedReceiver):
        await put(store, owner, BELOW)
    with pytest.raises(ClosedReceiver):
        await on(store, exempt=()).webhooks.add(f"https://{BELOW}/", ALL, ())
    assert await due(store) == []


@pytest.mark.parametrize("left", [BELOW, HOST, APEX])
async def test_an_opt_out_ends_deliveries_that_an_operator_set_up(store: Store, left: str) -> None:
    webhook = await on(store, exempt=()).webhooks.add(f"https://{BELOW}/", ALL, ())
    await confirm(store)
    await happen(store, "a.example")
    [message] = await due(store)
    await on(store).opt_outs.forget(left, opt_out="operator")
    assert await due(store) == []
    assert ((await stored(store)).state, (await stored(store)).disabled_reason) == ("disabled", str(ClosedReceiver()))
    assert await on(store).webhooks.enable(webhook.id)
    assert await due(store) == [], "not even a challenge"
    for send in (
        on(store).webhooks.challenge(webhook.id),
        on(store).webhooks.trial(webhook.id),
        on(store).webhooks.again(webhook.id, message.message.id),
    ):
        with pytest.raises(ClosedReceiver):
            await send


async def test_a_block_ends_deliveries_to_an_owner(store: Store) -> None:
    await put(store, await owner_of(store, HOST), BELOW)
    await confirm(store)
    await happen(store, HOST)
    await on(store).access.hold(BELOW, "blocked", actor="admin:1", reason="")
    assert await due(store) == []
    assert (await stored(store)).disabled_reason == str(ClosedReceiver())


async def test_the_same_address_again_sends_no_challenge(store: Store) -> None:
    owner = await owner_of(store, HOST)
    first = await put(store, owner, HOST)
    [challenge] = await due(store)
    await record(store, challenge, FAILED)
    again = await put(store, owner, HOST)
    assert again.id == first.id and again.secrets(NOW) == (again.secret, first.secret)
    assert await due(store) == [], "the failures go on where they were"
    [challenge] = await due(store, NOW + DELAYS[0])
    await record(store, challenge, DONE, NOW + DELAYS[0])
    await put(store, owner, HOST, now=NOW + HOUR)
    assert (await stored(store)).state == "active"
    assert await due(store, NOW + HOUR) == []


async def test_a_disabled_webhook_that_is_set_again_begins_with_a_challenge(store: Store) -> None:
    owner = await owner_of(store, HOST)
    await put(store, owner, HOST)
    [challenge] = await due(store)
    await record(store, challenge, Attempt(410, "http_410"))
    await put(store, owner, HOST, now=NOW + HOUR)
    [challenge] = await due(store, NOW + HOUR)
    assert challenge.message.purpose == "challenge"


async def test_challenges_to_a_host_are_bounded_over_all_addresses(store: Store) -> None:
    owner = await owner_of(store, HOST)
    for number in range(MAX_CHALLENGES_OF_HOST):
        await put(store, owner, HOST, path=f"/{number}")
        assert await fail(store) == 1
        if number % 2:
            assert await on(store).ownership.remove_webhook(owner, HOST)
    with pytest.raises(TooMany) as refused:
        await put(store, owner, HOST, path="/last")
    assert refused.value.retry_after == DAY
    await put(store, owner, BELOW)
    assert await fail(store) == 1, "another host of the same owner"
    await put(store, owner, HOST, path="/last", now=NOW + DAY)
    assert await fail(store, NOW + DAY) == 1


async def test_challenges_to_a_domain_are_bounded_over_all_owners_and_operators(store: Store) -> None:
    sent = 0
    for number in range(MAX_CHALLENGES_OF_DOMAIN // 2):
        host = f"u{number}.{APEX}"
        await put(store, await owner_of(store, host, client=f"203.0.113.{number}"), host, host=host)
        sent += await fail(store)
    for number in range(MAX_CHALLENGES_OF_DOMAIN):
        await on(store, exempt=()).webhooks.add(f"https://v{number}.{APEX}/", ALL, ())
        sent += await fail(store)
    assert sent == MAX_CHALLENGES_OF_DOMAIN
    owner = await owner_of(store, HOST)
    with pytest.raises(TooMany):
        await put(store, owner, HOST)
    assert await fail(store, NOW + DAY, limit=100) == MAX_CHALLENGES_OF_DOMAIN, "what waits goes on a day later"
    assert await rows(store, "SELECT count(*) FROM webhook_challenges") == [(MAX_CHALLENGES_OF_DOMAIN,)]


async def test_failing_receivers_get_no_more_challenges_than_the_bound(store: Store) -> None:
    owner = await owner_of(store, HOST)
    await put(store, owner, HOST)
    sent, now = 0, NOW
    while now < NOW + DAY:
        for challenge in await due(store, now):
            sent += 1
            await record(store, challenge, FAILED, now)
        now += timedelta(minutes=30)
    assert sent <= MAX_CHALLENGES_OF_HOST
