"""The actions on webhooks: subscriptions, messages to send, and effects of attempts."""

import contextlib
import random
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Final

from registry.actions import webhooks
from registry.core.changes.kinds import Types
from registry.core.webhooks import Attempt, Verdict
from registry.settings import Settings
from registry.store.holder import HeldLock, hold_job
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now

DELIVER: Final = "webhooks"
"""Name of the lock of the one process that delivers."""


class WebhookActions:
    """`exempt`: names of the connect-to table, which may be special-use names."""

    def __init__(self, store: Store, settings: Settings, exempt: Collection[str]) -> None:
        self._store = store
        self._base = settings.public_url
        self._disable_after = timedelta(days=settings.webhook_disable_days)
        self._exempt = exempt

    async def add(self, url: str, types: Types, hosts: Sequence[str]) -> webhooks.WebhookRecord:
        return await webhooks.add(self._store, url, types, hosts, now=utc_now(), exempt=self._exempt)

    async def all(self) -> Sequence[webhooks.WebhookRecord]:
        return await webhooks.webhooks(self._store)

    async def counts(self) -> webhooks.WebhookCounts:
        return await webhooks.counts(self._store)

    async def rotate(self, webhook: str, overlap: timedelta = webhooks.OVERLAP) -> webhooks.WebhookRecord | None:
        return await webhooks.rotate(self._store, webhook, overlap=overlap, now=utc_now())

    async def enable(self, webhook: str) -> webhooks.WebhookRecord | None:
        return await webhooks.enable(self._store, webhook, now=utc_now())

    async def remove(self, webhook: str) -> bool:
        return await webhooks.remove(self._store, webhook)

    async def deliveries(self, webhook: str, *, limit: int) -> Sequence[webhooks.DeliveryRecord]:
        return await webhooks.deliveries(self._store, webhook, limit=limit)

    def hold(self) -> contextlib.AbstractAsyncContextManager[HeldLock | None]:
        """Wait for the right to deliver, which one process has at a time. Raise StoreUnavailable."""
        return hold_job(self._store.engine, DELIVER, patient=True)

    async def due(self, limit: int, busy: Collection[str]) -> list[webhooks.Outgoing]:
        return await webhooks.due(self._store, self._base, limit=limit, busy=busy, now=utc_now())

    async def challenge(self, webhook: str) -> webhooks.Outgoing | None:
        return await webhooks.challenge(self._store, webhook, now=utc_now())

    async def trial(self, webhook: str) -> webhooks.Outgoing | None:
        return await webhooks.trial(self._store, webhook, self._base, now=utc_now())

    async def again(self, webhook: str, message_id: str) -> webhooks.Outgoing | None:
        return await webhooks.again(self._store, webhook, message_id, now=utc_now())

    async def record(self, outgoing: webhooks.Outgoing, attempt: Attempt) -> Verdict | None:
        chance = random.random()  # noqa: S311  (spreads retries; nothing secret)
        return await webhooks.record(
            self._store, outgoing, attempt, disable_after=self._disable_after, chance=chance, now=utc_now()
        )
