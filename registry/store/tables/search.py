"""Which indexes exist and which services each has yet to be told about.

Rows of `search_dirty` are written by triggers on `services` (see the first migration), so that no code path forgets.
"""

from sqlalchemy import BigInteger, Sequence
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Moment

# Versions are drawn, not counted per row: a row that was done and noted again can never look like the one read before.
DIRTY_VERSIONS = Sequence("search_dirty_versions", metadata=Base.metadata, data_type=BigInteger)


class SearchTargetRow(Base):
    __tablename__ = "search_target"

    target: Mapped[str] = mapped_column(primary_key=True)  # "embedded:<uuid>", "meilisearch"
    created_at: Mapped[Moment]
    seen_at: Mapped[Moment]


class SearchDirtyRow(Base):
    """No foreign key to services: a service that is gone must be told as well."""

    __tablename__ = "search_dirty"

    target: Mapped[str] = mapped_column(primary_key=True)
    host: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str]
    version: Mapped[int] = mapped_column(BigInteger)
    noted_at: Mapped[Moment]  # of the oldest change that the target has not seen
