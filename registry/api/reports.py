"""`/api/reports`: report a problem with a host to the operator of this registry, and read the answer; and
`/api/admin/reports`: the operator's side.

Reports are signals: no number of them hides a host or changes its rank.
"""

from collections.abc import Mapping
from typing import Annotated, Final, cast

from fastapi import Path, Query, Request, Response

from registry.actions.reports import KIND, MOST_OF_CLIENT, MOST_OF_REPORT, BadCursor, FilingState, ReportRecord
from registry.api.admin import Cursor, Limit
from registry.api.documents import describe_body, describe_read, describe_write
from registry.api.params import ReportPath, existing, uuid_in
from registry.api.rows import project
from registry.api.schemas import admin as schemas
from registry.api.submit import pasted_host, seconds_until
from registry.core.access.audit import key_actor
from registry.core.access.tokens import parse_token
from registry.core.model.reports import LEAST_REASON_CHARS, OPEN_STATES, REASON_CHARS, STATES, ReportState
from registry.core.names.domains import InvalidName, host_syntax
from registry.core.reading.plain_text import plain
from registry.edge import parsers, problems
from registry.edge.bodies import read_as
from registry.edge.problems import Problem, invalid_cursor
from registry.edge.requests import base_url, client_of, key_of, registry_of
from registry.edge.responses import NEVER_SHARED, NOT_STORED, data_response, secret_response, timestamp
from registry.edge.routing import strict_router
from registry.wiring import utc_now

PATH: Final = "/api/reports"
_SAYS: Final[Mapping[FilingState, str]] = {
    "filed": "Filed: `status_url` shows the answer. Keep it, it is shown only here.",
    "repeated": "You already filed this report, and it is not decided yet. Its `status_url` was shown then.",
    "counted": f"Counted: {MOST_OF_REPORT} clients or more filed the same, and it is not decided yet. Your text is "
    "not stored.",
    "client_budget": f"You filed {MOST_OF_CLIENT} reports within a day.",
}

_ADMIN_PATH: Final = "/api/admin/reports"
_UNKNOWN: Final = "There is no report with this id."

router = strict_router()


@router.post(
    PATH,
    tags=["submission"],
    **describe_write(
        schemas.Filed,
        problems.MIRRORED,
        problems.UNKNOWN_SERVICE,
        problems.BODY_TOO_LARGE,
        says="Filed.",
        body=describe_body(schemas.NewReport),
    ),
    summary="Report a host",
    description="Tells the operator of this registry what is wrong with a host that is known here. Reports alone "
    "change nothing, however many there are: a person decides. Reports of several clients about the same host with the "
    "same `code` are decided together. `status_url` is a secret address at which the answer can be read. One client "
    f"may file {MOST_OF_CLIENT} reports in a day. The first {MOST_OF_REPORT} about a host with the same `code` are "
    "kept; further ones are only counted until those are decided.",
)
async def file(request: Request) -> Response:
    body = await read_as(request, schemas.NewReport)
    code, reason = body.get("code", "other"), plain(body["reason"], REASON_CHARS).strip()
    if len(reason) < LEAST_REASON_CHARS:
        raise Problem(problems.INVALID_BODY, f"reason: must have at least {LEAST_REASON_CHARS} visible characters")
    try:
        host = host_syntax(pasted_host(body["domain"]))
    except InvalidName:
        raise Problem(problems.UNKNOWN_SERVICE, "Unknown host.") from None
    now = utc_now()
    filing = await registry_of(request).reports.file(host, code, reason, client=client_of(request))
    if filing.state == "unknown":
        raise Problem(problems.UNKNOWN_SERVICE, "Unknown host.")
    if filing.retry_at is not None:
        headers = {"Retry-After": seconds_until(filing.retry_at, now)}
        raise Problem(problems.RATE_LIMITED, _SAYS[filing.state], headers=headers, code=filing.state)
    url = None if filing.token is None else f"{base_url(request)}{PATH}/{filing.token.text}"
    data: schemas.FiledData = {"message": _SAYS[filing.state], "domain": host, "code": code, "status_url": url}
    return secret_response(data)


@router.get(
    f"{PATH}/{{token}}",
    tags=["submission"],
    **describe_read(schemas.ReportStatus, problems.NOT_FOUND),
    summary="The state of a report",
    description="For who filed it: whether it was decided, and the answer. The address is secret.",
)
async def state(request: Request, token: ReportPath) -> Response:
    parsed = parse_token(token, KIND)
    found = None if parsed is None else await registry_of(request).reports.filed(parsed)
    filed = existing(found, problems.NOT_FOUND, "There is no report at this address.")
    data = project(
        schemas.ReportData,
        filed.report,
        domain=filed.report.host,
        reason=filed.filing.reason,
        answer=filed.report.answer or None,
        filed_at=timestamp(filed.filing.filed_at),
        untrusted_text=["reason"],
    )
    return data_response(request, data, cache=NEVER_SHARED)


@router.get(
    _ADMIN_PATH,
    tags=["operators"],
    **describe_read(
        schemas.Reports, problems.FORBIDDEN, problems.INVALID_CURSOR, problems.INVALID_PARAMETER, needs_token=True
    ),
    summary="Reports about hosts",
    description="Lists reports with their texts, newest first. Reporters are not disclosed. Needs a key with the scope "
    "`reports`.",
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
    await key_of(request, "reports", reads=True)
    try:
        page = await registry_of(request).reports.page(
            cast(tuple[ReportState, ...], states), limit=limit, cursor=cursor
        )
    except BadCursor as error:
        raise invalid_cursor(error) from None
    data: schemas.ReportsData = {
        "reports": [{**_about(report), "texts": page.texts[report.id]} for report in page.reports],
        "cursor": page.cursor,
        "untrusted_text": ["reports.texts"],
    }
    return data_response(request, data, cache=NOT_STORED)


@router.post(
    f"{_ADMIN_PATH}/{{id}}",
    tags=["operators"],
    **describe_write(
        schemas.ReportResolved, problems.FORBIDDEN, problems.NOT_FOUND, problems.INVALID_VALUE,
        problems.BODY_TOO_LARGE, says="In this state.", body=describe_body(schemas.Resolution), needs_token=True
    ),
    summary="Resolve a report",
    description="Takes a report into review, accepts, rejects or reopens it, and answers it. Nothing else changes: to "
    "block the host, call that operation too. Sending the same state and answer again changes nothing. Needs a "
    "key with the scope `reports`.",
)  # fmt: skip
async def resolve(
    request: Request,
    report: Annotated[
        str, Path(alias="id", description="The id of the report.", examples=["0193a5a4-7a10-7cc3-9f00-1d2c3b4a5968"])
    ],
) -> Response:
    key = await key_of(request, "reports")
    body = await read_as(request, schemas.Resolution)
    answer, actor = body.get("answer", "").strip(), key_actor(key.id)
    report_id = existing(uuid_in(report), problems.NOT_FOUND, _UNKNOWN)
    found = await registry_of(request).reports.resolve(report_id, body["state"], answer, actor=actor)
    resolved = existing(found, problems.NOT_FOUND, _UNKNOWN)
    data: schemas.ResolvedData = {**_about(resolved.report), "changed": resolved.is_changed}
    return data_response(request, data, cache=NOT_STORED)


def _about(report: ReportRecord) -> schemas.AboutReport:
    answer = report.answer or None
    return project(schemas.AboutReport, report, id=str(report.id), domain=report.host, answer=answer)
