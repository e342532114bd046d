"""Tables of requests by clients and of decisions by operators and owners.

Clients: places in the visit queue, submission lists, rechecks, reports, requests per address block and day. Operators
and owners: API keys, audit log, holds, claims, owner settings, webhooks and their deliveries.
"""

from datetime import date
from uuid import UUID

from sqlalchemy import BigInteger, Date, Index, Integer, Text, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql import UUID as PgUUID
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Bytes, DomainKey, HostKey, JsonB, Moment, Small


class TurnRow(Base):
    """The place of a client's last submission in the visit queue. Personal data: deleted after a day."""

    __tablename__ = "turns"

    client: Mapped[str] = mapped_column(primary_key=True)  # an address, or an IPv6 /64
    due: Mapped[Moment]  # the time in the queue (domains.next_visit_at) of its last submission
    asked_at: Mapped[Moment]

    __table_args__ = (Index(None, "asked_at"),)


class SubmissionListRow(Base):
    """Hosts that were submitted together. The id is the secret of the list's status address."""

    __tablename__ = "submission_lists"

    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)
    asked_at: Mapped[Moment]
    done_at: Mapped[Moment | None]  # NULL: its hosts are being queued
    client: Mapped[str | None]  # with the key: personal data, erased after a day
    key: Mapped[str | None]  # Idempotency-Key
    body_sha256: Mapped[Bytes]
    refused: Mapped[JsonB] = mapped_column(server_default=text("'[]'"))  # [{"index", "code", "retry_at"?}]

    __table_args__ = (
        Index(
            "ix_submission_lists_key", "client", "key", unique=True, postgresql_where=text("client IS NOT NULL")
        ),
        Index(None, "asked_at"),
    )  # fmt: skip


class SubmittedHostRow(Base):
    """An accepted host of a list."""

    __tablename__ = "submitted_hosts"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    list: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)
    index: Mapped[int]  # its place in the list, from 0
    state: Mapped[str]  # result of the submission: new, queued, known

    __table_args__ = (Index(None, "list", "index"),)


class RecheckRow(Base):
    """A requested repeated visit. `client` is personal data: rows are deleted after a day."""

    __tablename__ = "rechecks"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    asked_at: Mapped[Moment] = mapped_column(primary_key=True)
    client: Mapped[str | None]  # NULL: the owner of the host

    __table_args__ = (Index(None, "client", "asked_at"), Index(None, "asked_at"))


class ReportRow(Base):
    """A report about a host: filings of several clients for the same reason while it was open."""

    __tablename__ = "reports"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)  # RFC 9562, version 7
    code: Mapped[str]
    state: Mapped[str]  # open, in_review, accepted, rejected
    answer: Mapped[str]  # by this registry's operator; empty: none yet
    further_filings: Mapped[int] = mapped_column(server_default=text("0"))  # counted but not stored
    filed_at: Mapped[Moment]
    updated_at: Mapped[Moment]

    __table_args__ = (Index("ix_reports_open", "id", postgresql_where=text("state IN ('open', 'in_review')")),)


class FilingRow(Base):
    """One client's text of a report, and the secret of the address at which it reads the answer."""

    __tablename__ = "report_filings"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    id: Mapped[str] = mapped_column(primary_key=True)  # same as the token's
    digest: Mapped[Bytes]  # SHA-256 of its secret
    report: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True))
    reason: Mapped[str]
    client: Mapped[str | None]  # personal data, erased after a day
    filed_at: Mapped[Moment]

    __table_args__ = (
        Index(None, "id", unique=True),
        Index(None, "domain", "host", "report"),
        Index("ix_report_filings_client", "filed_at", postgresql_where=text("client IS NOT NULL")),
    )


class ApiKeyRow(Base):
    """A key. Not sharded: an operator makes each row. Revoked keys stay, because the audit log names them."""

    __tablename__ = "api_keys"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    scopes: Mapped[list[str]] = mapped_column(ARRAY(Text))
    digest: Mapped[Bytes]  # SHA-256 of the secret
    created_at: Mapped[Moment]
    expires_at: Mapped[Moment | None]
    revoked_at: Mapped[Moment | None]
    last_used_on: Mapped[date | None] = mapped_column(Date)


class AuditRow(Base):
    """An entry of the audit log. A trigger refuses to change or delete rows.

    Not sharded: in one order, as the change feed is.
    """

    __tablename__ = "audit"

    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)  # RFC 9562, version 7
    at: Mapped[Moment]
    actor: Mapped[str]
    action: Mapped[str]
    domain: Mapped[str]
    host: Mapped[str]
    reason: Mapped[str]
    detail: Mapped[JsonB]

    __table_args__ = (Index(None, "host", "id"),)


class BlockDayRow(Base):
    """Requests per address block and day. The key begins with the day, by which old rows are deleted."""

    __tablename__ = "block_days"

    day: Mapped[date] = mapped_column(Date, primary_key=True)  # in UTC
    block: Mapped[str] = mapped_column(primary_key=True)  # "192.0.2.0/24"
    requests: Mapped[int] = mapped_column(BigInteger)


class ListingHoldRow(Base):
    """A hold (core/access/holds.py). It outlives its host; every writer of services checks this table."""

    __tablename__ = "listing_holds"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    kind: Mapped[str] = mapped_column(primary_key=True)  # "blocked", "quarantined", "hidden"
    covers_below: Mapped[bool]
    actor: Mapped[str]
    reason: Mapped[str]
    since: Mapped[Moment]


class ClaimRow(Base):
    """A claim of ownership. Once proven it is the ownership, until it ends.

    Open: `proven_at` is NULL. Proven: `proven_at` is set and `ended_at` is NULL. Only digests of the tokens are stored.
    """

    __tablename__ = "claims"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    id: Mapped[str] = mapped_column(primary_key=True)  # same as the tokens'
    method: Mapped[str]  # "dns", "file"
    scope: Mapped[str]  # "host", "domain"
    digest: Mapped[Bytes]  # of the claim token
    client: Mapped[str | None]  # the claimant: personal data, erased with the proof or after a day
    network: Mapped[str | None]  # of the client (core/access/clients.py), erased with it
    created_at: Mapped[Moment]
    expires_at: Mapped[Moment]  # deadline for the proof of an open claim
    due_at: Mapped[Moment | None]  # when a worker checks it next; NULL: no check requested
    claimed_until: Mapped[Moment | None]  # a worker checks it; after this time another one may
    checked_at: Mapped[Moment | None]
    answer: Mapped[str | None]  # of the last check: "published", "missing", "unanswered"
    failures: Mapped[Small] = mapped_column(server_default=text("0"))  # consecutive, as far as they count
    unanswered_since: Mapped[Moment | None]
    proven_at: Mapped[Moment | None]
    verified_at: Mapped[Moment | None]  # last time the value was read
    owner_digest: Mapped[Bytes | None]  # of the owner token; NULL: not handed out yet
    ended_at: Mapped[Moment | None]
    end_reason: Mapped[str | None]
    hour_at: Mapped[Moment | None]  # beginning of the hour in which `used` is counted
    used: Mapped[int] = mapped_column(Integer, server_default=text("0"))  # checks requested, or changes by the owner

    __table_args__ = (
        Index(None, "id"),
        Index("ix_claims_due", "due_at", postgresql_where=text("due_at IS NOT NULL")),
        Index("ix_claims_client", "client", postgresql_where=text("client IS NOT NULL")),
        Index("ix_claims_network", "network", postgresql_where=text("network IS NOT NULL")),
        # Strangers may have many open claims of a domain; reads of a host must not pass them.
        Index("ix_claims_proven", "domain", postgresql_where=text("proven_at IS NOT NULL")),
    )


class OwnerSettingRow(Base):
    """Settings of a host's owner, except hiding (`listing_holds`). They end with the ownership."""

    __tablename__ = "owner_settings"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    claim: Mapped[str]  # the claim whose owner set it last
    note: Mapped[str] = mapped_column(server_default="")
    canonical: Mapped[str | None]  # another host of the domain: the pin in effect
    pinned: Mapped[str | None]  # the canonical host that the owner wants
    consent: Mapped[str | None]  # id of the claim of `pinned` whose owner agreed
    webhook: Mapped[str | None]  # id of the subscription
    changed_at: Mapped[Moment]


class WebhookRow(Base):
    """A subscription. At most one message is pending; its content and id stay the same until it is delivered.

    Not sharded: an operator makes each row.
    """

    __tablename__ = "webhooks"

    id: Mapped[str] = mapped_column(primary_key=True)
    url: Mapped[str]
    types: Mapped[list[str]] = mapped_column(ARRAY(Text))  # patterns of kinds.Types; empty: all
    hosts: Mapped[list[str]] = mapped_column(ARRAY(Text))  # events of these and of all below them; empty: all
    secret: Mapped[str]  # in clear text: a signature needs it (docs/adr/0031)
    previous_secret: Mapped[str | None]  # also signs, until `previous_until`
    previous_until: Mapped[Moment | None]
    created_at: Mapped[Moment]
    verified_at: Mapped[Moment | None]  # NULL: a challenge has to be answered first
    disabled_at: Mapped[Moment | None]
    disabled_reason: Mapped[str | None]
    seq: Mapped[int] = mapped_column(BigInteger)  # place in the feed up to which events were sent
    due_at: Mapped[Moment]  # when the next attempt, or the next message, may be made
    failures: Mapped[Small]  # failed attempts in a row
    first_failure_at: Mapped[Moment | None]
    message_id: Mapped[str | None]  # the pending message; NULL: none
    message_body: Mapped[str | None]
    message_seq: Mapped[int | None] = mapped_column(BigInteger)  # place up to which it contains events
    claim: Mapped[str | None]  # the ownership that covers the receiver; NULL: an operator named it, or an old program


class WebhookChallengeRow(Base):
    """A challenge sent in the last day. It outlives its webhook, which owners may replace at any time."""

    __tablename__ = "webhook_challenges"

    domain: Mapped[DomainKey]  # of the receiver
    host: Mapped[HostKey]
    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)  # RFC 9562, version 7
    at: Mapped[Moment]


class WebhookDeliveryRow(Base):
    """An attempt. The latest ones of each webhook are kept with the message, so that it can be sent again."""

    __tablename__ = "webhook_deliveries"

    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)  # RFC 9562, version 7
    webhook: Mapped[str]
    message_id: Mapped[str]
    purpose: Mapped[str]  # messages.Purpose
    body: Mapped[str]
    at: Mapped[Moment]
    status: Mapped[Small | None]  # of the answer; NULL: no answer
    reason: Mapped[str]  # schedule.Attempt.reason; empty: delivered
    duration_ms: Mapped[int] = mapped_column(Integer)

    __table_args__ = (Index(None, "webhook", "id"),)
