"""`/api/admin`: what operators look at to see whether the work is done (queue, jobs, seeded lists), and visits."""

from typing import Annotated, Final

from fastapi import Query, Request, Response

from registry.api.admin import Cursor, Limit
from registry.api.documents import describe_body, describe_read, describe_write
from registry.api.rechecks import REFUSED
from registry.api.rows import project
from registry.api.schemas import admin as schemas
from registry.api.submit import check_refused
from registry.core.access.audit import key_actor
from registry.core.names.domains import InvalidName
from registry.edge import parsers
from registry.edge.bodies import read_as
from registry.edge.problems import (
    BLOCKED,
    BODY_TOO_LARGE,
    FORBIDDEN,
    INVALID_CURSOR,
    INVALID_NAME,
    INVALID_PARAMETER,
    MIRRORED,
    OPTED_OUT,
    UNKNOWN_SERVICE,
    Problem,
    invalid_cursor,
)
from registry.edge.requests import base_url, key_of, registry_of
from registry.edge.responses import NOT_STORED, data_response, status_url, timestamp
from registry.edge.routing import strict_router
from registry.wiring import utc_now
from registry.wiring.schedule import job_lines

RUNS: Final = 10
NAME_CHARS: Final = 600

router = strict_router(tags=["operators"])


@router.get(
    "/api/admin/queue",
    **describe_read(schemas.Queue, FORBIDDEN, needs_token=True),
    summary="What waits",
    description="Visits, submissions, checks of opt-outs, the index and the change feed. Needs a key with the scope "
    "`queue`.",
)
async def queue(request: Request) -> Response:
    await key_of(request, "queue", reads=True)
    load = await registry_of(request).figures.workload()
    return data_response(request, project(schemas.Workload, load), cache=NOT_STORED)


@router.get(
    "/api/admin/queue/domains",
    **describe_read(schemas.QueuedDomains, FORBIDDEN, INVALID_CURSOR, INVALID_PARAMETER, needs_token=True),
    summary="Domains that are due, or being visited",
    description="Due ones in the order of their visits, with the host that is due for longest. Needs a key with the "
    "scope `queue`.",
)
async def domains(
    request: Request,
    state: Annotated[
        str, *parsers.one_of("due", "leased"), Query(description="leased: being visited.", examples=["due"])
    ] = "due",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    await key_of(request, "queue", reads=True)
    figures = registry_of(request).figures
    find = figures.due_domains if state == "due" else figures.leased_domains
    try:
        found, following = await find(limit=limit, cursor=cursor)
    except ValueError:
        raise invalid_cursor("not a cursor of this registry") from None
    data: schemas.QueuedDomainsData = {
        "domains": [project(schemas.QueuedDomain, one) for one in found],
        "cursor": following,
    }
    return data_response(request, data, cache=NOT_STORED)


@router.get(
    "/api/admin/queue/failing",
    **describe_read(schemas.FailingHosts, FORBIDDEN, needs_token=True),
    summary="Hosts that fail most",
    description="The hosts with the most failed visits in a row. Needs a key with the scope `queue`.",
)
async def failing(request: Request) -> Response:
    await key_of(request, "queue", reads=True)
    found = await registry_of(request).figures.failing()
    data: schemas.FailingHostsData = {"hosts": [project(schemas.FailingHost, one) for one in found]}
    return data_response(request, data, cache=NOT_STORED)


@router.get(
    "/api/admin/seeds",
    **describe_read(schemas.SeededLists, FORBIDDEN, needs_token=True),
    summary="What became of seeded lists",
    description="The hosts of each source, and of each list of the operator, by the outcome of their last visit. A "
    "host counts for the first source that named it. Needs a key with the scope `queue`.",
)
async def seeds(request: Request) -> Response:
    await key_of(request, "queue", reads=True)
    found = await registry_of(request).figures.seeded()
    data: schemas.SeededListsData = {
        "lists": [project(schemas.SeededList, one) for one in found],
        "untrusted_text": ["lists.list"],
    }
    return data_response(request, data, cache=NOT_STORED)


@router.get(
    "/api/admin/jobs",
    **describe_read(schemas.Jobs, FORBIDDEN, needs_token=True),
    summary="The recurring jobs",
    description=f"Each with its next run and its last {RUNS} runs. Needs a key with the scope `queue`.",
)
async def jobs(request: Request) -> Response:
    await key_of(request, "queue", reads=True)
    waypost = registry_of(request)
    data: schemas.JobsData = {
        "scheduled": await waypost.jobs.is_led(),
        "jobs": [
            {
                "job": line.job.name,
                "says": line.job.says,
                "interval_seconds": round(line.interval.total_seconds()),
                "next_at": timestamp(line.next_at),
                "runs": [project(schemas.Run, run, outcome=run.outcome.value) for run in line.runs[:RUNS]],
            }
            for line in await job_lines(waypost, waypost.settings)
        ],
    }
    return data_response(request, data, cache=NOT_STORED)


@router.post(
    "/api/admin/visits",
    **describe_write(
        schemas.VisitQueued, FORBIDDEN, BLOCKED, MIRRORED, OPTED_OUT, UNKNOWN_SERVICE, INVALID_NAME, BODY_TOO_LARGE,
        status=202, says="Queued.", body=describe_body(schemas.VisitSubmission), needs_token=True
    ),
    summary="Have a host visited next",
    description="A known host, before all others, with every path of the probe plan. The budgets of strangers do not "
    "count; the pauses and daily budgets of the crawler do. Needs a key with the scope `visits`.",
)  # fmt: skip
async def visit(request: Request) -> Response:
    key = await key_of(request, "visits")
    body, now = await read_as(request, schemas.VisitSubmission), utc_now()
    name, reason = body["domain"].strip()[:NAME_CHARS], body.get("reason", "").strip()
    try:
        asked = await registry_of(request).frontier.recheck_for_operator(name, actor=key_actor(key.id), reason=reason)
    except InvalidName as refusal:
        raise Problem(INVALID_NAME, f"Not a host: {refusal}.", code=refusal.code) from None
    if asked.state == "unknown":
        raise Problem(UNKNOWN_SERVICE, "Unknown host: submit it first.")
    await check_refused(request, asked, now, REFUSED)
    data: schemas.VisitQueuedData = {
        "domain": asked.host,
        "next_visit_at": timestamp(asked.next_visit_at or now),
        "status_url": status_url(base_url(request), asked.host),
    }
    return data_response(request, data, status=202, headers={"Location": data["status_url"]})
