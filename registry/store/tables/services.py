"""Services, documents as served, search indexes, and records of the MCP registry's API.

Services are merged from the current documents of their hosts, with capabilities, findings and scores. A body is stored
once per domain; a URL has its current answer and a history. Triggers on `services` and on the canonical hosts of
`owner_settings` write `search_dirty` (see the first migration and 2c7e95b0d4a1), so that no code path can forget it.
"""

from sqlalchemy import BigInteger, Identity, Index, Integer, Sequence, Text, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Bytes, DomainKey, HostKey, JsonB, Moment, Small


class ServiceRow(Base):
    """One per host. `model` is the common model without its capabilities; the other columns are for lists."""

    __tablename__ = "services"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
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
    formats: Mapped[list[str]] = mapped_column(ARRAY(Text))
    protocols: Mapped[list[str]] = mapped_column(ARRAY(Text))
    category: Mapped[str | None]
    cap_count: Mapped[Small]
    injection_flags: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
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
    trust_depends_on: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")
    named_hosts: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default="{}")

    __table_args__ = (
        Index("ix_services_trust_depends_on", "trust_depends_on", postgresql_using="gin"),
        Index("ix_services_best", text("score DESC"), "host", postgresql_where=text("NOT hidden")),
        Index("ix_services_newest", text("created_at DESC"), "host", postgresql_where=text("NOT hidden")),
    )


class TrustCauseRow(Base):
    """A change on which the trust of services may depend: of a listing, or of an ownership. Written by triggers."""

    __tablename__ = "trust_causes"

    id: Mapped[int] = mapped_column(BigInteger, Identity(), primary_key=True)
    names: Mapped[list[str]] = mapped_column(ARRAY(Text))


class CapabilityRow(Base):
    """`name` is unique within the service: it is a segment of this registry's URLs."""

    __tablename__ = "capabilities"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    name: Mapped[str] = mapped_column(primary_key=True)
    position: Mapped[Small]
    data: Mapped[JsonB]
    detail: Mapped[JsonB | None]  # ADP: the detail document as served
    # Arguments of the example call, made from the schema in `data` when it was recorded; NULL: it has no example, or an
    # older program wrote the row.
    example: Mapped[JsonB | None]
    fingerprint: Mapped[Bytes | None]  # as in the change feed; NULL: written before it was stored
    # NULL in rows of programs that did not write them. `changed_at`: when it got this fingerprint.
    first_seen_at: Mapped[Moment | None]
    changed_at: Mapped[Moment | None]


class FindingRow(Base):
    __tablename__ = "findings"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    ordinal: Mapped[Small] = mapped_column(primary_key=True)
    reason: Mapped[str]
    document: Mapped[str | None]  # URL; None = about the merged service
    pointer: Mapped[str]
    evidence: Mapped[str]


class ScoreRow(Base):
    """One score of a host, with the facts and lines from which it was computed."""

    __tablename__ = "scores"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    scored_at: Mapped[Moment] = mapped_column(primary_key=True)
    value: Mapped[Small]
    rubric_version: Mapped[str]
    breakdown: Mapped[JsonB]  # sections, lines and facts


class BodyRow(Base):
    """Raw bytes, never cast to jsonb: a body may hold numbers or nesting that cannot be decoded again."""

    __tablename__ = "bodies"

    domain: Mapped[DomainKey]
    sha256: Mapped[Bytes] = mapped_column(primary_key=True)
    body: Mapped[Bytes]


class DocumentRow(Base):
    """The current answer of one URL. The key holds a hash: a URL may be longer than a btree entry."""

    __tablename__ = "documents"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
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
    size: Mapped[int] = mapped_column(Integer)
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


class DocumentHistoryRow(Base):
    """One row per version of a document, the first included."""

    __tablename__ = "document_history"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    url_hash: Mapped[Bytes] = mapped_column(primary_key=True)
    changed_at: Mapped[Moment] = mapped_column(primary_key=True)
    url: Mapped[str]
    outcome: Mapped[str]
    reason: Mapped[str]
    format: Mapped[str | None]
    dialect: Mapped[str | None]
    status: Mapped[Small | None]
    size: Mapped[int] = mapped_column(Integer)
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
    version: Mapped[int] = mapped_column(BigInteger)
    noted_at: Mapped[Moment]  # of the oldest change that the target has not seen


class McpServerRow(Base):
    """A version of a server, with its name and version in byte order, as the API lists them.

    `status`: active, deprecated, or deleted (no longer served; without `server` and `notes`, kept as long as the change
    feed). A trigger on `services` sets `deleted`, so that no code path can forget it.
    """

    __tablename__ = "mcp_servers"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
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


class McpLeftOutRow(Base):
    """A service that is an MCP server but has no record, and why (server_records.LEFT_OUT)."""

    __tablename__ = "mcp_left_out"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    reason: Mapped[str]
