"""`/api/admin`: API keys, blocks, the audit log and the queue, for operators; and the public part of the audit log."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal

from fastapi import Path, Query, Request, Response

from registry.actions.access import AuditRecord, BadCursor
from registry.actions.maintenance.forget import HoldResult
from registry.api.documents import errors, example, keyed, not_modified
from registry.api.params import DomainPath, host_in
from registry.api.schemas import admin as schemas
from registry.api.schemas.base import EXAMPLE_HOST, example_of
from registry.core.access.audit import key_actor
from registry.core.access.holds import Hold, HoldKind
from registry.core.names.domains import InvalidName
from registry.edge import parsers
from registry.edge.problems import (
    BODY_TOO_LARGE,
    FORBIDDEN,
    INVALID_BODY,
    INVALID_CURSOR,
    INVALID_NAME,
    INVALID_PARAMETER,
    INVALID_VALUE,
    UNAUTHORIZED,
    UNKNOWN_SERVICE,
    UNREADABLE_BODY,
    Problem,
    invalid_cursor,
)
from registry.edge.requests import key_of, registry_of
from registry.edge.responses import REVALIDATE, json_response, timestamp
from registry.edge.routing import read_body, strict_router

Kind = Literal["block", "quarantine"]
KINDS: Final[Mapping[str, HoldKind]] = MappingProxyType({"block": "blocked", "quarantine": "quarantined"})
_SHOWN: Final[Mapping[HoldKind, Kind]] = MappingProxyType({"blocked": "block", "quarantined": "quarantine"})

MOST: Final = 100
REASON_CHARS: Final = 500
CURSOR_CHARS: Final = 600

NOT_STORED: Final = "no-store"

Limit = Annotated[int, *parsers.limited(MOST, least=1), Query(description="Rows to return.", examples=[20])]
Cursor = Annotated[str | None, Query(max_length=CURSOR_CHARS, description="The `cursor` of the page before.")]

router = strict_router(tags=["operators"])


@router.get(
    "/api/services/{domain}/audit",
    response_model=schemas.Decisions,
    responses={200: example(schemas.Decisions), **not_modified(), **errors(UNKNOWN_SERVICE)},
    tags=["services"],
    summary="The decisions about a host",
    description="Blocks and quarantines by operators of this registry, decisions of its owner, and opt-outs, with "
    "authors and reasons. Includes decisions about hosts above it.",
)
async def decisions(request: Request, domain: DomainPath) -> Response:
    host = host_in(domain)
    found = await registry_of(request).access.decisions(host)
    content: schemas.Decisions = {
        "success": True,
        "data": {
            "domain": host,
            "decisions": [_decision(entry) for entry in found],
            "untrusted_text": ["decisions.reason"],
        },
    }
    return json_response(request, content, cache=REVALIDATE)


@router.get(
    "/api/audit",
    response_model=schemas.PublicAudit,
    responses={200: example(schemas.PublicAudit), **not_modified(), **errors(INVALID_CURSOR, INVALID_PARAMETER)},
    tags=["about"],
    summary="The decisions about all hosts",
    description="The public part of the audit log, newest first: what was decided about hosts, who decided it, "
    "and the reasons for blocks and quarantines.",
)
async def public_audit(request: Request, limit: Limit = 50, cursor: Cursor = None) -> Response:
    try:
        page = await registry_of(request).access.public_audit(limit=limit, cursor=cursor)
    except BadCursor as error:
        raise invalid_cursor(error) from None
    content: schemas.PublicAudit = {
        "success": True,
        "data": {
            "decisions": [_decision(entry) for entry in page.entries],
            "cursor": page.cursor,
            "untrusted_text": ["decisions.reason"],
        },
    }
    return json_response(request, content, cache=REVALIDATE)


@router.get(
    "/api/admin/blocks",
    response_model=schemas.Blocks,
    responses={200: example(schemas.Blocks), **not_modified(), **errors(UNAUTHORIZED, FORBIDDEN, INVALID_CURSOR)},
    summary="All blocks and quarantines",
    description="In the order of their registrable domains. Needs a key with the scope `blocks`.",
    openapi_extra=keyed(),
)
async def blocks(request: Request, limit: Limit = 50, cursor: Cursor = None) -> Response:
    await key_of(request, "blocks")
    after = ("", "", "") if cursor is None else _after(cursor)
    holds = await registry_of(request).access.holds(after, limit=limit + 1)
    shown = holds[:limit]
    following = f"{shown[-1].domain}/{shown[-1].host}/{shown[-1].kind}" if len(holds) > limit else None
    content: schemas.Blocks = {
        "success": True,
        "data": {"blocks": [_block(hold) for hold in shown], "cursor": following, "untrusted_text": ["blocks.reason"]},
    }
    return json_response(request, content, cache=NOT_STORED)


@router.post(
    "/api/admin/blocks",
    status_code=201,
    response_model=schemas.BlockChanged,
    responses={
        200: {
            "description": "It was so before; nothing changed.",
            "model": schemas.BlockChanged,
            **example(schemas.BlockChanged),
        },
        201: {"description": "In effect.", **example(schemas.BlockChanged)},
        **errors(
            UNAUTHORIZED, FORBIDDEN, UNREADABLE_BODY, INVALID_BODY, INVALID_VALUE, INVALID_NAME, BODY_TOO_LARGE,
            own={INVALID_NAME.slug: {"code": "special_use"}},
        ),
    },
    summary="Block a host or put it into quarantine",
    description="Takes effect at once and covers all hosts below it. Visits, submissions and seeds do not lift it. "
    "Stored data stays. The reason is public. Needs a key with the scope `blocks`.",
    openapi_extra=keyed(
        {
            "x-side-effects": True,
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "required": ["domain", "reason"],
                            "properties": {
                                "domain": {"type": "string", "maxLength": 300},
                                "kind": {"enum": list(KINDS), "default": "block"},
                                "reason": {"type": "string", "minLength": 1, "maxLength": REASON_CHARS},
                            },
                        },
                        "examples": {"block": {"summary": "Block", "value": example_of(schemas.BlockSubmission)}},
                    }
                },
            }
        }
    ),
)  # fmt: skip
async def block(request: Request) -> Response:
    key = await key_of(request, "blocks")
    body = await read_body(request)
    name = body.get("domain") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(name, str):
        raise Problem(INVALID_BODY, "The body must be an object with `domain` and `reason` (texts).")
    named = body.get("kind", "block")
    kind = KINDS.get(named) if isinstance(named, str) else None
    if kind is None:
        raise Problem(INVALID_BODY, f"`kind` must be {' or '.join(KINDS)}.")
    reason = body.get("reason")
    if not isinstance(reason, str) or not reason.strip() or len(reason) > REASON_CHARS:
        raise Problem(INVALID_BODY, f"`reason` must be a text of 1 to {REASON_CHARS} characters.")
    try:
        held = await registry_of(request).access.hold(
            name.strip()[:CURSOR_CHARS], kind, actor=key_actor(key.id), reason=reason.strip()
        )
    except InvalidName as refusal:
        raise Problem(INVALID_NAME, f"Not a host: {refusal}.", code=refusal.code) from None
    return json_response(request, _changed(held), status=201 if held.changed else 200, cache=NOT_STORED)


@router.delete(
    "/api/admin/blocks/{domain}",
    response_model=schemas.BlockChanged,
    responses={
        200: example(schemas.BlockChanged),
        **errors(UNAUTHORIZED, FORBIDDEN, INVALID_PARAMETER, UNKNOWN_SERVICE),
    },
    summary="End a block or a quarantine",
    description="Ends the block or quarantine of this host. Services not covered by another one reappear at once, and "
    "hosts of an ended block are visited next. A host without one stays as it is. Needs a key with the scope `blocks`.",
    openapi_extra=keyed({"x-side-effects": True, "x-openai-isConsequential": True}),
)
async def unblock(
    request: Request,
    domain: Annotated[str, Path(description="The host of the block.", examples=["api.pigeonpost.example"])],
    kind: Annotated[
        str, *parsers.one_of(*KINDS), Query(description="Which of the two ends.", examples=["block"])
    ] = "block",
    reason: Annotated[
        str, Query(max_length=REASON_CHARS, description="Shown to everybody.", examples=["It was a mistake."])
    ] = "",
) -> Response:
    key = await key_of(request, "blocks")
    held = await registry_of(request).access.release(
        host_in(domain), KINDS[kind], actor=key_actor(key.id), reason=reason.strip()
    )
    return json_response(request, _changed(held), cache=NOT_STORED)


@router.get(
    "/api/admin/audit",
    response_model=schemas.AuditLog,
    responses={
        200: example(schemas.AuditLog),
        **not_modified(),
        **errors(UNAUTHORIZED, FORBIDDEN, INVALID_CURSOR, INVALID_PARAMETER),
    },
    summary="The audit log",
    description="Who changed what and why, the latest first. `host`: only what concerns this host, decisions about "
    "hosts above it included. Needs a key with the scope `audit`.",
    openapi_extra=keyed(),
)
async def audit(
    request: Request,
    host: Annotated[
        str | None, Query(max_length=CURSOR_CHARS, description="A host; any spelling of it.", examples=[EXAMPLE_HOST])
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    await key_of(request, "audit")
    name = None if host is None else host_in(host)
    try:
        page = await registry_of(request).access.audit(limit=limit, cursor=cursor, host=name)
    except BadCursor as error:
        raise invalid_cursor(error) from None
    content: schemas.AuditLog = {
        "success": True,
        "data": {
            "entries": [_entry(entry) for entry in page.entries],
            "cursor": page.cursor,
            "untrusted_text": ["entries.reason", "entries.detail"],
        },
    }
    return json_response(request, content, cache=NOT_STORED)


@router.get(
    "/api/admin/queue",
    response_model=schemas.Queue,
    responses={200: example(schemas.Queue), **not_modified(), **errors(UNAUTHORIZED, FORBIDDEN)},
    summary="What waits",
    description="Visits, submissions, checks of opt-outs, the index and the change feed. Needs a key with the scope "
    "`queue`.",
    openapi_extra=keyed(),
)
async def queue(request: Request) -> Response:
    await key_of(request, "queue")
    load = await registry_of(request).figures.workload()
    content: schemas.Queue = {
        "success": True,
        "data": {
            "domains": load.domains,
            "submissions": load.submissions,
            "oldest_submission_at": timestamp(load.oldest_submission_at),
            "postponed": load.postponed,
            "by_client": load.by_client,
            "candidates": load.candidates,
            "opt_out_requests": load.opt_out_requests,
            "oldest_opt_out_request_at": timestamp(load.oldest_opt_out_request_at),
            "index_lag": load.index_lag,
            "feed_lag": load.feed_lag,
            "oldest_event_at": timestamp(load.oldest_event_at),
        },
    }
    return json_response(request, content, cache=NOT_STORED)


def _after(cursor: str) -> tuple[str, str, str]:
    parts = cursor.split("/")
    if len(parts) != 3 or "\0" in cursor or not cursor.isprintable():
        raise invalid_cursor("not a cursor of this registry")
    return parts[0], parts[1], parts[2]


def _block(hold: Hold) -> schemas.Block:
    return {
        "domain": hold.host,
        "kind": _SHOWN[hold.kind],
        "reason": hold.reason,
        "by": hold.actor,
        "since": timestamp(hold.since),
    }


def _changed(held: HoldResult) -> schemas.BlockChanged:
    return {
        "success": True,
        "data": {
            "domain": held.host,
            "kind": _SHOWN[held.kind],
            "changed": held.changed,
            "services": held.services[:MOST],
        },
    }


def _decision(entry: AuditRecord) -> schemas.AuditDecision:
    return {
        "at": timestamp(entry.at),
        "by": entry.actor,
        "action": entry.action,
        "host": entry.host,
        "reason": entry.reason,
    }


def _entry(entry: AuditRecord) -> schemas.AuditEntry:
    return {
        "id": str(entry.id),
        "at": timestamp(entry.at),
        "actor": entry.actor,
        "action": entry.action,
        "domain": entry.domain,
        "host": entry.host,
        "reason": entry.reason,
        "detail": entry.detail,
    }
