"""Assess one fetched answer: recognise its format and judge it. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from registry.core.assessing import rules
from registry.core.assessing.controls import Control, Controls, control
from registry.core.assessing.firewalls import firewall_of
from registry.core.assessing.injection import flag_injections
from registry.core.assessing.mining import find_manifest_pointers, home_pointers
from registry.core.assessing.recognise import Foreign, Negative, recognise
from registry.core.assessing.verdicts import READ, get_outcome_of_status, is_home
from registry.core.format_support import common_rules
from registry.core.format_support.account import EntryCount
from registry.core.format_support.endpoints import claim, link
from registry.core.format_support.format import Format, Judgement
from registry.core.format_support.manifest import Notes, map_of
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
from registry.core.model.documents import (
    NO_HEADERS,
    Document,
    FetchResult,
    Json,
    Outcome,
    Probe,
    Purpose,
    Via,
    has_body,
)
from registry.core.model.findings import EVIDENCE_CHARS, Finding, Rule
from registry.core.model.services import Pointer, Service
from registry.core.reading import rules as reading_rules
from registry.core.reading.json_pointer import at
from registry.core.reading.languages import declared_languages
from registry.core.reading.plain_text import line
from registry.core.reading.positions import number_at
from registry.core.reading.reader import BOM, Unreadable, is_html, looks_like_json, read_json, read_text

PAGE_REL: Final = "page"
"""Relation of a document that was made of a front page."""

_MAX_ALTERNATIVES = 10
_HEAD_BYTES = 4096
_NOT_MANIFESTS = frozenset({Purpose.ROBOTS, Purpose.HOME, Purpose.CONTROL, Purpose.RPC, Purpose.CALL})
_IDENTITIES = frozenset({"domain", "host", "hostname", "origin"})
_HOLDERS = ("agent", "service", "identity")
"""Members, besides DIDs, that name the owner of a document in any format, at the top or in one of the objects."""
_FROM_PAGES = tuple((form.from_page, form.slug) for form in FORMATS if form.from_page)
_PAGE_HINTS = tuple(form.page_hint for form in FORMATS if form.page_hint)
_BEYOND_LIMITS = frozenset({reading_rules.TOO_LARGE, reading_rules.TOO_DEEP, reading_rules.TOO_MANY})
"""Rules whose breach says nothing about the document's form: only that this registry does not read so much."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """The judgement of one answer. `reason` refines the outcome ("html", "foreign:ahp", "control_equal", "depth" ...).
    `format` and `dialect` are set for FOUND, and `format` for NEGATIVE if the file states which protocol is absent.
    `service` is set only for FOUND, and `entries`, the counts of entries that were read and that were not, only for a
    document that was just read."""

    outcome: Outcome
    reason: str = ""
    format: str | None = None
    dialect: str | None = None
    findings: tuple[Finding, ...] = ()
    service: Service | None = None
    pointers: tuple[Pointer, ...] = ()
    entries: tuple[EntryCount, ...] = ()


_CONTROL_EQUAL = Assessment(Outcome.ABSENT, "control_equal")


def assess(probe: Probe, fetched: FetchResult, controls: Controls) -> Assessment:
    """Judge one answer of the plan: transport first, then status, then controls, then the body. Never raises. A 304 to
    a conditional request is FOUND, "unchanged", without format: the plan knows which document it is. A FOUND document
    of a host that answers every path with JSON has the reason "echo_host"."""
    if fetched.failure is Outcome.REDIRECTED_AWAY and controls.equal(fetched):
        return _CONTROL_EQUAL
    if fetched.failure is not None or fetched.status is None:
        return Assessment(fetched.failure or Outcome.UNREACHABLE, fetched.reason)
    same_control = controls.same(fetched)
    # a page like the control's was judged with the control; a refusal is unknown even where random names get the same
    is_judged = same_control is not None and fetched.status in READ
    if not is_judged and (firewall := firewall_of(fetched, lets_in=controls.lets_in)):  # guard: firewall-unknown
        return Assessment(Outcome.REFUSED_BY_FIREWALL, firewall.reason)
    if fetched.status == 304 and (probe.etag or probe.last_modified):
        return Assessment(Outcome.FOUND, "unchanged")
    if fetched.status not in READ:
        if fetched.status in (401, 403) and controls.home_ok and (same_control or controls.equal(fetched)):
            return _CONTROL_EQUAL
        return _by_status(fetched.status)
    if probe.purpose in _NOT_MANIFESTS:
        if probe.purpose is not Purpose.HOME:
            return Assessment(Outcome.NOT_A_MANIFEST, probe.purpose.value)
        hints = tuple(Finding(hint.rule) for hint in _PAGE_HINTS if hint.is_in(fetched.body))  # attributes for agents
        links = home_pointers(fetched.final_url, fetched.headers, fetched.body) + _carried(fetched)
        return Assessment(Outcome.NOT_A_MANIFEST, probe.purpose.value, findings=hints, pointers=links)
    return _assess_against(probe, fetched, controls, same_control or controls.equal(fetched))


def _carried(fetched: FetchResult) -> tuple[Pointer, ...]:
    """Return the documents that formats make of a front page, each as a pointer that carries it."""
    made = ((make(fetched.body, fetched.final_url), slug) for make, slug in _FROM_PAGES)
    return tuple(Pointer(None, PAGE_REL, at("", slug), slug, value) for value, slug in made if value is not None)


def sample(fetched: FetchResult) -> Control:
    """Return what to keep of the answer to a control."""
    assessment = _assess_fetched(fetched, _neutral_url(fetched.final_url), None) if fetched.status in READ else None
    return control(fetched, assessment.format if assessment and assessment.outcome is Outcome.FOUND else None)


def keeps_body(assessment: Assessment) -> bool:
    """Return whether the raw body is stored, so that later rules can judge it again. Else hash and size are enough."""
    return has_body(assessment.outcome, assessment.reason)


@lru_cache(maxsize=128)  # nearly all answers of nearly all hosts are decided here
def _by_status(status: int) -> Assessment:
    outcome, reason = get_outcome_of_status(status) or (Outcome.NOT_A_MANIFEST, "")
    return Assessment(outcome, reason)


def _assess_against(
    probe: Probe, fetched: FetchResult, controls: Controls, equal_control: Control | None
) -> Assessment:
    """Judge a body with a status of READ: whether it belongs to its path, and its format. `equal_control` equals it."""
    if fetched.hops and is_home(fetched.final_url):
        return Assessment(Outcome.ABSENT, "redirect_home")
    if equal_control is not None:  # a real document that a catch-all serves everywhere counts at its format's own path
        form = FORMAT_BY_SLUG.get(equal_control.form or "")
        if form is None or not fetched.final_url.endswith(form.paths[:1]):
            return _CONTROL_EQUAL
    if fetched.truncated and looks_like_json(fetched.body[:1024].decode("utf-8", "replace")):  # guard: truncated-json
        return Assessment(Outcome.TOO_LARGE, "truncated")
    assessment = _assess_fetched(fetched, fetched.final_url, probe.via)
    if fetched.hops and assessment.format is not None and not FORMAT_BY_SLUG[assessment.format].follows_redirects:
        return Assessment(Outcome.NOT_A_MANIFEST, "redirected")
    if assessment.outcome is not Outcome.FOUND or not controls.echo:
        return assessment
    if _assess_fetched(fetched, _neutral_url(fetched.final_url), None).format != assessment.format:
        return Assessment(Outcome.NOT_A_MANIFEST, "echo_host")  # where every path answers, a weak match proves nothing
    return replace(assessment, reason="echo_host")


def _neutral_url(url: str) -> str:
    """Return the same host at a path that belongs to no format: only strong tests count there."""
    return "/".join(url.split("/", 3)[:3]) + "/"


def _assess_fetched(fetched: FetchResult, url: str, via: Via | None) -> Assessment:
    body = _whole_characters(fetched.body) if fetched.truncated else fetched.body
    media_type = fetched.headers.get("content-type", "").partition(";")[0].strip().lower()
    return assess_body(body, url, media_type or None, fetched.headers, via=via)


def _whole_characters(body: bytes) -> bytes:
    """Return a cut text without the incomplete character at its end."""
    tail = body[-4:]
    length = next((count for count in range(1, len(tail) + 1) if tail[-count] & 0xC0 != 0x80), 0)
    if length and tail[-length] >= 0xC0 and len(f"{tail[-length]:08b}".split("0", 1)[0]) > length:
        return body[:-length]
    return body


def assess_body(
    raw: bytes,
    url: str,
    media_type: str | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
    *,
    expected: str | None = None,
    via: Via | None = None,
) -> Assessment:
    """Judge a body served at `url` (absolute) with 200: read, recognise, judge by its format. Never raises.
    `media_type` is lower case without parameters, None if unknown. `expected`, or what `via` expects, is the format
    slug that a pointer promised: it enables the weak rows of that format and never overrides the content."""
    promised_format = expected or (via.expected if via else None)
    if media_type == "text/event-stream":  # a live MCP server instead of a document
        return _no_manifest("event_stream", rules.TEXT)
    # before checking the encoding: a page in Latin-1 is a soft 404, not a broken manifest
    if is_html(raw[:_HEAD_BYTES].decode("utf-8-sig", "replace")):
        return _no_manifest("html", rules.HTML)
    try:
        text = read_text(raw)
    except Unreadable as refusal:
        return _assess_unreadable(refusal)
    cuts: list[Finding] = []
    try:
        value = read_json(raw, cuts)
    except Unreadable as refusal:
        return _judge_text(Document(raw, None, url, media_type, headers, text), promised_format, refusal)
    if not isinstance(value, dict):
        return _no_manifest("json_array" if isinstance(value, list) else "json_scalar", rules.NOT_AN_OBJECT)
    return _judge_object(Document(raw, value, url, media_type, headers), value, promised_format, cuts)


def _judge_text(document: Document, promised_format: str | None, refusal: Unreadable) -> Assessment:
    match = recognise(document, promised_format)
    if match is not None and isinstance(match.result, Format):
        cuts: list[Finding] = []
        if match.reader is not None:
            try:
                document = replace(document, value=match.reader(document.text or "", cuts))
            except Unreadable as reader_refusal:
                return _assess_unreadable(reader_refusal)
        return _assess_found(document, match.result, match.dialect, cuts)
    if match is not None and isinstance(match.result, Foreign):
        return _assess_foreign(match.result)
    if looks_like_json(document.text or ""):
        return _assess_unreadable(refusal)
    return _no_manifest("text", rules.TEXT)


def _judge_object(
    document: Document, value: dict[str, Json], promised_format: str | None, cuts: Sequence[Finding]
) -> Assessment:
    match = recognise(document, promised_format)
    if match is None:
        return _no_manifest("unrecognised" if value else "empty", rules.UNRECOGNISED, " ".join(sorted(value)))
    if isinstance(match.result, Foreign):
        return _assess_foreign(match.result)
    if isinstance(match.result, Negative):
        stated, pointers = match.result.format, _alternatives(document.url, value)
        finding = Finding(rules.STATED_ABSENCE, "", stated or "")
        return Assessment(Outcome.NEGATIVE, "stated_absence", stated, findings=(finding,), pointers=pointers)
    return _assess_found(document, match.result, match.dialect, cuts)


def _assess_found(document: Document, form: Format, dialect: str, cuts: Sequence[Finding]) -> Assessment:
    service, format_findings, entries = _judge_with_version(document, form, dialect)
    if form.names_documents:
        service = replace(service, pointers=find_manifest_pointers(document.text or "", document.url))
    if not service.languages and (languages := declared_languages(document.headers)):
        service = replace(service, languages=languages)
    service, injection_findings = flag_injections(document, service)  # guard: injection-flags
    claims = _claims_elsewhere(document, format_findings)
    findings = (*_serving_findings(document, form), *cuts, *format_findings, *claims, *injection_findings)
    return Assessment(Outcome.FOUND, "", form.slug, dialect or None, findings, service, service.pointers, entries)


def _judge_with_version(document: Document, form: Format, dialect: str) -> Judgement:
    """Judge a document by its format. A service version that the document writes as a number is read as its text."""
    judged = form.judge(document, dialect)
    numbers = _find_version_numbers(document, form) if judged.service.version is None else {}
    if not numbers:
        return judged
    value = dict(document.members)
    for holder, text in numbers.items():
        value |= {holder: {**map_of(value, holder), "version": text}} if holder else {"version": text}
    again = form.judge(replace(document, value=value), dialect)
    version, origin = again.service.version, again.service.provenance.get("version")
    if version is None or origin is None:  # another version, for example of the list
        return judged
    return again._replace(findings=(*again.findings, Finding(rules.VERSION_NUMBER, origin.pointer, version)))


def _find_version_numbers(document: Document, form: Format) -> dict[str, str]:
    """Return the members `version` that are numbers where the format has a text, as the document writes them, by the
    name of their holder: "" for the document itself."""
    numbers = {}
    for pointer in form.types:
        name, _, key = pointer.removeprefix("/").rpartition("/")
        version = (map_of(document.value, name) if name else document.members).get(key) if key == "version" else None
        if isinstance(version, int | float) and not isinstance(version, bool):
            numbers[name] = number_at(document.raw, pointer, version)
    return numbers


def _claims_elsewhere(document: Document, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return a finding for each identity of another host that the format's own rules did not report already."""
    notes = Notes()
    rules_of_claims = (common_rules.CLAIM_ELSEWHERE, common_rules.CLAIM_OF_SITE)
    known = {finding.pointer for finding in found if finding.rule in rules_of_claims}
    value = document.members
    for place, holder in (("", value), *((at("", name), map_of(value, name)) for name in _HOLDERS)):
        for name, claimed in holder.items():
            is_identity = name in _IDENTITIES or (isinstance(claimed, str) and claimed.startswith("did:"))
            if is_identity and (pointer := at(place, name)) not in known:
                claim(claimed, document, pointer, notes)  # guard: identity-members
    return notes.findings()


def _serving_findings(document: Document, form: Format) -> list[Finding]:
    """Return findings about how the document was served: byte order mark and media type."""
    findings = []
    if document.raw.startswith(BOM):
        findings.append(Finding(rules.BYTE_ORDER_MARK))
    media_type = document.media_type
    if media_type in ("text/html", "application/xhtml+xml"):
        findings.append(Finding(rules.HTML_TYPE, "", media_type))
    elif media_type is not None and media_type not in form.media_types:
        findings.append(Finding(rules.CONTENT_TYPE, "", line(media_type, EVIDENCE_CHARS)))
    return findings


def _alternatives(url: str, value: dict[str, Json]) -> tuple[Pointer, ...]:
    """Return pointers to the formats the host does offer, from `alternatives` at the top or in a member."""
    pointers = []
    for pointer, holder in (("", value), *((at("", key), member) for key, member in value.items())):
        for key, target in map_of(holder, "alternatives").items():
            absolute_url = link(target, url)
            if absolute_url is not None:
                pointers.append(Pointer(absolute_url, "alternative", at(pointer, "alternatives", key)))
    return tuple(pointers[:_MAX_ALTERNATIVES])


def _assess_unreadable(refusal: Unreadable) -> Assessment:
    outcome = Outcome.TOO_LARGE if refusal.rule in _BEYOND_LIMITS else Outcome.MALFORMED
    reason = refusal.rule.code.rpartition(".")[2]
    return Assessment(outcome, reason, findings=(Finding(refusal.rule, "", refusal.evidence),))


def _assess_foreign(scheme: Foreign) -> Assessment:
    return _no_manifest(f"foreign:{scheme.name}", rules.FOREIGN, scheme.name)


def _no_manifest(reason: str, rule: Rule, evidence: str = "") -> Assessment:
    return Assessment(Outcome.NOT_A_MANIFEST, reason, findings=(Finding(rule, "", line(evidence, EVIDENCE_CHARS)),))
