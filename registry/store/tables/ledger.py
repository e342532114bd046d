"""What happened: one row per visit, and the feed of changes for subscribers."""

from uuid import UUID

from sqlalchemy import Index, Integer
from sqlalchemy.dialects.postgresql import UUID as PgUUID
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Bytes, DomainKey, HostKey, JsonB, Moment


class VisitRow(Base):
    """One pass over one host, with the vector of what was asked and what came: a verdict can be explained from it."""

    __tablename__ = "visits"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    started_at: Mapped[Moment] = mapped_column(primary_key=True)
    finished_at: Mapped[Moment]
    outcome: Mapped[str]
    reason: Mapped[str]
    whole_plan: Mapped[bool]
    requests: Mapped[int] = mapped_column(Integer)
    address: Mapped[str | None]
    vector: Mapped[Bytes]  # see registry/store/vectors.py; nothing looks inside in SQL


class ChangeRow(Base):
    """Append-only. `id` is ordered by time (RFC 9562, version 7): the only table that is not sharded by domain."""

    __tablename__ = "changes"

    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)
    domain: Mapped[str]
    host: Mapped[str]
    kind: Mapped[str]
    at: Mapped[Moment]
    data: Mapped[JsonB]

    __table_args__ = (Index(None, "domain", "host", "id"),)
