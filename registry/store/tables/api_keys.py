"""API keys of this registry's operators."""

from datetime import date

from sqlalchemy import Date, Text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Bytes, Moment


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
