"""Holds: decisions of this registry's operators, and of owners, that hosts are not listed."""

from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, DomainKey, HostKey, Moment


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
