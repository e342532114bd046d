"""Computes what is shown of a host from its current documents: merged, scored, listed. Pure; for record and rescore.

Also finds incompatible changes without a new version, and makes the events of a recorded or recomputed service; the
difference itself is made in `core/changes`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal

from registry.actions.recording.reconcile import Current, DocumentChanges
from registry.core.assessing.assess import Assessment, assess_body
from registry.core.calling.reach import detail_answers, recorded_calls, with_reach
from registry.core.calling.server_records.record import NO_SERVERS, ServerRecords, server_records
from registry.core.changes.kinds import State, state_of
from registry.core.changes.versions import Version, changed, listed
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.formats.adp.manifest_view import adp_base_url
from registry.core.merging.listing import make_listing
from registry.core.merging.merge import HeldDocument, merge
from registry.core.merging.speaking import NOTHING_KNOWN, Known, depends_on, named_hosts, spoken_of
from registry.core.merging.trust import LevelFacts, claims_site, trust_of, trust_since
from registry.core.model.documents import STORED_AS, Json, Observation, Outcome, from_text, to_text
from registry.core.model.findings import Finding
from registry.core.model.listing import Listing
from registry.core.model.services import to_json
from registry.core.reading.reader import Unreadable, read_json
from registry.core.scoring.rubric import VERSION, rule_of
from registry.core.scoring.score import score
from registry.core.wording.fields import fingerprint
from registry.store import records
from registry.store.records import ChangeRecord, ServiceRecord
from registry.store.values import key_name

MAX_CAPABILITIES: Final = 30_000  # smallint; documents are capped far below


@dataclass(frozen=True, slots=True)
class Presentation:
    """`service`: None if no current document makes the host a service; the findings explain why. `servers`: its records
    in the MCP registry's API; empty for a hidden service."""

    service: ServiceRecord | None
    capabilities: tuple[records.CapabilityRecord, ...]
    findings: tuple[records.FindingRecord, ...]
    score: records.ScoreRecord | None
    servers: ServerRecords = NO_SERVERS


@dataclass(frozen=True, slots=True)
class ListingFacts:
    """Facts other than a host's documents that decide how it is shown. `known`: facts about other hosts."""

    seen_at: datetime
    crawl_failures: int
    is_failing: bool
    is_hidden: bool
    known: Known = NOTHING_KNOWN


def present(
    domain: str,
    host: str,
    documents: Sequence[HeldDocument],
    previous: ServiceRecord | None,
    standing: ListingFacts,
    now: datetime,
) -> Presentation:
    """Merge, score and list; never raise on assessed documents. `previous`: source of dates for unchanged facts."""
    merged = merge(host, documents)
    findings = tuple(
        records.FindingRecord(found.rule.code, document, found.pointer, found.evidence)
        for found, document in ((located.finding, located.document) for located in merged.findings)
    )
    service = merged.service
    if service is None:
        return Presentation(None, (), findings, None)
    graded = score(service, merged.findings)
    model = to_json(service)
    answered = detail_answers((one.via, one.requested, one.assessment.outcome) for one in documents)
    calls = list(recorded_calls(host, service, answered))
    capabilities = records.capability_records(model.pop("capabilities", ()), calls)
    reach = {capability.name: call.reach for capability, call in zip(service.capabilities, calls, strict=True)}
    spoken = spoken_of(host, service, merged.findings)
    trust = trust_of(
        host, service, merged.findings, is_failing=standing.is_failing, known=standing.known, spoken=spoken
    )
    listing = make_listing(
        domain,
        host,
        service,
        graded.value,
        trust.level,
        merged.formats,
        standing.seen_at.date(),
        trust.reasons,
        claims_site=claims_site(merged.findings),
    )
    record = ServiceRecord.of_listing(
        replace(with_reach(listing, reach), offered_since=_offered_since(listing, previous, now)),
        base_url=adp_base_url(host, service),
        well_known_url=merged.documents[0],
        cap_count=min(len(service.capabilities), MAX_CAPABILITIES),
        injection_flags=merged.injection_flags,
        hidden=standing.is_hidden,
        crawl_failures=standing.crawl_failures,
        model=model,
        rubric_version=VERSION,
        created_at=now,
        updated_at=now,
        seen_at=standing.seen_at,
        trust_depends_on=depends_on(host, spoken),
        named_hosts=named_hosts(host, service),
    )
    known, since = (None, {}) if previous is None else (_trust(previous), previous.trust_since)
    record.trust_since = trust_since(known, since, _trust(record), now)
    if previous is not None:
        record.created_at = previous.created_at
        record.updated_at = previous.updated_at if same_but_for_dates(previous, record) else now
    grade = records.ScoreRecord(domain, host, now, graded.value, VERSION, graded.to_json())
    servers = NO_SERVERS if standing.is_hidden else server_records(host, service)
    return Presentation(record, capabilities, findings, grade, servers)


def held_documents(current: Iterable[Current], bodies: Mapping[tuple[str, bytes], bytes]) -> list[HeldDocument]:
    """Return the documents as input of merge. Documents without a new assessment are assessed from their stored body.
    Copies at another path are left out: they are not requested again, so they would outlive changes of the original."""
    current = list(current)
    copies: dict[str, list[str]] = defaultdict(list)
    for document in current:
        if document.record.alias_of is not None and document.record.outcome is Outcome.FOUND:
            copies[document.record.alias_of] += dict.fromkeys((document.record.url, document.record.final_url))
    return [
        HeldDocument(
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
        findings = tuple(
            Finding(rule, finding["pointer"], finding["evidence"])
            for finding in record.findings
            if (rule := rule_of(finding["reason"])) is not None  # None: a rule that no longer exists
        )
        return Assessment(record.outcome, record.reason, record.format, record.dialect, findings)
    validators = {"etag": record.etag, "last-modified": record.last_modified}
    headers = {name: value for name, value in record.headers.items() if name != STORED_AS}
    headers |= {name: value for name, value in validators.items() if value is not None}
    return assess_body(body, record.final_url, record.media_type, headers, via=record.via)


def same_but_for_dates(service: ServiceRecord, other: ServiceRecord) -> bool:
    """Return whether two records of a service differ at most in when it was seen and changed."""
    dates = {name: getattr(service, name) for name in _DATES}
    known = service.listing
    listing = replace(other.listing, seen_on=known.seen_on, offered_since=known.offered_since)
    return replace(other, listing=listing, **dates) == service


def _trust(record: ServiceRecord) -> LevelFacts:
    return record.trust_level.value, record.listing.trust_reasons


def _offered_since(listing: Listing, previous: ServiceRecord | None, now: datetime) -> datetime:
    """Return since when the host has had its current offer. A changed offer starts a new age; otherwise an old domain
    could copy a younger service and appear to be the original."""
    if previous is None or fingerprint(previous.listing) != fingerprint(listing):  # guard: age-of-an-offer
        return now
    return previous.listing.offered_since or previous.created_at


def has_versions(slug: str | None) -> bool:
    """Return whether documents of the format are compared with their previous versions."""
    form = FORMAT_BY_SLUG.get(slug or "")
    return form is not None and form.is_unversioned_break is not None


def note_breaking_changes(documents: DocumentChanges, bodies: Mapping[tuple[str, bytes], bytes]) -> None:
    """Compare every document that this visit changed with its previous version. `bodies`: the stored ones."""
    for url, before in documents.replaced.items():
        current = documents.current[url]
        record = current.record
        form = FORMAT_BY_SLUG.get(record.format or "")
        after = documents.bodies.get((record.domain, record.sha256))
        if form is None or form.is_unversioned_break is None or after is None or (record.domain, before) not in bodies:
            continue
        is_break = form.is_unversioned_break(_value(bodies[record.domain, before]), _value(after))
        seen = from_text(record.headers.get(STORED_AS, ""))
        if is_break is None or is_break is (Observation.UNVERSIONED_CHANGE in seen):
            continue
        headers = {name: value for name, value in record.headers.items() if name != STORED_AS}
        if observed := seen ^ {Observation.UNVERSIONED_CHANGE}:
            headers[STORED_AS] = to_text(observed)
        changed = replace(record, headers=headers)
        documents.current[url] = replace(current, record=changed)
        documents.put[url] = changed


def _value(body: bytes) -> Json:
    try:
        return read_json(body, [])
    except Unreadable:
        return None


_DATES: Final = ("created_at", "updated_at", "seen_at", "trust_since", "trust_depends_on", "named_hosts")

Capabilities = Mapping[str, Mapping[str, Any]]
"""The capabilities of one service as stored, by name."""


def change_of(
    previous: ServiceRecord | None,
    capabilities: Capabilities,
    shown: Presentation,
    now: datetime,
    *,
    cause: Literal["visit", "rescore"],
    hidden_as: State | None = None,
) -> list[ChangeRecord]:
    """Return the event of a recomputed service; if hidden, only that it was hidden, with the state `hidden_as`.
    `capabilities`: of `previous`. Return nothing if only dates differ."""
    service = shown.service
    if service is None:
        return []
    key = (service.domain, service.host)
    if service.hidden:
        was_shown = previous is not None and not previous.hidden
        return [ChangeRecord(*key, "service.hidden", now, {"state": hidden_as or "opted_out"})] if was_shown else []
    known = {key_name(item.name): item.fingerprint for item in shown.capabilities if item.fingerprint is not None}
    after = _version(service, {key_name(item.name): item.data for item in shown.capabilities}, known)
    facts = _facts(service, now)
    if previous is None or previous.hidden:
        return [ChangeRecord(*key, "service.listed", now, {**facts, "cause": cause, **listed(after)})]
    change = changed(_version(previous, capabilities), after)
    if change is None:
        return freshened(previous, service, now)
    return [ChangeRecord(*key, "service.changed", now, {**facts, "cause": cause, **change})]


def freshened(previous: ServiceRecord, seen: ServiceRecord, now: datetime) -> list[ChangeRecord]:
    """Return the event of a service that was stale and is fresh again with unchanged content."""
    before, after = (state_of(record.trust_level, record.seen_at, now) for record in (previous, seen))
    if seen.hidden or before == after:
        return []
    return [state_changed(seen, before, now)]


def state_changed(service: ServiceRecord, before: str, now: datetime) -> ChangeRecord:
    """Return the event of a service whose state alone changed, from `before`."""
    facts = _facts(service, now)
    told = {"op": "replace", "path": "/state", "value": facts["state"], "old": before}
    data = {**facts, "cause": "time", "changed": ["state"], "difference": [told], "truncated": False}
    return ChangeRecord(service.domain, service.host, "service.changed", now, data)


def _version(service: ServiceRecord, capabilities: Capabilities, known: Mapping[str, str] | None = None) -> Version:
    facts = {
        "score": service.score,
        "rubric_version": service.rubric_version,
        "trust_level": service.trust_level.value,
        "trust_reasons": list(service.listing.trust_reasons),
        "auth_type": service.auth_type,
        "pricing_type": service.pricing_type,
        "formats": list(service.formats),
        "category": service.category,
        "injection_flags": list(service.injection_flags),
        "well_known_url": service.well_known_url,
    }
    return Version.of(service.model, capabilities, facts, known)


def _facts(service: ServiceRecord, now: datetime) -> dict[str, Any]:
    """Return the facts that every event of a shown service contains."""
    return {
        "state": state_of(service.trust_level, service.seen_at, now),
        "name": service.name,
        "score": service.score,
        "trust_level": service.trust_level.value,
        "formats": list(service.formats),
        "injection_flags": list(service.injection_flags),
    }
