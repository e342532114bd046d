"""`/api/reports`: report a problem with a host to the operator of this registry, and read the answer.

Reports are signals: no number of them hides a host or changes its rank.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, cast

from fastapi import Request, Response

from registry.actions.reports import KIND, MOST_OF_CLIENT, MOST_OF_REPORT, FilingState
from registry.api.documents import errors, example, not_modified
from registry.api.params import ReportPath
from registry.api.schemas import admin as schemas
from registry.api.schemas.base import example_of
from registry.api.submit import pasted_host
from registry.core.access.tokens import parse_token
from registry.core.model.reports import CODES, LEAST_REASON_CHARS, REASON_CHARS, Code
from registry.core.names.domains import InvalidName, host_syntax
from registry.core.reading.plain_text import plain
from registry.edge.problems import (
    BODY_TOO_LARGE,
    INVALID_BODY,
    MIRRORED,
    NOT_FOUND,
    RATE_LIMITED,
    UNKNOWN_SERVICE,
    UNREADABLE_BODY,
    Problem,
)
from registry.edge.requests import base_url, client_of, registry_of
from registry.edge.responses import NEVER_SHARED, json_response, secret_response, timestamp
from registry.edge.routing import read_body, strict_router
from registry.wiring import utc_now

PATH: Final = "/api/reports"
_SAYS: Final[Mapping[FilingState, str]] = MappingProxyType(
    {
        "filed": "Filed: `status_url` shows the answer. Keep it, it is shown only here.",
        "repeated": "You already filed this report, and it is not decided yet. Its `status_url` was shown then.",
        "counted": f"Counted: {MOST_OF_REPORT} clients or more filed the same, and it is not decided yet. Your text is "
        "not stored.",
        "client_budget": f"You filed {MOST_OF_CLIENT} reports within a day.",
    }
)

router = strict_router(tags=["submission"])


@router.post(
    PATH,
    response_model=schemas.Filed,
    responses={
        200: {"description": "Filed.", **example(schemas.Filed)},
        **errors(UNREADABLE_BODY, INVALID_BODY, MIRRORED, UNKNOWN_SERVICE, BODY_TOO_LARGE),
    },
    summary="Report a host",
    description="Tells the operator of this registry what is wrong with a host that is known here. Reports alone "
    "change nothing, however many there are: a person decides. Reports of several clients about the same host with the "
    "same `code` are decided together. `status_url` is a secret address at which the answer can be read. One client "
    f"may file {MOST_OF_CLIENT} reports in a day. The first {MOST_OF_REPORT} about a host with the same `code` are "
    "kept; further ones are only counted until those are decided.",
    openapi_extra={
        "x-side-effects": True,
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": schemas.REPORT_SCHEMA,
                    "examples": {
                        "report": {
                            "summary": "Report a host",
                            "value": {**example_of(schemas.NewReport), "code": "dead"},
                        }
                    },
                }
            },
        },
    },
)
async def file(request: Request) -> Response:
    host, code, reason = _read(await read_body(request))
    now = utc_now()
    filing = await registry_of(request).reports.file(host, code, reason, client=client_of(request))
    if filing.state == "unknown":
        raise Problem(UNKNOWN_SERVICE, "Unknown host.")
    if filing.retry_at is not None:
        headers = {"Retry-After": str(max(1, math.ceil((filing.retry_at - now).total_seconds())))}
        raise Problem(RATE_LIMITED, _SAYS[filing.state], headers=headers, code=filing.state)
    url = None if filing.token is None else f"{base_url(request)}{PATH}/{filing.token.text}"
    content: schemas.Filed = {
        "success": True,
        "data": {"message": _SAYS[filing.state], "domain": host, "code": code, "status_url": url},
    }
    return secret_response(content)


@router.get(
    f"{PATH}/{{token}}",
    response_model=schemas.ReportStatus,
    responses={200: example(schemas.ReportStatus), **not_modified(), **errors(NOT_FOUND)},
    summary="The state of a report",
    description="For who filed it: whether it was decided, and the answer. The address is secret.",
)
async def state(request: Request, token: ReportPath) -> Response:
    parsed = parse_token(token, KIND)
    filed = None if parsed is None else await registry_of(request).reports.filed(parsed)
    if filed is None:
        raise Problem(NOT_FOUND, "There is no report at this address.")
    report = filed.report
    content: schemas.ReportStatus = {
        "success": True,
        "data": {
            "domain": report.host,
            "code": report.code,
            "reason": filed.filing.reason,
            "state": cast(Any, report.state),
            "answer": report.answer or None,
            "filed_at": timestamp(filed.filing.filed_at),
            "updated_at": timestamp(report.updated_at),
            "untrusted_text": ["reason"],
        },
    }
    return json_response(request, content, cache=NEVER_SHARED)


def _read(body: Any) -> tuple[str, Code, str]:
    """Return host, code and text. Raise Problem."""
    domain = body.get("domain") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(domain, str):
        raise Problem(INVALID_BODY, "The body must be an object with `domain` and `reason` (texts).")
    reason, code = body.get("reason"), body.get("code", "other")
    if not isinstance(reason, str) or len(reason := plain(reason, REASON_CHARS).strip()) < LEAST_REASON_CHARS:
        raise Problem(INVALID_BODY, f"`reason` must be a text of at least {LEAST_REASON_CHARS} characters.")
    if code not in CODES:
        raise Problem(INVALID_BODY, f"`code` must be one of {', '.join(CODES)}.")
    try:
        return host_syntax(pasted_host(domain)), cast(Code, code), reason
    except InvalidName:
        raise Problem(UNKNOWN_SERVICE, "Unknown host.") from None
