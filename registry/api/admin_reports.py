"""`/api/admin/reports`: what clients reported about hosts, and how the operators of this registry answered."""

from typing import Annotated, Any, Final, cast
from uuid import UUID

from fastapi import Path, Query, Request, Response

from registry.actions.reports import BadCursor, ReportRecord
from registry.api.admin import NOT_STORED, Cursor, Limit
from registry.api.documents import errors, example, keyed, not_modified
from registry.api.schemas import admin as schemas
from registry.api.schemas.base import example_of
from registry.core.access.audit import key_actor
from registry.core.model.reports import ANSWER_CHARS, OPEN_STATES, STATES, ReportState
from registry.edge import parsers
from registry.edge.problems import (
    BODY_TOO_LARGE,
    FORBIDDEN,
    INVALID_BODY,
    INVALID_CURSOR,
    INVALID_PARAMETER,
    INVALID_VALUE,
    NOT_FOUND,
    UNAUTHORIZED,
    UNREADABLE_BODY,
    Problem,
    invalid_cursor,
)
from registry.edge.requests import key_of, registry_of
from registry.edge.responses import json_response, timestamp
from registry.edge.routing import read_body, strict_router

PATH: Final = "/api/admin/reports"

router = strict_router(tags=["operators"])


@router.get(
    PATH,
    response_model=schemas.Reports,
    responses={
        200: example(schemas.Reports),
        **not_modified(),
        **errors(UNAUTHORIZED, FORBIDDEN, INVALID_CURSOR, INVALID_PARAMETER),
    },
    summary="Reports about hosts",
    description="Lists reports with their texts, newest first. Reporters are not disclosed. Needs a key with the scope "
    "`reports`.",
    openapi_extra=keyed(),
)
async def reports(
    request: Request,
    states: Annotated[
        tuple[str, ...],
        *parsers.any_of(*STATES),
        Query(alias="state", description="Only reports in one of these states, comma separated."),
    ] = OPEN_STATES,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    await key_of(request, "reports")
    try:
        page = await registry_of(request).reports.page(
            cast(tuple[ReportState, ...], states), limit=limit, cursor=cursor
        )
    except BadCursor as error:
        raise invalid_cursor(error) from None
    content: schemas.Reports = {
        "success": True,
        "data": {
            "reports": [{**_about(report), "texts": page.texts[report.id]} for report in page.reports],
            "cursor": page.cursor,
            "untrusted_text": ["reports.texts"],
        },
    }
    return json_response(request, content, cache=NOT_STORED)


@router.post(
    f"{PATH}/{{id}}",
    response_model=schemas.ReportResolved,
    responses={
        200: {"description": "In this state.", **example(schemas.ReportResolved)},
        **errors(UNAUTHORIZED, FORBIDDEN, NOT_FOUND, UNREADABLE_BODY, INVALID_BODY, INVALID_VALUE, BODY_TOO_LARGE),
    },
    summary="Resolve a report",
    description="Takes a report into review, accepts, rejects or reopens it, and answers it. Nothing else changes: to "
    "block the host, call that operation too. Sending the same state and answer again changes nothing. Needs a "
    "key with the scope `reports`.",
    openapi_extra=keyed(
        {
            "x-side-effects": True,
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": schemas.RESOLUTION_SCHEMA,
                        "examples": {
                            "reject": {
                                "summary": "Reject it",
                                "value": {**example_of(schemas.Resolution), "state": "rejected"},
                            }
                        },
                    }
                },
            },
        }
    ),
)
async def resolve(
    request: Request,
    report: Annotated[
        str,
        Path(alias="id", description="The id of the report.", examples=["0193a5a4-7a10-7cc3-9f00-1d2c3b4a5968"]),
    ],
) -> Response:
    key = await key_of(request, "reports")
    state, answer = _read(await read_body(request))
    try:
        report_id = UUID(report)
    except ValueError:
        raise _unknown() from None
    resolved = await registry_of(request).reports.resolve(report_id, state, answer, actor=key_actor(key.id))
    if resolved is None:
        raise _unknown()
    content: schemas.ReportResolved = {
        "success": True,
        "data": {**_about(resolved.report), "changed": resolved.is_changed},
    }
    return json_response(request, content, cache=NOT_STORED)


def _unknown() -> Problem:
    return Problem(NOT_FOUND, "There is no report with this id.")


def _read(body: Any) -> tuple[ReportState, str]:
    """Return state and answer. Raise Problem."""
    if not isinstance(body, dict) or body.get("state") not in STATES:
        raise Problem(INVALID_BODY, f"The body must be an object with `state`, one of {', '.join(STATES)}.")
    answer = body.get("answer", "")
    if not isinstance(answer, str) or len(answer) > ANSWER_CHARS:
        raise Problem(INVALID_BODY, f"`answer` must be a text of at most {ANSWER_CHARS} characters.")
    return body["state"], answer.strip()


def _about(report: ReportRecord) -> schemas.AboutReport:
    return {
        "id": str(report.id),
        "domain": report.host,
        "code": report.code,
        "state": cast(Any, report.state),
        "answer": report.answer or None,
        "filings": report.filings,
        "filed_at": timestamp(report.filed_at),
        "updated_at": timestamp(report.updated_at),
    }
