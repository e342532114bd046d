"""All tables. Keys begin with the domain, then the host, so that tables can be sharded by domain.

Exceptions: the change feed and its head (in one order), search targets and their dirty rows (by target), address
blocks (by day), job runs, daily figures, reference data, webhooks, API keys, the state of a mirror, the audit log,
places in the queue (by client), lists of submitted hosts (by their id), and causes of other trust (by a number).

The table of domains is the only queue (measured: leasing 100 domains takes about 10 ms at a million rows). Triggers on
`services`, on the canonical hosts of `owner_settings` and on ownerships in `claims` write `search_dirty` (see the
migrations 8c1d5e7f2b94, 2c7e95b0d4a1 and 3b8e6f1a2d94), so that no code path can forget it. The tables of a mirror are
empty in a registry that crawls.
"""

from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

from sqlalchemy import BigInteger, DateTime, Identity, Index, MetaData, Sequence, SmallInteger, Text, text
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, JSONB
from sqlalchemy.dialects.postgresql import UUID as PgUUID
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# Fixed names of indexes and constraints: a migration can drop only what it can name.
_NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

Moment = Annotated[datetime, mapped_column(DateTime(timezone=True))]
Bytes = Annotated[bytes, mapped_column(BYTEA)]
Small = Annotated[int, mapped_column(SmallInteger)]
Big = Annotated[int, mapped_column(BigInteger)]
JsonB = Annotated[Any, mapped_column(JSONB(none_as_null=True))]


class Base(DeclarativeBase):
    metadata = MetaData(naming_convention=_NAMES)
    # SQLAlchemy reads it from the class.
    type_annotation_map = {str: Text, UUID: PgUUID(as_uuid=True), list[str]: ARRAY(Text)}  # noqa: RUF012


class HostTable(Base):
    """The base of tables whose keys begin with a host and its domain."""

    __abstract__ = True
    domain: Mapped[str] = mapped_column(primary_key=True, sort_order=-2)
    host: Mapped[str] = mapped_column(primary_key=True, sort_order=-1)


# The frontier: domains to lease, hosts to visit, candidates that may become hosts, opt-outs.

# Updates of leases are never HOT, because an indexed column changes: vacuum dead rows early.
_BUSY = {"fillfactor": "80", "autovacuum_vacuum_scale_factor": "0.02"}


class DomainRow(Base):
    """A registrable domain: the unit of lease, budget and politeness."""

    __tablename__ = "domains"
    domain: Mapped[str] = mapped_column(primary_key=True)
    next_visit_at: Mapped[Moment | None]  # when due; while leased, when the lease expires; NULL: not scheduled
    lease_token: Mapped[UUID | None]
    lease_holder: Mapped[int | None]  # second key of its process's advisory lock
    attempts: Mapped[Small] = mapped_column(server_default=text("0"))  # leases since the last completed one
    source: Mapped[str]  # the first source that named it
    created_at: Mapped[Moment]

    __table_args__ = (
        Index(None, "next_visit_at"),
        # For recovery, which reads all leases: a few thousand at most, in a table of any size.
        Index("ix_domains_leased", "lease_holder", postgresql_where=text("lease_token IS NOT NULL")),
        {"postgresql_with": _BUSY},
    )


class HostRow(HostTable):
    """A host to visit. Columns from `outcome` on record its last visits, for scheduling and for inspection."""

    __tablename__ = "hosts"
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


class CandidateRow(HostTable):
    """A host named by a document of another host. The upkeep of the queue makes it a host."""

    __tablename__ = "candidates"
    referrer: Mapped[str] = mapped_column(primary_key=True)  # the host whose document names it
    rel: Mapped[str] = mapped_column(primary_key=True)
    document: Mapped[str]
    created_at: Mapped[Moment]
    folded_at: Mapped[Moment | None]
    verdict: Mapped[str | None]  # why it did not become a host

    __table_args__ = (Index("ix_candidates_open", "created_at", postgresql_where=text("folded_at IS NULL")),)


class OptOutRow(HostTable):
    """An opt-out. It outlives hosts, services, reindexing and restores; every writer checks this table. A row covers
    its host and every host below it; the row of the domain itself covers the whole domain."""

    __tablename__ = "opt_outs"
    how: Mapped[str]  # "robots", "file", "dns", "operator" (of this registry)
    evidence: Mapped[str]
    created_at: Mapped[Moment]


class OptOutRequestRow(HostTable):
    """A request to check whether a host opts out, or no longer does. One row per host: its latest request. `verdict`:
    the result (see registry/actions/maintenance/opt_out.py); NULL while the request waits or is being checked."""

    __tablename__ = "opt_out_requests"
    wish: Mapped[str]  # "out", "in"
    asked_at: Mapped[Moment]
    checked_at: Mapped[Moment | None]
    verdict: Mapped[str | None]
    client: Mapped[str | None]  # the requester: personal data, erased with the verdict or after a day
    claimed_until: Mapped[Moment | None]  # a worker checks it; after this time another one may
    # Rounds are checked in order. The requests of a client are in consecutive rounds, so that each round has one of
    # each client, and the first request of a new client is in the current round.
    round: Mapped[int] = mapped_column(server_default=text("0"))

    __table_args__ = (
        # No longer read; a later release drops it (CONTRIBUTING.md, "Adding a migration").
        Index("ix_opt_out_requests_open", "asked_at", postgresql_where=text("checked_at IS NULL")),
        Index("ix_opt_out_requests_client", "client", "round", postgresql_where=text("checked_at IS NULL")),
        Index("ix_opt_out_requests_round", "round", postgresql_where=text("checked_at IS NULL")),
    )


class SubmissionRow(HostTable):
    """A submission of a host that was never reached. `client` is personal data: rows are deleted after a day."""

    __tablename__ = "submissions"
    asked_at: Mapped[Moment] = mapped_column(primary_key=True)
    client: Mapped[str]  # an address, or an IPv6 /64
    resolved: Mapped[bool | None]  # false: the name certainly had no address; NULL: not visited yet

    __table_args__ = (Index(None, "client", "asked_at"), Index(None, "asked_at"))


# Services, merged from the current documents of their hosts; documents as served; indexes; records of the MCP registry.


class ServiceRow(HostTable):
    """One per host. `model` is the common model without its capabilities; the other columns are for lists."""

    __tablename__ = "services"
    name: Mapped[str]
    description: Mapped[str]
    base_url: Mapped[str]  # as ADP clients see it
    well_known_url: Mapped[str]  # the document with the highest precedence
    trust_level: Mapped[str]
    trust: Mapped[JsonB | None]  # reasons and resemblance of the listing; null: recorded before they were known
    trust_since: Mapped[JsonB | None]  # when the level and each reason began, see core/merging/trust.py
    score: Mapped[Small]
    auth_type: Mapped[str]
    pricing_type: Mapped[str]
    formats: Mapped[list[str]]
    protocols: Mapped[list[str]]
    category: Mapped[str | None]
    cap_count: Mapped[Small]
    injection_flags: Mapped[list[str]] = mapped_column(server_default="{}")
    hidden: Mapped[bool]
    crawl_failures: Mapped[Small]
    model: Mapped[JsonB]
    listing: Mapped[JsonB]
    listing_hash: Mapped[Bytes]
    rubric_version: Mapped[str]
    created_at: Mapped[Moment]
    updated_at: Mapped[Moment]  # last change of anything shown, except dates
    seen_at: Mapped[Moment]
    # see core/merging/speaking.py
    trust_depends_on: Mapped[list[str]] = mapped_column(server_default="{}")
    named_hosts: Mapped[list[str]] = mapped_column(server_default="{}")

    __table_args__ = (
        Index("ix_services_trust_depends_on", "trust_depends_on", postgresql_using="gin"),
        Index("ix_services_best", text("score DESC"), "host", postgresql_where=text("NOT hidden")),
        Index("ix_services_newest", text("created_at DESC"), "host", postgresql_where=text("NOT hidden")),
    )


class TrustCauseRow(Base):
    """A change on which the trust of services may depend: of a listing, or of an ownership. Written by triggers."""

    __tablename__ = "trust_causes"
    id: Mapped[Big] = mapped_column(Identity(), primary_key=True)
    names: Mapped[list[str]]


class CapabilityRow(HostTable):
    """`name` is unique within the service: it is a segment of this registry's URLs."""

    __tablename__ = "capabilities"
    name: Mapped[str] = mapped_column(primary_key=True)
    position: Mapped[Small]
    data: Mapped[JsonB]
    detail: Mapped[JsonB | None]  # ADP: the detail document as served
    # Arguments of the example call, made from the schema in `data` when it was recorded; NULL: it has no example, or an
    # older program wrote the row.
    example: Mapped[JsonB | None]
    reach: Mapped[JsonB | None]  # whether and where it can be called, see core/calling/reach.py; NULL: not computed yet
    fingerprint: Mapped[Bytes | None]  # as in the change feed; NULL: written before it was stored
    # NULL in rows of programs that did not write them. `changed_at`: when it got this fingerprint.
    first_seen_at: Mapped[Moment | None]
    changed_at: Mapped[Moment | None]

    __table_args__ = (Index("ix_capabilities_unreached", "domain", "host", postgresql_where=text("reach IS NULL")),)


class FindingRow(HostTable):
    __tablename__ = "findings"
    ordinal: Mapped[Small] = mapped_column(primary_key=True)
    reason: Mapped[str]
    document: Mapped[str | None]  # URL; None = about the merged service
    pointer: Mapped[str]
    evidence: Mapped[str]


class ScoreRow(HostTable):
    """One score of a host, with the facts and lines from which it was computed."""

    __tablename__ = "scores"
    scored_at: Mapped[Moment] = mapped_column(primary_key=True)
    value: Mapped[Small]
    rubric_version: Mapped[str]
    breakdown: Mapped[JsonB]  # sections, lines and facts


class BodyRow(Base):
    """Raw bytes, never cast to jsonb: a body may hold numbers or nesting that cannot be decoded again."""

    __tablename__ = "bodies"
    domain: Mapped[str] = mapped_column(primary_key=True)
    sha256: Mapped[Bytes] = mapped_column(primary_key=True)
    body: Mapped[Bytes]


class DocumentRow(HostTable):
    """The current answer of one URL. The key holds a hash: a URL may be longer than a btree entry."""

    __tablename__ = "documents"
    url_hash: Mapped[Bytes] = mapped_column(primary_key=True)  # sha256 of `url`
    url: Mapped[str]  # as requested
    final_url: Mapped[str]  # after redirects
    purpose: Mapped[str]
    outcome: Mapped[str]
    reason: Mapped[str]
    format: Mapped[str | None]
    dialect: Mapped[str | None]
    status: Mapped[Small | None]
    media_type: Mapped[str | None]
    etag: Mapped[str | None]
    last_modified: Mapped[str | None]
    headers: Mapped[JsonB]
    size: Mapped[int]
    sha256: Mapped[Bytes]
    has_body: Mapped[bool]
    via: Mapped[JsonB | None]
    alias_of: Mapped[str | None]  # URL of the same bytes at a more preferred path
    findings: Mapped[JsonB]
    rubric_version: Mapped[str]
    first_seen_at: Mapped[Moment]
    changed_at: Mapped[Moment]
    seen_at: Mapped[Moment]
    missed_at: Mapped[Moment | None]  # first visit that missed it; a second one decides
    transport: Mapped[JsonB | None]  # transport facts of the fetch when this row was written whole; see core/evidence


class CallCheckRow(HostTable):
    """A check of an address that documents name for calls (core/visiting/call_checks.py)."""

    __tablename__ = "call_checks"
    url_hash: Mapped[Bytes] = mapped_column(primary_key=True)  # sha256 of `url`
    checked_at: Mapped[Moment] = mapped_column(primary_key=True)
    url: Mapped[str]
    method: Mapped[str]  # "OPTIONS", "HEAD"
    answers: Mapped[bool | None]  # NULL: nothing is known
    status: Mapped[Small | None]  # NULL: no answer
    reason: Mapped[str]


class DocumentHistoryRow(HostTable):
    """One row per version of a document, the first included."""

    __tablename__ = "document_history"
    url_hash: Mapped[Bytes] = mapped_column(primary_key=True)
    changed_at: Mapped[Moment] = mapped_column(primary_key=True)
    url: Mapped[str]
    outcome: Mapped[str]
    reason: Mapped[str]
    format: Mapped[str | None]
    dialect: Mapped[str | None]
    status: Mapped[Small | None]
    size: Mapped[int]
    sha256: Mapped[Bytes]


# Versions come from a sequence, not a counter per row: a row deleted and noted again never repeats an earlier version.
DIRTY_VERSIONS = Sequence("search_dirty_versions", metadata=Base.metadata, data_type=BigInteger)


class SearchTargetRow(Base):
    __tablename__ = "search_target"
    target: Mapped[str] = mapped_column(primary_key=True)  # "embedded:<uuid>", "meilisearch"
    created_at: Mapped[Moment]
    seen_at: Mapped[Moment]


class SearchDirtyRow(Base):
    """A note that a target must index a service again. No foreign key to services: deleted services must be removed
    too."""

    __tablename__ = "search_dirty"
    target: Mapped[str] = mapped_column(primary_key=True)
    host: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str]
    version: Mapped[Big]
    noted_at: Mapped[Moment]  # of the oldest change that the target has not seen


class McpServerRow(HostTable):
    """A version of a server, with its name and version in byte order, as the API lists them. `status`: active,
    deprecated, or deleted (no longer served; without `server` and `notes`, kept as long as the change feed). A trigger
    on `services` sets `deleted`, so that no code path can forget it."""

    __tablename__ = "mcp_servers"
    name: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    version: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    status: Mapped[str]
    is_latest: Mapped[bool]
    server: Mapped[JsonB | None]  # server.json
    notes: Mapped[JsonB | None]  # server_records.ServerRecord.notes
    published_at: Mapped[Moment]
    updated_at: Mapped[Moment]  # last change of anything but `is_latest`
    status_changed_at: Mapped[Moment]

    __table_args__ = (
        Index("ix_mcp_servers_name", "name", "version"),
        Index("ix_mcp_servers_updated_at", "updated_at"),
    )


class McpLeftOutRow(HostTable):
    """A service that is an MCP server but has no record, and why (server_records.LEFT_OUT)."""

    __tablename__ = "mcp_left_out"
    reason: Mapped[str]


# The ledger of visits, the change feed, mirrors, job runs, reference data.


class VisitRow(HostTable):
    """One visit of one host. Its vector holds all requests and answers, which explain the outcome.

    Partitioned by month: see registry/store/visit_months.py. The primary key is one of the partitions: the table itself
    has none, because it would have to contain `kept`.
    """

    __tablename__ = "visits"
    started_at: Mapped[Moment] = mapped_column(primary_key=True)
    finished_at: Mapped[Moment]
    outcome: Mapped[str]
    reason: Mapped[str]
    whole_plan: Mapped[bool]
    requests: Mapped[int]  # planned requests
    sent: Mapped[int | None]  # requests that were dialled; NULL: by a program that did not count them
    standing: Mapped[Small | None]  # shares.Standing: whose part of the daily budget was spent; NULL as above
    address: Mapped[str | None]
    vector: Mapped[Bytes]  # see registry/store/visit_log_encoding.py; never read in SQL
    kept: Mapped[bool] = mapped_column(server_default=text("false"))  # outlives its month: one of the host's latest

    __table_args__ = ({"postgresql_partition_by": "LIST (kept)"},)


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
    id: Mapped[UUID] = mapped_column(primary_key=True)
    domain: Mapped[str]
    host: Mapped[str]
    kind: Mapped[str]
    at: Mapped[Moment]
    data: Mapped[JsonB]
    arrival: Mapped[Big] = mapped_column(server_default=text("0"))  # from ARRIVALS; 0: older than the column
    seq: Mapped[Big | None]
    event_id: Mapped[UUID | None]  # RFC 9562, version 7

    __table_args__ = (
        Index(None, "domain", "host", "id"),
        Index(None, "seq", unique=True),
        Index("ix_changes_unsequenced", "arrival", "id", postgresql_where=text("seq IS NULL")),
    )


class FeedHeadRow(Base):
    """The ends of the change feed: one row (key 1), made by the first run of the sequencer. It outlives the events, so
    that a reader whose place was pruned gets an error, and no place is ever given twice."""

    __tablename__ = "feed_head"
    key: Mapped[Small] = mapped_column(primary_key=True, autoincrement=False)
    mark: Mapped[str]  # nine hexadecimal digits unique to this feed, in every event_id
    latest_seq: Mapped[Big]  # 0: no event yet
    latest_id: Mapped[UUID]  # the nil UUID: no event yet
    latest_at: Mapped[Moment | None]  # when the latest event happened
    pruned_seq: Mapped[Big]  # the last deleted place; 0: none yet
    pruned_id: Mapped[UUID]  # the nil UUID: none yet


class MirrorRow(Base):
    """The only row (`id` is 1) makes this database a mirror. Progress is written with the records that it counts."""

    __tablename__ = "mirror"
    id: Mapped[Small] = mapped_column(primary_key=True)
    origin: Mapped[str]  # URL of the registry
    phase: Mapped[str]  # "loading" a dump, "following" the feed
    manifest: Mapped[JsonB | None]  # of the current or latest dump
    part: Mapped[int]  # parts of it that are loaded
    line: Mapped[int]  # lines of the next part that are loaded
    cursor: Mapped[str | None]  # of the feed: later events are not applied yet
    sequence: Mapped[Big]  # the latest position known to be applied
    without_restricted: Mapped[bool] = mapped_column(server_default=text("false"))
    refused: Mapped[Big] = mapped_column(server_default=text("0"))  # lines without a valid host
    behind_s: Mapped[int | None]  # age of the first event that is not applied; 0: up to date
    contact_at: Mapped[Moment | None]  # last answer of the origin


class MirroredRow(HostTable):
    """The origin's latest statement about a host. `snapshot`: the dump that last contained it, or the dump before the
    event."""

    __tablename__ = "mirrored"
    state: Mapped[str]  # "listed", "opted_out", "blocked", "absent", "refused", "left_out"
    reason: Mapped[str] = mapped_column(server_default="")  # why it was refused or left out
    sequence: Mapped[Big]  # feed position of the state
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


class DailyFiguresRow(Base):
    """What the registry listed on a day (UTC). Never deleted: about two kilobytes a day. Not sharded."""

    __tablename__ = "daily_figures"
    day: Mapped[date] = mapped_column(primary_key=True)
    at: Mapped[Moment]  # when it was last counted
    figures: Mapped[JsonB]  # of actions/queries/statistics.py


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


class MaintenanceRow(Base):
    """The message for clients while the registry is in maintenance: one row (key 1), none otherwise."""

    __tablename__ = "maintenance"
    key: Mapped[Small] = mapped_column(primary_key=True, autoincrement=False)
    message: Mapped[str]
    since: Mapped[Moment]


# Requests by clients; decisions by operators and owners.


class TurnRow(Base):
    """The place of a client's last submission in the visit queue. Personal data: deleted after a day."""

    __tablename__ = "turns"
    client: Mapped[str] = mapped_column(primary_key=True)  # an address, or an IPv6 /64
    due: Mapped[Moment]  # the time in the queue (domains.next_visit_at) of its last submission
    asked_at: Mapped[Moment]

    __table_args__ = (Index(None, "asked_at"),)


class SubmissionListRow(Base):
    """Hosts that were submitted together. The id is the secret of the list's status address."""

    __tablename__ = "submission_lists"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    asked_at: Mapped[Moment]
    done_at: Mapped[Moment | None]  # NULL: its hosts are being queued
    client: Mapped[str | None]  # with the key: personal data, erased after a day
    key: Mapped[str | None]  # Idempotency-Key
    body_sha256: Mapped[Bytes]
    refused: Mapped[JsonB] = mapped_column(server_default=text("'[]'"))  # [{"index", "code", "retry_at"?}]

    __table_args__ = (
        Index(
            "ix_submission_lists_key", "client", "key", unique=True, postgresql_where=text("client IS NOT NULL")
        ),
        Index(None, "asked_at"),
    )  # fmt: skip


class SubmittedHostRow(HostTable):
    """An accepted host of a list."""

    __tablename__ = "submitted_hosts"
    list: Mapped[UUID] = mapped_column(primary_key=True)
    index: Mapped[int]  # its place in the list, from 0
    state: Mapped[str]  # result of the submission: new, queued, known

    __table_args__ = (Index(None, "list", "index"),)


class RecheckRow(HostTable):
    """A requested repeated visit. `client` is personal data: rows are deleted after a day."""

    __tablename__ = "rechecks"
    asked_at: Mapped[Moment] = mapped_column(primary_key=True)
    client: Mapped[str | None]  # NULL: the owner of the host

    __table_args__ = (Index(None, "client", "asked_at"), Index(None, "asked_at"))


class ReportRow(HostTable):
    """A report about a host: filings of several clients for the same reason while it was open."""

    __tablename__ = "reports"
    id: Mapped[UUID] = mapped_column(primary_key=True)  # RFC 9562, version 7
    code: Mapped[str]
    state: Mapped[str]  # open, in_review, accepted, rejected
    answer: Mapped[str]  # by this registry's operator; empty: none yet
    further_filings: Mapped[int] = mapped_column(server_default=text("0"))  # counted but not stored
    filed_at: Mapped[Moment]
    updated_at: Mapped[Moment]

    __table_args__ = (Index("ix_reports_open", "id", postgresql_where=text("state IN ('open', 'in_review')")),)


class FilingRow(HostTable):
    """One client's text of a report, and the secret of the address at which it reads the answer."""

    __tablename__ = "report_filings"
    id: Mapped[str] = mapped_column(primary_key=True)  # same as the token's
    digest: Mapped[Bytes]  # SHA-256 of its secret
    report: Mapped[UUID]
    reason: Mapped[str]
    client: Mapped[str | None]  # personal data, erased after a day
    filed_at: Mapped[Moment]

    __table_args__ = (
        Index(None, "id", unique=True),
        Index(None, "domain", "host", "report"),
        Index("ix_report_filings_client", "filed_at", postgresql_where=text("client IS NOT NULL")),
    )


class FeedbackRow(HostTable):
    """A client's verdict on an answer (actions/feedback.py), its latest of a day about a capability."""

    __tablename__ = "feedback"
    id: Mapped[UUID] = mapped_column(primary_key=True)  # RFC 9562, version 7
    capability: Mapped[str]  # its name; empty: the service as a whole
    verdict: Mapped[str]  # right, wrong, call_failed
    status: Mapped[Small | None]  # of the failed call
    q: Mapped[str]  # the question
    note: Mapped[str]
    client: Mapped[str | None]  # digest of the client and the day: personal data, erased after a day
    at: Mapped[Moment]

    __table_args__ = (Index("ix_feedback_client", "client", postgresql_where=text("client IS NOT NULL")),)


class SiteCheckRow(HostTable):
    """A check of a site on request (actions/site_checks.py). Only who has its token sees it, until it expires."""

    __tablename__ = "site_checks"
    id: Mapped[str] = mapped_column(primary_key=True)  # in its token
    digest: Mapped[Bytes]  # of its token
    url: Mapped[str | None]  # NULL: the whole host
    client: Mapped[str]  # digest of the client and the day
    created_at: Mapped[Moment]
    expires_at: Mapped[Moment]  # then the row is deleted
    claimed_until: Mapped[Moment | None]  # a worker makes it; after this time another one may
    checked_at: Mapped[Moment | None]
    sent: Mapped[Small] = mapped_column(server_default=text("0"))  # requests, for the daily budget of the domain
    result: Mapped[Bytes | None]  # JSON

    __table_args__ = (
        Index(None, "id"),
        Index("ix_site_checks_client", "client"),
        Index("ix_site_checks_waiting", "created_at", postgresql_where=text("checked_at IS NULL")),
    )


class ApiKeyRow(Base):
    """A key. Not sharded: an operator makes each row. Revoked keys stay, because the audit log names them."""

    __tablename__ = "api_keys"
    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    scopes: Mapped[list[str]]
    digest: Mapped[Bytes]  # SHA-256 of the secret
    created_at: Mapped[Moment]
    expires_at: Mapped[Moment | None]
    revoked_at: Mapped[Moment | None]
    last_used_on: Mapped[date | None]


class AuditRow(Base):
    """An entry of the audit log. A trigger refuses to change or delete rows. Not sharded: in one order, as the change
    feed is."""

    __tablename__ = "audit"
    id: Mapped[UUID] = mapped_column(primary_key=True)  # RFC 9562, version 7
    at: Mapped[Moment]
    actor: Mapped[str]
    action: Mapped[str]
    domain: Mapped[str]
    host: Mapped[str]
    reason: Mapped[str]
    detail: Mapped[JsonB]

    __table_args__ = (Index(None, "host", "id"),)


class BlockDayRow(Base):
    """Requests per address block and day. The key begins with the day, by which old rows are deleted."""

    __tablename__ = "block_days"
    day: Mapped[date] = mapped_column(primary_key=True)  # in UTC
    block: Mapped[str] = mapped_column(primary_key=True)  # "192.0.2.0/24"
    requests: Mapped[Big]


class ListingHoldRow(HostTable):
    """A hold (core/access/holds.py). It outlives its host; every writer of services checks this table."""

    __tablename__ = "listing_holds"
    kind: Mapped[str] = mapped_column(primary_key=True)  # "blocked", "quarantined", "hidden"
    covers_below: Mapped[bool]
    actor: Mapped[str]
    reason: Mapped[str]
    since: Mapped[Moment]


class ClaimRow(HostTable):
    """A claim of ownership. Once proven it is the ownership, until it ends. Open: `proven_at` is NULL. Proven:
    `proven_at` is set and `ended_at` is NULL. Only digests of the tokens are stored."""

    __tablename__ = "claims"
    id: Mapped[str] = mapped_column(primary_key=True)  # same as the tokens'
    method: Mapped[str]  # "dns", "file"
    scope: Mapped[str]  # "host", "domain"
    digest: Mapped[Bytes]  # of the claim token
    client: Mapped[str | None]  # the claimant: personal data, erased with the proof or after a day
    network: Mapped[str | None]  # of the client (core/access/clients.py), erased with it
    created_at: Mapped[Moment]
    expires_at: Mapped[Moment]  # deadline for the proof of an open claim
    due_at: Mapped[Moment | None]  # when a worker checks it next; NULL: no check requested
    claimed_until: Mapped[Moment | None]  # a worker checks it; after this time another one may
    checked_at: Mapped[Moment | None]
    answer: Mapped[str | None]  # of the last check: "published", "missing", "unanswered"
    reason: Mapped[str] = mapped_column(server_default="")  # why: a code of core/access/claim_outcomes.py
    failures: Mapped[Small] = mapped_column(server_default=text("0"))  # consecutive, as far as they count
    unanswered_since: Mapped[Moment | None]
    proven_at: Mapped[Moment | None]
    verified_at: Mapped[Moment | None]  # last time the value was read
    owner_digest: Mapped[Bytes | None]  # of the owner token; NULL: not handed out yet
    ended_at: Mapped[Moment | None]
    end_reason: Mapped[str | None]
    hour_at: Mapped[Moment | None]  # beginning of the hour in which `used` is counted
    used: Mapped[int] = mapped_column(server_default=text("0"))  # checks requested, or changes by the owner

    __table_args__ = (
        Index(None, "id"),
        Index("ix_claims_due", "due_at", postgresql_where=text("due_at IS NOT NULL")),
        Index("ix_claims_client", "client", postgresql_where=text("client IS NOT NULL")),
        Index("ix_claims_network", "network", postgresql_where=text("network IS NOT NULL")),
        # Strangers may have many open claims of a domain; reads of a host must not pass them.
        Index("ix_claims_proven", "domain", postgresql_where=text("proven_at IS NOT NULL")),
    )


class OwnerSettingRow(HostTable):
    """Settings of a host's owner, except hiding (`listing_holds`). They end with the ownership."""

    __tablename__ = "owner_settings"
    claim: Mapped[str]  # the claim whose owner set it last
    note: Mapped[str] = mapped_column(server_default="")
    canonical: Mapped[str | None]  # another host of the domain: the pin in effect
    pinned: Mapped[str | None]  # the canonical host that the owner wants
    consent: Mapped[str | None]  # id of the claim of `pinned` whose owner agreed
    webhook: Mapped[str | None]  # id of the subscription
    checks_calls: Mapped[bool] = mapped_column(server_default=text("true"))  # whether addresses for calls are checked
    changed_at: Mapped[Moment]


class WebhookRow(Base):
    """A subscription. At most one message is pending; its content and id stay the same until it is delivered. Not
    sharded: an operator makes each row."""

    __tablename__ = "webhooks"
    id: Mapped[str] = mapped_column(primary_key=True)
    url: Mapped[str]
    types: Mapped[list[str]]  # patterns of kinds.Types; empty: all
    hosts: Mapped[list[str]]  # events of these and of all below them; empty: all
    secret: Mapped[str]  # in clear text: a signature needs it (docs/adr/0031)
    previous_secret: Mapped[str | None]  # also signs, until `previous_until`
    previous_until: Mapped[Moment | None]
    created_at: Mapped[Moment]
    verified_at: Mapped[Moment | None]  # NULL: a challenge has to be answered first
    disabled_at: Mapped[Moment | None]
    disabled_reason: Mapped[str | None]
    seq: Mapped[Big]  # place in the feed up to which events were sent
    due_at: Mapped[Moment]  # when the next attempt, or the next message, may be made
    failures: Mapped[Small]  # failed attempts in a row
    first_failure_at: Mapped[Moment | None]
    message_id: Mapped[str | None]  # the pending message; NULL: none
    message_body: Mapped[str | None]
    message_seq: Mapped[Big | None]  # place up to which it contains events
    claim: Mapped[str | None]  # the ownership that covers the receiver; NULL: an operator named it, or an old program
    test_at: Mapped[Moment | None]  # when its owner asked for a test message that is not sent yet


class WebhookChallengeRow(HostTable):
    """A challenge sent to a receiver in the last day. It outlives its webhook, which owners may replace at any time."""

    __tablename__ = "webhook_challenges"
    id: Mapped[UUID] = mapped_column(primary_key=True)  # RFC 9562, version 7
    at: Mapped[Moment]


class WebhookDeliveryRow(Base):
    """An attempt. The latest ones of each webhook are kept with the message, so that it can be sent again."""

    __tablename__ = "webhook_deliveries"
    id: Mapped[UUID] = mapped_column(primary_key=True)  # RFC 9562, version 7
    webhook: Mapped[str]
    message_id: Mapped[str]
    purpose: Mapped[str]  # messages.Purpose
    body: Mapped[str]
    at: Mapped[Moment]
    status: Mapped[Small | None]  # of the answer; NULL: no answer
    reason: Mapped[str]  # schedule.Attempt.reason; empty: delivered
    duration_ms: Mapped[int]

    __table_args__ = (Index(None, "webhook", "id"),)
