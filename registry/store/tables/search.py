"""Search targets (indexes), and the services that each has yet to index again.

Triggers on `services` and on the canonical hosts of `owner_settings` write the rows of `search_dirty` (see the first
migration and 2c7e95b0d4a1), so that no code path can forget it.
"""

from sqlalchemy import BigInteger, Sequence
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Moment

# Versions come from a sequence, not a counter per row: a row deleted and noted again never repeats an earlier version.
DIRTY_VERSIONS = Sequence("search_dirty_versions", metadata=Base.metadata, data_type=BigInteger)


class SearchTargetRow(Base):
    __tablename__ = "search_target"

    target: Mapped[str] = mapped_column(primary_key=True)  # "embedded:<uuid>", "meilisearch"
    created_at: Mapped[Moment]
    seen_at: Mapped[Moment]


class SearchDirtyRow(Base):
    """No foreign key to services: a deleted service must be removed from the index as well."""

    __tablename__ = "search_dirty"

    target: Mapped[str] = mapped_column(primary_key=True)
    host: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str]
    version: Mapped[int] = mapped_column(BigInteger)
    noted_at: Mapped[Moment]  # of the oldest change that the target has not seen
