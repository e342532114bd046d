"""The webhook of an owner: a subscription to the events of the host and of all hosts below it."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from registry.actions.feed import reading
from registry.actions.ownership.authorising import NotAnOwner, OtherHost, Owner, changing, reader
from registry.actions.ownership.claiming import TooMany
from registry.actions.webhooks import subscribing
from registry.core.access.tokens import Token
from registry.core.changes.kinds import Types
from registry.core.names.domains import host_of
from registry.store.claims import ClaimRecord
from registry.store.unit_of_work import Store
from registry.store.webhooks import WebhookRecord


async def set_webhook(
    store: Store,
    token: Token,
    host: str,
    url: str,
    types: Types,
    *,
    receiver_token: Token | None = None,
    now: datetime,
    exempt: Collection[str],
) -> WebhookRecord:
    """Subscribe a receiver, in place of an earlier one, and return the subscription with a new secret.

    The receiver is on the owned host or below it; or `receiver_token` is the owner's token of its host. Nothing is told
    before it has answered a challenge, at an address that a visit could use. Setting the same address again sends no
    challenge unless the webhook was disabled; messages are then signed with the earlier secret too, for `OVERLAP`.

    Raise NotAnOwner, OtherHost, TooMany, InvalidName and subscribing.BadReceiver.
    """
    canonical = subscribing.receiver_url(url, exempt=exempt)
    seq = await reading.pulse(store)
    async with changing(store, token, host, now=now) as owner:
        claim = owner.claim if receiver_token is None else await _receiver_claim(owner, receiver_token, canonical)
        await subscribing.refuse_receiver(owner.uow, canonical, claim)
        setting = await owner.settings()
        known = None if setting.webhook is None else await owner.uow.webhooks.locked(setting.webhook)
        if known is None or known.url != canonical or known.disabled_at is not None:
            await _refuse_challenge(owner, canonical)  # guard: webhook-set-again
        if known is None or known.url != canonical:
            webhook = subscribing.new_webhook(canonical, types, (host,), seq=seq, now=now, claim=claim.id)
        else:
            webhook = replace(known, types=types.patterns, claim=claim.id)
            webhook = subscribing.with_new_secret(webhook, subscribing.OVERLAP, now)
            if webhook.disabled_at is not None:
                webhook = subscribing.enabled(webhook, now)
        if known is not None and known.id != webhook.id:
            await owner.uow.webhooks.remove(known.id)
        await owner.uow.webhooks.put(webhook)
        await owner.uow.owner_settings.put(replace(setting, webhook=webhook.id))
        await owner.audit("host.webhook_set", webhook=webhook.id)
    return webhook


async def _receiver_claim(owner: Owner, token: Token, url: str) -> ClaimRecord:
    """Return the ownership of the receiver's host. Raise subscribing.ForeignReceiver."""
    try:
        return await reader(owner.uow, token, host_of(url) or "")
    except (NotAnOwner, OtherHost):
        raise subscribing.ForeignReceiver from None


async def _refuse_challenge(owner: Owner, url: str) -> None:
    """Raise TooMany when the receiver's host, or its domain, got all challenges of a day."""
    at = await subscribing.next_challenge_at(owner.uow, url, owner.now)
    if at > owner.now:
        raise TooMany("Too many challenges were sent to the receiver within a day.", at - owner.now)


async def remove_webhook(store: Store, token: Token, host: str, *, now: datetime) -> bool:
    """Delete the subscription; return whether there was one. Raise NotAnOwner, OtherHost and TooMany."""
    async with changing(store, token, host, now=now) as owner:
        setting = await owner.settings()
        if setting.webhook is None:
            return False
        await owner.uow.webhooks.remove(setting.webhook)
        await owner.uow.owner_settings.put(replace(setting, webhook=None))
        await owner.audit("host.webhook_removed", webhook=setting.webhook)
    return True
