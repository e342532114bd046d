"""`POST /api/feedback`: say whether an answer was right and its call worked; and `/api/admin/feedback`: read that.

Feedback is a signal for owners and operators: no number of verdicts changes an answer or its order.
"""

from collections.abc import Mapping
from typing import Final

from fastapi import Request, Response

from registry.actions.feedback import MAX_OF_CLIENT, MAX_OF_HOST, FeedbackOverview, FeedbackRefusal, Refusal
from registry.api.admin import Limit
from registry.api.documents import describe_body, describe_read, describe_write
from registry.api.params import DomainPath, host_in
from registry.api.rows import project
from registry.api.schemas import feedback as schemas
from registry.api.submit import pasted_host, seconds_until
from registry.core.model.feedback import NOTE_CHARS
from registry.core.names.domains import InvalidName, host_syntax
from registry.core.reading.plain_text import plain
from registry.core.wording.text import QUERY_CHARS
from registry.edge import problems
from registry.edge.bodies import read_as
from registry.edge.problems import Problem, ProblemType
from registry.edge.requests import client_of, key_of, registry_of
from registry.edge.responses import NOT_STORED, data_response
from registry.edge.routing import strict_router
from registry.wiring import utc_now

PATH: Final = "/api/feedback"
_ADMIN_PATH: Final = "/api/admin/feedback"
UNTRUSTED: Final = ("capability", "q", "note")
"""Members of feedback with text of clients and sites."""

_REFUSED: Final[Mapping[Refusal, tuple[ProblemType, str]]] = {
    "unknown": (problems.UNKNOWN_SERVICE, "No listed service has this host name. Send the `domain` of the row."),
    "unknown_capability": (
        problems.UNKNOWN_CAPABILITY,
        "The service has no capability of this name or id. Send the name that the row has, or none.",
    ),
    "opted_out": (problems.OPTED_OUT, "The site opted out; nothing is stored about it."),
    "client_budget": (problems.RATE_LIMITED, f"You gave feedback {MAX_OF_CLIENT} times today."),
}

router = strict_router()


@router.post(
    PATH,
    tags=["discovery"],
    **describe_write(
        schemas.FeedbackGiven, problems.MIRRORED, problems.OPTED_OUT, problems.UNKNOWN_SERVICE,
        problems.UNKNOWN_CAPABILITY, problems.BODY_TOO_LARGE,
        status=201, says="Stored.", body=describe_body(schemas.FeedbackSubmission)
    ),
    summary="Say whether an answer was right",
    description="A verdict on a row of an answer: it was right, it was wrong, or the call of its capability failed. "
    "The owner of the host and the operators of this registry read figures and notes. No number of verdicts changes an "
    "answer or its order. A client's later verdict about the same capability replaces the one of the same day (UTC). "
    f"One client may give {MAX_OF_CLIENT} in a day; the latest {MAX_OF_HOST} about a host are kept.",
)  # fmt: skip
async def give(request: Request) -> Response:
    body = await read_as(request, schemas.FeedbackSubmission)
    if "status" in body and body["verdict"] != "call_failed":
        raise Problem(problems.INVALID_BODY, "status: only with the verdict call_failed")
    try:
        host = host_syntax(pasted_host(body["domain"]))
    except InvalidName:
        raise Problem(*_REFUSED["unknown"]) from None
    given = await registry_of(request).feedback.give(
        host, body["verdict"], client=client_of(request), capability=body.get("capability"), status=body.get("status"),
        q=plain(body.get("q", ""), QUERY_CHARS).strip(), note=plain(body.get("note", ""), NOTE_CHARS).strip(),
    )  # fmt: skip
    if isinstance(given, FeedbackRefusal):
        kind, says = _REFUSED[given.why]
        if given.retry_at is None:
            raise Problem(kind, says)
        headers = {"Retry-After": seconds_until(given.retry_at, utc_now())}
        raise Problem(kind, says, headers=headers, code=given.why)
    data = project(
        schemas.FeedbackData,
        given.record,
        message="Thank you. People read it; it changes no answer.",
        domain=host,
        capability=given.record.capability or None,
        replaced=given.replaced,
        untrusted_text=UNTRUSTED,
    )
    return data_response(request, data, status=201)


@router.get(
    _ADMIN_PATH,
    tags=["operators"],
    **describe_read(schemas.FeedbackOfHosts, problems.FORBIDDEN, problems.INVALID_PARAMETER, needs_token=True),
    summary="Feedback by host",
    description="The numbers of verdicts by host, the most complaints first. Needs a key with the scope `reports`.",
)
async def hosts(request: Request, limit: Limit = 50) -> Response:
    await key_of(request, "reports", reads=True)
    found = await registry_of(request).feedback.of_hosts(limit=limit)
    data: schemas.HostsFeedbackData = {
        "hosts": [project(schemas.HostFeedback, one, domain=one.host) for one in found],
    }
    return data_response(request, data, cache=NOT_STORED)


@router.get(
    f"{_ADMIN_PATH}/{{domain}}",
    tags=["operators"],
    **describe_read(schemas.FeedbackOfHost, problems.FORBIDDEN, needs_token=True),
    summary="Feedback about one host",
    description="In figures, and the latest with notes or questions. Clients are not disclosed. Needs a key with the "
    "scope `reports`.",
)
async def about(request: Request, domain: DomainPath) -> Response:
    await key_of(request, "reports", reads=True)
    host = host_in(domain)
    shown = feedback_about(await registry_of(request).feedback.about(host))
    data: schemas.FeedbackAboutData = {"domain": host, **shown, "untrusted_text": untrusted_feedback("")}
    return data_response(request, data, cache=NOT_STORED)


def feedback_about(found: FeedbackOverview) -> schemas.FeedbackAbout:
    """Return feedback about a host as its owner and operators see it."""
    return {
        "figures": [project(schemas.FeedbackFigure, one, capability=one.capability or None) for one in found.figures],
        "texts": [project(schemas.FeedbackText, one, capability=one.capability or None) for one in found.texts],
    }


def untrusted_feedback(prefix: str) -> list[str]:
    """Return the paths of texts of clients and sites in what `feedback_about` returned."""
    return [f"{prefix}figures.capability", *(f"{prefix}texts.{name}" for name in UNTRUSTED)]
