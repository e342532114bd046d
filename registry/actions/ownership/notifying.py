"""The webhook of an owner: a subscription to the events of the host and of all hosts below it."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from registry.actions.ownership.authorising import changing
from registry.actions.webhooks import subscribing
from registry.core.access.tokens import Token
from registry.core.changes.kinds import Types
from registry.store.unit_of_work import Store
from registry.store.webhooks import WebhookRecord


async def set_webhook(
    store: Store, token: Token, host: str, url: str, types: Types, *, now: datetime, exempt: Collection[str]
) -> WebhookRecord:
    """Subscribe a receiver, in place of an earlier one, and return the subscription with its secret.

    Nothing is told before the receiver has answered a challenge, at an address that a visit could use. Raise
    NotAnOwner, OtherHost, TooMany, InvalidName and subscribing.BadReceiver.
    """
    async with changing(store, token, host, now=now):
        pass  # refused before anything is stored
    webhook = await subscribing.add(store, url, types, (host,), now=now, exempt=exempt)
    try:
        async with changing(store, token, host, now=now) as owner:
            setting = await owner.settings()
            if setting.webhook is not None:
                await owner.uow.webhooks.remove(setting.webhook)
            await owner.uow.owner_settings.put(replace(setting, webhook=webhook.id))
            await owner.audit("host.webhook_set", webhook=webhook.id)
    except BaseException:
        await subscribing.remove(store, webhook.id)
        raise
    return webhook


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
