"""Rows as plain records of core types, for the actions, and listings to JSON and back; free of SQLAlchemy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson
from pydantic import TypeAdapter

from registry.core.changes.versions import capability_fingerprint
from registry.core.merging.trust import facts_of
from registry.core.model.documents import Outcome, Via
from registry.core.model.listing import Listing, TrustLevel
from registry.core.scheduling.policy import DueReason
from registry.core.visiting.shares import Standing, standing_of
from registry.store.visit_log_encoding import unpack


@dataclass(frozen=True, slots=True)
class DomainRecord:
    """A row of `domains`. `next_visit_at`: when due; while `is_leased`, when the lease ends; None if not scheduled."""

    domain: str
    source: str
    created_at: datetime
    next_visit_at: datetime | None
    is_leased: bool
    attempts: int


@dataclass(frozen=True, slots=True)
class HostRecord:
    """A row of `hosts`: facts kept about a host between two visits."""

    domain: str
    host: str
    source: str
    created_at: datetime
    next_visit_at: datetime | None
    referrer: str | None = None
    submitted_at: datetime | None = None
    outcome: Outcome | None = None
    reason: str = ""
    streak: int = 0
    interval_s: int | None = None
    soft_failures: int = 0
    first_failure_at: datetime | None = None
    last_visit_at: datetime | None = None
    last_found_at: datetime | None = None
    last_changed_at: datetime | None = None
    whole_plan_at: datetime | None = None
    alias_of: str | None = None
    address: str | None = None
    response_ms: int | None = None
    robots_status: int | None = None
    robots_body: bytes | None = None
    robots_at: datetime | None = None
    pending: list[Any] = field(default_factory=list)  # probes, see registry/actions/frontier/submit.py
    next_visit_why: DueReason = DueReason.NEW
    asked: dict[str, str] = field(default_factory=dict)  # further paths and their days, see core/visiting/limits.py
    turn: int = 0  # hosts of the domain that its submitter had named before it that day

    @property
    def was_reached(self) -> bool:
        """Return whether a visit connected to the host, or got an answer that led elsewhere."""
        return self.address is not None or self.response_ms is not None

    @property
    def standing(self) -> Standing:
        return standing_of(
            self.domain, self.host, source=self.source, referrer=self.referrer, was_reached=self.was_reached,
            submitted_at=self.submitted_at, last_visit_at=self.last_visit_at, last_found_at=self.last_found_at,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A row of `documents`: the current answer of one URL."""

    domain: str
    host: str
    url: str
    final_url: str
    purpose: str
    outcome: Outcome
    reason: str
    sha256: bytes
    size: int
    has_body: bool
    first_seen_at: datetime
    changed_at: datetime
    seen_at: datetime
    rubric_version: str
    format: str | None = None
    dialect: str | None = None
    status: int | None = None
    media_type: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    via: Via | None = None
    alias_of: str | None = None
    findings: list[dict[str, str]] = field(default_factory=list)
    missed_at: datetime | None = None
    transport: bytes | None = None  # JSON, undecoded: reconcile.transport_json; None: written by an earlier program

    @property
    def fetched_with(self) -> dict[str, Any]:
        """Return the transport facts of the fetch that produced the row; empty if unknown."""
        try:
            found = orjson.loads(self.transport) if self.transport else {}
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


@dataclass(slots=True)
class ServiceColumns:
    """Columns shared by a row of `services` and an entry of a list (cards.Card), in the table's order. Not frozen:
    every answer builds ten cards, and building a frozen one takes 2.9 us instead of 0.3 us."""

    domain: str
    host: str
    name: str
    description: str
    base_url: str
    well_known_url: str
    trust_level: TrustLevel
    score: int
    auth_type: str
    pricing_type: str
    formats: tuple[str, ...]
    protocols: tuple[str, ...]
    category: str | None  # None: recorded before there were categories
    cap_count: int
    injection_flags: tuple[str, ...]  # codes of the rules that any document of the host breaks


_OF_LISTING: Final = (
    "domain", "host", "name", "description", "trust_level", "score", "auth_type", "pricing_type", "formats",
    "protocols",
)  # fmt: skip


@dataclass(slots=True)
class ServiceRecord(ServiceColumns):
    """A row of `services`."""

    hidden: bool
    crawl_failures: int
    model: dict[str, Any]  # services.to_json without "capabilities"
    listing: Listing
    rubric_version: str
    created_at: datetime
    updated_at: datetime
    seen_at: datetime
    trust_since: dict[str, str] = field(default_factory=dict)  # see core/merging/trust.py
    trust_depends_on: tuple[str, ...] = ()  # see core/merging/speaking.py
    named_hosts: tuple[str, ...] = ()

    @classmethod
    def of_listing(cls, listing: Listing, **columns: Any) -> "ServiceRecord":
        """Return the row of a service. `columns`: further ones beside those of its listing."""
        shared = {name: getattr(listing, name) for name in _OF_LISTING}
        return cls(**shared, category=listing.category or None, listing=listing, **columns)


@dataclass(frozen=True, slots=True)
class CapabilityRecord:
    name: str
    data: dict[str, Any]  # services.Capability as JSON, without "detail"
    detail: dict[str, Any] | None = None
    fingerprint: str | None = None  # versions.capability_fingerprint of `data`; None: to be computed
    example: dict[str, Any] | None = None  # calling.http.Arguments as JSON
    reach: dict[str, Any] | None = None  # calling.reach.Reach as JSON


def capability_records(
    stored: Iterable[Mapping[str, Any]], calls: Iterable[tuple[dict[str, Any] | None, dict[str, Any]]]
) -> tuple[CapabilityRecord, ...]:
    """Return the capabilities, which are `stored` as JSON. `calls`: example and reach of each, as JSON."""
    made = []
    for value, (example, reach) in zip(stored, calls, strict=True):
        data = {key: item for key, item in value.items() if key != "detail"}
        digest = capability_fingerprint(data)
        made.append(CapabilityRecord(value["name"], data, value.get("detail"), digest, example, reach))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class CapabilityDates:
    """Fingerprint of a capability, when it was first seen, and when it got this fingerprint; None if unknown."""

    name: str
    fingerprint: str | None
    first_seen_at: datetime | None
    changed_at: datetime | None


@dataclass(frozen=True, slots=True)
class FindingRecord:
    reason: str
    document: str | None
    pointer: str
    evidence: str


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    domain: str
    host: str
    scored_at: datetime
    value: int
    rubric_version: str
    breakdown: dict[str, Any]


@dataclass(frozen=True, slots=True)
class VisitRecord:
    """A row of `visits`. `packed`: the requests and their answers, see `visit_log_encoding`. `sent`, `standing`: None
    in rows of programs that did not count sent requests."""

    domain: str
    host: str
    started_at: datetime
    finished_at: datetime
    outcome: Outcome
    reason: str
    whole_plan: bool
    requests: int
    address: str | None
    packed: bytes = b""
    sent: int | None = None
    standing: Standing | None = None

    @property
    def vector(self) -> list[dict[str, Any]]:
        """Return one object per answer, in request order, as `visit_log_encoding.unpack` does. Raise ValueError."""
        return unpack(self.host, self.packed)


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One event of the feed. `kind`: see core/changes/kinds.py; `data`: see core/changes/kinds.py."""

    domain: str
    host: str
    kind: str
    at: datetime
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CandidateRecord:
    domain: str
    host: str
    referrer: str
    rel: str
    document: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class McpServerRecord:
    """A row of `mcp_servers`. A deleted one has `server` None and empty `notes`."""

    domain: str
    host: str
    name: str
    version: str
    status: str
    is_latest: bool
    server: dict[str, Any] | None
    notes: dict[str, Any]
    published_at: datetime
    updated_at: datetime
    status_changed_at: datetime


@dataclass(frozen=True, slots=True)
class McpServerQuery:
    """A query for records of the MCP registry's API: at most `limit` behind the name and version `after`. `part`: of
    the name, in any case. `version`: `latest`, or one exactly."""

    after: tuple[str, str]
    limit: int
    part: str = ""
    version: str | None = None
    updated_since: datetime | None = None
    include_deleted: bool = False


@dataclass(slots=True)
class ListedMcpServer:
    """A row of `mcp_servers` with the shown facts of its service, which may be missing for a deleted server. `server`
    is undecoded JSON."""

    host: str
    name: str
    version: str
    status: str
    is_latest: bool
    server: bytes | None
    notes: dict[str, Any]
    published_at: datetime
    updated_at: datetime
    status_changed_at: datetime
    score: int | None
    trust_level: str | None
    trust: dict[str, Any]
    trust_since: dict[str, str]
    injection_flags: list[str] | None
    seen_at: datetime | None
    last_visit_at: datetime | None
    owned_since: datetime | None
    canonical_host: str | None


@dataclass(frozen=True, slots=True)
class OptOutRequestRecord:
    """A row of `opt_out_requests`. `wish`: "out" or "in". `verdict`: None until the site was checked."""

    domain: str
    host: str
    wish: str
    asked_at: datetime
    checked_at: datetime | None = None
    verdict: str | None = None


@dataclass(frozen=True, slots=True)
class OptOutRecord:
    domain: str
    host: str
    how: str
    evidence: str
    created_at: datetime


_LISTING: TypeAdapter[Listing] = TypeAdapter(Listing)


def listing_to_json(listing: Listing) -> dict[str, Any]:
    dumped: dict[str, Any] = _LISTING.dump_python(listing, mode="json", exclude_defaults=True)
    return dumped


listing_from_json: Final = _LISTING.validate_python
"""Return the listing that the JSON describes. Raise pydantic.ValidationError, a ValueError, for other values."""


def trust_to_json(listing: Listing) -> dict[str, Any]:
    """Return the trust facts shown in lists beside the level."""
    return facts_of(listing)
