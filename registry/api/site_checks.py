"""`/api/checks`: have a site visited once, and read what was found at a secret address. Nothing is listed by it."""

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import Path, Request, Response

from registry.actions import site_checks
from registry.actions.site_checks import Refusal, SiteCheckRecord, SiteCheckRefusal
from registry.api.documents import describe_body, describe_read, describe_write
from registry.api.params import existing
from registry.api.schemas import submission as schemas
from registry.api.submit import bounded_name, seconds_until
from registry.core.names.domains import InvalidName
from registry.edge import problems
from registry.edge.bodies import read_as
from registry.edge.limiter import charge_submission
from registry.edge.problems import Problem
from registry.edge.requests import base_url, client_of, registry_of
from registry.edge.responses import NEVER_SHARED, data_response, secret_response, timestamp
from registry.edge.routing import strict_router
from registry.wiring import utc_now

PATH: Final = "/api/checks"
_HOURS: Final = int(site_checks.KEPT_FOR.total_seconds()) // 3600
_BOUNDS: Final = (
    f"Within a day, one client may ask for {site_checks.MAX_OF_CLIENT} checks, and all clients together for "
    f"{site_checks.MAX_OF_DOMAIN} checks of one domain."
)
_REFUSED: Final[Mapping[Refusal, str]] = {
    "too_soon": "This host was checked less than a minute ago.",
    "client_budget": f"You have used all checks that one client may ask for. {_BOUNDS}",
    "domain_budget": f"All checks that clients may ask for of this domain were used. {_BOUNDS}",
    "busy": "Too many checks are waiting.",
}
"""Why a check is refused for some time -> the detail of the problem."""

router = strict_router(tags=["submission"])


@router.post(
    PATH,
    **describe_write(
        schemas.SiteCheckAsked,
        problems.INVALID_NAME, problems.MIRRORED, problems.OPTED_OUT, problems.BLOCKED, problems.BODY_TOO_LARGE,
        status=202,
        says="Queued; `status_url` shows the result.",
        body=describe_body(schemas.SiteCheckSubmission),
        side_effects=True,
    ),
    summary="Check a site",
    description="A worker visits the host as the crawler does, or requests the one https URL, within all limits of "
    "visits; robots.txt is followed. The result is at `status_url`, a secret address that can be passed on, for "
    f"{_HOURS} hours. Nothing is listed, recorded or scheduled by it. {_BOUNDS}",
)  # fmt: skip
async def ask(request: Request) -> Response:
    charge_submission(request)
    body = await read_as(request, schemas.SiteCheckSubmission)
    target, now = bounded_name(body["target"]), utc_now()
    try:
        asked = await registry_of(request).site_checks.ask(target, client=client_of(request))
    except InvalidName as error:
        raise Problem(problems.INVALID_NAME, f"target: {error}", code=error.code) from None
    if isinstance(asked, SiteCheckRefusal):
        raise _refused(asked, seconds_until(asked.retry_at, now))
    record, token = asked
    url = f"{base_url(request)}{PATH}/{token.text}"
    data: schemas.SiteCheckAskedData = {**_about(record), "status_url": url}
    return secret_response(data, status=202, headers={"Location": url})


@router.get(
    f"{PATH}/{{token}}",
    **describe_read(schemas.SiteCheckStatus, problems.NOT_FOUND),
    summary="The result of a check of a site",
    description="The address is secret. `state` is `waiting`, `running` or `done`; where no worker runs, "
    "`worker` is false and the check waits.",
)
async def status(
    request: Request,
    token: Annotated[str, Path(description="The last part of a `status_url`.", max_length=120)],
) -> Response:
    view = existing(
        await registry_of(request).site_checks.status(token), problems.NOT_FOUND, "There is no check at this address."
    )
    record = view.record
    data: schemas.SiteCheckData = {
        **_about(record),
        "state": view.state,
        "worker": view.has_worker,
        "listed": view.is_listed,
        "checked_at": None if record.checked_at is None else timestamp(record.checked_at),
        "result": view.result,
        "untrusted_text": [
            "result.name", "result.description", "result.capabilities", "result.documents.dialect",
            "result.causes.places.pointer", "result.causes.places.evidence",
        ],
    }  # fmt: skip
    return data_response(request, data, cache=NEVER_SHARED)


def _about(record: SiteCheckRecord) -> schemas.SiteCheckAbout:
    return {
        "target": record.url or record.host,
        "domain": record.host,
        "asked_at": timestamp(record.created_at),
        "expires_at": timestamp(record.expires_at),
    }


def _refused(asked: SiteCheckRefusal, seconds: str) -> Problem:
    if asked.why == "opted_out":
        return Problem(problems.OPTED_OUT, "The operator of this domain opted out.")
    if asked.why == "blocked":
        return Problem(problems.BLOCKED, "An operator of this registry blocked this host.", domain=asked.host)
    return Problem(problems.RATE_LIMITED, _REFUSED[asked.why], headers={"Retry-After": seconds}, code=asked.why)
