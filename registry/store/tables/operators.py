"""What clients ask about hosts: places in the queue, lists of submitted hosts, repeated visits, and reports."""

from uuid import UUID

from sqlalchemy import Index, text
from sqlalchemy.dialects.postgresql import UUID as PgUUID
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Bytes, DomainKey, HostKey, JsonB, Moment


class TurnRow(Base):
    """The place in the queue of visits that a client's last submission has. Personal data: deleted after a day."""

    __tablename__ = "turns"

    client: Mapped[str] = mapped_column(primary_key=True)  # an address, or an IPv6 /64
    due: Mapped[Moment]  # the time in the queue (domains.next_visit_at) of its last submission
    asked_at: Mapped[Moment]

    __table_args__ = (Index(None, "asked_at"),)


class SubmissionListRow(Base):
    """Hosts that were submitted together. Its id is the secret of its status address."""

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
    """A host of a list that was accepted."""

    __tablename__ = "submitted_hosts"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    list: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)
    index: Mapped[int]  # its place in the list, from 0
    state: Mapped[str]  # what the submission caused: new, queued, known

    __table_args__ = (Index(None, "list", "index"),)


class RecheckRow(Base):
    """A repeated visit that was asked for. `client` is personal data: rows are deleted after a day."""

    __tablename__ = "rechecks"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    asked_at: Mapped[Moment] = mapped_column(primary_key=True)
    client: Mapped[str | None]  # NULL: the owner of the host

    __table_args__ = (Index(None, "client", "asked_at"), Index(None, "asked_at"))


class ReportRow(Base):
    """A report about a host: what several clients filed for the same reason while it was open."""

    __tablename__ = "reports"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)  # RFC 9562, version 7
    code: Mapped[str]
    state: Mapped[str]  # open, in_review, accepted, rejected
    answer: Mapped[str]  # of the operator of this registry; empty: none yet
    further_filings: Mapped[int] = mapped_column(server_default=text("0"))  # counted, and not stored
    filed_at: Mapped[Moment]
    updated_at: Mapped[Moment]

    __table_args__ = (Index("ix_reports_open", "id", postgresql_where=text("state IN ('open', 'in_review')")),)


class FilingRow(Base):
    """One client's words of a report, and the secret of the address at which it reads the answer."""

    __tablename__ = "report_filings"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    id: Mapped[str] = mapped_column(primary_key=True)  # of the token
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
