"""What hosts served: each body once per domain, the current answer of each URL, and every change of it."""

from sqlalchemy import Integer
from sqlalchemy.orm import Mapped, mapped_column

from registry.store.tables.base import Base, Bytes, DomainKey, HostKey, JsonB, Moment, Small


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
    missed_at: Mapped[Moment | None]  # first visit that did not find it again; a second one decides
    transport: Mapped[JsonB | None]  # how it was fetched when this row was written whole; see core/evidence


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
