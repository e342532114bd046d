"""Webhooks: subscriptions of operators and owners, the messages to send, and the effects of delivery attempts.

A message is stored before it is sent, and stays the pending one of its webhook until an attempt is recorded as
successful. If a process is killed in between, the message is sent again with the same id: at least once. Later events
go into the next message.
"""

import random
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from registry.actions import Clock, call_of, feed
from registry.actions.feed import encode
from registry.core import webhooks as rules
from registry.core.changes.kinds import Types
from registry.core.names.authority import Relation, relation
from registry.core.names.domains import canonical_host, host_of, host_syntax, parse_https, registrable_domain
from registry.store.claims import ClaimRecord
from registry.store.unit_of_work import Store, UnitOfWork
from registry.store.values import ordered_id
from registry.store.webhooks import DeliveryRecord as DeliveryRecord  # interfaces name them
from registry.store.webhooks import PendingMessage
from registry.store.webhooks import WebhookRecord as WebhookRecord

DELIVER: Final = "webhooks"
"""Name of the lock of the one process that delivers."""

OVERLAP: Final = timedelta(hours=24)  # how long the previous secret signs too, unless the operator says otherwise


class BadReceiver(ValueError):
    """The address cannot be used as a receiver; the message says why."""


class ForeignReceiver(BadReceiver):
    """The receiver is on a host that the ownership does not cover."""

    def __init__(self) -> None:
        super().__init__("the receiver is neither on the owned host nor below it, and its host is not proven")


class ClosedReceiver(BadReceiver):
    """The host of the receiver must not get requests."""

    def __init__(self) -> None:
        super().__init__("the receiver's host opted out, or is blocked")


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
    """Return a subscription with a new secret. `seq`: place in the feed after which events are sent. `claim`: the
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
    """Raise BadReceiver if the receiver must not get messages. `claim`: the ownership that has to cover it; None if an
    operator named the receiver."""
    host = _host(url)
    if claim is not None and (not claim.is_owner or relation(claim.host, host) < Relation.BELOW):
        raise ForeignReceiver  # guard: webhook-foreign-receiver
    domain = registrable_domain(host)
    if not (await uow.holds.limits([domain]))[domain].may_be_visited(host):
        raise ClosedReceiver  # guard: webhook-closed-receiver


async def next_challenge_at(uow: UnitOfWork, url: str, now: datetime) -> datetime:
    """Return when a receiver may get a challenge; `now` if at once."""
    host = _host(url)
    sent = await uow.webhooks.challenges(registrable_domain(host), since=now - rules.DAY)
    return rules.challenge_at(host, sent, now)


async def count_challenge(uow: UnitOfWork, url: str, now: datetime) -> None:
    host = _host(url)
    await uow.webhooks.add_challenge(registrable_domain(host), host, now=now, before=now - rules.DAY)


def with_new_secret(webhook: WebhookRecord, overlap: timedelta, now: datetime) -> WebhookRecord:
    previous = (webhook.secret, now + overlap) if overlap else (None, None)
    return replace(webhook, secret=_new_secret(), previous_secret=previous[0], previous_until=previous[1])


def enabled(webhook: WebhookRecord, now: datetime) -> WebhookRecord:
    """Return the subscription with its challenge unanswered."""
    return replace(
        webhook, verified_at=None, disabled_at=None, disabled_reason=None, failures=0, first_failure_at=None,
        due_at=now, test_at=None,
    )  # fmt: skip


def _host(url: str) -> str:
    return host_of(url) or ""


def _new_secret() -> str:
    return rules.secret_of(secrets.token_bytes(rules.SECRET_BYTES))


_MAX_FAILURES: Final = 10_000  # the count of failures stays in its column; the schedule looks at the first few only


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message, where it goes, and the secrets that sign it."""

    webhook: str
    url: str
    message: rules.Message
    secrets: tuple[str, ...]


async def _refuse_receiver(uow: UnitOfWork, row: WebhookRecord) -> None:
    owner = row.claim or await uow.webhooks.owner(row.id)
    claim = None if owner is None else await uow.claims.get(owner)
    if owner is not None and claim is None:
        raise ForeignReceiver
    await refuse_receiver(uow, row.url, claim)


async def _next_message(uow: UnitOfWork, row: WebhookRecord, base: str, now: datetime) -> rules.Message | None:
    if row.verified_at is None:  # guard: webhook-challenge
        at = await next_challenge_at(uow, row.url, now)
        if at > now:  # guard: webhook-challenges
            await uow.webhooks.put(replace(row, due_at=at))
            return None
        await count_challenge(uow, row.url, now)
        return _challenge(now)
    pending = row.message
    if pending is None:
        pending, seen_seq = await _new_message(uow, row, base, now)
        await uow.webhooks.put(replace(row, seq=seen_seq).with_message(pending))
    return None if pending is None else rules.Message(pending.id, "events", pending.body)


async def _new_message(
    uow: UnitOfWork, row: WebhookRecord, base: str, now: datetime
) -> tuple[PendingMessage | None, int]:
    """Return a message about the events that the webhook has not got yet, or None if no event passes its filter; and
    the place up to which events need not be looked at again."""
    types = Types(row.types)
    stretch = await uow.feed.after(row.seq, (), limit=1)  # used only for the ends of the feed
    count = await uow.webhooks.matching(row.seq, stretch.end.seq, types.kinds, row.hosts)
    if not count:
        return None, stretch.end.seq
    since, until = encode(stretch.after, types), encode(stretch.end, types)
    body = rules.events_body(base, types, count=count, since=since, until=until, now=now)
    return PendingMessage(_message_id(now), body, stretch.end.seq), row.seq


def _after(row: WebhookRecord, message: rules.Message, verdict: rules.Verdict, now: datetime) -> WebhookRecord:
    match verdict:
        case rules.DeliveryState(next_at):
            row = replace(row, failures=0, first_failure_at=None)
            if message.purpose == "challenge":
                return replace(row, verified_at=now, due_at=now)
            return replace(row, seq=row.message_seq or row.seq, due_at=next_at).with_message(None)
        case rules.Retry(at):
            failures = min(row.failures + 1, _MAX_FAILURES)
            return replace(row, failures=failures, first_failure_at=row.first_failure_at or now, due_at=at)
        case rules.Disable(reason):
            return replace(row, disabled_at=now, disabled_reason=reason)


def _challenge(now: datetime) -> rules.Message:
    token = secrets.token_urlsafe(rules.TOKEN_BYTES)
    return rules.Message(_message_id(now), "challenge", rules.challenge_body(token, now), token)


def _test(base: str, now: datetime) -> rules.Message:
    return rules.Message(_message_id(now), "test", rules.test_body(base, now))


def _message_id(now: datetime) -> str:
    return f"msg_{ordered_id(now).hex}"


@dataclass(eq=False)
class WebhookActions:
    """Subscriptions, messages to send, and effects of attempts. `_exempt`: names that may be special-use names.
    `_base`: URL of this registry. `_chance` returns a random number from 0 to 1, which spreads retries."""

    _store: Store
    _clock: Clock
    _base: str
    _disable_after: timedelta
    _exempt: Collection[str] = ()
    _chance: Callable[[], float] = random.random

    all = call_of(lambda uow: uow.webhooks.all, Store.read)
    counts = call_of(lambda uow: uow.webhooks.counts, Store.read)
    deliveries = call_of(lambda uow: uow.webhooks.deliveries, Store.read)
    remove = call_of(lambda uow: uow.webhooks.remove)

    async def add(self, url: str, types: Types, hosts: Sequence[str]) -> WebhookRecord:
        """Store a subscription to all events from now on and return it with its secret. Only a challenge is sent until
        the receiver has answered it. `hosts`: only events of these hosts and all below them; a registrable domain means
        all its hosts. Raise BadReceiver, InvalidName and StoreUnavailable."""
        canonical = receiver_url(url, exempt=self._exempt)
        webhook = new_webhook(canonical, types, hosts, seq=await feed.pulse(self._store), now=self._clock())
        async with self._store.begin() as uow:
            await refuse_receiver(uow, canonical, None)
            await uow.webhooks.put(webhook)
        return webhook

    async def rotate(self, webhook: str, overlap: timedelta = OVERLAP) -> WebhookRecord | None:
        """Give a subscription a new secret and return it; None if it does not exist. For `overlap`, messages are signed
        with both secrets. A second rotation within that time ends the oldest secret at once. Raise StoreUnavailable."""
        return await self._change(webhook, lambda row: with_new_secret(row, overlap, self._clock()))

    async def enable(self, webhook: str) -> WebhookRecord | None:
        """Enable a subscription again: after a new challenge, its receiver gets the events it has missed. Return it, or
        None if it does not exist. Raise StoreUnavailable."""
        return await self._change(webhook, lambda row: enabled(row, self._clock()))

    async def _change(self, webhook: str, change: Callable[[WebhookRecord], WebhookRecord]) -> WebhookRecord | None:
        async with self._store.begin() as uow:
            row = await uow.webhooks.locked(webhook)
            if row is None:
                return None
            row = change(row)
            await uow.webhooks.put(row)
            return row

    async def due(self, limit: int, busy: Collection[str]) -> list[Outgoing]:
        """Return at most `limit` messages to send now, at most one per webhook: a challenge if it is not verified, else
        its pending message, else a new one for new events, which becomes the pending one. Disable webhooks whose
        receiver must not get messages any more, for example after an opt-out.

        `busy`: webhooks to skip, because a message is on its way to them. Only for the
        process that holds the right to deliver. Raise StoreUnavailable.
        """
        now = self._clock()
        latest = await feed.pulse(self._store)
        outgoing = []
        async with self._store.begin() as uow:
            for row in await uow.webhooks.due(latest, limit=limit, busy=busy, now=now):
                try:
                    await _refuse_receiver(uow, row)
                except BadReceiver as refusal:
                    await uow.webhooks.put(replace(row, disabled_at=now, disabled_reason=str(refusal)))
                    continue
                if row.test_at is not None and row.verified_at is not None:
                    await uow.webhooks.put(replace(row, test_at=None))  # sent once: its owner can ask again
                    message: rules.Message | None = _test(self._base, now)
                else:
                    message = await _next_message(uow, row, self._base, now)
                if message is not None:
                    outgoing.append(Outgoing(row.id, row.url, message, row.secrets(now)))
        return outgoing

    async def challenge(self, webhook: str) -> Outgoing | None:
        """Return a challenge to a webhook; None if it does not exist. Operators request it, so no limit refuses it, but
        it counts against the limits. Raise BadReceiver and StoreUnavailable."""
        now = self._clock()
        async with self._receiving(webhook) as (uow, row):
            if row is None:
                return None
            await count_challenge(uow, row.url, now)
            return Outgoing(row.id, row.url, _challenge(now), row.secrets(now))

    async def trial(self, webhook: str) -> Outgoing | None:
        """Return a test message without events; None if the webhook does not exist. Raise BadReceiver and
        StoreUnavailable."""
        now = self._clock()
        async with self._receiving(webhook) as (_, row):
            return None if row is None else Outgoing(row.id, row.url, _test(self._base, now), row.secrets(now))

    async def again(self, webhook: str, message_id: str) -> Outgoing | None:
        """Return an earlier message about events, unchanged; None if it is not kept. Raise BadReceiver and
        StoreUnavailable."""
        async with self._receiving(webhook) as (uow, row):
            attempts = await uow.webhooks.deliveries(webhook, limit=1, message_id=message_id)
            if row is None or not attempts or attempts[0].purpose != "events":
                return None
            message = rules.Message(message_id, "events", attempts[0].body)
            return Outgoing(row.id, row.url, message, row.secrets(self._clock()))

    @asynccontextmanager
    async def _receiving(self, webhook: str) -> AsyncIterator[tuple[UnitOfWork, WebhookRecord | None]]:
        """Yield the transaction and the locked webhook. Raise BadReceiver if its receiver must not get messages."""
        async with self._store.begin() as uow:
            row = await uow.webhooks.locked(webhook)
            if row is not None:
                await _refuse_receiver(uow, row)
            yield uow, row

    async def record(self, outgoing: Outgoing, attempt: rules.Attempt) -> rules.Verdict | None:
        """Store an attempt and return its effect on its webhook; None if there is no effect. Tests, messages that are
        no longer pending, and webhooks that were removed or disabled meanwhile have no effect. Raise
        StoreUnavailable."""
        now = self._clock()
        message = outgoing.message
        async with self._store.begin() as uow:
            row = await uow.webhooks.locked(outgoing.webhook)
            if row is None:
                return None
            await uow.webhooks.add_delivery(
                DeliveryRecord(
                    row.id, message.id, message.purpose, message.body, now, attempt.status, attempt.reason,
                    attempt.duration_ms,
                )
            )  # fmt: skip
            is_pending = message.purpose == "events" and row.message_id == message.id
            is_awaited = row.verified_at is None if message.purpose == "challenge" else is_pending
            if row.disabled_at is not None or not is_awaited:
                return None
            verdict = rules.judge(
                attempt, failures=row.failures, first_failure_at=row.first_failure_at, now=now,
                disable_after=self._disable_after, chance=self._chance(),
            )  # fmt: skip
            await uow.webhooks.put(_after(row, message, verdict, now))
            return verdict
