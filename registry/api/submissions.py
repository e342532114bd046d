"""`/api/submissions`: submit many hosts at once, and read the state of each.

Unlike `POST /api/services`, which submits one host, nothing here waits for a visit.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from fastapi import Request, Response

from registry.actions.frontier.submit import MOST_HOSTS, ListInProgress, ReusedKey
from registry.actions.queries.inspect import SubmittedHostStatus
from registry.api.documents import describe_body, describe_read, describe_write
from registry.api.params import ListOffset, SubmissionPath, SubmittedLimit, existing, uuid_in
from registry.api.rows import project
from registry.api.schemas import submission as schemas
from registry.api.submit import MAX_NAME_CHARS, pasted_host, shown_step
from registry.core.model.findings import Severity
from registry.core.names.domains import is_confusable, message_of
from registry.core.scoring.rubric import rule_of
from registry.core.visiting.next_steps import next_step
from registry.edge import problems
from registry.edge.bodies import checked
from registry.edge.limiter import charge
from registry.edge.problems import Problem
from registry.edge.requests import base_url, client_of, registry_of
from registry.edge.responses import NEVER_SHARED, data_response, status_url, timestamp
from registry.edge.routing import parse_body, strict_router

PATH: Final = "/api/submissions"
MAX_FINDINGS: Final = 20
_HOSTS_OF_UNIT: Final = 10
"""Hosts that are queued, or whose state is read, for one unit of work."""

_KEY: Final = re.compile(r'"?([\x21\x23-\x7e]{1,255})"?', re.ASCII)
_RETRY: Final = {"Retry-After": "5"}

_SAYS: Final[Mapping[str, str]] = {
    "repeated": "The same host stands earlier in the list.",
    "opted_out": "The operator of its domain opted out.",
    "blocked": "An operator of this registry blocked it.",
    "too_many": "Too many hosts of its domain wait for their first visit.",
    "client_domain": "You submitted too many new hosts of its domain within a day.",
    "client_unresolved": "Too many names that you submitted within a day have no address.",
}
_FIXES: Final[Mapping[str, str]] = {
    "repeated": "Leave it out.",
    "opted_out": "Only its operator can end that.",
    "blocked": "Write to the contact address on the page about the crawler.",
    "too_many": "Submit it later.",
    "client_domain": "Submit it later, or submit the domain itself.",
    "client_unresolved": "Check the names, and submit it later.",
}
_HOST_NAME: Final = "Write the name under which the internet reaches the site, such as api.your-site.com."
_UNKNOWN: Final = "There is no list of submitted hosts at this address."

_SUBMIT: Final = describe_write(
    schemas.SubmittedList, problems.BAD_REQUEST, problems.MIRRORED, problems.REQUEST_IN_PROGRESS,
    problems.BODY_TOO_LARGE, problems.KEY_REUSED, status=202, body=describe_body(schemas.ListSubmission),
    says="The accepted hosts are queued. `status_url` is a secret address: keep it.",
)  # fmt: skip
_SUBMIT["openapi_extra"]["parameters"] = [
    {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "1 to 255 visible ASCII characters, with or without quotation marks; a random one for each "
        "request.",
        "schema": {"type": "string", "maxLength": 257},
    }
]

router = strict_router(tags=["submission"])


@router.post(
    PATH,
    **_SUBMIT,
    summary="Submit many hosts",
    description=f"Queues 1 to {MOST_HOSTS} hosts, each for a visit with the whole probe plan. Clients take "
    "turns in the queue: a long list delays only its own hosts, not other clients. With `Idempotency-Key` the "
    "request can be repeated safely for 24 hours: it gets the same answer, and 409 while the first one is being worked "
    "on; another body with the same key is refused with 422. A refused host is named by its place in the list.",
)  # fmt: skip
async def submit(request: Request) -> Response:
    raw = await request.body()
    body = checked(parse_body(raw), schemas.ListSubmission)
    names = [pasted_host(name[:MAX_NAME_CHARS]) for name in body["hosts"]]  # a longer host is refused as a name
    key = _key(request.headers.getlist("idempotency-key"))
    charge(request, len(names) // _HOSTS_OF_UNIT)
    try:
        submitted = await registry_of(request).frontier.submit_list(
            names, body_sha256=hashlib.sha256(raw).digest(), client=client_of(request), key=key
        )
    except ReusedKey:
        raise Problem(problems.KEY_REUSED, "This Idempotency-Key was used for another body.") from None
    except ListInProgress:
        detail = "The first request with this Idempotency-Key is still being worked on."
        raise Problem(problems.REQUEST_IN_PROGRESS, detail, headers=_RETRY) from None
    url = _url(request, submitted.id)
    data: schemas.AcceptedList = {
        "id": str(submitted.id),
        "status_url": url,
        "accepted": len(names) - len(submitted.refused),
        "refused": _refused(submitted.refused),
        "message": "Queued: `status_url` shows the state of each host.",
    }
    return data_response(request, data, status=202, headers={"Location": url})


@router.get(
    f"{PATH}/{{id}}",
    **describe_read(schemas.ListStatus, problems.NOT_FOUND),
    summary="The state of submitted hosts",
    description="Waiting, being visited, listed, or not listed with the reasons and what a check of its documents "
    "says. `visited_since` tells whether that is from a visit after the submission. Lists are kept for 30 days.",
)
async def state(request: Request, id: SubmissionPath, limit: SubmittedLimit = 20, offset: ListOffset = 0) -> Response:
    charge(request, limit // _HOSTS_OF_UNIT)
    list_id = existing(uuid_in(id), problems.NOT_FOUND, _UNKNOWN)
    found = await registry_of(request).queries.list_status(list_id, after=offset, limit=limit)
    status, base = existing(found, problems.NOT_FOUND, _UNKNOWN), base_url(request)
    data: schemas.ListData = {
        "id": str(status.id),
        "submitted_at": timestamp(status.asked_at),
        "is_complete": status.is_done,
        "counts": dict(status.counts) | ({"refused": len(status.refused)} if status.refused else {}),
        "done": status.done,
        "hosts": [_host(host, base) for host in status.hosts],
        "next_offset": status.next_index,
        "refused": _refused(status.refused),
        "status_url": _url(request, status.id),
        "untrusted_text": ["hosts.reasons", "hosts.findings"],
    }
    return data_response(request, data, cache=NEVER_SHARED)


def _key(fields: Sequence[str]) -> str | None:
    """Return the Idempotency-Key without its quotation marks; None without one. Raise Problem."""
    if not fields:
        return None
    found = _KEY.fullmatch(fields[0].strip()) if len(fields) == 1 else None
    if found is None:
        raise Problem(problems.BAD_REQUEST, "Idempotency-Key: must be one text of 1 to 255 visible ASCII characters.")
    return found[1]


def _refused(refused: Sequence[Mapping[str, Any]]) -> list[schemas.RefusedHost]:
    return [
        {
            "index": one["index"],
            "code": one["code"],
            "says": _SAYS.get(one["code"]) or _sentence(one["code"]),
            "fix": _FIXES.get(one["code"], _HOST_NAME),
            "retry_at": timestamp(datetime.fromisoformat(one["retry_at"])) if "retry_at" in one else None,
        }
        for one in refused
    ]


def _sentence(code: str) -> str:
    """Return which rule of host names a name breaks."""
    text = message_of(code)
    return f"{text[0].upper()}{text[1:]}."


def _host(host: SubmittedHostStatus, base: str) -> schemas.SubmittedHost:
    now, status = host.now, host.status
    step = status.next_step if status else next_step("opted_out" if now.state == "opted_out" else "dropped")
    shown: schemas.SubmittedHost = {
        "index": now.index,
        "domain": now.host,
        "confusable": is_confusable(now.host),
        "state": now.state,
        "reasons": status.reasons if status else [],
        "findings": _findings(host),
        "finding_count": len(status.findings) if status else 0,
        "visited_since": now.visited_since,
        "recheck_bound": status.recheck_bound if status else None,
        "recheck_at": timestamp(status.recheck_at) if status else None,
        "next_step": shown_step(step, base, (status and status.alias_of) or now.host),
        "last_visit_at": timestamp(status.last_visit_at) if status else None,
        "next_visit_at": timestamp(status.next_visit_at) if status else None,
        "status_url": status_url(base, now.host),
    }
    if status is not None:
        shown["outcome"], shown["alias_of"] = status.outcome, status.alias_of
    return shown


def _findings(host: SubmittedHostStatus) -> list[schemas.ShortFinding]:
    """Return the findings as a check of the documents would: errors first, then warnings."""
    order = list(Severity)
    known = [
        (rule, finding)
        for finding in (host.status.findings if host.status else ())
        if (rule := rule_of(finding.reason))
    ]
    known.sort(key=lambda pair: order.index(pair[0].severity))
    return [
        project(schemas.ShortFinding, finding, severity=rule.severity.value, says=rule.says, fix=rule.fix)
        for rule, finding in known[:MAX_FINDINGS]
    ]


def _url(request: Request, list_id: UUID) -> str:
    return f"{base_url(request)}{PATH}/{list_id}"
