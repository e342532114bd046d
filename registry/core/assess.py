"""recognise -> validate -> normalise: one fetched answer, as one pure function."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from registry.core.documents import Document, Json, Outcome, Via
from registry.core.domains import parse_https
from registry.core.findings import EVIDENCE_CHARS, Finding, Reason
from registry.core.format import Format
from registry.core.reader import BOM, Unreadable, is_html, looks_like_json, read_json, read_text
from registry.core.recognise import Foreign, Negative, recognise
from registry.core.services import Pointer, Service

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_MAX_ALTERNATIVES = 10


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the core thinks of one answer.

    `reason` refines the outcome ("html", "foreign:ahp", "control_equal", "depth" ...). `format` and `dialect` are set
    for FOUND, and `format` for NEGATIVE where the file says which protocol is absent. `service` is None unless FOUND.
    """

    outcome: Outcome
    reason: str = ""
    format: str | None = None
    dialect: str | None = None
    findings: tuple[Finding, ...] = ()
    service: Service | None = None
    pointers: tuple[Pointer, ...] = ()


def assess_body(
    raw: bytes,
    url: str,
    media_type: str | None = None,
    headers: Mapping[str, str] = _NO_HEADERS,
    *,
    expected: str | None = None,
    via: Via | None = None,
) -> Assessment:
    """Judge a body served at `url` (absolute) with 200: read, recognise, validate, normalise. Never raises.

    `media_type` is lower case without parameters, None when unknown. `expected`, or what `via` expects, is the format
    slug that a pointer promised: it admits the weak rows of that format, it never overrules the content.
    """
    promised = expected or (via.expected if via else None)
    try:
        text = read_text(raw)
    except Unreadable as refusal:
        return _unreadable(refusal)
    if is_html(text):
        return _no_manifest("html", Reason.HTML)
    try:
        value = read_json(raw)
    except Unreadable as refusal:
        return _judge_text(Document(raw, None, url, media_type, headers, text), promised, refusal)
    if not isinstance(value, dict):
        return _no_manifest("json_array" if isinstance(value, list) else "json_scalar", Reason.NOT_AN_OBJECT)
    return _judge_object(Document(raw, value, url, media_type, headers), value, promised)


def _judge_text(document: Document, promised: str | None, refusal: Unreadable) -> Assessment:
    match = recognise(document, promised)
    if match is not None and isinstance(match.what, Format):
        return _found(document, match.what, match.dialect)
    if looks_like_json(document.text or ""):
        return _unreadable(refusal)
    return _no_manifest("text", Reason.TEXT)


def _judge_object(document: Document, value: dict[str, Json], promised: str | None) -> Assessment:
    match = recognise(document, promised)
    if match is None:
        if not value:
            return _no_manifest("empty", Reason.UNRECOGNISED)
        return _no_manifest("unrecognised", Reason.UNRECOGNISED, " ".join(sorted(value)))
    if isinstance(match.what, Foreign):
        return _no_manifest(f"foreign:{match.what.name}", Reason.FOREIGN, match.what.name)
    if isinstance(match.what, Negative):
        return _negative(document, value, match.what)
    return _found(document, match.what, match.dialect)


def _found(document: Document, form: Format, dialect: str) -> Assessment:
    service = form.normalise(document, dialect)
    findings = (*_served(document, form), *form.validate(document, dialect))
    return Assessment(Outcome.FOUND, "", form.slug, dialect or None, findings, service, service.pointers)


def _served(document: Document, form: Format) -> list[Finding]:
    """How the document was served, whatever it says: encoding mark and media type."""
    found = []
    if document.raw.startswith(BOM):
        found.append(Finding(Reason.BYTE_ORDER_MARK))
    kind = document.media_type
    if kind in ("text/html", "application/xhtml+xml"):
        found.append(Finding(Reason.HTML_TYPE, "", kind))
    elif kind is not None and kind not in form.media_types:
        found.append(Finding(Reason.CONTENT_TYPE, "", kind[:EVIDENCE_CHARS]))
    return found


def _negative(document: Document, value: dict[str, Json], absent: Negative) -> Assessment:
    finding = Finding(Reason.STATED_ABSENCE, "", absent.format or "")
    return Assessment(
        Outcome.NEGATIVE, "stated_absence", absent.format, None, (finding,), None, _alternatives(document.url, value)
    )


def _alternatives(url: str, value: dict[str, Json]) -> tuple[Pointer, ...]:
    """Values of `alternatives` are pointers to what the host does offer (formats.md section 5)."""
    named = value.get("alternatives")
    if not isinstance(named, dict):
        return ()
    found = []
    for key, target in list(named.items())[:_MAX_ALTERNATIVES]:
        joined = parse_https(target, url) if isinstance(target, str) else None
        if joined is not None:
            found.append(Pointer(joined, "alternative", f"/alternatives/{key}"))
    return tuple(found)


def _unreadable(refusal: Unreadable) -> Assessment:
    outcome = Outcome.TOO_LARGE if refusal.reason is Reason.TOO_LARGE else Outcome.MALFORMED
    return Assessment(outcome, _code(refusal.reason), findings=(Finding(refusal.reason, "", refusal.evidence),))


def _no_manifest(code: str, reason: Reason, evidence: str = "") -> Assessment:
    return Assessment(Outcome.NOT_A_MANIFEST, code, findings=(Finding(reason, "", evidence[:EVIDENCE_CHARS]),))


def _code(reason: Reason) -> str:
    return reason.value.rpartition(".")[2]
