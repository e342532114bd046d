"""Subscriptions to webhooks, by operators of this registry and by owners of hosts, and who may receive messages."""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from registry.actions.feed import reading
from registry.core.changes.kinds import Types
from registry.core.names.authority import Relation, relation
from registry.core.names.domains import canonical_host, host_of, host_syntax, parse_https, registrable_domain
from registry.core.webhooks.schedule import DAY, challenge_at
from registry.core.webhooks.signing import SECRET_BYTES, secret_of
from registry.store.claims import ClaimRecord
from registry.store.unit_of_work import Store, UnitOfWork
from registry.store.webhooks import WebhookCounts as WebhookCounts  # interfaces name it
from registry.store.webhooks import WebhookRecord as WebhookRecord  # interfaces name it

OVERLAP: Final = timedelta(hours=24)
"""How long the previous secret signs too, unless the operator says otherwise."""


class BadReceiver(ValueError):
    """Nothing can be sent to this address; the message says why."""


class ForeignReceiver(BadReceiver):
    """The receiver is on a host that the ownership does not cover."""

    def __init__(self) -> None:
        super().__init__("the receiver is neither on the owned host nor below it, and its host is not proven")


class ClosedReceiver(BadReceiver):
    """The host of the receiver gets no requests."""

    def __init__(self) -> None:
        super().__init__("the receiver's host opted out, or is blocked")


async def add(
    store: Store, url: str, types: Types, hosts: Sequence[str], *, now: datetime, exempt: Collection[str]
) -> WebhookRecord:
    """Store a subscription to all events from now on and return it, with its secret. It is told nothing before it has
    answered a challenge.

    `hosts`: only events of these hosts and all below them; a registrable domain means all its hosts. `exempt`: names
    that may be special-use names. Raise BadReceiver, InvalidName and StoreUnavailable.
    """
    canonical = receiver_url(url, exempt=exempt)
    webhook = new_webhook(canonical, types, hosts, seq=await reading.pulse(store), now=now)
    async with store.begin() as uow:
        await refuse_receiver(uow, canonical, None)
        await uow.webhooks.put(webhook)
    return webhook


def receiver_url(url: str, *, exempt: Collection[str]) -> str:
    """Return the canonical URL of a receiver. Raise BadReceiver and InvalidName."""
    canonical = parse_https(url)
    if canonical is None:
        raise BadReceiver("a receiver is an https URL on port 443 of a host with a name, without user and password")
    canonical_host(_host(canonical), exempt=exempt)
    return canonical


def new_webhook(
    url: str, types: Types, hosts: Sequence[str], *, seq: int, now: datetime, claim: str | None = None
) -> WebhookRecord:
    """Return a subscription with a new secret. `seq`: place in the feed from which events are told. `claim`: the
    ownership that covers the receiver. Raise InvalidName."""
    return WebhookRecord(
        id=f"wh_{secrets.token_hex(6)}",
        url=url,
        types=types.patterns,
        hosts=tuple(sorted({host_syntax(host) for host in hosts})),
        secret=_new_secret(),
        created_at=now,
        seq=seq,
        due_at=now,
        claim=claim,
    )


async def refuse_receiver(uow: UnitOfWork, url: str, claim: ClaimRecord | None) -> None:
    """Raise BadReceiver for a receiver that may get no message. `claim`: the ownership that has to cover it; None where
    an operator named the receiver."""
    host = _host(url)
    if claim is not None and (not claim.is_owner or relation(claim.host, host) < Relation.BELOW):
        raise ForeignReceiver  # guard: webhook-foreign-receiver
    domain = registrable_domain(host)
    if not (await uow.holds.limits([domain]))[domain].may_be_visited(host):
        raise ClosedReceiver  # guard: webhook-closed-receiver


async def next_challenge_at(uow: UnitOfWork, url: str, now: datetime) -> datetime:
    """Return when a receiver may get a challenge; `now` if at once."""
    host = _host(url)
    sent = await uow.webhooks.challenges(registrable_domain(host), since=now - DAY)
    return challenge_at(host, sent, now)


async def count_challenge(uow: UnitOfWork, url: str, now: datetime) -> None:
    host = _host(url)
    await uow.webhooks.add_challenge(registrable_domain(host), host, now=now, before=now - DAY)


async def webhooks(store: Store) -> Sequence[WebhookRecord]:
    """Return all subscriptions, the oldest first. Raise StoreUnavailable."""
    async with store.read() as uow:
        return await uow.webhooks.all()


async def counts(store: Store) -> WebhookCounts:
    """Return how many subscriptions there are, by state. Raise StoreUnavailable."""
    async with store.read() as uow:
        return await uow.webhooks.counts()


async def rotate(store: Store, webhook: str, *, overlap: timedelta, now: datetime) -> WebhookRecord | None:
    """Give a subscription a new secret and return it; None if it does not exist. For `overlap`, messages are signed
    with both secrets. A second rotation within that time ends the oldest secret at once. Raise StoreUnavailable."""
    async with store.begin() as uow:
        row = await uow.webhooks.locked(webhook)
        if row is None:
            return None
        row = with_new_secret(row, overlap, now)
        await uow.webhooks.put(row)
        return row


def with_new_secret(webhook: WebhookRecord, overlap: timedelta, now: datetime) -> WebhookRecord:
    previous = (webhook.secret, now + overlap) if overlap else (None, None)
    return replace(webhook, secret=_new_secret(), previous_secret=previous[0], previous_until=previous[1])


async def enable(store: Store, webhook: str, *, now: datetime) -> WebhookRecord | None:
    """Begin anew with a subscription: it has to answer a challenge, then gets what it was not told. Return it, or None
    if it does not exist. Raise StoreUnavailable."""
    async with store.begin() as uow:
        row = await uow.webhooks.locked(webhook)
        if row is None:
            return None
        row = enabled(row, now)
        await uow.webhooks.put(row)
        return row


def enabled(webhook: WebhookRecord, now: datetime) -> WebhookRecord:
    """Return a subscription that has to answer a challenge again."""
    return replace(
        webhook, verified_at=None, disabled_at=None, disabled_reason=None, failures=0, first_failure_at=None, due_at=now
    )


async def remove(store: Store, webhook: str) -> bool:
    """Delete a subscription, its message and its attempts; return whether it existed. Raise StoreUnavailable."""
    async with store.begin() as uow:
        return await uow.webhooks.remove(webhook)


def _host(url: str) -> str:
    return host_of(url) or ""


def _new_secret() -> str:
    return secret_of(secrets.token_bytes(SECRET_BYTES))
