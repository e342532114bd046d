"""Reads the record of a service that another registry wrote (`registry/actions/dumps.py`).

The record is not trusted: shapes, sizes, depth and addresses are checked, and derived values are computed again.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import isfinite
from typing import Annotated, Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from registry.actions.dumps import OptOutState
from registry.core.calling.reach import detail_answers, recorded_calls, with_reach
from registry.core.format_support.public_addresses import public_merged
from registry.core.formats.adp.manifest_view import adp_base_url
from registry.core.merging.merge import Usage, usage_of
from registry.core.model.documents import Outcome
from registry.core.model.services import from_json, to_json
from registry.core.names.domains import InvalidName, canonical_host, host_of, registrable_domain, same_site
from registry.core.names.opt_out import is_covered
from registry.core.reading.foreign_lists import RECORD_VALUES, parse_bounded, reason_of
from registry.core.reading.reader import Unreadable
from registry.core.scheduling.policy import DueReason
from registry.store import records
from registry.store.dump_files import LINE_BYTES
from registry.store.values import key_name

MAX_DEPTH: Final = 64
"""Levels of nesting in a record. Documents have at most 32 (core/reading), and the model adds a few around them."""

MAX_COVERING: Final = 130
"""Maximum opt-outs that cover one host: a name has at most 127 labels (RFC 1035 section 2.3.4)."""

_KINDS: Final = frozenset({"service", "opted_out", "blocked", "absent"})


class RefusedRecord(ValueError):
    """A record cannot be used. `code` says why; `host` is its host, if it names a valid one."""

    def __init__(self, code: str, host: str | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.host = host


@dataclass(frozen=True, slots=True)
class ReceivedRecord:
    """Another registry's record of a host. Without `service`, `state` says why: opted_out, blocked or absent.
    `covering`: all opt-outs that cover it, by host. None in dumps, which list only the host's opt-out."""

    domain: str
    host: str
    state: Literal["listed", "opted_out", "blocked", "absent"]
    covering: tuple[tuple[str, OptOutState], ...] | None = None
    service: records.ServiceRecord | None = None
    capabilities: tuple[records.CapabilityRecord, ...] = ()
    findings: tuple[records.FindingRecord, ...] = ()
    score: records.ScoreRecord | None = None
    documents: tuple[records.DocumentRecord, ...] = ()
    visit: records.HostRecord | None = None
    usage: Usage = field(default_factory=Usage)


Short = Annotated[str, Field(max_length=200)]
Url = Annotated[str, Field(max_length=20_000)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)]
Moment = Annotated[AwareDatetime, Field(ge=datetime(1970, 1, 1, tzinfo=UTC), le=datetime(9000, 1, 1, tzinfo=UTC))]
"""A time that every program can read back from the database; any other would spoil every list with it."""


class _Shape(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Finding(_Shape):
    reason: Short
    document: Url | None = None
    pointer: Annotated[str, Field(max_length=20_000)] = ""
    evidence: Annotated[str, Field(max_length=20_000)] = ""


class _Capability(_Shape):
    name: Annotated[str, Field(max_length=100_000)]
    data: dict[str, Any]
    detail: dict[str, Any] | None = None


class _Grade(_Shape):
    value: Annotated[int, Field(ge=0, le=100, strict=True)]
    rubric_version: Short
    scored_at: Moment
    breakdown: dict[str, Any]


class _Document(_Shape):
    url: Url
    final_url: Url
    purpose: Short
    outcome: Outcome
    reason: Short
    format: Short | None
    dialect: Short | None
    status: Annotated[int, Field(ge=0, le=999)] | None
    media_type: Short | None
    size: Count
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    alias_of: Url | None
    rubric_version: Short
    first_seen_at: Moment
    changed_at: Moment
    seen_at: Moment


class _Visit(_Shape):
    outcome: Outcome | None = None
    reason: Short = ""
    last_visit_at: Moment | None = None
    last_found_at: Moment | None = None
    response_ms: Count | None = None


class _Usage(_Shape):
    robots: Short | None = None


class _Service(_Shape):
    manifest_url: Url
    injection_flags: Annotated[list[Short], Field(max_length=200)]
    crawl_failures: Annotated[int, Field(ge=0, le=10_000, strict=True)]
    rubric_version: Short
    created_at: Moment
    updated_at: Moment
    seen_at: Moment
    visit: _Visit
    usage: _Usage
    model: dict[str, Any]
    capabilities: Annotated[list[_Capability], Field(max_length=30_000)]
    listing: dict[str, Any]
    findings: Annotated[list[_Finding], Field(max_length=2_000)]
    grade: _Grade | None
    documents: Annotated[list[_Document], Field(max_length=20_000)]


def received(raw: bytes, *, exempt: Collection[str] = ()) -> ReceivedRecord:
    """Check and return the record in a line or in an entry of an answer. CPU-bound. Raise RefusedRecord. `exempt`:
    names of the connect-to table, which may be special-use names."""
    try:
        value = parse_bounded(raw, max_bytes=LINE_BYTES, max_values=RECORD_VALUES)
    except Unreadable as refusal:
        raise RefusedRecord(reason_of(refusal)) from None
    if not isinstance(value, dict) or not isinstance(name := value.get("host"), str):
        raise RefusedRecord("no_host")
    try:
        host = canonical_host(name, exempt=exempt).host
    except InvalidName:
        raise RefusedRecord("invalid_host") from None
    if host != name:
        raise RefusedRecord("host_not_canonical")
    domain = registrable_domain(host)
    kind: Any = value.get("kind")
    if kind not in _KINDS:
        raise RefusedRecord("unknown_kind", host)
    if kind != "service":
        return ReceivedRecord(domain, host, kind, _covering(value, host))
    if not _is_storable(value, MAX_DEPTH):  # guard: record-depth
        raise RefusedRecord("unstorable", host)
    try:
        return _service(domain, host, _Service.model_validate(value))
    except RefusedRecord:
        raise
    except (ValidationError, ValueError, RecursionError, TypeError):
        raise RefusedRecord("bad_shape", host) from None


def _covering(value: Mapping[str, Any], host: str) -> tuple[tuple[str, OptOutState], ...] | None:
    """Return the opt-outs of the host and its parents in the domain; None if the record does not list them."""
    told = value.get("covering")
    if told is None:
        return None
    if not isinstance(told, list) or not 1 <= len(told) <= MAX_COVERING:
        raise RefusedRecord("bad_covering", host)
    covering: dict[str, OptOutState] = {}
    for opt_out in told:
        name = opt_out.get("host") if isinstance(opt_out, dict) else None
        state = opt_out.get("kind") if isinstance(opt_out, dict) else None
        if not isinstance(name, str) or state not in ("opted_out", "blocked") or not is_covered(host, [name]):
            raise RefusedRecord("bad_covering", host)
        if not is_covered(name, [registrable_domain(host)]):  # guard: record-covering
            raise RefusedRecord("bad_covering", host)
        covering[name] = state
    return tuple(covering.items())


def _service(domain: str, host: str, shape: _Service) -> ReceivedRecord:
    listing = records.listing_from_json(shape.listing)
    if listing.host != host:  # guard: record-host
        raise RefusedRecord("listing_of_another_host", host)
    if not 0 <= listing.score <= 100 or max(len(listing.formats), len(listing.protocols)) > 1_000:
        raise RefusedRecord("bad_shape", host)
    listing = replace(listing, domain=domain)
    urls = [url for document in shape.documents for url in (document.url, document.final_url)]
    for url in (shape.manifest_url, *urls):
        if not url.startswith("https://") or not same_site(host_of(url) or "", host):  # guard: record-urls
            raise RefusedRecord("foreign_document", host)
    names = [key_name(capability.name) for capability in shape.capabilities]
    if len(set(names)) < len(names) or len({document.url for document in shape.documents}) < len(shape.documents):
        raise RefusedRecord("repeated_key", host)
    stated = [one.data | ({} if one.detail is None else {"detail": one.detail}) for one in shape.capabilities]
    service, _ = public_merged(from_json({**shape.model, "capabilities": stated}), host)  # guard: record-addresses
    model = to_json(service)
    answered = detail_answers((None, one.url, one.outcome) for one in shape.documents)
    calls = list(recorded_calls(host, service, answered))  # guard: mirror-examples
    capabilities = records.capability_records(model.pop("capabilities", ()), calls)
    reach = {capability.name: call.reach for capability, call in zip(service.capabilities, calls, strict=True)}
    record = records.ServiceRecord.of_listing(
        with_reach(listing, reach),
        base_url=adp_base_url(host, service),
        well_known_url=shape.manifest_url,
        cap_count=len(capabilities),
        injection_flags=tuple(shape.injection_flags),
        hidden=False,
        crawl_failures=shape.crawl_failures,
        model=model,
        rubric_version=shape.rubric_version,
        created_at=shape.created_at,
        updated_at=shape.updated_at,
        seen_at=shape.seen_at,
    )
    # A mirror visits nothing, so the host is never due.
    visit = records.HostRecord(
        domain, host, "mirror", shape.created_at, None, **dict(shape.visit),
        soft_failures=min(shape.crawl_failures, 1_000), next_visit_why=DueReason.POLICY,
    )  # fmt: skip
    return ReceivedRecord(
        domain,
        host,
        "listed",
        service=record,
        capabilities=capabilities,
        findings=tuple(records.FindingRecord(**dict(finding)) for finding in shape.findings),
        score=None if shape.grade is None else records.ScoreRecord(domain, host, **dict(shape.grade)),
        documents=tuple(_document(domain, host, document) for document in shape.documents),
        visit=visit,
        usage=usage_of(service.policies, None, shape.usage.robots),
    )


def _document(domain: str, host: str, shape: _Document) -> records.DocumentRecord:
    values = dict(shape) | {"sha256": bytes.fromhex(shape.sha256)}
    return records.DocumentRecord(domain, host, **values, has_body=False)


def _is_storable(value: Any, depth: int) -> bool:
    """Return whether a JSON value is at most `depth` levels deep and jsonb and JSON encoders accept it."""
    if isinstance(value, str):
        return "\0" not in value
    if isinstance(value, dict):
        return depth > 0 and all("\0" not in key and _is_storable(item, depth - 1) for key, item in value.items())
    if isinstance(value, list):
        return depth > 0 and all(_is_storable(item, depth - 1) for item in value)
    if isinstance(value, float):
        return isfinite(value)  # guard: record-numbers
    return not isinstance(value, int) or -(2**63) <= value < 2**63
