"""The frontier: domains to lease, hosts to visit, candidates that may become hosts, and opt-outs.

The table of domains is the only queue (measured: leasing 100 domains takes about 10 ms at a million rows).
"""

from uuid import UUID

from sqlalchemy import Index, Integer, text
from sqlalchemy.dialects.postgresql import UUID as PgUUID
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Bytes, DomainKey, HostKey, JsonB, Moment, Small

# Updates of leases are never HOT, because an indexed column changes: vacuum dead rows early.
_BUSY = {"fillfactor": "80", "autovacuum_vacuum_scale_factor": "0.02"}


class DomainRow(Base):
    """A registrable domain: the unit of lease, budget and politeness."""

    __tablename__ = "domains"

    domain: Mapped[DomainKey]
    next_visit_at: Mapped[Moment | None]  # when due; while leased, when the lease expires; NULL: not scheduled
    lease_token: Mapped[UUID | None] = mapped_column(PgUUID(as_uuid=True))
    lease_holder: Mapped[int | None] = mapped_column(Integer)  # second key of its process's advisory lock
    attempts: Mapped[Small] = mapped_column(server_default=text("0"))  # leases since the last completed one
    source: Mapped[str]  # the first source that named it
    created_at: Mapped[Moment]

    __table_args__ = (
        Index(None, "next_visit_at"),
        # For recovery, which reads all leases: a few thousand at most, in a table of any size.
        Index("ix_domains_leased", "lease_holder", postgresql_where=text("lease_token IS NOT NULL")),
        {"postgresql_with": _BUSY},
    )


class HostRow(Base):
    """A host to visit. Columns from `outcome` on record its last visits, for scheduling and for inspection."""

    __tablename__ = "hosts"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    next_visit_at: Mapped[Moment | None]  # NULL: not scheduled
    next_visit_why: Mapped[str] = mapped_column(server_default="new")  # reasons.DueReason
    source: Mapped[str]
    referrer: Mapped[str | None]  # within the source: host of a document, file, sitemap, registry server
    created_at: Mapped[Moment]
    submitted_at: Mapped[Moment | None]
    outcome: Mapped[str | None]
    reason: Mapped[str] = mapped_column(server_default="")
    streak: Mapped[Small] = mapped_column(server_default=text("0"))  # visits in a row with this outcome
    interval_s: Mapped[int | None]  # between the last visit and the next
    soft_failures: Mapped[Small] = mapped_column(server_default=text("0"))  # in a row
    first_failure_at: Mapped[Moment | None]  # of the current soft failures
    last_visit_at: Mapped[Moment | None]
    last_found_at: Mapped[Moment | None]
    last_changed_at: Mapped[Moment | None]
    whole_plan_at: Mapped[Moment | None]
    alias_of: Mapped[str | None]  # this host is an alias of it; in the same domain
    address: Mapped[str | None]
    response_ms: Mapped[int | None]  # median of the last visit that reached the host
    robots_status: Mapped[Small | None]
    robots_body: Mapped[Bytes | None]
    robots_at: Mapped[Moment | None]
    pending: Mapped[JsonB] = mapped_column(server_default=text("'[]'"))  # probes left over when a visit's budget ended
    # Path -> day (ISO 8601) of its last request, for the paths that a first bulk visit leaves out.
    asked: Mapped[JsonB] = mapped_column(server_default=text("'{}'"))
    turn: Mapped[Small] = mapped_column(server_default=text("0"))  # hosts of the domain its submitter named before it

    __table_args__ = ({"postgresql_with": _BUSY},)


class CandidateRow(Base):
    """A host named by a document of another host. `seed.fold_candidates` makes it a host."""

    __tablename__ = "candidates"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    referrer: Mapped[str] = mapped_column(primary_key=True)  # the host whose document names it
    rel: Mapped[str] = mapped_column(primary_key=True)
    document: Mapped[str]
    created_at: Mapped[Moment]
    folded_at: Mapped[Moment | None]
    verdict: Mapped[str | None]  # why it did not become a host

    __table_args__ = (Index("ix_candidates_open", "created_at", postgresql_where=text("folded_at IS NULL")),)


class OptOutRow(Base):
    """An opt-out. It outlives hosts, services, reindexing and restores; every writer checks this table.

    A row covers its host and every host below it; the row of the domain itself covers the whole domain.
    """

    __tablename__ = "opt_outs"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    how: Mapped[str]  # "robots", "file", "dns", "operator" (of this registry)
    evidence: Mapped[str]
    created_at: Mapped[Moment]


class OptOutRequestRow(Base):
    """A request to check whether a host opts out, or no longer does. One row per host: its latest request.

    `verdict`: the result (see registry/actions/maintenance/opt_out.py); NULL while the request waits or is being
    checked.
    """

    __tablename__ = "opt_out_requests"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    wish: Mapped[str]  # "out", "in"
    asked_at: Mapped[Moment]
    checked_at: Mapped[Moment | None]
    verdict: Mapped[str | None]
    client: Mapped[str | None]  # the requester: personal data, erased with the verdict or after a day
    claimed_until: Mapped[Moment | None]  # a worker checks it; after this time another one may
    # Rounds are checked in order. The requests of a client are in consecutive rounds, so that each round has one of
    # each client, and the first request of a new client is in the current round.
    round: Mapped[int] = mapped_column(Integer, server_default=text("0"))

    __table_args__ = (
        # No longer read; a later release drops it (CONTRIBUTING.md, "Adding a migration").
        Index("ix_opt_out_requests_open", "asked_at", postgresql_where=text("checked_at IS NULL")),
        Index("ix_opt_out_requests_client", "client", "round", postgresql_where=text("checked_at IS NULL")),
        Index("ix_opt_out_requests_round", "round", postgresql_where=text("checked_at IS NULL")),
    )


class SubmissionRow(Base):
    """A submission of a host that was never reached. `client` is personal data: rows are deleted after a day."""

    __tablename__ = "submissions"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    asked_at: Mapped[Moment] = mapped_column(primary_key=True)
    client: Mapped[str]  # an address, or an IPv6 /64
    resolved: Mapped[bool | None]  # false: the name certainly had no address; NULL: not visited yet

    __table_args__ = (Index(None, "client", "asked_at"), Index(None, "asked_at"))
