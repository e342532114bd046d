"""recognise -> judge: one fetched answer, as one pure function."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from registry.core.controls import Control, Controls, control
from registry.core.documents import NO_HEADERS, Document, Fetched, Json, Outcome, Probe, Purpose, Via
from registry.core.endpoints import link
from registry.core.findings import EVIDENCE_CHARS, Finding, Reason
from registry.core.format import Format
from registry.core.formats import aid
from registry.core.languages import declared_languages
from registry.core.links import has_awas_hint, home_pointers
from registry.core.manifest import at, map_of
from registry.core.plain_text import line
from registry.core.reader import BOM, Unreadable, is_html, looks_like_json, read_json, read_text
from registry.core.recognise import FORMAT_BY_SLUG, Foreign, Negative, recognise
from registry.core.redirects import is_home
from registry.core.services import Pointer, Service
from registry.core.verdicts import READ, by_status, is_challenge

_MAX_ALTERNATIVES = 10
_HEAD_BYTES = 4096
_NOT_MANIFESTS = frozenset({Purpose.ROBOTS, Purpose.HOME, Purpose.CONTROL})
_BODIES = frozenset({Outcome.FOUND, Outcome.NEGATIVE, Outcome.MALFORMED})


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


_CONTROL_EQUAL = Assessment(Outcome.ABSENT, "control_equal")


def assess(probe: Probe, fetched: Fetched, controls: Controls) -> Assessment:
    """Judge one answer of the plan: transport first, then status, then controls, then the body. Never raises.

    An answer to our own validators (304) is FOUND, "unchanged", without format: the plan knows which document it is.
    A FOUND document of a host that answers everything with JSON has the reason "echo_host".
    """
    if fetched.failure is Outcome.REDIRECTED_AWAY and controls.equal(fetched):
        return _CONTROL_EQUAL
    if fetched.failure is not None or fetched.status is None:
        return Assessment(fetched.failure or Outcome.UNREACHABLE, fetched.reason)
    same = controls.same(fetched)
    if same is None and is_challenge(fetched):  # a control that was one has ended the visit
        return Assessment(Outcome.REFUSED, "challenge")
    if fetched.status == 304 and (probe.etag or probe.last_modified):
        return Assessment(Outcome.FOUND, "unchanged")
    if fetched.status not in READ:
        if fetched.status in (401, 403) and controls.home_ok and (same or controls.equal(fetched)):
            return _CONTROL_EQUAL
        return _by_status(fetched.status)
    if probe.purpose in _NOT_MANIFESTS:
        judged = Assessment(Outcome.NOT_A_MANIFEST, probe.purpose.value)
        return _with_links(judged, fetched) if probe.purpose is Purpose.HOME else judged
    return _assess_against(probe, fetched, controls, same or controls.equal(fetched))


def sample(fetched: Fetched) -> Control:
    """What to keep of the answer to a control."""
    judged = _assess_fetched(fetched, _nowhere(fetched.final_url), None) if fetched.status in READ else None
    return control(fetched, judged.format if judged and judged.outcome is Outcome.FOUND else None)


def keeps_body(judged: Assessment) -> bool:
    """Whether the raw body is stored, so that later rules can judge it again; of all others hash and size are enough.

    Presence of any kind, broken or denied, and JSON of schemes that may have a format one day.
    """
    outcome = judged.outcome
    return outcome in _BODIES or (outcome is Outcome.NOT_A_MANIFEST and judged.reason.startswith("foreign:"))


@lru_cache(maxsize=128)  # one verdict for all answers of a status: nearly all answers of nearly all hosts
def _by_status(status: int) -> Assessment:
    outcome, reason = by_status(status) or (Outcome.NOT_A_MANIFEST, "")
    return Assessment(outcome, reason)


def _with_links(judged: Assessment, fetched: Fetched) -> Assessment:
    """What a front page tells about the host: where its documents are, and that it speaks to agents in attributes."""
    hints = (Finding(Reason.AWAS_HINT),) if has_awas_hint(fetched.body) else ()
    links = home_pointers(fetched.final_url, fetched.headers, fetched.body)
    return replace(judged, findings=hints, pointers=links)


def _assess_against(probe: Probe, fetched: Fetched, controls: Controls, twin: Control | None) -> Assessment:
    """A body served with 200: is it this path's own, and what is it. `twin`: the control that says the same."""
    if fetched.hops and is_home(fetched.final_url):
        return Assessment(Outcome.ABSENT, "redirect_home")
    if twin is not None and not _is_at_home(twin.form, fetched):
        return _CONTROL_EQUAL
    if fetched.truncated and looks_like_json(fetched.body[:1024].decode("utf-8", "replace")):
        return Assessment(Outcome.TOO_LARGE, "truncated")
    judged = _assess_fetched(fetched, fetched.final_url, probe.via)
    if fetched.hops and judged.format == aid.FORMAT.slug:
        return Assessment(Outcome.NOT_A_MANIFEST, "redirected")  # AID 2: the record is read where it was asked for
    if judged.outcome is not Outcome.FOUND or not controls.echo:
        return judged
    if _assess_fetched(fetched, _nowhere(fetched.final_url), None).format != judged.format:
        return Assessment(Outcome.NOT_A_MANIFEST, "echo_host")  # a weak match proves nothing where everything answers
    return replace(judged, reason="echo_host")


def _is_at_home(slug: str | None, fetched: Fetched) -> bool:
    """Where a catch-all serves one real document for every name: it counts once, at its format's own path."""
    form = FORMAT_BY_SLUG.get(slug or "")
    return form is not None and fetched.final_url.endswith(form.paths[:1])


def _nowhere(url: str) -> str:
    """The same host at a path that belongs to no format: only strong tests count there."""
    return "/".join(url.split("/", 3)[:3]) + "/"


def _assess_fetched(fetched: Fetched, url: str, via: Via | None) -> Assessment:
    body = _whole_characters(fetched.body) if fetched.truncated else fetched.body
    media_type = fetched.headers.get("content-type", "").partition(";")[0].strip().lower()
    return assess_body(body, url, media_type or None, fetched.headers, via=via)


def _whole_characters(body: bytes) -> bytes:
    """A cut text without the bytes of a character that the cut went through."""
    head = body[-4:]
    cut = next((at for at in range(1, len(head) + 1) if head[-at] & 0xC0 != 0x80), 0)
    if cut and head[-cut] >= 0xC0 and len(f"{head[-cut]:08b}".split("0", 1)[0]) > cut:
        return body[:-cut]
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

    `media_type` is lower case without parameters, None when unknown. `expected`, or what `via` expects, is the format
    slug that a pointer promised: it admits the weak rows of that format, it never overrules the content.
    """
    promised = expected or (via.expected if via else None)
    if media_type == "text/event-stream":  # a live MCP server where a document was named
        return _no_manifest("event_stream", Reason.TEXT)
    # before the encoding: a page in Latin-1 is a soft 404, not a broken manifest
    if is_html(raw[:_HEAD_BYTES].decode("utf-8-sig", "replace")):
        return _no_manifest("html", Reason.HTML)
    try:
        text = read_text(raw)
    except Unreadable as refusal:
        return _unreadable(refusal)
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
        if match.reader is not None:
            try:
                document = replace(document, value=match.reader(document.text or ""))
            except Unreadable as unread:
                return _unreadable(unread)
        return _found(document, match.what, match.dialect)
    if match is not None and isinstance(match.what, Foreign):
        return _foreign(match.what)
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
        return _foreign(match.what)
    if isinstance(match.what, Negative):
        return _negative(document, value, match.what)
    return _found(document, match.what, match.dialect)


def _found(document: Document, form: Format, dialect: str) -> Assessment:
    service, noted = form.judge(document, dialect)
    if not service.languages and (languages := declared_languages(document.headers)):
        service = replace(service, languages=languages)
    findings = (*_served(document, form), *noted)
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
        found.append(Finding(Reason.CONTENT_TYPE, "", line(kind, EVIDENCE_CHARS)))
    return found


def _negative(document: Document, value: dict[str, Json], absent: Negative) -> Assessment:
    finding = Finding(Reason.STATED_ABSENCE, "", absent.format or "")
    return Assessment(
        Outcome.NEGATIVE, "stated_absence", absent.format, None, (finding,), None, _alternatives(document.url, value)
    )


def _alternatives(url: str, value: dict[str, Json]) -> tuple[Pointer, ...]:
    """Values of `alternatives`, at the top or in a container, point to what the host does offer (section 5)."""
    found = []
    for pointer, holder in (("", value), *((at("", key), inner) for key, inner in value.items())):
        for key, target in map_of(holder, "alternatives").items():
            joined = link(target, url)
            if joined is not None:
                found.append(Pointer(joined, "alternative", at(pointer, "alternatives", key)))
    return tuple(found[:_MAX_ALTERNATIVES])


def _unreadable(refusal: Unreadable) -> Assessment:
    outcome = Outcome.TOO_LARGE if refusal.reason is Reason.TOO_LARGE else Outcome.MALFORMED
    return Assessment(outcome, _code(refusal.reason), findings=(Finding(refusal.reason, "", refusal.evidence),))


def _foreign(scheme: Foreign) -> Assessment:
    return _no_manifest(f"foreign:{scheme.name}", Reason.FOREIGN, scheme.name)


def _no_manifest(code: str, reason: Reason, evidence: str = "") -> Assessment:
    return Assessment(Outcome.NOT_A_MANIFEST, code, findings=(Finding(reason, "", line(evidence, EVIDENCE_CHARS)),))


def _code(reason: Reason) -> str:
    return reason.value.rpartition(".")[2]
