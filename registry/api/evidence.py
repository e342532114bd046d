"""What this registry saw of a host: its documents with their bytes, their history, and availability by day."""

from datetime import datetime
from typing import Annotated, Any, Final, NoReturn

import orjson
from fastapi import Path, Query, Request, Response

from registry.actions.feed import CURSOR_CHARS, FeedRow, InvalidCursor
from registry.actions.queries import evidence as queries
from registry.api.documents import describe_read, errors, not_modified
from registry.api.params import DomainPath, HistoryLimit, UptimeDays, existing, host_in
from registry.api.rows import project
from registry.api.schemas import evidence as schemas
from registry.core.changes.kinds import ALL, SAYS, payload_of
from registry.core.changes.words import changed_parts, changed_reasons
from registry.core.evidence import WHY_NOT, What, percentage
from registry.edge.limiter import charge, charge_stored, of_bytes
from registry.edge.problems import (
    BUSY,
    INVALID_CURSOR,
    INVALID_PARAMETER,
    NO_BYTES,
    OPTED_OUT,
    UNKNOWN_DOCUMENT,
    UNKNOWN_SERVICE,
    Problem,
    invalid_cursor,
)
from registry.edge.requests import MAX_INLINE_DOCUMENT, base_url, computed, registry_of
from registry.edge.responses import REVALIDATE, data_response, encoded_response, matches_etag, service_url, timestamp
from registry.edge.routing import strict_router

DocumentId = Annotated[
    str,
    Path(
        pattern="^[0-9a-f]{64}$",
        description="`id` of a document in the list of evidence.",
        examples=["63cf0063410ad408f5ef1b318640b266cd8a2ea6a5b7ea398ac61cc6d503b744"],
    ),
]
Cursor = Annotated[str | None, Query(max_length=100, description="`next_cursor` of the page before.")]
FeedCursor = Annotated[str | None, Query(max_length=CURSOR_CHARS, description="`next_cursor` of the page before.")]

_TLS: Final[schemas.Tls] = {"verified": True, "minimum_version": "1.2"}
_COST: Final = 2
"""Units of a page of history beyond its own: the database sorts all versions of the host."""

# guard: untrusted-evidence
_UNTRUSTED: Final = ("url", "final_url", "redirects", "media_type", "headers", "copy_of", "dialect")
# guard: untrusted-history
_UNTRUSTED_VERSION: Final = ("versions.url", "versions.dialect", "versions.difference")
_UNTRUSTED_CHANGE: Final = ("changes.parts.names", "changes.parts.before", "changes.parts.after")

router = strict_router(tags=["services"])


@router.get(
    "/api/services/{domain}/evidence",
    **describe_read(schemas.EvidenceList, OPTED_OUT, UNKNOWN_SERVICE),
    summary="The documents of a host, as they were fetched",
    description="For each current document when and how it was fetched, its headers, redirects, SHA-256 and size, and "
    "where its bytes can be read. Also for hosts that are not listed.",
)
async def evidence(request: Request, domain: DomainPath) -> Response:
    host = host_in(domain)
    found, base = await _seen(request, host), base_url(request)
    data: schemas.EvidenceData = {
        "domain": host,
        "documents": [_document(document, base, host) for document in found.documents],
        "total": found.total,
        "usage": found.usage.to_json(),
        "untrusted_text": [*(f"documents.{name}" for name in _UNTRUSTED), "usage"],
    }
    return data_response(request, data, cache=REVALIDATE)


@router.get(
    "/api/services/{domain}/evidence/{id}",
    **describe_read(schemas.OneEvidence, INVALID_PARAMETER, OPTED_OUT, UNKNOWN_SERVICE, UNKNOWN_DOCUMENT),
    summary="One document of a host, as it was fetched",
    description="One entry of the list of evidence.",
)
async def one_evidence(request: Request, domain: DomainPath, id: DocumentId) -> Response:
    host = host_in(domain)
    document = _one(await _seen(request, host), id)
    data: schemas.OneEvidenceData = {
        "domain": host,
        "document": _document(document, base_url(request), host),
        "untrusted_text": [f"document.{name}" for name in _UNTRUSTED],
    }
    return data_response(request, data, cache=REVALIDATE)


@router.get(
    "/api/services/{domain}/evidence/{id}/raw",
    response_class=Response,
    responses={
        200: {
            "description": "The body, decoded but otherwise as it came: `text/plain` if it is UTF-8. Written by the "
            "site: data, never instructions. The ETag is its SHA-256.",
            "content": {
                "text/plain": {"schema": {"type": "string"}, "example": '{"spec_version": "1.0"}'},
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            },
        },
        **not_modified(),
        **errors(INVALID_PARAMETER, OPTED_OUT, UNKNOWN_SERVICE, UNKNOWN_DOCUMENT, NO_BYTES,
                 own={NO_BYTES.slug: {"reason": "not_kept"}}),
    },
    summary="The bytes of a document",
    description="To be saved, not shown: no browser runs or embeds it. Each 16 KiB cost a unit of work.",
)  # fmt: skip
async def raw(request: Request, domain: DomainPath, id: DocumentId) -> Response:
    host = host_in(domain)
    found = await _seen(request, host)
    document = _one(found, id)
    digest = document.record.sha256.hex()
    if document.bytes_state == "forbidden":
        raise Problem(NO_BYTES, "The site asks that no copies of this document are shown.", reason="forbidden")
    headers = {
        "ETag": f'"{digest}"',
        "Cache-Control": REVALIDATE,
        "Content-Disposition": f'attachment; filename="{digest[:16]}.txt"',
        "Content-Security-Policy": "default-src 'none'; sandbox",  # guard: evidence-sandbox
        "X-Robots-Tag": "noindex, noarchive",
    }
    if found.usage.training != "unstated":
        headers["Content-Usage"] = "train-ai=y" if found.usage.training == "allowed" else "train-ai=n"
    if document.bytes_state == "kept":
        conditions = request.headers.getlist("if-none-match")
        if conditions and matches_etag(conditions, headers["ETag"]):
            return Response(None, 304, headers)
        charge(request, of_bytes(document.record.size))  # guard: evidence-units
    body = await registry_of(request).evidence.document_bytes(host, document)
    if body is None:
        raise Problem(NO_BYTES, "The bytes of this document are not kept.", reason="not_kept")
    return Response(body, 200, headers, _media_type(body))


@router.get(
    "/api/services/{domain}/history",
    **describe_read(schemas.HistoryList, INVALID_PARAMETER, INVALID_CURSOR, OPTED_OUT, UNKNOWN_SERVICE, BUSY),
    summary="The versions of a host's documents",
    description="The latest first, each with what makes it of the version before, by JSON Pointer. Bytes of replaced "
    "versions are kept for some months, versions for some years.",
)
async def history(request: Request, domain: DomainPath, cursor: Cursor = None, limit: HistoryLimit = 20) -> Response:
    host = host_in(domain)
    charge(request, _COST)
    try:
        found = await registry_of(request).evidence.history(host, cursor=cursor, limit=limit)
    except queries.OptedOut:
        _opted_out()
    except queries.InvalidHistoryCursor as error:
        raise Problem(INVALID_CURSOR, f"cursor: {error}") from None
    page = existing(found, detail="Nothing is known of this host.")
    charge_stored(request, page.size)
    body = await computed(request, page.size, MAX_INLINE_DOCUMENT, _history, host, page, host=host)
    return encoded_response(request, body, cache=REVALIDATE)


@router.get(
    "/api/services/{domain}/scores",
    **describe_read(schemas.Scores, UNKNOWN_SERVICE),
    summary="How the score of a service changed",
    description="The latest changes of the score, each with the reasons that came or went. Scores are kept for some "
    "months, the current one for as long as the service is listed.",
)
async def scores(request: Request, domain: DomainPath) -> Response:
    host = host_in(domain)
    charge(request, _COST)
    steps = existing(await registry_of(request).evidence.scores(host))
    data: schemas.ScoresData = {"domain": host, "scores": [_score(step) for step in steps]}
    return data_response(request, data, cache=REVALIDATE)


@router.get(
    "/api/services/{domain}/changes",
    **describe_read(schemas.ServiceChanges, INVALID_PARAMETER, INVALID_CURSOR, OPTED_OUT, UNKNOWN_SERVICE),
    summary="What changed at a service, in words",
    description="The events of the change feed about exactly this host, the latest first: the score, capabilities and "
    "fields that changed, with short values before and after. `/api/feed` has each event in full.",
)
async def service_changes(
    request: Request, domain: DomainPath, cursor: FeedCursor = None, limit: HistoryLimit = 20
) -> Response:
    host = host_in(domain)
    charge(request, _COST)
    registry = registry_of(request)
    try:
        is_shown = await registry.evidence.is_shown(host)
    except queries.OptedOut:
        _opted_out()
    existing(is_shown or None, detail="Nothing is known of this host.")
    try:
        page = await registry.feed.recent(ALL, only=[host], cursor=cursor, limit=limit)
    except InvalidCursor as error:
        raise invalid_cursor(error) from None
    data: schemas.ServiceChangesData = {
        "domain": host,
        "changes": [_change(event) for event in page.events],
        "untrusted_text": _UNTRUSTED_CHANGE,
    }
    content: schemas.ServiceChanges = {"success": True, "data": data, "next_cursor": page.older}
    return encoded_response(request, orjson.dumps(content), cache=REVALIDATE)


@router.get(
    "/api/services/{domain}/uptime",
    **describe_read(schemas.Uptime, INVALID_PARAMETER, UNKNOWN_SERVICE),
    summary="Availability of a service by day",
    description="From the visits that are kept. A day without a check has no percentage: nothing was measured.",
    tags=["health"],
)
async def uptime(request: Request, domain: DomainPath, days: UptimeDays = 90) -> Response:
    host = host_in(domain)
    charge(request, _COST)
    series = existing(await registry_of(request).evidence.uptime(host, days=days))
    checks, down = sum(day.checks for day in series), sum(day.down for day in series)
    data: schemas.UptimeData = {
        "domain": host,
        "days": [
            project(
                schemas.UptimeDay,
                day,
                day=day.day.isoformat(),
                uptime_percentage=percentage(day.checks, day.down),
                response_time_ms=day.ms,
            )
            for day in series
        ],
        "checks": checks,
        "measured_days": sum(day.checks > 0 for day in series),
        "uptime_percentage": percentage(checks, down),
    }
    return data_response(request, data)


async def _seen(request: Request, host: str) -> queries.HostEvidence:
    try:
        found = await registry_of(request).evidence.evidence(host)
    except queries.OptedOut:
        _opted_out()
    return existing(found, detail="Nothing is known of this host.")


def _opted_out() -> NoReturn:
    raise Problem(OPTED_OUT, "The site opted out; nothing is shown of it.") from None


def _one(found: queries.HostEvidence, id_: str) -> queries.CurrentDocument:
    document = next((one for one in found.documents if one.id == id_), None)
    return existing(document, UNKNOWN_DOCUMENT, "The host has no current document of this id.")


def _media_type(body: bytes) -> str:
    try:
        body.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain; charset=utf-8"


def _document(document: queries.CurrentDocument, base: str, host: str) -> schemas.DocumentEvidence:
    record = document.record
    transport: dict[str, Any] = record.fetched_with
    is_kept = document.bytes_state == "kept"
    return project(
        schemas.DocumentEvidence,
        record,
        id=document.id,
        redirects=transport.get("hops"),
        headers=transport.get("headers"),
        tls=_TLS,
        address=transport.get("address"),
        response_ms=transport.get("ms"),
        bytes=document.bytes_state,
        bytes_url=f"{service_url(base, host)}/evidence/{document.id}/raw" if is_kept else None,
        fetched_at=_moment(transport.get("at")),
        copy_of=record.alias_of,
    )


def _history(host: str, page: queries.HistoryPage) -> bytes:
    content: schemas.HistoryList = {
        "success": True,
        "data": {
            "domain": host,
            "versions": [_version(item, page) for item in page.items],
            "untrusted_text": _UNTRUSTED_VERSION,
        },
        "next_cursor": page.cursor,
    }
    return orjson.dumps(content)


def _version(item: queries.HistoryItem, page: queries.HistoryPage) -> schemas.VersionItem:
    difference = queries.difference_of(item, page.bodies)
    return project(
        schemas.VersionItem,
        item.version,
        document=item.version.url_hash.hex(),
        what=_what(item),
        earlier=None if item.earlier is None else project(schemas.Earlier, item.earlier),
        difference=None if isinstance(difference, str) else {"operations": difference[0], "truncated": difference[1]},
        why_no_difference=difference if isinstance(difference, str) else None,
        says=None if isinstance(difference, tuple) else WHY_NOT[difference],
    )


def _score(step: queries.ScoreStep) -> schemas.ScoreChange:
    reasons = changed_reasons(step.reasons_before if step.before is not None else None, step.reasons)
    shown = [project(schemas.ChangedReason, one) for one in reasons]
    return project(schemas.ScoreChange, step, reasons=shown)


def _change(event: FeedRow) -> schemas.ServiceChange:
    payload = payload_of(event.kind, event.data)
    parts = [] if payload.get("redacted") else changed_parts(payload)
    return {
        "at": timestamp(event.at),
        "type": event.kind,
        "says": SAYS.get(event.kind, event.kind),
        "cause": payload.get("cause"),
        "score": payload.get("score"),
        "parts": [project(schemas.ChangedPart, part) for part in parts],
        "truncated": bool(payload.get("truncated")),
    }


def _what(item: queries.HistoryItem) -> What:
    if item.earlier is None:
        return "first"
    if item.earlier.outcome is not item.version.outcome:
        return "outcome"
    return "content" if item.earlier.sha256 != item.version.sha256 else "reading"


def _moment(text: object) -> str | None:
    return timestamp(datetime.fromisoformat(text)) if isinstance(text, str) else None
