"""Works out how a visit changes the documents of its host. Pure, so that rules are tested without a database.

A document stays listed until its absence is confirmed. A 410 confirms it at once; any other negative answer needs a
second one at least SECOND_LOOK later; refusals, failures and spent budgets leave it unchanged (docs/crawler.md,
"Outcomes").
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from registry.core.assessing.assess import PAGE_REL, Assessment, keeps_body
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.model.documents import (
    ABSENCE,
    STORED_AS,
    FetchResult,
    Outcome,
    Probe,
    Purpose,
    Via,
    from_text,
    to_text,
)
from registry.core.names.authority import is_own_answer
from registry.core.names.domains import host_of
from registry.core.scoring.rubric import VERSION
from registry.core.visiting.pointers import DETAIL_REL
from registry.core.visiting.results import SHOWN_CHARS, SHOWN_HEADERS, observed
from registry.core.visiting.summary import served_here
from registry.core.visiting.visits import ProbeResult, Visit
from registry.store.records import DocumentRecord
from registry.store.values import clean_json
from registry.store.visit_log_encoding import media_type

SECOND_LOOK: Final = timedelta(hours=6)
MAX_BODY_FINDINGS: Final = 500

_DOCUMENTS: Final = frozenset({Purpose.MANIFEST, Purpose.POINTER, Purpose.DETAIL, Purpose.TOOLS})
_OF_THE_SITE: Final = frozenset({Purpose.DETAIL, Purpose.TOOLS})
_BODIES: Final = frozenset({Outcome.FOUND, Outcome.NEGATIVE, Outcome.MALFORMED})
_SAYS_NO: Final = ABSENCE | {Outcome.MALFORMED}
# Headers on which findings and later assessments depend; others, such as cookies, are never stored.
_HEADERS: Final = ("link", "content-type", "content-language", "cache-control", "access-control-allow-origin")


@dataclass(frozen=True, slots=True)
class Current:
    """A current document. `assessment`: None if nothing new was fetched, so it must be made from the stored body."""

    record: DocumentRecord
    assessment: Assessment | None = None


@dataclass(slots=True)
class DocumentChanges:
    """The documents of one host after a visit, and the rows to write for them, by URL. `has_news`: an input of the
    merged service changed. `second_look_at`: when to look again for a missing document. `replaced`: SHA-256 of the
    previous version of documents that changed."""

    current: dict[str, Current] = field(default_factory=dict)
    put: dict[str, DocumentRecord] = field(default_factory=dict)
    history: list[DocumentRecord] = field(default_factory=list)
    stamped: dict[str, DocumentRecord] = field(default_factory=dict)
    bodies: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    has_news: bool = False
    has_losses: bool = False
    second_look_at: datetime | None = None
    replaced: dict[str, bytes] = field(default_factory=dict)


def reconcile(domain: str, visit: Visit, stored: Sequence[DocumentRecord], now: datetime) -> DocumentChanges:
    """Return the documents of the host after the visit, given the `stored` ones, which may be empty."""
    documents = DocumentChanges({record.url: Current(record) for record in stored})
    for answer in visit.answers:
        if answer.probe.purpose not in _DOCUMENTS or not (documents.current or _is_worth_keeping(answer)):
            continue  # the usual case, for nearly every answer
        if _belongs_to(answer, visit.host):
            _apply_answer(documents, domain, visit.host, answer, now)
    if not documents.current:
        return documents
    _drop_carried(documents, visit, now)
    if visit.alias_of is not None:
        _miss_all(documents, now)
    _mark_copies(documents, {answer.probe.url for answer in visit.answers})
    _note_observations(documents, visit)
    return documents


def lose_all(documents: DocumentChanges, reason: str, now: datetime) -> None:
    """Mark every found document as gone, because the host itself has gone."""
    for current in list(documents.current.values()):
        if current.record.outcome is Outcome.FOUND:
            _mark_lost(documents, current.record, Outcome.GONE, reason, now)


def document_record(
    domain: str, host: str, answer: ProbeResult, old: DocumentRecord | None, now: datetime
) -> DocumentRecord:
    """Return the answer as the current document of its URL."""
    probe, fetched, assessment = answer.probe, answer.fetched, answer.assessment
    headers = {name: fetched.headers[name] for name in _HEADERS if name in fetched.headers}
    if old is not None and STORED_AS in old.headers:
        headers[STORED_AS] = old.headers[STORED_AS]
    return DocumentRecord(
        domain=domain,
        host=host,
        url=probe.url,
        final_url=fetched.final_url,
        purpose=probe.purpose.value,
        outcome=assessment.outcome,
        reason=assessment.reason,
        sha256=fetched.sha256,
        size=fetched.size,
        has_body=keeps_body(assessment),
        first_seen_at=old.first_seen_at if old else fetched.at,
        changed_at=now,
        seen_at=fetched.at,
        rubric_version=VERSION,
        format=assessment.format,
        dialect=assessment.dialect,
        status=fetched.status,
        media_type=media_type(fetched.headers.get("content-type")),
        etag=fetched.headers.get("etag"),
        last_modified=fetched.headers.get("last-modified"),
        headers=headers,
        via=_via(probe, old),
        findings=findings_json(assessment),
        transport=old.transport if old else None,
    )


def transport_json(fetched: FetchResult) -> bytes:
    """Return the transport facts as JSON: `at`, `address`, `ms`, `hops` (URLs that redirected, in order), `headers`."""
    headers = {name: fetched.headers[name][:SHOWN_CHARS] for name in SHOWN_HEADERS if name in fetched.headers}
    facts = {"at": fetched.at.isoformat(), "address": fetched.address, "ms": fetched.elapsed_ms}
    return orjson.dumps(clean_json(facts | {"hops": fetched.hops, "headers": headers}))


def findings_json(assessment: Assessment) -> list[dict[str, str]]:
    return [
        {"reason": finding.rule.code, "pointer": finding.pointer, "evidence": finding.evidence}
        for finding in assessment.findings[:MAX_BODY_FINDINGS]
    ]


def _apply_answer(documents: DocumentChanges, domain: str, host: str, answer: ProbeResult, now: datetime) -> None:
    assessment, fetched = answer.assessment, answer.fetched
    current = documents.current.get(answer.probe.url)
    old = current.record if current else None
    if old is not None and fetched.status == 304:
        _stamp(documents, _with_seen_time(old, fetched))
    elif old is None:
        if _is_worth_keeping(answer):
            _change(documents, document_record(domain, host, answer, None, now), answer)
    elif old.outcome in _BODIES and assessment.outcome is not Outcome.FOUND and assessment.outcome not in _SAYS_NO:
        return  # the answer neither confirms nor denies the known document, which is kept
    elif (
        old.outcome is Outcome.FOUND
        and assessment.outcome not in (Outcome.FOUND, Outcome.GONE)
        and not _was_missed(old, now)
    ):
        _mark_missed(documents, old, now)
    else:
        _update(documents, document_record(domain, host, answer, old, now), old, answer)


def _update(documents: DocumentChanges, new: DocumentRecord, old: DocumentRecord, answer: ProbeResult) -> None:
    """Stamp an unchanged document, rewrite a document that is served differently, add history for changed content."""
    same_content = (new.outcome, new.format, new.dialect) == (old.outcome, old.format, old.dialect) and (
        new.sha256 == old.sha256 if new.has_body else new.reason == old.reason
    )
    if not same_content:
        documents.has_losses |= old.outcome is Outcome.FOUND and new.outcome is not Outcome.FOUND
        if old.outcome is new.outcome is Outcome.FOUND and (old.format, old.dialect) == (new.format, new.dialect):
            documents.replaced[new.url] = old.sha256
        _change(documents, new, answer)
    elif _served(new) != _served(old):
        new = replace(new, changed_at=old.changed_at, transport=transport_json(answer.fetched))
        _replace(documents, Current(new, answer.assessment), history=False)
    elif new.headers != old.headers:
        new = replace(new, changed_at=old.changed_at, transport=transport_json(answer.fetched))
        documents.current[new.url] = Current(new, answer.assessment)
        documents.put[new.url] = new
    else:
        record = replace(_with_seen_time(old, answer.fetched), etag=new.etag, last_modified=new.last_modified)
        _stamp(documents, record, answer.assessment)


def _change(documents: DocumentChanges, new: DocumentRecord, answer: ProbeResult) -> None:
    if new.has_body:
        documents.bodies[new.domain, new.sha256] = answer.fetched.body
    _replace(documents, Current(replace(new, transport=transport_json(answer.fetched)), answer.assessment))


def _replace(documents: DocumentChanges, new: Current, *, history: bool = True) -> None:
    documents.current[new.record.url] = new
    documents.put[new.record.url] = new.record
    documents.stamped.pop(new.record.url, None)
    if history:
        documents.history.append(new.record)
    documents.has_news = True


def _stamp(documents: DocumentChanges, record: DocumentRecord, assessment: Assessment | None = None) -> None:
    documents.current[record.url] = Current(record, assessment)
    documents.stamped[record.url] = record


def _with_seen_time(old: DocumentRecord, fetched: FetchResult) -> DocumentRecord:
    """Return the document as seen, with new validators: a 304 carries the current ones (RFC 9110 section 15.4.5)."""
    return replace(
        old,
        seen_at=fetched.at,
        missed_at=None,
        etag=fetched.headers.get("etag", old.etag),
        last_modified=fetched.headers.get("last-modified", old.last_modified),
    )


def _served(record: DocumentRecord) -> tuple[Any, ...]:
    return record.findings, record.final_url, record.media_type, record.via, record.reason, record.rubric_version


def _mark_missed(documents: DocumentChanges, old: DocumentRecord, now: datetime) -> None:
    missed_at = old.missed_at or now
    _stamp(documents, replace(old, missed_at=missed_at))
    documents.has_losses = True
    documents.second_look_at = min(documents.second_look_at or missed_at + SECOND_LOOK, missed_at + SECOND_LOOK)


def _mark_lost(documents: DocumentChanges, old: DocumentRecord, outcome: Outcome, reason: str, now: datetime) -> None:
    lost = replace(old, outcome=outcome, reason=reason, changed_at=now, missed_at=None, has_body=False)
    _replace(documents, Current(lost, Assessment(outcome, reason)))
    documents.has_losses = True


def _miss_all(documents: DocumentChanges, now: datetime) -> None:
    """Count every document as missed because the host is an alias; a second look decides, as for single documents."""
    for current in list(documents.current.values()):
        old = current.record
        if old.outcome is not Outcome.FOUND:
            continue
        if _was_missed(old, now):
            _mark_lost(documents, old, Outcome.ABSENT, "alias", now)
        else:
            _mark_missed(documents, old, now)


def _drop_carried(documents: DocumentChanges, visit: Visit, now: datetime) -> None:
    """Lose embedded documents (their URL has a fragment) when their carrier is gone or no longer holds them. A front
    page is no document itself: what was made of it is lost when a later page does not hold it."""
    answered = {answer.probe.url for answer in visit.answers}
    read_urls = {
        answer.fetched.final_url
        for answer in visit.answers
        if answer.assessment.outcome in _BODIES and answer.fetched.body
    }
    has_read_home = any(
        answer.probe.purpose is Purpose.HOME and answer.assessment.reason == Purpose.HOME.value
        for answer in visit.answers
    )
    live_urls = {
        document.record.final_url for document in documents.current.values() if document.record.outcome in _BODIES
    }
    for current in list(documents.current.values()):
        old, carrier = current.record, current.record.url.partition("#")[0]
        if old.via is not None and old.via.rel == PAGE_REL:
            dropped = has_read_home and old.url not in answered
        else:
            dropped = carrier not in live_urls or (carrier in read_urls and old.url not in answered)
        if "#" in old.url and old.outcome is Outcome.FOUND and dropped:
            _mark_lost(documents, old, Outcome.ABSENT, "no_longer_carried", now)


def _mark_copies(documents: DocumentChanges, answered: Collection[str]) -> None:
    """Set `alias_of` on documents whose bytes are also at a more preferred path: they are copies. A copy that was not
    requested in this visit stays a copy, even if its original changed. A detail is never a copy: merge looks each up by
    the URL that its capability names."""
    candidates = [
        current
        for current in documents.current.values()
        if current.record.outcome is Outcome.FOUND
        and not is_detail(current.record)
        and (current.record.alias_of is None or current.record.url in answered)
    ]
    url_by_hash: dict[bytes, str] = {}
    for current in sorted(candidates, key=_preference):
        url_by_hash.setdefault(current.record.sha256, current.record.url)
    for current in candidates:
        original = url_by_hash[current.record.sha256]
        alias_of = original if original != current.record.url else None
        if alias_of != current.record.alias_of:
            _replace(documents, replace(current, record=replace(current.record, alias_of=alias_of)), history=False)


def _note_observations(documents: DocumentChanges, visit: Visit) -> None:
    """Store facts of this visit about documents whose formats have rules about them. A change is news."""
    for current in list(documents.current.values()):
        record = current.record
        form = FORMAT_BY_SLUG.get(record.format or "")
        if record.outcome is not Outcome.FOUND or form is None or not form.observations:
            continue
        before = from_text(record.headers.get(STORED_AS, ""))
        after = observed(visit.answers, record.url, before) & form.observations.keys()
        if after != before:
            headers = {name: value for name, value in record.headers.items() if name != STORED_AS}
            headers |= {STORED_AS: to_text(after)} if after else {}
            _replace(documents, replace(current, record=replace(record, headers=headers)), history=False)


def is_detail(record: DocumentRecord) -> bool:
    return record.via is not None and record.via.rel == DETAIL_REL


def _preference(current: Current) -> tuple[int, int, str]:
    """Return the sort key: paths of the document's own format first, in the format's order."""
    document_format = FORMAT_BY_SLUG.get(current.record.format or "")
    paths = document_format.paths if document_format else ()
    rank = next((index for index, path in enumerate(paths) if current.record.url.endswith(path)), len(paths))
    return rank, len(current.record.url), current.record.url


def _belongs_to(answer: ProbeResult, host: str) -> bool:
    """Return whether the host itself answered. Details and lists of tools may be on another host of the site if the
    documents name it, but not on a host reached by a redirect."""
    fetched = answer.fetched
    if answer.probe.purpose not in _OF_THE_SITE:
        return served_here(answer, host)
    # guard: detail-redirect
    return is_own_answer(host_of(answer.probe.url) or "", (*fetched.hops, fetched.final_url))


def _is_worth_keeping(answer: ProbeResult) -> bool:
    """Return whether the answer is a document of any kind, or answers a pointer: a missing detail is a finding."""
    return keeps_body(answer.assessment) or answer.probe.via is not None


def _was_missed(old: DocumentRecord, now: datetime) -> bool:
    """Return whether an earlier visit, long enough ago, missed the document too."""
    return old.missed_at is not None and now - old.missed_at >= SECOND_LOOK


def _via(probe: Probe, old: DocumentRecord | None) -> Via | None:
    """Return the pointer that first led to a document that is now requested only because it is known."""
    if old is not None and (probe.via is None or probe.via.rel == "known"):
        return old.via
    return probe.via
