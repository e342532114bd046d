"""Repository of webhooks: subscriptions, their pending messages, the latest attempts to deliver, and challenges."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Final, Literal

from sqlalchemy import delete, or_, select, text
from sqlalchemy.dialects.postgresql import insert

from registry.store.repository import Repository, selected
from registry.store.tables import OwnerSettingRow, WebhookChallengeRow, WebhookDeliveryRow, WebhookRow
from registry.store.values import REASON_CHARS, clean, ordered_id

MAX_DELIVERIES: Final = 100  # latest attempts of each webhook that are kept
_MATCHING = text("""
SELECT count(*) FROM changes
WHERE seq > :after AND seq <= :until
  AND (CAST(:kinds AS text[]) IS NULL OR kind = ANY(CAST(:kinds AS text[])))
  AND (cardinality(CAST(:hosts AS text[])) = 0 OR EXISTS (
    SELECT FROM unnest(CAST(:hosts AS text[])) AS named
    WHERE host = named OR right(host, length(named) + 1) = '.' || named))
""")

_FORGET_OLD = text("""
DELETE FROM webhook_deliveries WHERE webhook = :webhook AND id < (
    SELECT id FROM webhook_deliveries WHERE webhook = :webhook ORDER BY id DESC OFFSET :most - 1 LIMIT 1)
""")

_COUNTS = text("""
SELECT count(*) FILTER (WHERE disabled_at IS NOT NULL) AS disabled,
    count(*) FILTER (WHERE disabled_at IS NULL AND verified_at IS NULL) AS unverified,
    count(*) FILTER (WHERE disabled_at IS NULL AND verified_at IS NOT NULL) AS active,
    count(*) FILTER (WHERE disabled_at IS NULL AND message_id IS NOT NULL) AS pending,
    count(*) FILTER (WHERE disabled_at IS NULL AND failures > 0) AS failing
FROM webhooks
""")


@dataclass(frozen=True, slots=True)
class PendingMessage:
    """A stored message. `seq`: place in the feed up to which it contains events."""

    id: str
    body: str
    seq: int


@dataclass(frozen=True, slots=True)
class WebhookRecord:
    """A row of `webhooks`."""

    id: str
    url: str
    types: tuple[str, ...]
    hosts: tuple[str, ...]
    secret: str
    created_at: datetime
    seq: int
    due_at: datetime
    previous_secret: str | None = None
    previous_until: datetime | None = None
    verified_at: datetime | None = None
    disabled_at: datetime | None = None
    disabled_reason: str | None = None
    failures: int = 0
    first_failure_at: datetime | None = None
    message_id: str | None = None
    message_body: str | None = None
    message_seq: int | None = None
    claim: str | None = None
    test_at: datetime | None = None

    @property
    def message(self) -> PendingMessage | None:
        if self.message_id is None or self.message_body is None or self.message_seq is None:
            return None
        return PendingMessage(self.message_id, self.message_body, self.message_seq)

    @property
    def state(self) -> Literal["disabled", "unverified", "failing", "active"]:
        if self.disabled_at is not None:
            return "disabled"
        if self.verified_at is None:
            return "unverified"
        return "failing" if self.failures else "active"

    def with_message(self, message: PendingMessage | None) -> "WebhookRecord":
        if message is None:
            return replace(self, message_id=None, message_body=None, message_seq=None)
        return replace(self, message_id=message.id, message_body=message.body, message_seq=message.seq)

    def secrets(self, now: datetime) -> tuple[str, ...]:
        """Return the secrets that sign now, the current one first."""
        if self.previous_secret is None or self.previous_until is None or self.previous_until <= now:
            return (self.secret,)
        return self.secret, self.previous_secret


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """A row of `webhook_deliveries`."""

    webhook: str
    message_id: str
    purpose: str
    body: str
    at: datetime
    status: int | None
    reason: str
    duration_ms: int


@dataclass(frozen=True, slots=True)
class WebhookCounts:
    """Numbers of webhooks. `pending`: with an undelivered message. `failing`: retried after a failed attempt. Both are
    parts of `active` and `unverified`."""

    active: int
    unverified: int
    disabled: int
    pending: int
    failing: int


class Webhooks(Repository):
    async def put(self, webhook: WebhookRecord) -> None:
        """Insert a webhook, or replace the locked one with its id."""
        await self._replace(WebhookRow, asdict(webhook))

    async def locked(self, webhook: str) -> WebhookRecord | None:
        """Return a webhook and lock it until the end of the transaction."""
        statement = select(*_COLUMNS).where(WebhookRow.id == webhook).with_for_update()
        row = (await self._execute(statement)).first()
        return None if row is None else _record(row)

    async def all(self) -> list[WebhookRecord]:
        """Return all webhooks, the oldest first."""
        statement = select(*_COLUMNS).order_by(WebhookRow.created_at, WebhookRow.id)
        return [_record(row) for row in await self._execute(statement)]

    async def due(self, latest: int, *, limit: int, busy: Collection[str], now: datetime) -> list[WebhookRecord]:
        """Return and lock webhooks that may have something to send, the longest due first. `latest`: place of the
        latest event. `busy`: webhooks to skip."""
        row = WebhookRow
        has_something = or_(row.verified_at.is_(None), row.message_id.is_not(None), row.seq < latest)
        is_tested = row.test_at.is_not(None) & row.verified_at.is_not(None)
        is_wanted = or_(is_tested, (row.due_at <= now) & has_something)
        is_due = (row.disabled_at.is_(None), is_wanted, row.id.not_in(list(busy)))
        statement = select(*_COLUMNS).where(*is_due).order_by(row.due_at, row.id).limit(limit)
        rows = await self._execute(statement.with_for_update(skip_locked=True))
        return [_record(found) for found in rows]

    async def matching(self, after: int, until: int, kinds: Collection[str] | None, hosts: Collection[str]) -> int:
        """Return the number of events after one place, up to another, that pass a filter."""
        wanted = None if kinds is None else sorted(kinds)
        bound = {"after": after, "until": until, "kinds": wanted, "hosts": list(hosts)}
        return await self._number(_MATCHING, bound)

    async def remove(self, webhook: str) -> bool:
        """Delete a webhook and its attempts; return whether it existed."""
        await self._execute(delete(WebhookDeliveryRow).where(WebhookDeliveryRow.webhook == webhook))
        return await self._touched(delete(WebhookRow).where(WebhookRow.id == webhook)) > 0

    async def owner(self, webhook: str) -> str | None:
        """Return the ownership that set a webhook; None if an operator set it. Also finds webhooks that an old program
        added."""
        row = OwnerSettingRow
        return (await self._execute(select(row.claim).where(row.webhook == webhook).limit(1))).scalar()

    async def challenges(self, domain: str, *, since: datetime) -> list[tuple[str, datetime]]:
        """Return host and time of the challenges to hosts of a registrable domain since then, the oldest first."""
        row = WebhookChallengeRow
        statement = select(row.host, row.at).where(row.domain == domain, row.at > since).order_by(row.at)
        return [(host, at) for host, at in await self._execute(statement)]

    async def add_challenge(self, domain: str, host: str, *, now: datetime, before: datetime) -> None:
        """Store a challenge; delete all challenges sent before then."""
        await self._execute(delete(WebhookChallengeRow).where(WebhookChallengeRow.at <= before))
        values = {"domain": domain, "host": host, "id": ordered_id(now), "at": now}
        await self._execute(insert(WebhookChallengeRow).values(values))

    async def add_delivery(self, delivery: DeliveryRecord) -> None:
        """Store an attempt; delete the attempts of the webhook beyond its MAX_DELIVERIES latest."""
        values = asdict(delivery) | {"id": ordered_id(delivery.at), "reason": clean(delivery.reason, REASON_CHARS)}
        await self._execute(insert(WebhookDeliveryRow).values(values))
        # guard: webhook-deliveries-kept
        await self._execute(_FORGET_OLD, {"webhook": delivery.webhook, "most": MAX_DELIVERIES})

    async def deliveries(self, webhook: str, *, limit: int, message_id: str | None = None) -> Sequence[DeliveryRecord]:
        """Return attempts, the latest first; only those of one message if its id is given."""
        row = WebhookDeliveryRow
        statement = select(*_DELIVERY_COLUMNS).where(row.webhook == webhook).order_by(row.id.desc()).limit(limit)
        if message_id is not None:
            statement = statement.where(row.message_id == message_id)
        return await self._list(DeliveryRecord, statement)

    async def counts(self) -> WebhookCounts:
        return WebhookCounts(**(await self._execute(_COUNTS)).mappings().one())


def _record(row: Sequence[object]) -> WebhookRecord:
    values = dict(zip(WebhookRecord.__dataclass_fields__, row, strict=True))
    for name in ("types", "hosts"):
        values[name] = tuple(values[name])  # type: ignore[arg-type]
    return WebhookRecord(**values)  # type: ignore[arg-type]


_COLUMNS: Final = selected(WebhookRow, WebhookRecord)
_DELIVERY_COLUMNS: Final = selected(WebhookDeliveryRow, DeliveryRecord)
