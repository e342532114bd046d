"""Computes what is shown of a host from its current documents: merged, scored, listed. Pure; for record and rescore."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from registry.actions.recording.reconcile import Current
from registry.core.assessing.assess import Assessment, assess_body
from registry.core.calling.call import examples_of
from registry.core.calling.server_records.record import NO_SERVERS, ServerRecords, server_records
from registry.core.changes.versions import capability_fingerprint
from registry.core.formats.adp.manifest_view import adp_base_url
from registry.core.merging.listing import make_listing
from registry.core.merging.merge import Held, LocatedFinding, Merged, merge
from registry.core.merging.speaking import NOTHING_KNOWN, Known, depends_on, named_hosts, spoken_of
from registry.core.merging.trust import trust_of
from registry.core.merging.trust_dates import Facts, trust_since
from registry.core.model.documents import Outcome
from registry.core.model.findings import Finding
from registry.core.model.listing import Listing
from registry.core.model.observations import STORED_AS, from_text
from registry.core.model.services import Service, to_json
from registry.core.scoring.rubric import VERSION, rule_of
from registry.core.scoring.score import Score, score
from registry.core.wording.fingerprint import fingerprint
from registry.store.records import CapabilityRecord, DocumentRecord, FindingRecord, ScoreRecord, ServiceRecord

MAX_CAPABILITIES: Final = 30_000  # smallint; documents are capped far below


@dataclass(frozen=True, slots=True)
class Shown:
    """`service` is None when no current document makes the host a service; the findings explain why.

    `servers`: its records in the MCP registry's API; none of a hidden service.
    """

    service: ServiceRecord | None
    capabilities: tuple[CapabilityRecord, ...]
    findings: tuple[FindingRecord, ...]
    score: ScoreRecord | None
    servers: ServerRecords = NO_SERVERS


@dataclass(frozen=True, slots=True)
class Standing:
    """The facts about a host, other than its documents, that decide how it is shown. `known`: of other hosts."""

    seen_at: datetime
    crawl_failures: int
    is_failing: bool
    is_hidden: bool
    known: Known = NOTHING_KNOWN


def present(
    domain: str,
    host: str,
    documents: Sequence[Held],
    previous: ServiceRecord | None,
    standing: Standing,
    now: datetime,
) -> Shown:
    """Merge, score and list; never raises on assessed documents. `previous` supplies dates of what did not change."""
    merged = merge(host, documents)
    findings = tuple(_finding(located) for located in merged.findings)
    if merged.service is None:
        return Shown(None, (), findings, None)
    graded = score(merged.service, merged.findings)
    record = _service(domain, host, merged, merged.service, graded, standing, now)
    return Shown(
        _with_dates(record, previous, now),
        _capability_records(merged.service),
        findings,
        ScoreRecord(domain, host, now, graded.value, VERSION, graded.to_json()),
        NO_SERVERS if standing.is_hidden else server_records(host, merged.service),
    )


def held_documents(current: Iterable[Current], bodies: Mapping[tuple[str, bytes], bytes]) -> list[Held]:
    """Return the documents as input of merge. Those without a new assessment are assessed from their stored body.

    A copy at another path is left out: it is not requested again, so it would outlive changes of the original.
    """
    current = list(current)
    copies: dict[str, list[str]] = defaultdict(list)
    for document in current:
        if document.record.alias_of is not None and document.record.outcome is Outcome.FOUND:
            copies[document.record.alias_of] += dict.fromkeys((document.record.url, document.record.final_url))
    return [
        Held(
            document.record.final_url,
            document.record.url,
            assessment_of(document, bodies),
            document.record.sha256,
            document.record.seen_at,
            document.record.via,
            from_text(document.record.headers.get(STORED_AS, "")),
            tuple(copies[document.record.url]),
        )
        for document in current
        if document.record.alias_of is None
    ]


def needs_body(current: Current) -> bool:
    return current.assessment is None and current.record.has_body and current.record.alias_of is None


def assessment_of(current: Current, bodies: Mapping[tuple[str, bytes], bytes]) -> Assessment:
    """Return the assessment of a current document; a stored body is assessed by the current rules."""
    record = current.record
    body = bodies.get((record.domain, record.sha256))
    if current.assessment is not None:
        return current.assessment
    if not record.has_body or body is None:
        return Assessment(record.outcome, record.reason, record.format, record.dialect, _findings(record))
    return assess_body(body, record.final_url, record.media_type, _served_with(record), via=record.via)


def _served_with(record: DocumentRecord) -> dict[str, str]:
    validators = {"etag": record.etag, "last-modified": record.last_modified}
    fields = {name: value for name, value in record.headers.items() if name != STORED_AS}
    return fields | {name: value for name, value in validators.items() if value is not None}


def same_but_for_dates(service: ServiceRecord, other: ServiceRecord) -> bool:
    """Return whether everything shown of a service is the same, except when it was seen and changed."""
    known = service.listing
    listing = replace(other.listing, seen_on=known.seen_on, offered_since=known.offered_since)
    return (
        replace(
            other,
            listing=listing,
            created_at=service.created_at,
            updated_at=service.updated_at,
            seen_at=service.seen_at,
            trust_since=service.trust_since,
            trust_depends_on=service.trust_depends_on,
            named_hosts=service.named_hosts,
        )
        == service
    )


def _service(
    domain: str, host: str, merged: Merged, service: Service, graded: Score, standing: Standing, now: datetime
) -> ServiceRecord:
    trust = trust_of(host, service, merged.findings, is_failing=standing.is_failing, known=standing.known)
    listing = make_listing(
        domain, host, service, graded.value, trust.level, merged.formats, standing.seen_at.date(), trust.reasons
    )
    model = {key: value for key, value in to_json(service).items() if key != "capabilities"}
    return ServiceRecord(
        domain=domain,
        host=host,
        name=listing.name,
        description=listing.description,
        base_url=adp_base_url(host, service),
        well_known_url=merged.documents[0],
        trust_level=trust.level,
        score=graded.value,
        auth_type=listing.auth_type,
        pricing_type=listing.pricing_type,
        formats=listing.formats,
        protocols=listing.protocols,
        category=listing.category or None,
        cap_count=min(len(service.capabilities), MAX_CAPABILITIES),
        injection_flags=merged.injection_flags,
        hidden=standing.is_hidden,
        crawl_failures=standing.crawl_failures,
        model=model,
        listing=listing,
        rubric_version=VERSION,
        created_at=now,
        updated_at=now,
        seen_at=standing.seen_at,
        trust_depends_on=depends_on(host, spoken_of(host, service, merged.findings)),
        named_hosts=named_hosts(host, service),
    )


def _with_dates(record: ServiceRecord, previous: ServiceRecord | None, now: datetime) -> ServiceRecord:
    listing = replace(record.listing, offered_since=_offered_since(record.listing, previous, now))
    if previous is None:
        return replace(record, listing=listing, trust_since=trust_since(None, {}, _trust(record), now))
    is_same = same_but_for_dates(previous, record)
    return replace(
        record,
        listing=listing,
        trust_since=trust_since(_trust(previous), previous.trust_since, _trust(record), now),
        created_at=previous.created_at,
        updated_at=previous.updated_at if is_same else now,
    )


def _trust(record: ServiceRecord) -> Facts:
    return record.trust_level.value, record.listing.trust_reasons


def _offered_since(listing: Listing, previous: ServiceRecord | None, now: datetime) -> datetime:
    """Return since when the host offers what it offers now; a host that changes what it offers does not keep its age,
    or an old domain could become the copy of a younger service and seem to be the original."""
    if previous is None or fingerprint(previous.listing) != fingerprint(listing):  # guard: age-of-an-offer
        return now
    return previous.listing.offered_since or previous.created_at


def _capability_records(service: Service) -> tuple[CapabilityRecord, ...]:
    """Return the capabilities as they are stored, with the arguments of their example calls."""
    records = []
    stored = to_json(service).get("capabilities", ())
    for value, example in zip(stored, examples_of(service), strict=True):
        data = {key: item for key, item in value.items() if key != "detail"}
        digest = capability_fingerprint(data)
        records.append(CapabilityRecord(value["name"], data, value.get("detail"), digest, example))
    return tuple(records)


def _finding(located: LocatedFinding) -> FindingRecord:
    return FindingRecord(located.finding.rule.code, located.document, located.finding.pointer, located.finding.evidence)


def _findings(record: DocumentRecord) -> tuple[Finding, ...]:
    """Return the stored findings; those whose rule no longer exists are left out."""
    return tuple(
        Finding(rule, finding["pointer"], finding["evidence"])
        for finding in record.findings
        if (rule := rule_of(finding["reason"])) is not None
    )
