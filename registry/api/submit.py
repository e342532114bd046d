"""`POST /api/services`: queue a host with priority and wait a few seconds for its visit.

A worker makes the visit and reports through the database; the API fetches nothing. A pasted manifest is checked but
never listed, because a listing contains only what the host itself serves.
"""

import math
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast

import orjson
from fastapi import Request, Response

from registry.actions.frontier.recheck import (
    AGAIN_AFTER,
    MOST_OF_CLIENT,
    MOST_OF_CLIENT_AND_DOMAIN,
    MOST_OF_DOMAIN,
    Recheck,
)
from registry.actions.frontier.submit import MAX_PER_CLIENT, MAX_UNRESOLVED, Submission
from registry.actions.queries.inspect import HostReport, ServiceView, StoredService
from registry.api.documents import describe_write, json_body
from registry.api.opt_outs import refuse_opted_out
from registry.api.params import Wait
from registry.api.rows import trust
from registry.api.schemas import submission as schemas
from registry.api.schemas.base import EXAMPLE_SERVICE_URL, ExplainedTrust, example_of
from registry.api.validate import ADP_PATH, DraftReport, check_draft
from registry.core.merging.trust import NOT_FETCHED, explained
from registry.core.model.documents import Json
from registry.core.model.listing import TrustLevel
from registry.core.names.domains import InvalidName, is_confusable
from registry.core.reading.injection import injection_flags
from registry.core.visiting.next_steps import NextStep, Page
from registry.edge import problems
from registry.edge.bodies import checked
from registry.edge.connections import long_poll
from registry.edge.problems import Problem
from registry.edge.requests import MAX_INLINE_DOCUMENT, MAX_INLINE_SERVICE, base_url, client_of, computed, registry_of
from registry.edge.responses import data_response, status_url, timestamp
from registry.edge.routing import parse_body, strict_router
from registry.wiring import Waypost, utc_now

MAX_NAME_CHARS: Final = 2_048

_REFUSED: Final[Mapping[str, str]] = {
    "too_many": "Too many hosts of this domain are waiting for their first visit. The domain itself, its www, and "
    "hosts that were visited before can be submitted.",
    "client_domain": f"You submitted {MAX_PER_CLIENT} new hosts of this domain within a day. The domain itself, "
    "its www, and hosts that were visited before can be submitted.",
    "client_unresolved": f"{MAX_UNRESOLVED} names that you submitted within a day have no address. Hosts that were "
    "visited before can be submitted.",
}
"""State of a refused submission -> the detail of the problem."""

AGAIN_SECONDS: Final = int(AGAIN_AFTER.total_seconds())
BOUNDS: Final = (
    f"Within a day, one client may ask for {MOST_OF_CLIENT} visits, {MOST_OF_CLIENT_AND_DOMAIN} of them to one domain, "
    f"and all clients together for {MOST_OF_DOMAIN} visits to one domain; a host that was visited less than "
    f"{AGAIN_SECONDS} seconds ago is not visited again."
)
BOUND_TEXTS: Final[Mapping[str, str]] = {
    "too_soon": f"It was visited less than {AGAIN_SECONDS} seconds ago.",
    "asked_for_time": "The host itself asks not to be visited before that time.",
    "client_budget": f"You have used all visits that one client may ask for. {BOUNDS}",
    "domain_budget": f"All visits that clients may ask for to this domain were used. {BOUNDS}",
}
"""Bound of visits on request -> what it says."""

_PAGES: Final[Mapping[Page, tuple[str, str]]] = {
    "bot": ("About the crawler", "/bot"),
    "check": ("Check a document", "/check"),
    "claim": ("Prove that it is yours", "/claim/%s"),
    "formats": ("See the formats", "/formats"),
    "opt_out": ("See how", "/opt-out/%s"),
    "owner": ("Decide about the entry", "/owner/%s"),
    "recheck": ("Have it visited", "/s/%s/recheck"),
    "service": ("See that entry", "/s/%s"),
    "submit": ("Submit a host", "/submit?hosts=%s"),
}
"""Page of a next step -> its title and its path, in which %s stands for the host."""

_POSTPONED: Final = "Queued; the visit is postponed, because a daily budget is spent. The status says which one."

_BODY: Final = json_body(
    {key: value for key, value in schemas.SUBMISSION_SCHEMA.items() if key != "$defs"},
    domain=("Have a host visited", example_of(schemas.DomainSubmission)),
    manifest=("Check a manifest", example_of(schemas.ManifestSubmission)),
)

router = strict_router(tags=["submission"])


@router.post(
    "/api/services",
    **describe_write(
        schemas.Submitted,
        problems.INVALID_NAME, problems.MIRRORED, problems.OPTED_OUT, problems.ALREADY_KNOWN, problems.BODY_TOO_LARGE,
        problems.NOT_LISTED, problems.BUSY,
        status=201,
        says="Visited and listed.",
        others={
            200: (schemas.Submitted, "A pasted manifest is valid. It is not listed: submit the domain that serves it."),
            202: (schemas.Queued, "Queued; `status_url` shows when the visit is finished."),
        },
        body=_BODY,
        own={
            problems.NOT_LISTED.slug: {"errors": ["capabilities[0].name: A capability has no name."]},
            problems.ALREADY_KNOWN.slug: {
                "status_url": f"{EXAMPLE_SERVICE_URL}/status",
                "code": "too_soon",
                "retry_at": "2026-11-20T03:01:11.000Z",
            },
        }
    ),
    summary="Submit a host",
    description="`{domain}` queues the host for a visit and waits up to `wait` seconds for it. A host that was visited "
    "before is visited again, within the bounds of `POST /api/verify/{domain}`; beyond them the answer is 409, with "
    "`Retry-After`. `{manifest}` is checked "
    "and answered, but never listed: a service is listed once its own host serves the manifest.",
)  # fmt: skip
async def submit(request: Request, wait: Wait = None) -> Response:
    raw = await request.body()
    read = await computed(request, len(raw), MAX_INLINE_DOCUMENT, _read, raw, base_url(request))
    if isinstance(read, str):
        return await _submit_host(request, pasted_host(read), wait)
    return data_response(request, read)


def _read(raw: bytes, base: str) -> str | schemas.SubmittedData:
    """Return the name to submit, or the answer to a pasted manifest. Raise Problem."""
    body = parse_body(raw)
    if not isinstance(body, dict):
        raise Problem(problems.INVALID_BODY, "The body must be an object with `domain` or `manifest`.")
    if "manifest" in body:
        return _check_pasted(body["manifest"], base)
    if "domain" not in body:
        raise Problem(problems.INVALID_BODY, "`domain` (text) or `manifest` (object) is required.")
    return checked(body, schemas.DomainSubmission)["domain"]


def pasted_host(domain: str) -> str:
    """Return the host of a pasted URL, as ADP registries do, not validated yet. Raise Problem if it is too long."""
    return re.sub("^https?://", "", bounded_name(domain), flags=re.IGNORECASE).partition("/")[0]


def bounded_name(text: str) -> str:
    """Return a submitted name without blanks around it. Raise Problem if it is too long."""
    if len(text) > MAX_NAME_CHARS:
        raise Problem(problems.INVALID_NAME, "The name is too long.", code="too_long")
    return text.strip()


async def _submit_host(request: Request, name: str, wait: int | None) -> Response:
    waypost, since = registry_of(request), utc_now()
    try:
        submission = await waypost.frontier.submit(name, client=client_of(request))  # guard: client-of-submission
    except InvalidName as refusal:
        raise Problem(problems.INVALID_NAME, f"Not a host to visit: {refusal}.", code=refusal.code) from None
    url = status_url(base_url(request), submission.host)
    await check_refused(request, submission, since, _REFUSED)
    if submission.state == "known":
        raise await _known(request, submission, since, url)
    if is_postponed(submission):
        return _queued_response(request, submission.host, url, postponed=True)
    if await is_visited(request, submission, since, wait):
        return await _visited_response(request, waypost, submission.host, url)
    return _queued_response(request, submission.host, url)


async def _known(request: Request, submission: Submission, since: datetime, url: str) -> Problem:
    """Return the problem of a host that was visited, and is not visited again now."""
    status = await registry_of(request).queries.status(submission.host)
    bound = submission.bound or "too_soon"
    members: dict[str, Any] = {
        "domain": submission.host,
        "status_url": url,
        "code": bound,
        "retry_at": timestamp(submission.retry_at),
        "last_visit_at": timestamp(status.last_visit_at) if status else None,
        "outcome": status.outcome if status else None,
        "next_visit_at": timestamp(submission.next_visit_at),
    }
    if status is not None:
        members["next_step"] = shown_step(status.next_step, base_url(request), status.alias_of or status.host)
    detail = f"This host was visited already, and is not visited again now. {BOUND_TEXTS.get(bound, '')}".rstrip()
    headers = {"Retry-After": seconds_until(submission.retry_at, since)}
    return Problem(problems.ALREADY_KNOWN, detail, headers=headers, **members)


def shown_step(step: NextStep, base: str, host: str) -> schemas.NextStep:
    """Return the next step with the URL of its page. `host`: the host that the page is about."""
    title, path = _PAGES[step.page]
    return {"says": step.says, "page": step.page, "title": title, "url": base + path.replace("%s", host)}


async def check_refused(
    request: Request, asked: Submission | Recheck, since: datetime, says: Mapping[str, str]
) -> None:
    """Raise Problem when the host is not visited. `says`: state of a refusal for some time -> detail of the problem."""
    if asked.state == "opted_out":
        await refuse_opted_out(request, asked.host)
        raise Problem(problems.OPTED_OUT, "The operator of this domain opted out.", domain=asked.host)
    if asked.state == "blocked":
        raise Problem(problems.BLOCKED, "An operator of this registry blocked this host.", domain=asked.host)
    if asked.state in says:
        headers = {"Retry-After": seconds_until(asked.retry_at, since)}
        raise Problem(problems.RATE_LIMITED, says[asked.state], headers=headers, code=asked.state)


def seconds_until(at: datetime | None, now: datetime) -> str:
    """Return the whole seconds from now as `Retry-After` has them: at least 1, rounded up."""
    return "1" if at is None else str(max(1, math.ceil((at - now).total_seconds())))


def is_postponed(asked: Submission | Recheck) -> bool:
    return asked.next_visit_at is not None and asked.next_visit_at > utc_now()


async def is_visited(request: Request, asked: Submission | Recheck, since: datetime, wait: int | None) -> bool:
    """Return whether the visit was made within the wait, by default that of the settings."""
    waypost = registry_of(request)
    seconds = waypost.settings.submit_wait if wait is None else wait
    with long_poll(request.scope) as may_wait:
        return may_wait and await waypost.recorded.wait(asked.domain, asked.host, since=since, seconds=seconds)


async def _visited_response(request: Request, waypost: Waypost, host: str, url: str) -> Response:
    status = await waypost.queries.status(host)
    if status is not None and status.alias_of is not None:  # apex or www: the host that answers is the listed one
        host, url = status.alias_of, status_url(base_url(request), status.alias_of)
        status = await waypost.queries.status(host)
        if status is None or status.state == "queued":
            return _queued_response(request, host, url)
    stored = await waypost.queries.stored_service(host, include_details=True)
    if stored is None:
        raise not_listed(host, status, url, base_url(request))
    data = await computed(request, stored.size, MAX_INLINE_SERVICE, _visited, host, stored, url, host=host)
    return data_response(request, data, status=201, headers={"Location": url})


def _visited(host: str, stored: StoredService, url: str) -> schemas.SubmittedData:
    view = stored.view()
    trust_level, is_owned = view.record.trust_level, view.ownership.state == "proven"
    data: schemas.SubmittedData = {
        "domain": host,
        "confusable": is_confusable(host),
        "name": view.record.name,
        "trust_level": trust_level,
        "trust": trust(view.record.listing, view.record.trust_since, view.record.model, is_owned=is_owned),
        "verified": trust_level is TrustLevel.VERIFIED,
        "message": "Listed.",
        "status_url": url,
        "injection_flags": view.record.injection_flags,
        "untrusted_text": ["name"],
    }
    return cast(schemas.SubmittedData, {**data, **measured(view)})


def _queued_response(request: Request, host: str, url: str, *, postponed: bool = False) -> Response:
    data: schemas.QueuedData = {
        "domain": host,
        "confusable": is_confusable(host),
        "status": "queued",
        "status_url": url,
        "message": _POSTPONED if postponed else "Queued with priority; a visit takes up to a minute.",
    }
    return data_response(request, data, status=202, headers={"Location": url})


def not_listed(host: str, status: HostReport | None, url: str, base: str, **more: Any) -> Problem:
    """Return the problem of a visited host; `more`: further members."""
    detail = "The host was visited; it serves no document of an agent service."
    faults = list(status.reasons) if status and status.reasons else [detail]
    if status is not None:
        more["next_step"] = shown_step(status.next_step, base, status.alias_of or host)
    members = {"domain": host, "status_url": url, **more, "untrusted_text": ["errors"]}
    return Problem(problems.NOT_LISTED, detail, errors=faults, **members)


def measured(view: ServiceView) -> dict[str, Any]:
    """Return whether the first detail could be read, and how fast the host was, as far as that is known."""
    details = [capability for capability in view.service.capabilities if capability.detail_url is not None]
    known: dict[str, Any] = {"detail_url_ok": details[0].detail is not None} if details else {}
    return known if view.response_ms is None else {**known, "response_time_ms": view.response_ms}


def _check_pasted(manifest: Json, base: str) -> schemas.SubmittedData:
    if not isinstance(manifest, dict):
        raise Problem(problems.INVALID_BODY, "`manifest` must be an object.")
    report = check_draft(orjson.dumps(manifest), ADP_PATH)
    host = report.host
    if not report.valid or host is None:
        raise Problem(
            problems.NOT_LISTED, "The manifest is not valid.", errors=_faults(report), untrusted_text=["errors"]
        )
    service = report.assessment.service
    return {
        "domain": host,
        "name": (service.name if service else None) or host,
        "trust_level": TrustLevel.UNVERIFIED,
        "trust": cast(ExplainedTrust, explained(TrustLevel.UNVERIFIED, {"reasons": [NOT_FETCHED.code]})),
        "verified": False,
        "message": "Valid, but not listed: serve it from its own host, then submit that domain.",
        "status_url": status_url(base, host),
        "injection_flags": injection_flags(finding.rule.code for finding in report.report.findings),
        "untrusted_text": ["name"],
    }


def _faults(report: DraftReport) -> list[str]:
    """Return the faults as `path: message`, as ADP registries do."""
    return [f"{fault['path']}: {fault['message']}" for fault in report.errors] or ["base_url: names no public host"]
