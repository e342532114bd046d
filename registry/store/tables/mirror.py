"""What a mirror knows of its origin. Empty in a registry that crawls."""

from sqlalchemy import BigInteger, Boolean, Integer, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, DomainKey, HostKey, JsonB, Moment


class MirrorRow(Base):
    """The only row (`id` is 1) makes this database a mirror. Progress is written with the records that it is about."""

    __tablename__ = "mirror"

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    origin: Mapped[str]  # URL of the registry
    phase: Mapped[str]  # "loading" a dump, "following" the feed
    manifest: Mapped[JsonB | None]  # of the dump that is loaded, or was loaded last
    part: Mapped[int] = mapped_column(Integer)  # parts of it that are loaded
    line: Mapped[int] = mapped_column(Integer)  # lines of the next part that are loaded
    cursor: Mapped[str | None]  # of the feed: what follows it is not applied yet
    sequence: Mapped[int] = mapped_column(BigInteger)  # the latest position that is known to be applied
    without_restricted: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    refused: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))  # lines without a valid host
    behind_s: Mapped[int | None] = mapped_column(Integer)  # age of the first event that is not applied; 0: none
    contact_at: Mapped[Moment | None]  # last answer of the origin


class MirroredRow(Base):
    """What the origin said last of a host. `snapshot`: the dump that named it last, or the one before the event."""

    __tablename__ = "mirrored"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    state: Mapped[str]  # "listed", "opted_out", "blocked", "absent", "refused", "left_out"
    reason: Mapped[str] = mapped_column(server_default="")  # why it was refused or left out
    sequence: Mapped[int] = mapped_column(BigInteger)  # position of the feed that the state is as of
    snapshot: Mapped[str]
    robots: Mapped[str | None]  # what robots.txt of the host says about training (core/merging/usage.py)
