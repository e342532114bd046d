"""The ledger of visits, the change feed with its head, a mirror's state, job runs, and reference data.

The tables of a mirror are empty in a registry that crawls.
"""

from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Index, Integer, Sequence, SmallInteger, text
from sqlalchemy.dialects.postgresql import UUID as PgUUID
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Bytes, DomainKey, HostKey, JsonB, Moment, Small


class VisitRow(Base):
    """One visit of one host. Its vector holds all requests and answers, which explain the outcome."""

    __tablename__ = "visits"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    started_at: Mapped[Moment] = mapped_column(primary_key=True)
    finished_at: Mapped[Moment]
    outcome: Mapped[str]
    reason: Mapped[str]
    whole_plan: Mapped[bool]
    requests: Mapped[int] = mapped_column(Integer)  # planned requests
    sent: Mapped[int | None] = mapped_column(
        Integer
    )  # requests that were dialled; NULL: by a program that did not count them
    standing: Mapped[Small | None]  # shares.Standing: whose part of the daily budget was spent; NULL as above
    address: Mapped[str | None]
    vector: Mapped[Bytes]  # see registry/store/visit_log_encoding.py; never read in SQL


# The order of insertion. Changes of a host are inserted under the lock of its domain, so this is their true order; the
# clocks of several processes do not give it.
ARRIVALS = Sequence("changes_arrival", metadata=Base.metadata, data_type=BigInteger)


class ChangeRow(Base):
    """An event of the append-only change feed, written in the transaction of the change. Not sharded by domain.

    `id` is made before the commit, so readers must not order by it. The sequencer (registry/store/feed.py) gives every
    committed row its place: `seq`, without gaps, and `event_id`, which rises with it. Readers see only rows with a
    place. `data` of a host that opted out or was forgotten is emptied; the row stays as its tombstone.
    """

    __tablename__ = "changes"

    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)
    domain: Mapped[str]
    host: Mapped[str]
    kind: Mapped[str]
    at: Mapped[Moment]
    data: Mapped[JsonB]
    arrival: Mapped[int] = mapped_column(
        BigInteger, server_default=text("0")
    )  # from ARRIVALS; 0: older than the column
    seq: Mapped[int | None] = mapped_column(BigInteger)
    event_id: Mapped[UUID | None] = mapped_column(PgUUID(as_uuid=True))  # RFC 9562, version 7

    __table_args__ = (
        Index(None, "domain", "host", "id"),
        Index(None, "seq", unique=True),
        Index("ix_changes_unsequenced", "arrival", "id", postgresql_where=text("seq IS NULL")),
    )


class FeedHeadRow(Base):
    """The ends of the change feed: one row (key 1), made by the first run of the sequencer.

    It outlives the events, so that a reader whose place was pruned gets an error, and no place is ever given twice.
    """

    __tablename__ = "feed_head"

    key: Mapped[Small] = mapped_column(primary_key=True, autoincrement=False)
    mark: Mapped[str]  # nine hexadecimal digits unique to this feed, in every event_id
    latest_seq: Mapped[int] = mapped_column(BigInteger)  # 0: no event yet
    latest_id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True))  # the nil UUID: no event yet
    latest_at: Mapped[Moment | None]  # when the latest event happened
    pruned_seq: Mapped[int] = mapped_column(BigInteger)  # the last deleted place; 0: none yet
    pruned_id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True))  # the nil UUID: none yet


class MirrorRow(Base):
    """The only row (`id` is 1) makes this database a mirror. Progress is written with the records that it counts."""

    __tablename__ = "mirror"

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    origin: Mapped[str]  # URL of the registry
    phase: Mapped[str]  # "loading" a dump, "following" the feed
    manifest: Mapped[JsonB | None]  # of the current or latest dump
    part: Mapped[int] = mapped_column(Integer)  # parts of it that are loaded
    line: Mapped[int] = mapped_column(Integer)  # lines of the next part that are loaded
    cursor: Mapped[str | None]  # of the feed: later events are not applied yet
    sequence: Mapped[int] = mapped_column(BigInteger)  # the latest position known to be applied
    without_restricted: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    refused: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))  # lines without a valid host
    behind_s: Mapped[int | None] = mapped_column(Integer)  # age of the first event that is not applied; 0: up to date
    contact_at: Mapped[Moment | None]  # last answer of the origin


class MirroredRow(Base):
    """The origin's latest statement about a host. `snapshot`: the dump that last contained it, or the dump before the
    event."""

    __tablename__ = "mirrored"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    state: Mapped[str]  # "listed", "opted_out", "blocked", "absent", "refused", "left_out"
    reason: Mapped[str] = mapped_column(server_default="")  # why it was refused or left out
    sequence: Mapped[int] = mapped_column(BigInteger)  # feed position of the state
    snapshot: Mapped[str]
    robots: Mapped[str | None]  # robots.txt of the host about training (core/merging/merge.py)


class JobRunRow(Base):
    """One run of a recurring job. Not sharded: a handful of rows a day."""

    __tablename__ = "job_runs"

    job: Mapped[str] = mapped_column(primary_key=True)
    started_at: Mapped[Moment] = mapped_column(primary_key=True)
    finished_at: Mapped[Moment | None]
    outcome: Mapped[str]  # jobs.RunOutcome; "running" also for a run whose process has died since
    figures: Mapped[JsonB]
    error: Mapped[str | None]


class ReferenceRow(Base):
    """Reference data newer than the copy shipped with this program. Every process reads it."""

    __tablename__ = "reference_data"

    name: Mapped[str] = mapped_column(primary_key=True)
    body: Mapped[Bytes]
    sha256: Mapped[Bytes]
    url: Mapped[str]
    etag: Mapped[str | None]
    last_modified: Mapped[str | None]
    fetched_at: Mapped[Moment]  # when this body was fetched
    checked_at: Mapped[Moment]  # when the publisher last confirmed it as current
