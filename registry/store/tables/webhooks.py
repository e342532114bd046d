"""Receivers of webhooks, and the attempts to deliver messages to them."""

from uuid import UUID

from sqlalchemy import BigInteger, Index, Integer, Text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PgUUID
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, DomainKey, HostKey, Moment, Small


class WebhookRow(Base):
    """A subscription. At most one message is pending: it stays as it is, with its id, until it is delivered.

    Not sharded: an operator makes each row.
    """

    __tablename__ = "webhooks"

    id: Mapped[str] = mapped_column(primary_key=True)
    url: Mapped[str]
    types: Mapped[list[str]] = mapped_column(ARRAY(Text))  # patterns of kinds.Types; empty: all
    hosts: Mapped[list[str]] = mapped_column(ARRAY(Text))  # events of these and of all below them; empty: all
    secret: Mapped[str]  # in clear text: a signature needs it (docs/adr/0031)
    previous_secret: Mapped[str | None]  # signs too, until `previous_until`
    previous_until: Mapped[Moment | None]
    created_at: Mapped[Moment]
    verified_at: Mapped[Moment | None]  # NULL: a challenge has to be answered first
    disabled_at: Mapped[Moment | None]
    disabled_reason: Mapped[str | None]
    seq: Mapped[int] = mapped_column(BigInteger)  # place in the feed up to which events were told
    due_at: Mapped[Moment]  # when the next attempt, or the next message, may be made
    failures: Mapped[Small]  # failed attempts in a row
    first_failure_at: Mapped[Moment | None]
    message_id: Mapped[str | None]  # the pending message; NULL: none
    message_body: Mapped[str | None]
    message_seq: Mapped[int | None] = mapped_column(BigInteger)  # place up to which it tells events
    claim: Mapped[str | None]  # the ownership that covers the receiver; NULL: an operator named it, or an old program


class WebhookChallengeRow(Base):
    """A challenge that was sent in the last day. It outlives its webhook, which owners may replace at any time."""

    __tablename__ = "webhook_challenges"

    domain: Mapped[DomainKey]  # of the receiver
    host: Mapped[HostKey]
    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)  # RFC 9562, version 7
    at: Mapped[Moment]


class WebhookDeliveryRow(Base):
    """An attempt. The latest ones of each webhook are kept, with the message, so that it can be sent again."""

    __tablename__ = "webhook_deliveries"

    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)  # RFC 9562, version 7
    webhook: Mapped[str]
    message_id: Mapped[str]
    purpose: Mapped[str]  # messages.Purpose
    body: Mapped[str]
    at: Mapped[Moment]
    status: Mapped[Small | None]  # of the answer; NULL: none came
    reason: Mapped[str]  # schedule.Attempt.reason; empty: delivered
    duration_ms: Mapped[int] = mapped_column(Integer)

    __table_args__ = (Index(None, "webhook", "id"),)
