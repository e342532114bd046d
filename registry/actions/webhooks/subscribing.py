"""Subscriptions to webhooks, made and managed by an operator of this registry."""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from registry.actions.feed import reading
from registry.core.changes.kinds import Types
from registry.core.names.domains import canonical_host, host_of, host_syntax, parse_https
from registry.core.webhooks.signing import SECRET_BYTES, secret_of
from registry.store.unit_of_work import Store
from registry.store.webhooks import WebhookCounts as WebhookCounts  # interfaces name it
from registry.store.webhooks import WebhookRecord as WebhookRecord  # interfaces name it

OVERLAP: Final = timedelta(hours=24)
"""How long the previous secret signs too, unless the operator says otherwise."""


class BadReceiver(ValueError):
    """Nothing can be sent to this address; the message says why."""


async def add(
    store: Store, url: str, types: Types, hosts: Sequence[str], *, now: datetime, exempt: Collection[str]
) -> WebhookRecord:
    """Store a subscription to all events from now on and return it, with its secret. It is told nothing before it has
    answered a challenge.

    `hosts`: only events of these hosts and all below them; a registrable domain means all its hosts. `exempt`: names
    that may be special-use names. Raise BadReceiver, InvalidName and StoreUnavailable.
    """
    canonical = parse_https(url)
    if canonical is None:
        raise BadReceiver("a receiver is an https URL on port 443 of a host with a name, without user and password")
    canonical_host(host_of(canonical) or "", exempt=exempt)
    webhook = WebhookRecord(
        id=f"wh_{secrets.token_hex(6)}",
        url=canonical,
        types=types.patterns,
        hosts=tuple(sorted({host_syntax(host) for host in hosts})),
        secret=_new_secret(),
        created_at=now,
        seq=await reading.pulse(store),
        due_at=now,
    )
    async with store.begin() as uow:
        await uow.webhooks.put(webhook)
    return webhook


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
        previous = (row.secret, now + overlap) if overlap else (None, None)
        row = replace(row, secret=_new_secret(), previous_secret=previous[0], previous_until=previous[1])
        await uow.webhooks.put(row)
        return row


async def enable(store: Store, webhook: str, *, now: datetime) -> WebhookRecord | None:
    """Begin anew with a subscription: it has to answer a challenge, then gets what it was not told. Return it, or None
    if it does not exist. Raise StoreUnavailable."""
    async with store.begin() as uow:
        row = await uow.webhooks.locked(webhook)
        if row is None:
            return None
        row = replace(
            row, verified_at=None, disabled_at=None, disabled_reason=None, failures=0, first_failure_at=None, due_at=now
        )
        await uow.webhooks.put(row)
        return row


async def remove(store: Store, webhook: str) -> bool:
    """Delete a subscription, its message and its attempts; return whether it existed. Raise StoreUnavailable."""
    async with store.begin() as uow:
        return await uow.webhooks.remove(webhook)


def _new_secret() -> str:
    return secret_of(secrets.token_bytes(SECRET_BYTES))
