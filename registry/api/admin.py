"""`/api/admin`: API keys, blocks and the audit log, for operators; and the public part of the audit log."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from fastapi import Path, Query, Request, Response

from registry.actions.access import BadCursor, BadKey, KeyExceeded
from registry.actions.maintenance.forget import HoldResult
from registry.api.documents import describe_body, describe_read, describe_write
from registry.api.params import DomainPath, existing, host_in
from registry.api.rows import project
from registry.api.schemas import admin as schemas
from registry.api.schemas.base import EXAMPLE_HOST
from registry.core.access.audit import SUBJECTS, key_actor
from registry.core.access.holds import HoldKind
from registry.core.access.tokens import ApiKey
from registry.core.names.domains import InvalidName
from registry.edge import parsers
from registry.edge.bodies import read_as
from registry.edge.problems import (
    BODY_TOO_LARGE,
    FORBIDDEN,
    INVALID_BODY,
    INVALID_CURSOR,
    INVALID_NAME,
    INVALID_PARAMETER,
    INVALID_VALUE,
    NOT_FOUND,
    UNKNOWN_SERVICE,
    Problem,
    invalid_cursor,
)
from registry.edge.requests import key_of, registry_of
from registry.edge.responses import NOT_STORED, REVALIDATE, data_response, secret_response
from registry.edge.routing import strict_router

Kind = Literal["block", "quarantine"]
KINDS: Final[Mapping[str, HoldKind]] = {"block": "blocked", "quarantine": "quarantined"}
_SHOWN: Final[Mapping[HoldKind, Kind]] = {"blocked": "block", "quarantined": "quarantine"}

MOST: Final = 100
CURSOR_CHARS: Final = 600

Limit = Annotated[int, *parsers.limited(MOST, least=1), Query(description="Rows to return.", examples=[20])]
Cursor = Annotated[str | None, Query(max_length=CURSOR_CHARS, description="The `cursor` of the page before.")]

router = strict_router(tags=["operators"])


@router.get(
    "/api/services/{domain}/audit",
    **describe_read(schemas.Decisions, UNKNOWN_SERVICE),
    tags=["services"],
    summary="The decisions about a host",
    description="Blocks and quarantines by operators of this registry, decisions of its owner, and opt-outs, with "
    "authors and reasons. Includes decisions about hosts above it.",
)
async def decisions(request: Request, domain: DomainPath) -> Response:
    host = host_in(domain)
    found = await registry_of(request).access.decisions(host)
    data: schemas.DecisionsData = {
        "domain": host,
        "decisions": [project(schemas.AuditDecision, entry, by=entry.actor) for entry in found],
        "untrusted_text": ["decisions.reason"],
    }
    return data_response(request, data, cache=REVALIDATE)


@router.get(
    "/api/audit",
    **describe_read(schemas.PublicAudit, INVALID_CURSOR, INVALID_PARAMETER),
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
    data: schemas.PublicAuditData = {
        "decisions": [project(schemas.AuditDecision, entry, by=entry.actor) for entry in page.entries],
        "cursor": page.cursor,
        "untrusted_text": ["decisions.reason"],
    }
    return data_response(request, data, cache=REVALIDATE)


@router.get(
    "/api/admin/blocks",
    **describe_read(schemas.Blocks, FORBIDDEN, INVALID_CURSOR, INVALID_PARAMETER, UNKNOWN_SERVICE, needs_token=True),
    summary="All blocks and quarantines",
    description="In the order of their registrable domains. Needs a key with the scope `blocks`.",
)
async def blocks(
    request: Request,
    host: Annotated[
        str | None,
        Query(max_length=CURSOR_CHARS, description="Only those that cover this host.", examples=[EXAMPLE_HOST]),
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    await key_of(request, "blocks", reads=True)
    access, after = registry_of(request).access, ("", "", "") if cursor is None else _after(cursor)
    holds = await (access.holds(after, limit=limit + 1) if host is None else access.holds_over(host_in(host)))
    shown = holds[:limit]
    names = await access.key_names(hold.actor for hold in shown)
    is_last = host is not None or len(holds) <= limit
    following = None if is_last else f"{shown[-1].domain}/{shown[-1].host}/{shown[-1].kind}"
    data: schemas.BlocksData = {
        "blocks": [
            project(
                schemas.Block,
                hold,
                domain=hold.host,
                kind=_SHOWN[hold.kind],
                by=hold.actor,
                key_name=names.get(hold.actor),
            )
            for hold in shown
        ],
        "cursor": following,
        "untrusted_text": ["blocks.reason"],
    }
    return data_response(request, data, cache=NOT_STORED)


@router.post(
    "/api/admin/blocks",
    **describe_write(
        schemas.BlockChanged, FORBIDDEN, INVALID_VALUE, INVALID_NAME, BODY_TOO_LARGE, status=201, says="In effect.",
        others={200: (schemas.BlockChanged, "Already in place; nothing changed.")},
        body=describe_body(schemas.BlockSubmission), needs_token=True
    ),
    summary="Block a host or put it into quarantine",
    description="Takes effect at once and covers all hosts below it. Visits, submissions and seeds do not lift it. "
    "Stored data stays. The reason is public. Needs a key with the scope `blocks`.",
)  # fmt: skip
async def block(request: Request) -> Response:
    key = await key_of(request, "blocks")
    body = await read_as(request, schemas.BlockSubmission)
    kind, reason = KINDS[body.get("kind", "block")], body["reason"].strip()
    if not reason:
        raise Problem(INVALID_BODY, "reason: must not be blank")
    try:
        held = await registry_of(request).access.hold(
            body["domain"].strip()[:CURSOR_CHARS], kind, actor=key_actor(key.id), reason=reason
        )
    except InvalidName as refusal:
        raise Problem(INVALID_NAME, f"Not a host: {refusal}.", code=refusal.code) from None
    return data_response(request, _changed(held), status=201 if held.changed else 200, cache=NOT_STORED)


@router.delete(
    "/api/admin/blocks/{domain}",
    **describe_write(
        schemas.BlockChanged, FORBIDDEN, INVALID_PARAMETER, UNKNOWN_SERVICE, needs_token=True, is_consequential=True
    ),
    summary="End a block or a quarantine",
    description="Ends the block or quarantine of this host. Services not covered by another one reappear at once, and "
    "hosts of an ended block are visited next. A host without one stays as it is. Needs a key with the scope `blocks`.",
)
async def unblock(
    request: Request,
    domain: Annotated[str, Path(description="The host of the block.", examples=["api.pigeonpost.example"])],
    kind: Annotated[
        str, *parsers.one_of(*KINDS), Query(description="Which of the two ends.", examples=["block"])
    ] = "block",
    reason: Annotated[
        str,
        Query(max_length=schemas.BLOCK_REASON_CHARS, description="Shown to everybody.", examples=["It was a mistake."]),
    ] = "",
) -> Response:
    key = await key_of(request, "blocks")
    held = await registry_of(request).access.release(
        host_in(domain), KINDS[kind], actor=key_actor(key.id), reason=reason.strip()
    )
    return data_response(request, _changed(held), cache=NOT_STORED)


@router.get(
    "/api/admin/audit",
    **describe_read(schemas.AuditLog, FORBIDDEN, INVALID_CURSOR, INVALID_PARAMETER, needs_token=True),
    summary="The audit log",
    description="Who changed what and why, the latest first. `host`: only what concerns this host, decisions about "
    "hosts above it included. `key_name` names the key of an author. Needs a key with the scope `audit`.",
)
async def audit(
    request: Request,
    host: Annotated[
        str | None, Query(max_length=CURSOR_CHARS, description="A host; any spelling of it.", examples=[EXAMPLE_HOST])
    ] = None,
    subject: Annotated[
        str | None, *parsers.one_of(*SUBJECTS), Query(description="Only actions that begin with it.", examples=["host"])
    ] = None,
    actor: Annotated[
        str | None,
        Query(
            max_length=100,
            description="Only of this actor, or of this kind: the part before the colon.",
            examples=["key"],
        ),
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    await key_of(request, "audit", reads=True)
    name, author = None if host is None else host_in(host), None if actor is None else actor.replace("\0", "")
    access = registry_of(request).access
    try:
        page = await access.audit(limit=limit, cursor=cursor, host=name, subject=subject, actor=author)
    except BadCursor as error:
        raise invalid_cursor(error) from None
    names = await access.key_names(entry.actor for entry in page.entries)
    data: schemas.AuditData = {
        "entries": [
            project(schemas.AuditEntry, entry, id=str(entry.id), key_name=names.get(entry.actor))
            for entry in page.entries
        ],
        "cursor": page.cursor,
        "untrusted_text": ["entries.reason", "entries.detail"],
    }
    return data_response(request, data, cache=NOT_STORED)


@router.get(
    "/api/admin/key",
    **describe_read(schemas.OwnKey, needs_token=True),
    summary="Your key",
    description="The key that the request has: its name, and what it may do.",
)
async def own_key(request: Request) -> Response:
    return data_response(request, _key(await key_of(request, None)), cache=NOT_STORED)


@router.get(
    "/api/admin/keys",
    **describe_read(schemas.Keys, FORBIDDEN, INVALID_CURSOR, needs_token=True),
    summary="All keys",
    description="Without their secrets, the latest first, revoked ones included. Needs a key with the scope `keys`.",
)
async def keys(request: Request, limit: Limit = 50, cursor: Cursor = None) -> Response:
    await key_of(request, "keys", reads=True)
    try:
        page = await registry_of(request).access.key_page(limit=limit, cursor=cursor)
    except BadCursor as error:
        raise invalid_cursor(error) from None
    data: schemas.KeysData = {"keys": [_key(one) for one in page.keys], "cursor": page.cursor}
    return data_response(request, data, cache=NOT_STORED)


@router.post(
    "/api/admin/keys",
    **describe_write(
        schemas.MadeKey, FORBIDDEN, BODY_TOO_LARGE, status=201, says="Made; `token` is shown only here.",
        body=describe_body(schemas.NewKey), needs_token=True
    ),
    summary="Make a key",
    description="With at most the scopes of the key that makes it, and valid no longer. Needs a key with the scope "
    "`keys`; the first one is made on the registry's machine.",
)  # fmt: skip
async def make_key(request: Request) -> Response:
    by = await key_of(request, "keys")
    body = await read_as(request, schemas.NewKey)
    access, reason = registry_of(request).access, body.get("reason", "").strip()
    try:
        made, token = await access.make_key(body["name"], body["scopes"], days=body.get("days"), by=by, reason=reason)
    except KeyExceeded as error:
        raise Problem(FORBIDDEN, _sentence(error)) from None
    except BadKey as error:
        raise Problem(INVALID_BODY, _sentence(error)) from None
    data: schemas.MadeKeyData = {**_key(made), "token": token.text}
    return secret_response(data, status=201)


@router.delete(
    "/api/admin/keys/{id}",
    **describe_write(
        schemas.RevokedKey, FORBIDDEN, NOT_FOUND, INVALID_PARAMETER, needs_token=True, is_consequential=True
    ),
    summary="Revoke a key",
    description="At once and for ever, your own too. A key that was revoked before is unknown. Needs a key with the "
    "scope `keys`.",
)
async def revoke_key(
    request: Request,
    key: Annotated[str, Path(alias="id", description="The id of the key.", examples=["0123456789abcdef"])],
    reason: Annotated[
        str,
        Query(max_length=schemas.BLOCK_REASON_CHARS, description="Kept in the audit log.", examples=["It was lost."]),
    ] = "",
) -> Response:
    by = await key_of(request, "keys")
    found = await registry_of(request).access.revoke_key(key.replace("\0", ""), by=by, reason=reason.strip())
    revoked = existing(found, NOT_FOUND, "There is no such key, or it was revoked before.")
    return data_response(request, _key(revoked), cache=NOT_STORED)


def _key(key: ApiKey) -> schemas.Key:
    used = key.last_used_on
    return project(schemas.Key, key, scopes=list(key.scopes), last_used_on=None if used is None else used.isoformat())


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


def _after(cursor: str) -> tuple[str, str, str]:
    parts = cursor.split("/")
    if len(parts) != 3 or "\0" in cursor or not cursor.isprintable():
        raise invalid_cursor("not a cursor of this registry")
    return parts[0], parts[1], parts[2]


def _changed(held: HoldResult) -> schemas.BlockChangedData:
    return {"domain": held.host, "kind": _SHOWN[held.kind], "changed": held.changed, "services": held.services[:MOST]}
