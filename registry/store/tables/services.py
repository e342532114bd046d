"""Services as merged from the current documents of their hosts, with capabilities, findings and scores."""

from sqlalchemy import BigInteger, Identity, Index, Text, text
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
    trust_since: Mapped[JsonB | None]  # when the level and each reason began, see core/merging/trust_dates.py
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
    updated_at: Mapped[Moment]  # last change of anything shown, dates excepted
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
    """A change on which the trust of services may depend: of a listing, or of an ownership. Triggers write it."""

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
    # Arguments of the example call, made from the schema in `data` when it was recorded; NULL: there are none, or the
    # program that wrote the row did not make them.
    example: Mapped[JsonB | None]
    fingerprint: Mapped[Bytes | None]  # as in the change feed; NULL: written before it was stored
    # NULL in rows of programs that did not write them. `changed_at`: when the fingerprint became what it is.
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
    """One score of a host, with the facts and lines that it was computed from."""

    __tablename__ = "scores"

    domain: Mapped[DomainKey]
    host: Mapped[HostKey]
    scored_at: Mapped[Moment] = mapped_column(primary_key=True)
    value: Mapped[Small]
    rubric_version: Mapped[str]
    breakdown: Mapped[JsonB]  # sections, lines and facts
