"""The pages that check a document before any host serves it, and a site without listing it.

Nothing of a pasted document is stored. A site is visited by a worker; its result is at a secret address.
"""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registry.core.assessing.drafts import UNKNOWN_HOST, Draft, judge_draft
from registry.core.format_support.account import EntryCount
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
from registry.core.merging.merge import HeldDocument
from registry.core.model.services import to_json
from registry.core.names.domains import parse_url
from registry.core.reading.json_pointer import keys_of
from registry.core.reading.numbered import numbered_lines
from registry.core.reading.reader import read_json
from registry.core.reasons import TEXTS, visit_code
from registry.core.scoring.report import report
from registry.core.scoring.sarif import BASE, SarifResult, sarif_log
from registry.edge.requests import MAX_INLINE_DOCUMENT, computed
from registry.web.about import SEVERITIES
from registry.web.asking import as_written, ask, name_written, pass_on, sent
from registry.web.rendering import links_of, respond, with_secrets
from registry.web.service import SECTIONS, weights
from registry.wiring import utc_now

PATH: Final = "/check"
SITE: Final = "/check/{token}"
MAX_CAUSES: Final = 60
MAX_CAPABILITIES: Final = 30
MAX_MEMBERS: Final = 8
SHOWN_CHARS: Final = 40_000
"""Characters of the common model on the page; the rest is in the file to download."""

_MAX_PATH_CHARS: Final = 500
_NOT_A_PATH: Final = "Give a path such as /.well-known/agent, or a URL with one."
_NO_DOCUMENT: Final = "Paste a document."
_NO_TARGET: Final = "Write the name of a host, such as example.org, or an https address."


@dataclass(frozen=True, slots=True)
class Reading:
    """How a document is read. `host`: the host that it names. `path`: the assumed path.

    `members`: the top-level members that state the format or give a field of the service. `at_own_path`: its format
    prescribes `path`. `capabilities`: name, description and kinds of calls. `model`: the service in the common model,
    JSON-ready.
    """

    host: str | None
    path: str
    title: str | None = None
    spec: str | None = None
    members: tuple[str, ...] = ()
    at_own_path: bool = False
    name: str | None = None
    description: str | None = None
    capabilities: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    capability_count: int = 0
    model: dict[str, Any] | None = None


async def form(request: Request) -> Response:
    """Return the empty form, or the form with an example: the smallest document of a format, or one with mistakes."""
    query = request.query_params
    slug = query.get("example", "")
    text = example_of(slug, with_mistakes="mistakes" in query)
    at = query.get("at", "") or (next(iter(FORMAT_BY_SLUG[slug].paths), "") if text else "")
    return await _page(request, text, at[:_MAX_PATH_CHARS])


def example_of(slug: str, *, with_mistakes: bool = False) -> str:
    """Return the smallest document of a format as text, optionally with typical mistakes; "" if it has none."""
    known = FORMAT_BY_SLUG.get(slug)
    if known is None or isinstance(known.example, str):
        return ""
    value: Any = deepcopy(known.example)
    for pointer, new in known.mistakes.items() if with_mistakes else ():
        *keys, last = keys_of(pointer)
        holder = value
        for key in keys:
            holder = holder[int(key) if isinstance(holder, list) else key]
        if new is None:
            del holder[last]
        else:
            holder[last] = new
    return json.dumps(value, indent=2) + "\n"


async def check(request: Request) -> Response:
    """Check the document in the form, and answer with the page, or with the requested file."""
    fields = await sent(request, ("document", "at", "download", "target"))
    if "target" in fields and fields["target"].strip():
        return await _ask_for_site(request, fields["target"])
    document, at = fields["document"], fields["at"].strip()
    if not document.strip() and fields["download"] == "site":
        return await _page(request, "", "", status=400, target_fault=_NO_TARGET)
    if not document.strip():
        return await _page(request, document, at, status=400, document_fault=_NO_DOCUMENT)
    try:
        path = path_of(at)
    except ValueError:
        return await _page(request, document, at, status=400, at_fault=_NOT_A_PATH)
    raw = document.encode()
    if fields["download"] == "sarif":
        log = await computed(request, len(raw), MAX_INLINE_DOCUMENT, sarif_of, raw, path)
        return _file(log, "waypost-check.sarif", "application/sarif+json")
    status, content, answer = await pass_on(request, "/api/validate", raw, {"at": path} if path else None)
    if fields["download"] == "json":
        return _file(bytes(answer.body), "waypost-check.json", "application/json")
    if status >= 400:
        return await _page(request, document, at, refused=content)
    reading = await computed(request, len(raw), MAX_INLINE_DOCUMENT, reading_of, raw, path)
    return await _page(request, document, at, result=content, reading=reading)


async def _ask_for_site(request: Request, target: str) -> Response:
    """Queue a check of a site, and lead to its secret address."""
    body = json.dumps({"target": name_written(target)}).encode()
    status, content, _ = await pass_on(request, "/api/checks", body)
    if status >= 400:
        return await _page(request, "", "", status=400, target=as_written(target), target_fault=_fault(content))
    token = content["data"]["status_url"].rpartition("/")[2]
    return with_secrets(RedirectResponse(links_of(request).to(SITE, token=token), 303))


def _fault(content: Mapping[str, Any]) -> str:
    """Return an error of the API for the field of the form."""
    text = str(content["detail"]).removeprefix("target: ")
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


async def site(request: Request) -> Response:
    """Return the result of a check of a site, for everyone who has its address."""
    answer = await ask(request, "/api/checks/{token}", token=request.path_params["token"])
    check, result = answer["data"], answer["data"]["result"]
    causes = result["causes"] if result else []
    code = visit_code(result["outcome"], result["reason"]) if result else ""
    values = {
        "check": check,
        "result": result,
        **_sorted_causes(causes),
        "code": code,
        "explained": TEXTS.get(code),
        "titles": {form.slug: form.title for form in FORMATS},
        "sections": SECTIONS,
        "weights": await weights(request),
        "status_path": links_of(request).to("/api/checks/{token}", token=request.path_params["token"]),
    }
    return with_secrets(respond(request, "site_check.html", values))


async def _page(request: Request, document: str, at: str, *, status: int = 200, **known: Any) -> Response:
    """Return the page.

    `result`: the API's answer about the document, with `reading`; or `refused`: the API's error about an unreadable
    one.
    """
    result: Mapping[str, Any] | None = known.get("result")
    causes = result["causes"] if result else []
    refused = known.get("refused") or {}
    places = [place for cause in causes for place in cause["places"]] + list(refused.get("errors", ()))
    marks = {place["line"]: place["column"] for place in reversed(places) if place.get("line")}
    values = {
        "document": as_written(document) if document else Markup(""),
        "at": as_written(at),
        "document_fault": None,
        "at_fault": None,
        "target": "",
        "target_fault": None,
        "refused": None,
        "result": None,
        "reading": None,
        "entries": [EntryCount(**one).in_words() for one in result["entries"]] if result else [],
        **_sorted_causes(causes),
        "left_out": max(0, len(causes) - MAX_CAUSES),
        "lines": numbered_lines(document, marks) if result or refused else (),
        "worst": _worst(causes, refused),
        "unlisted": next((one for one in causes if one["reason"].startswith("listing.")), None),
        "examples": [(form.title, form.slug) for form in FORMATS if form.mistakes],
        "sections": SECTIONS,
        "weights": await weights(request),
        "shown_chars": SHOWN_CHARS,
        **known,
    }
    return respond(request, "check.html", values, status=status, cache="no-store")


def _sorted_causes(causes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what both pages show of causes: faults, advice (notes without points), and the number of each severity."""
    is_advice = [cause["severity"] == "info" and not cause["points"] for cause in causes]
    return {
        "causes": [cause for cause, advises in zip(causes, is_advice, strict=True) if not advises][:MAX_CAUSES],
        "advice": [cause for cause, advises in zip(causes, is_advice, strict=True) if advises][:MAX_CAUSES],
        "counts": {name: sum(cause["severity"] == name for cause in causes) for name in SEVERITIES},
    }


def _worst(causes: Sequence[Mapping[str, Any]], refused: Mapping[str, Any]) -> dict[int, str]:
    """Return the gravest severity of the places on each line. Causes come with the gravest first."""
    worst = {fault["line"]: "error" for fault in refused.get("errors", ()) if fault.get("line")}
    for cause in causes:
        for place in cause["places"]:
            if place["line"]:
                worst.setdefault(place["line"], cause["severity"])
    return worst


def path_of(text: str) -> str | None:
    """Return the path in a path or URL; None for an empty text. Raise ValueError."""
    if not text:
        return None
    if not text.startswith("/"):
        url = parse_url(text) if len(text) <= _MAX_PATH_CHARS else None
        if url is None or url.scheme not in ("https", "http"):
            raise ValueError("neither a path nor a URL")
        text = "/" + url.href.partition("://")[2].partition("#")[0].partition("/")[2]
    if len(text) > _MAX_PATH_CHARS or not all("!" <= char <= "~" for char in text):
        raise ValueError("not a path")
    return text


def reading_of(raw: bytes, path: str | None) -> Reading:
    """Return how the registry reads a document that is JSON. CPU-bound."""
    draft = judge_draft(raw, path)
    assessment, service = draft.assessment, draft.assessment.service
    served_at = _path(draft)
    form_read = FORMAT_BY_SLUG.get(assessment.format or "")
    if form_read is None or service is None:
        return Reading(draft.host, served_at)
    pointers = {origin.pointer.partition("/")[2].partition("/")[0] for origin in service.provenance.values()}
    value: Any = read_json(raw, [])
    members = (name for name in value if name in pointers or name in form_read.marks)
    return Reading(
        host=draft.host,
        path=served_at,
        title=form_read.title,
        spec=form_read.spec,
        members=tuple(members)[:MAX_MEMBERS],
        at_own_path=served_at in form_read.paths,
        name=service.name,
        description=service.description,
        capabilities=tuple(
            (one.name or one.id, one.description or "", tuple(dict.fromkeys(call.kind for call in one.invocations)))
            for one in service.capabilities[:MAX_CAPABILITIES]
        ),
        capability_count=len(service.capabilities),
        model=_shown(to_json(service)),
    )


def sarif_of(raw: bytes, path: str | None) -> bytes:
    """Return the findings as one SARIF log. CPU-bound.

    Never raises for an unreadable document: a result says why it cannot be read.
    """
    draft = judge_draft(raw, path)
    held = HeldDocument(draft.url, draft.url, draft.assessment, b"", utc_now())
    found = report(draft.host or UNKNOWN_HOST, [held], {draft.url: raw})
    uri = quote(_path(draft).partition("?")[0].strip("/"), safe="/%") or "document.json"
    artifact = {"uri": uri, "uriBaseId": BASE}
    results = [
        SarifResult(one, artifact, _without_placeholder(one.finding.evidence), is_file=True) for one in found.everything
    ]
    return json.dumps(sarif_log(results, version("waypost"))).encode()


def _path(draft: Draft) -> str:
    return "/" + draft.url.partition("://")[2].partition("/")[2]


def _without_placeholder(text: str) -> str:
    """Return the text without the stand-in for the host of a document that names none."""
    return text.replace(f"https://{UNKNOWN_HOST}", "").replace(UNKNOWN_HOST, "")


def _shown(value: Any) -> Any:
    """Return the common model without the origins of values: all of them are from this document."""
    if isinstance(value, dict):
        return {key: _shown(inner) for key, inner in value.items() if key not in ("origin", "provenance")}
    if isinstance(value, list):
        return [_shown(inner) for inner in value]
    return _without_placeholder(value) if isinstance(value, str) else value


def _file(content: bytes, name: str, media_type: str) -> Response:
    """Return a file that browsers save instead of showing."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(content, 200, headers, media_type)
