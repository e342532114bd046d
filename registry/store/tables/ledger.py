"""The ledger: one row per visit, and the change feed for subscribers."""

from uuid import UUID

from sqlalchemy import Index, Integer
from sqlalchemy.dialects.postgresql import UUID as PgUUID
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Bytes, DomainKey, HostKey, JsonB, Moment, Small


class VisitRow(Base):
    """One visit of one host. Its vector holds all requests and answers, from which the outcome can be explained."""

    __tablename__ = "visits"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    started_at: Mapped[Moment] = mapped_column(primary_key=True)
    finished_at: Mapped[Moment]
    outcome: Mapped[str]
    reason: Mapped[str]
    whole_plan: Mapped[bool]
    requests: Mapped[int] = mapped_column(Integer)  # that the plan asked for
    sent: Mapped[int | None] = mapped_column(Integer)  # that were dialled; NULL: by a program that did not count them
    standing: Mapped[Small | None]  # shares.Standing: whose part of the daily budget was spent; NULL as above
    address: Mapped[str | None]
    vector: Mapped[Bytes]  # see registry/store/visit_log_encoding.py; never read in SQL


class ChangeRow(Base):
    """An event of the append-only change feed. `id` is ordered by time (RFC 9562, version 7): not sharded by domain."""

    __tablename__ = "changes"

    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)
    domain: Mapped[str]
    host: Mapped[str]
    kind: Mapped[str]
    at: Mapped[Moment]
    data: Mapped[JsonB]

    __table_args__ = (Index(None, "domain", "host", "id"),)
