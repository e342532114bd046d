"""The current documents of a host -> what is shown of it: merged, scored, listed. Pure; for record and rescore."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from registry.actions.recording.reconcile import Current
from registry.core.assess import Assessment, assess_body
from registry.core.findings import Finding, Reason, Severity
from registry.core.merge import Held, Merged, Noted, merge
from registry.core.scoring.rubric import RUBRIC, VERSION
from registry.core.scoring.score import Score, score
from registry.core.services import Service, to_json
from registry.core.views import adp_base_url, make_listing, trust_level
from registry.store.records import CapabilityRecord, DocumentRecord, FindingRecord, ScoreRecord, ServiceRecord

MAX_CAPABILITIES: Final = 30_000  # smallint; documents are capped far below


@dataclass(frozen=True, slots=True)
class Shown:
    """`service` is None when nothing current makes the host a service; the findings tell why."""

    service: ServiceRecord | None
    capabilities: tuple[CapabilityRecord, ...]
    findings: tuple[FindingRecord, ...]
    score: ScoreRecord | None


@dataclass(frozen=True, slots=True)
class Standing:
    """What about the host, beside its documents, decides how it is shown."""

    seen_at: datetime
    crawl_failures: int
    is_failing: bool
    is_hidden: bool


def present(
    domain: str,
    host: str,
    held: Sequence[Held],
    previous: ServiceRecord | None,
    standing: Standing,
    now: datetime,
) -> Shown:
    """Merges, scores and lists; never raises on assessed documents. `previous` dates what did not change."""
    merged = merge(host, held)
    findings = tuple(_finding(one) for one in merged.findings)
    if merged.service is None:
        return Shown(None, (), findings, None)
    graded = score(merged.service, merged.findings)
    record = _service(domain, host, merged, merged.service, graded, standing, now)
    capabilities = tuple(_capability(one) for one in to_json(merged.service).get("capabilities", ()))
    return Shown(
        _dated(record, previous, now),
        capabilities,
        findings,
        ScoreRecord(domain, host, now, graded.value, VERSION, graded.to_json()),
    )


def held_documents(current: Iterable[Current], bodies: Mapping[tuple[str, bytes], bytes]) -> list[Held]:
    """The documents as merge takes them. Those without a fresh assessment are assessed from their stored body.

    A copy at another path is left out: it is not asked for again, so it would outlive changes of the original.
    """
    return [
        Held(
            one.record.final_url,
            one.record.url,
            judged(one, bodies),
            one.record.sha256,
            one.record.seen_at,
            one.record.via,
        )
        for one in current
        if one.record.alias_of is None
    ]


def needs_body(current: Current) -> bool:
    return current.assessment is None and current.record.has_body and current.record.alias_of is None


def judged(current: Current, bodies: Mapping[tuple[str, bytes], bytes]) -> Assessment:
    """The assessment of a current document; of a stored one by today's rules."""
    record = current.record
    body = bodies.get((record.domain, record.sha256))
    if current.assessment is not None:
        return current.assessment
    if not record.has_body or body is None:
        return Assessment(record.outcome, record.reason, record.format, record.dialect, _findings(record))
    return assess_body(body, record.final_url, record.media_type, _served_with(record), via=record.via)


def _served_with(record: DocumentRecord) -> dict[str, str]:
    validators = {"etag": record.etag, "last-modified": record.last_modified}
    return record.headers | {name: value for name, value in validators.items() if value is not None}


def same_but_for_dates(one: ServiceRecord, other: ServiceRecord) -> bool:
    """Whether everything shown of a service is the same, except when it was seen and changed."""
    dated = replace(other.listing, seen_on=one.listing.seen_on)
    return (
        replace(other, listing=dated, created_at=one.created_at, updated_at=one.updated_at, seen_at=one.seen_at) == one
    )


def _service(
    domain: str, host: str, merged: Merged, service: Service, graded: Score, standing: Standing, now: datetime
) -> ServiceRecord:
    has_errors = any(RUBRIC[one.finding.reason].severity is Severity.ERROR for one in merged.findings)
    trust = trust_level(host, service, has_errors=has_errors, is_failing=standing.is_failing)
    listing = make_listing(domain, host, service, graded.value, trust, merged.formats, standing.seen_at.date())
    model = {key: value for key, value in to_json(service).items() if key != "capabilities"}
    return ServiceRecord(
        domain=domain,
        host=host,
        name=listing.name,
        description=listing.description,
        base_url=adp_base_url(host, service),
        well_known_url=merged.documents[0],
        trust_level=trust,
        score=graded.value,
        auth_type=listing.auth_type,
        pricing_type=listing.pricing_type,
        formats=listing.formats,
        protocols=listing.protocols,
        cap_count=min(len(service.capabilities), MAX_CAPABILITIES),
        hidden=standing.is_hidden,
        crawl_failures=standing.crawl_failures,
        model=model,
        listing=listing,
        rubric_version=VERSION,
        created_at=now,
        updated_at=now,
        seen_at=standing.seen_at,
    )


def _dated(record: ServiceRecord, previous: ServiceRecord | None, now: datetime) -> ServiceRecord:
    if previous is None:
        return record
    is_same = same_but_for_dates(previous, record)
    return replace(record, created_at=previous.created_at, updated_at=previous.updated_at if is_same else now)


def _capability(value: Mapping[str, Any]) -> CapabilityRecord:
    data = {key: item for key, item in value.items() if key != "detail"}
    return CapabilityRecord(value["name"], data, value.get("detail"))


def _finding(one: Noted) -> FindingRecord:
    return FindingRecord(one.finding.reason.value, one.document, one.finding.pointer, one.finding.evidence)


def _findings(record: DocumentRecord) -> tuple[Finding, ...]:
    """As stored; a reason that no longer exists is left out."""
    known = {reason.value: reason for reason in Reason}
    return tuple(
        Finding(known[one["reason"]], one["pointer"], one["evidence"])
        for one in record.findings
        if one["reason"] in known
    )
