"""What a visit changes about the documents of its host: pure, so that every rule can be tried without a database.

Presence is kept until absence is sure: something once found is gone at once only by a 410; any other negative answer
needs a second one at least SECOND_LOOK later; refusals, failures and budgets say nothing (probe-plan.md section 7).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from registry.core.assess import Assessment, keeps_body
from registry.core.documents import ABSENCE, Fetched, Outcome, Probe, Purpose, Via
from registry.core.domains import host_of, same_site
from registry.core.following import DETAIL_REL
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.scoring.rubric import VERSION
from registry.core.visits import Answer, Visit
from registry.store.records import DocumentRecord, VisitRecord
from registry.store.vectors import media_type, pack

SECOND_LOOK: Final = timedelta(hours=6)
MAX_BODY_FINDINGS: Final = 500

_DOCUMENTS: Final = frozenset({Purpose.MANIFEST, Purpose.POINTER, Purpose.DETAIL})
_BODIES: Final = frozenset({Outcome.FOUND, Outcome.NEGATIVE, Outcome.MALFORMED})
_SAYS_NO: Final = ABSENCE | {Outcome.MALFORMED}
# What findings and later assessments can depend on; cookies and the like are nobody's business.
_HEADERS: Final = ("link", "content-type", "content-language", "cache-control", "access-control-allow-origin")


@dataclass(frozen=True, slots=True)
class Current:
    """A current document. `assessment` is None where only a stored body can tell (nothing new came in this visit)."""

    record: DocumentRecord
    assessment: Assessment | None = None


@dataclass(slots=True)
class Documents:
    """The documents of one host after a visit, and what has to be written for them; all by URL.

    `has_news`: anything that the merged service depends on is different. `second_look_at`: when to look again at
    something that was found before and not now.
    """

    current: dict[str, Current] = field(default_factory=dict)
    put: dict[str, DocumentRecord] = field(default_factory=dict)
    history: list[DocumentRecord] = field(default_factory=list)
    stamped: dict[str, DocumentRecord] = field(default_factory=dict)
    bodies: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    has_news: bool = False
    has_losses: bool = False
    second_look_at: datetime | None = None


def reconcile(domain: str, visit: Visit, stored: Sequence[DocumentRecord], now: datetime) -> Documents:
    """The documents of the visit's host, given those it had. `stored` may be empty."""
    found = Documents({one.url: Current(one) for one in stored})
    for answer in visit.answers:
        if answer.probe.purpose not in _DOCUMENTS or not (found.current or _is_worth_keeping(answer)):
            continue  # nearly every answer of nearly every host
        if _belongs_to(answer, visit.host):
            _take(found, domain, visit.host, answer, now)
    if not found.current:
        return found
    _drop_carried(found, visit, now)
    if visit.alias_of is not None:
        _miss_all(found, now)
    _name_copies(found, {answer.probe.url for answer in visit.answers})
    return found


def lose_all(found: Documents, reason: str, now: datetime) -> None:
    """The host itself is gone: so is everything it served."""
    for current in list(found.current.values()):
        if current.record.outcome is Outcome.FOUND:
            _lose(found, current.record, Outcome.GONE, reason, now)


def visit_record(domain: str, visit: Visit) -> VisitRecord:
    """The visit as one row of the ledger, with the vector of what was asked and what came."""
    return VisitRecord(
        domain,
        visit.host,
        visit.started_at,
        visit.finished_at,
        visit.outcome,
        visit.reason,
        visit.whole_plan,
        visit.requests,
        visit.address,
        pack(visit.host, visit.answers),
    )


def document_record(
    domain: str, host: str, answer: Answer, old: DocumentRecord | None, now: datetime
) -> DocumentRecord:
    """The answer as the current document of its URL."""
    probe, fetched, judged = answer.probe, answer.fetched, answer.assessment
    return DocumentRecord(
        domain=domain,
        host=host,
        url=probe.url,
        final_url=fetched.final_url,
        purpose=probe.purpose.value,
        outcome=judged.outcome,
        reason=judged.reason,
        sha256=fetched.sha256,
        size=fetched.size,
        has_body=keeps_body(judged),
        first_seen_at=old.first_seen_at if old else fetched.at,
        changed_at=now,
        seen_at=fetched.at,
        rubric_version=VERSION,
        format=judged.format,
        dialect=judged.dialect,
        status=fetched.status,
        media_type=media_type(fetched.headers.get("content-type")),
        etag=fetched.headers.get("etag"),
        last_modified=fetched.headers.get("last-modified"),
        headers={name: fetched.headers[name] for name in _HEADERS if name in fetched.headers},
        via=_via(probe, old),
        findings=findings_json(judged),
    )


def findings_json(judged: Assessment) -> list[dict[str, str]]:
    return [
        {"reason": one.reason.value, "pointer": one.pointer, "evidence": one.evidence}
        for one in judged.findings[:MAX_BODY_FINDINGS]
    ]


def _take(found: Documents, domain: str, host: str, answer: Answer, now: datetime) -> None:
    judged, fetched = answer.assessment, answer.fetched
    known = found.current.get(answer.probe.url)
    old = known.record if known else None
    if old is not None and fetched.status == 304:
        _stamp(found, _seen(old, fetched))
    elif old is None:
        if _is_worth_keeping(answer):
            _change(found, document_record(domain, host, answer, None, now), answer)
    elif _teaches_nothing(old, judged):
        return
    elif _is_missed(old, judged) and not _is_sure(old, judged, now):
        _miss(found, old, now)
    else:
        _update(found, document_record(domain, host, answer, old, now), old, answer)


def _update(found: Documents, new: DocumentRecord, old: DocumentRecord, answer: Answer) -> None:
    """Nothing new: a stamp. Served differently: the new row. Other content: the new row and one of history."""
    same_content = (new.outcome, new.format, new.dialect) == (old.outcome, old.format, old.dialect) and (
        new.sha256 == old.sha256 if new.has_body else new.reason == old.reason
    )
    if not same_content:
        found.has_losses |= old.outcome is Outcome.FOUND and new.outcome is not Outcome.FOUND
        _change(found, new, answer)
    elif _served(new) != _served(old):
        _replace(found, Current(replace(new, changed_at=old.changed_at), answer.assessment), history=False)
    elif new.headers != old.headers:
        found.current[new.url] = Current(new, answer.assessment)
        found.put[new.url] = replace(new, changed_at=old.changed_at)
    else:
        seen = replace(_seen(old, answer.fetched), etag=new.etag, last_modified=new.last_modified)
        _stamp(found, seen, answer.assessment)


def _change(found: Documents, new: DocumentRecord, answer: Answer) -> None:
    if new.has_body:
        found.bodies[new.domain, new.sha256] = answer.fetched.body
    _replace(found, Current(new, answer.assessment))


def _replace(found: Documents, new: Current, *, history: bool = True) -> None:
    found.current[new.record.url] = new
    found.put[new.record.url] = new.record
    found.stamped.pop(new.record.url, None)
    if history:
        found.history.append(new.record)
    found.has_news = True


def _stamp(found: Documents, record: DocumentRecord, assessment: Assessment | None = None) -> None:
    found.current[record.url] = Current(record, assessment)
    found.stamped[record.url] = record


def _seen(old: DocumentRecord, fetched: Fetched) -> DocumentRecord:
    """Validators may change without the content (RFC 9110 section 15.4.5: a 304 carries the current ones)."""
    return replace(
        old,
        seen_at=fetched.at,
        missed_at=None,
        etag=fetched.headers.get("etag", old.etag),
        last_modified=fetched.headers.get("last-modified", old.last_modified),
    )


def _served(one: DocumentRecord) -> tuple[Any, ...]:
    return one.findings, one.final_url, one.media_type, one.via, one.reason, one.rubric_version


def _miss(found: Documents, old: DocumentRecord, now: datetime) -> None:
    missed_at = old.missed_at or now
    _stamp(found, replace(old, missed_at=missed_at))
    found.has_losses = True
    found.second_look_at = min(found.second_look_at or missed_at + SECOND_LOOK, missed_at + SECOND_LOOK)


def _lose(found: Documents, old: DocumentRecord, outcome: Outcome, reason: str, now: datetime) -> None:
    lost = replace(old, outcome=outcome, reason=reason, changed_at=now, missed_at=None, has_body=False)
    _replace(found, Current(lost, Assessment(outcome, reason)))
    found.has_losses = True


def _miss_all(found: Documents, now: datetime) -> None:
    """Another host of the domain answers for this one: a first and a second look, as for single documents."""
    for current in list(found.current.values()):
        old = current.record
        if old.outcome is not Outcome.FOUND:
            continue
        if old.missed_at is not None and now - old.missed_at >= SECOND_LOOK:
            _lose(found, old, Outcome.ABSENT, "alias", now)
        else:
            _miss(found, old, now)


def _drop_carried(found: Documents, visit: Visit, now: datetime) -> None:
    """Documents carried inside another one (their URL has a fragment) are gone with it, or when it drops them."""
    answered = {answer.probe.url for answer in visit.answers}
    read = {one.fetched.final_url for one in visit.answers if one.assessment.outcome in _BODIES and one.fetched.body}
    alive = {one.record.final_url for one in found.current.values() if one.record.outcome in _BODIES}
    for current in list(found.current.values()):
        old, carrier = current.record, current.record.url.partition("#")[0]
        dropped = carrier in read and old.url not in answered
        if "#" in old.url and old.outcome is Outcome.FOUND and (dropped or carrier not in alive):
            _lose(found, old, Outcome.ABSENT, "no_longer_carried", now)


def _name_copies(found: Documents, answered: Collection[str]) -> None:
    """The same bytes at several paths are one document: all but the most preferred path get `alias_of`.

    A copy that was not asked for in this visit stays one, whatever its original says now. A detail is never a copy:
    merge asks for each by the URL that its capability names.
    """
    documents = [
        one
        for one in found.current.values()
        if one.record.outcome is Outcome.FOUND
        and not is_detail(one.record)
        and (one.record.alias_of is None or one.record.url in answered)
    ]
    first: dict[bytes, str] = {}
    for one in sorted(documents, key=_preference):
        first.setdefault(one.record.sha256, one.record.url)
    for one in documents:
        original = first[one.record.sha256]
        alias_of = original if original != one.record.url else None
        if alias_of != one.record.alias_of:
            _replace(found, replace(one, record=replace(one.record, alias_of=alias_of)), history=False)


def is_detail(one: DocumentRecord) -> bool:
    return one.via is not None and one.via.rel == DETAIL_REL


def _preference(one: Current) -> tuple[int, int, str]:
    """The paths of the document's own format first, in its order."""
    form = FORMAT_BY_SLUG.get(one.record.format or "")
    paths = form.paths if form else ()
    place = next((index for index, path in enumerate(paths) if one.record.url.endswith(path)), len(paths))
    return place, len(one.record.url), one.record.url


def _belongs_to(answer: Answer, host: str) -> bool:
    """What another host answered is that host's, it is visited itself; but details may be kept anywhere on the site."""
    server = host_of(answer.fetched.final_url) or ""
    return server == host or (answer.probe.purpose is Purpose.DETAIL and same_site(server, host))


def _is_worth_keeping(answer: Answer) -> bool:
    """Presence of any kind, and every answer to a pointer: that a capability's detail is missing is a finding."""
    return keeps_body(answer.assessment) or answer.probe.via is not None


def _teaches_nothing(old: DocumentRecord, judged: Assessment) -> bool:
    """Unknown is not absence: what is known stays, where anything is."""
    return old.outcome in _BODIES and judged.outcome is not Outcome.FOUND and judged.outcome not in _SAYS_NO


def _is_missed(old: DocumentRecord, judged: Assessment) -> bool:
    return old.outcome is Outcome.FOUND and judged.outcome is not Outcome.FOUND


def _is_sure(old: DocumentRecord, judged: Assessment, now: datetime) -> bool:
    return judged.outcome is Outcome.GONE or (old.missed_at is not None and now - old.missed_at >= SECOND_LOOK)


def _via(probe: Probe, old: DocumentRecord | None) -> Via | None:
    """Who asked for the document first, where it is now asked for only because it is known."""
    if old is not None and (probe.via is None or probe.via.rel == "known"):
        return old.via
    return probe.via
