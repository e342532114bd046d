"""The audit log."""

from uuid import UUID

from sqlalchemy import Index
from sqlalchemy.dialects.postgresql import UUID as PgUUID
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, JsonB, Moment


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
