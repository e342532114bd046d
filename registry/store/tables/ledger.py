"""The ledger: one row per visit. The change feed: one row per event, and its head."""

from uuid import UUID

from sqlalchemy import BigInteger, Index, Integer, Sequence, text
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


# The order of insertion. Changes of one host are inserted under the lock of its domain, so theirs is their true order,
# which the clocks of several processes are not.
ARRIVALS = Sequence("changes_arrival", metadata=Base.metadata, data_type=BigInteger)


class ChangeRow(Base):
    """An event of the append-only change feed, written in the transaction of what it tells. Not sharded by domain.

    `id` is made before the commit, so readers must not order by it. The sequencer (registry/store/feed.py) gives every
    committed row its place: `seq`, without gaps, and `event_id`, which rises with it. Readers see only rows that have
    a place. `data` of a host that opted out or was forgotten is emptied; the row stays as its tombstone.
    """

    __tablename__ = "changes"

    id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True), primary_key=True)
    domain: Mapped[str]
    host: Mapped[str]
    kind: Mapped[str]
    at: Mapped[Moment]
    data: Mapped[JsonB]
    arrival: Mapped[int] = mapped_column(BigInteger, server_default=text("0"))  # of ARRIVALS; 0: older than the column
    seq: Mapped[int | None] = mapped_column(BigInteger)
    event_id: Mapped[UUID | None] = mapped_column(PgUUID(as_uuid=True))  # RFC 9562, version 7

    __table_args__ = (
        Index(None, "domain", "host", "id"),
        Index(None, "seq", unique=True),
        Index("ix_changes_unsequenced", "arrival", "id", postgresql_where=text("seq IS NULL")),
    )


class FeedHeadRow(Base):
    """The ends of the change feed: one row (key 1), made by the first run of the sequencer.

    It outlives the events, so that a reader whose place was pruned is told so, and no place is ever given twice.
    """

    __tablename__ = "feed_head"

    key: Mapped[Small] = mapped_column(primary_key=True, autoincrement=False)
    mark: Mapped[str]  # nine hexadecimal digits of this feed's own, in every event_id
    latest_seq: Mapped[int] = mapped_column(BigInteger)  # 0: no event yet
    latest_id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True))  # the nil UUID: no event yet
    latest_at: Mapped[Moment | None]  # when the latest event happened
    pruned_seq: Mapped[int] = mapped_column(BigInteger)  # the last place that was deleted; 0: none yet
    pruned_id: Mapped[UUID] = mapped_column(PgUUID(as_uuid=True))  # the nil UUID: none yet
