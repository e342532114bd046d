"""Claims of ownership, and what owners have set for their hosts."""

from sqlalchemy import Index, Integer, text
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Bytes, DomainKey, HostKey, Moment, Small


class ClaimRow(Base):
    """A claim of ownership. Once proven it is the ownership, until it ends.

    Open: `proven_at` is NULL. Proven: `proven_at` is set and `ended_at` is NULL. Of the tokens only digests are stored.
    """

    __tablename__ = "claims"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    id: Mapped[str] = mapped_column(primary_key=True)  # that of the tokens, too
    method: Mapped[str]  # "dns", "file"
    scope: Mapped[str]  # "host", "domain"
    digest: Mapped[Bytes]  # of the claim token
    client: Mapped[str | None]  # who made it: personal data, erased with the proof or after a day
    network: Mapped[str | None]  # that of the client (core/access/clients.py), erased with it
    created_at: Mapped[Moment]
    expires_at: Mapped[Moment]  # an open claim can be proven until then
    due_at: Mapped[Moment | None]  # when a worker checks it next; NULL: nobody asked
    claimed_until: Mapped[Moment | None]  # a worker checks it; after this time another one may
    checked_at: Mapped[Moment | None]
    answer: Mapped[str | None]  # of the last check: "published", "missing", "unanswered"
    failures: Mapped[Small] = mapped_column(server_default=text("0"))  # counted ones in a row
    unanswered_since: Mapped[Moment | None]
    proven_at: Mapped[Moment | None]
    verified_at: Mapped[Moment | None]  # last time that the value was read
    owner_digest: Mapped[Bytes | None]  # of the owner token; NULL: it was not handed out yet
    ended_at: Mapped[Moment | None]
    end_reason: Mapped[str | None]
    hour_at: Mapped[Moment | None]  # beginning of the hour in which `used` is counted
    used: Mapped[int] = mapped_column(Integer, server_default=text("0"))  # checks asked for, or changes by the owner

    __table_args__ = (
        Index(None, "id"),
        Index("ix_claims_due", "due_at", postgresql_where=text("due_at IS NOT NULL")),
        Index("ix_claims_client", "client", postgresql_where=text("client IS NOT NULL")),
        Index("ix_claims_network", "network", postgresql_where=text("network IS NOT NULL")),
        # Strangers may have many open claims of a domain; reads of a host must not pass them.
        Index("ix_claims_proven", "domain", postgresql_where=text("proven_at IS NOT NULL")),
    )


class OwnerSettingRow(Base):
    """What the owner of a host has set, besides hiding it (`listing_holds`). It ends with the ownership."""

    __tablename__ = "owner_settings"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    claim: Mapped[str]  # whose owner has set it last
    note: Mapped[str] = mapped_column(server_default="")
    canonical: Mapped[str | None]  # another host of the domain, which stands for this one: the pin in effect
    pinned: Mapped[str | None]  # the host that the owner wants to stand for this one
    consent: Mapped[str | None]  # id of the claim of `pinned` whose owner agreed
    webhook: Mapped[str | None]  # id of the subscription
    changed_at: Mapped[Moment]
