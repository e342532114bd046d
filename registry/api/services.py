"""`GET /api/services`: the list, one service, one capability, and the status of a host."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, get_args

import orjson
from fastapi import Depends, Query, Request, Response

from registry.actions.queries.discover import MAX_SIMILAR
from registry.actions.queries.evidence import EarlierState, OptedOut
from registry.actions.queries.inspect import (
    CapabilityDates,
    CapabilityView,
    ServiceView,
    Sort,
    StoredService,
    capability_view,
    detail_answer,
)
from registry.api.atom import link_to_changes
from registry.api.documents import describe_read
from registry.api.opt_outs import refuse_opted_out
from registry.api.params import (
    AsOf,
    CapabilityPath,
    DomainPath,
    ListFacetNames,
    ListLimit,
    Offset,
    OnlyTrue,
    existing,
    filters,
    host_in,
)
from registry.api.rows import CALLABLE, auth, freshness, pricing, project, summary, trust
from registry.api.schemas import discovery, submission
from registry.api.schemas import service as schemas
from registry.api.schemas.ownership import OwnershipFacts
from registry.api.submit import shown_step
from registry.core.calling.reach import HOW_TO_MAKE_CALLABLE, WHY_NOT_CALLABLE
from registry.core.calling.record import capability_record
from registry.core.calling.tools import ToolForm, tool_of
from registry.core.changes.kinds import state_of
from registry.core.format_support.account import count_unread
from registry.core.format_support.common_rules import UNREAD
from registry.core.formats.adp.detail_view import adp_detail, why_no_detail
from registry.core.formats.adp.manifest_view import adp_manifest
from registry.core.merging.trust import doubt_of, explained, facts_of, facts_of_host, identity_of
from registry.core.model.listing import Filters, TrustLevel
from registry.core.model.services import Capability, to_json
from registry.core.names.domains import is_confusable
from registry.core.scoring.rubric import VERSION as RUBRIC_VERSION
from registry.core.visiting.call_checks import CallCheck, call_address
from registry.core.wording.text import QUERY_CHARS
from registry.edge import parsers
from registry.edge.limiter import charge, charge_stored, of_list
from registry.edge.problems import (
    BUSY,
    GONE,
    INVALID_PARAMETER,
    NOT_THEN,
    OPTED_OUT,
    UNKNOWN_CAPABILITY,
    UNKNOWN_SERVICE,
    Problem,
)
from registry.edge.requests import (
    MAX_INLINE_DOCUMENT,
    MAX_INLINE_SERVICE,
    NEVER_INLINE,
    base_url,
    computed,
    registry_of,
)
from registry.edge.responses import (
    REVALIDATE,
    capability_url,
    data_response,
    encoded_response,
    json_response,
    status_url,
    timestamp,
)
from registry.edge.routing import strict_router
from registry.wiring import utc_now

_SIMILAR_COST: Final = 1
"""Units of a search, beside those of the request; the result is kept for some minutes."""
_TOOL_FORMS: Final = get_args(ToolForm)
_SORTS = ("newest", "name", "capabilities", "score", "updated")
# guard: untrusted-service
_UNTRUSTED: Final = (
    "well_known_url", "manifest", "protocols", "score.lines.document", "score.lines.pointer", "score.lines.evidence",
    "auth.schemes", "pricing", "policies", "provider", "version", "homepage", "icon_url", "repository", "license",
    "languages", "packages", "docs_url", "workflows", "relations", "claims", "identity", "groups", "tags", "examples",
    "native", "provenance", "documents.url", "documents.dialect", "documents.unread.parts",
    "owner_note", "endpoint_checks.address",
)  # fmt: skip
"""The texts of sites in the answer about one service."""

router = strict_router(tags=["services"])


@router.get(
    "/api/services",
    **describe_read(discovery.ServiceList, INVALID_PARAMETER),
    summary="List services",
    description="All listed services, filtered and sorted; `total` counts every match.",
    tags=["discovery"],
)
async def list_services(
    request: Request,
    narrowed: Annotated[Filters, Depends(filters)],
    search: Annotated[
        str, Query(max_length=QUERY_CHARS, description="Part of a name, a description or a host, in any case.")
    ] = "",
    sort: Annotated[
        Sort, *parsers.one_of(*_SORTS), Query(description="The latest, the best or the largest first, or by name.")
    ] = "newest",
    limit: ListLimit = 50,
    offset: Offset = 0,
    counted: ListFacetNames = (),
) -> Response:
    base, now = base_url(request), utc_now()
    charge(request, of_list(narrowed, search.strip(), limit, offset, len(counted)))
    page = await registry_of(request).queries.list_services(
        narrowed, sort=sort, limit=limit, offset=offset, text=search.strip()
    )
    total = page.total
    content: discovery.ServiceList = {
        "success": True,
        "data": [
            {**summary(card, base, now), "capability_count": card.cap_count, "created_at": timestamp(card.created_at)}
            for card in page.items
        ],
        "total": total,
        "page": offset // limit + 1 if limit else 1,
        "totalPages": max(1, -(-total // limit)) if limit else 1,
        "next_offset": offset + limit if limit and offset + limit < total else None,
    }
    if counted:
        values = await registry_of(request).figures.value_counts(narrowed, counted, search.strip())
        content["facets"] = {"services": values.services, "counts": values.counts}
        content["untrusted_text"] = ["facets.counts"]
    return json_response(request, content)


@router.get(
    "/api/services/{domain}/capabilities/{name:path}",
    **describe_read(schemas.CapabilityDetail, INVALID_PARAMETER, UNKNOWN_SERVICE, UNKNOWN_CAPABILITY, BUSY)
    | {"response_model": schemas.CapabilityDetail | schemas.CapabilityAsTool},
    summary="How to call one capability",
    description="Found by its name, else by the id that its document gives it. `call` is ready to be sent: the request "
    "as a template, the credentials, and an example. The rest is an Agent Discovery Protocol capability detail without "
    "an envelope, for services of every format. "
    "If no call is known, `call` is null and `missing` says why: endpoints are never invented.",
)
async def capability(
    request: Request,
    domain: DomainPath,
    name: CapabilityPath,
    form: Annotated[
        ToolForm | None,
        *parsers.one_of(*_TOOL_FORMS),
        Query(
            alias="as",
            description="The capability as a tool definition to be handed to a model, with its call: in the shape and "
            "within the limits of OpenAI's chat completions, of Anthropic's messages, or of MCP.",
            examples=["openai-tool"],
        ),
    ] = None,
) -> Response:
    host = host_in(domain)
    found = await registry_of(request).queries.stored_capability(host, name)
    stored = existing(found, UNKNOWN_CAPABILITY, "No listed service of this host has a capability of this name or id.")
    charge_stored(request, stored.size)
    if form is not None:
        shown = (host, stored, form, base_url(request))
        body = await computed(request, stored.size, MAX_INLINE_DOCUMENT, _tool, *shown, host=host)
    else:
        body = await computed(request, stored.size, MAX_INLINE_SERVICE, _capability, host, stored, host=host)
    return encoded_response(request, body)


def _tool(host: str, stored: StoredService, form: ToolForm, base: str) -> bytes:
    """Return a capability as a tool definition, with the call that its arguments fill."""
    view = capability_view(stored)
    record = _record(view, stored)
    made = tool_of(host, record, form)
    data: schemas.ToolData = {
        "as": form,
        "tool": made.tool,
        "renamed": made.renamed,
        "fills": made.fills,
        "left_out": made.left_out,
        "call": record.get("call"),
        "record_url": capability_url(base, host, view.capability.name),
        "identity": record["identity"],
        "doubt": record["doubt"],
        "injection_flags": record["injection_flags"],
        "untrusted_text": ["tool", "renamed", "left_out", "call", "missing.detail_url", "record_url"],
    }
    if data["call"] is None:
        data["missing"] = _missing(host, stored, view.capability)
    return orjson.dumps({"success": True, "data": data})


def _record(view: CapabilityView, stored: StoredService) -> dict[str, Any]:
    """Return the capability, with what is known of who serves it: a call may send money or a password."""
    level, facts = view.record.trust_level, facts_of(view.record.listing)
    identity = identity_of(level, facts, is_owned=stored.ownership.state == "proven")
    known = {"identity": identity.value, "doubt": doubt_of(facts)}
    return capability_record(view.service, view.capability, view.example) | known


def _capability(host: str, stored: StoredService) -> bytes:
    view = capability_view(stored)
    record = _record(view, stored)
    detail = adp_detail(host, view.service, view.capability, record.get("call", {}).get("example"))
    if "call" not in record:
        record |= {"call": None, "missing": _missing(host, stored, view.capability)}
    record |= _dated(stored.capabilities[0].dates)
    record["endpoint_check"] = next(iter(_endpoint_checks(host, [view.capability], stored.calls)), None)
    return orjson.dumps(record | (detail or {}) | {"untrusted_text": True})


def _missing(host: str, stored: StoredService, capability: Capability) -> schemas.MissingCall:
    """Return why a capability has no call, and the last answer to the request for its detail, if it names one."""
    answered = detail_answer(stored, capability)
    reason = why_no_detail(host, capability, answered.outcome if answered else None)
    missing: schemas.MissingCall = {
        "reason": reason,
        "message": WHY_NOT_CALLABLE[reason],
        "fix": HOW_TO_MAKE_CALLABLE[reason],
    }
    if capability.detail_url is not None and capability.detail is None:
        missing["detail_url"] = capability.detail_url
        missing["detail_answer"] = None if answered is None else project(schemas.DetailAnswer, answered)
    return missing


@router.get(
    "/api/services/{domain}/status",
    **describe_read(submission.HostStatus, GONE, UNKNOWN_SERVICE),
    summary="The status of a host",
    description="Listed, or why not, and when it is visited next. Also for hosts where nothing was found.",
)
async def status(request: Request, domain: DomainPath) -> Response:
    host = host_in(domain)
    found = await registry_of(request).queries.status(host)
    if found is None:
        await refuse_opted_out(request, host, GONE)
    report = existing(found, detail="Unknown host.")
    paths = [project(submission.UnaskedPath, unasked) for unasked in report.unasked.paths]
    data = project(
        submission.StatusData,
        report,
        domain=report.host,
        confusable=is_confusable(report.host),
        freshness=freshness(report.last_visit_at, report.seen_at, report.freshness, utc_now()),
        unasked=project(submission.Unasked, report.unasked, paths=paths),
        next_step=shown_step(report.next_step, base_url(request), report.alias_of or report.host),
        status_url=status_url(base_url(request), report.host),
        untrusted_text=["reasons"],
    )
    return data_response(request, data, cache=REVALIDATE)


@router.get(
    "/api/services/{domain}/identity",
    **describe_read(schemas.OneIdentity, UNKNOWN_SERVICE),
    summary="What is known of who serves a host",
    description="Any host may be asked for. Of an unlisted host, only the name is known.",
)
async def identity(request: Request, domain: DomainPath) -> Response:
    host = host_in(domain)
    card = await registry_of(request).queries.card(host)
    if card is None:
        facts = explained(TrustLevel.UNVERIFIED, facts_of_host(host))
    else:
        facts = explained(card.trust_level, card.trust, is_owned=card.owned_since is not None)
    data = project(
        schemas.HostIdentity,
        facts,
        **{name: facts[name] for name in ("identity", "means", "doubt", "resembles")},
        domain=host,
        confusable=is_confusable(host),
        listed=card is not None,
        owned=card is not None and card.owned_since is not None,
    )
    return data_response(request, data, cache=REVALIDATE)


@router.get(
    "/api/services/{domain}/similar",
    **describe_read(discovery.SimilarServices, UNKNOWN_SERVICE),
    summary="Services that offer nearly the same",
    description=f"At most {MAX_SIMILAR} services of other sites whose texts are near in words and meaning, the nearest "
    "first; none where none is near. Services that use another owner's name are left out.",
)
async def similar(request: Request, domain: DomainPath) -> Response:
    host, base, now = host_in(domain), base_url(request), utc_now()
    charge(request, _SIMILAR_COST)
    found = existing(await registry_of(request).search.similar(host))
    data: discovery.SimilarData = {
        "domain": host,
        "services": [
            {**summary(card, base, now), "capability_count": card.cap_count, "similarity": round(nearness, 3)}
            for card, nearness in found
        ],
    }
    return data_response(request, data, cache=REVALIDATE)


@router.get(
    "/api/services/{domain}",
    **describe_read(schemas.OneService, INVALID_PARAMETER, GONE, OPTED_OUT, UNKNOWN_SERVICE, NOT_THEN, BUSY),
    summary="One service in full",
    description="Found by host, in any spelling. `manifest` is an Agent Discovery Protocol manifest, even if the host "
    "serves another format; what it cannot express is beside it, with the score and every reason for it.",
)
async def service(
    request: Request, domain: DomainPath, include_details: OnlyTrue = False, as_of: AsOf = None
) -> Response:
    host = host_in(domain)
    if as_of is not None:
        return await _as_of(request, host, as_of, include_details)
    found = await registry_of(request).queries.stored_service(host, include_details=include_details)
    if found is None:
        await refuse_opted_out(request, host, GONE)
    stored = existing(found)
    charge_stored(request, stored.size)
    here = MAX_INLINE_DOCUMENT if include_details else MAX_INLINE_SERVICE  # thousands of example calls take seconds
    shown = (stored, base_url(request), utc_now(), include_details)
    body = await computed(request, stored.size, here, _one_service, *shown, host=host)
    return encoded_response(request, body, headers=link_to_changes(base_url(request), domain=host))


async def _as_of(request: Request, host: str, at: datetime, include_details: bool) -> Response:
    if at > utc_now():
        fault = "as_of: must not be in the future"
        raise Problem(INVALID_PARAMETER, fault, errors=[fault])
    try:
        found = await registry_of(request).evidence.stored_then(host, at)
    except OptedOut:
        raise Problem(OPTED_OUT, "The site opted out; nothing is shown of it.") from None
    then = existing(found, detail="Nothing is known of this host.")
    charge_stored(request, then.size)
    shown = (then, base_url(request), include_details)
    body = await computed(request, then.size, NEVER_INLINE, _service_then, *shown, host=host)
    return encoded_response(request, body)


_NOT_THEN: Final = {
    "before_first_version": "No document of the host is known of that time.",
    "bytes_not_kept": "The bytes of the documents of that time are not kept any more, or must not be shown.",
    "no_service": "The documents of that time describe no service.",
}


def _service_then(then: EarlierState, base: str, include_details: bool) -> bytes:
    view = then.view() if then.documents else None
    if view is None:
        reason = "before_first_version" if not then.documents else "bytes_not_kept" if then.missing else "no_service"
        first = timestamp(then.first)
        raise Problem(NOT_THEN, _NOT_THEN[reason], reason=reason, first_version_at=first, missing=list(then.missing))
    data = _service(view, base, then.at, include_details)
    data["as_of"] = {
        "at": timestamp(then.at),
        "read_by": RUBRIC_VERSION,
        "score": "recomputed" if then.score is None else "stored",
        "scored_at": None if then.score is None else timestamp(then.score.scored_at),
        "missing": list(then.missing),
    }
    data["untrusted_text"] = [*_UNTRUSTED, "as_of.missing"]
    return orjson.dumps({"success": True, "data": data})


def _one_service(stored: StoredService, base: str, now: datetime, include_details: bool) -> bytes:
    return orjson.dumps({"success": True, "data": _service(stored.view(), base, now, include_details)})


_TEXTS: Final = ("version", "homepage", "icon_url", "repository", "license", "docs_url", "synthetic")
_LISTS: Final = ("protocols", "languages", "packages", "groups", "tags", "examples")
_OBJECTS: Final = ("policies", "claims", "identity", "native", "provenance")
"""Members of the service, and their values where it has none."""


def _service(view: ServiceView, base: str, now: datetime, include_details: bool) -> schemas.ServiceData:
    record, host = view.record, view.record.host
    model = to_json(view.service)
    manifest = adp_manifest(host, view.service, lambda name: capability_url(base, host, name))
    _add_to_entries(manifest, host, view, include_details)
    relations = model.get("relations", {})
    state = state_of(record.trust_level, record.seen_at, now)
    return project(
        schemas.ServiceData,
        record,
        **{name: getattr(view.service, name) for name in _TEXTS},
        **{name: model.get(name, []) for name in _LISTS},
        **{name: model.get(name, {}) for name in _OBJECTS},
        domain=host,
        confusable=is_confusable(host),
        verified=record.trust_level is TrustLevel.VERIFIED,
        trust=trust(record.listing, record.trust_since, model, is_owned=view.ownership.state == "proven"),
        last_crawled_at=timestamp(view.last_visit_at),
        manifest=manifest,
        format=record.formats[0] if record.formats else None,
        score={  # as it was computed at the last visit; the rules of today may give another one
            "value": record.score,
            "rubric_version": record.rubric_version,
            "sections": view.breakdown.get("sections", {}),
            "lines": view.breakdown.get("lines", []),
        },
        auth=auth(model.get("auth", {}), record.auth_type),
        pricing=pricing(model.get("pricing", {}), record.pricing_type),
        provider=model.get("provider"),
        workflows=relations.get("workflows", []),
        relations={key: value for key, value in relations.items() if key != "workflows"},
        freshness=freshness(view.last_visit_at, record.seen_at, state, now),
        endpoint_checks=_endpoint_checks(host, view.service.capabilities, view.calls),
        documents=_documents(view),
        ownership=project(OwnershipFacts, view.ownership),
        owner_note=view.setting.note if view.setting else "",
        canonical_host=view.setting.canonical if view.setting else None,
        untrusted_text=_UNTRUSTED,
    )


def _documents(view: ServiceView) -> list[schemas.DocumentSeen]:
    """Return the documents, each with what was not read of it by its findings; those of a copy are the original's."""
    parts: defaultdict[str | None, list[schemas.UnreadPart]] = defaultdict(list)
    for one in view.findings:
        if one.reason == UNREAD.code:
            parts[one.document].append({"pointer": one.pointer, "name": one.evidence})
    answered = {document.url: document.final_url for document in view.documents}
    seen = []
    for document in view.documents:
        found = parts[answered.get(document.alias_of or document.url)]
        unread: schemas.Unread = {"count": count_unread([part["name"] for part in found]), "parts": found}
        seen.append(project(schemas.DocumentSeen, document, unread=unread))
    return seen


def _dated(dates: CapabilityDates | None) -> dict[str, str | None]:
    """Return the fingerprint of a capability, when it was first seen, and when it last changed; null: not recorded."""
    if dates is None:
        return dict.fromkeys(("fingerprint", "first_seen_at", "changed_at"))
    return {
        "fingerprint": dates.fingerprint,
        "first_seen_at": timestamp(dates.first_seen_at),
        "changed_at": timestamp(dates.changed_at),
    }


def _endpoint_checks(
    host: str, capabilities: Iterable[Capability], checks: Sequence[CallCheck]
) -> list[schemas.EndpointCheck]:
    """Return the last check of each address that these capabilities name."""
    named = {address.url for one in capabilities if (address := call_address(host, one))} if checks else ()
    return [
        project(schemas.EndpointCheck, check, address=check.url, reason=check.reason or None)
        for check in sorted(checks)
        if check.url in named
    ]


def _add_to_entries(manifest: dict[str, Any], host: str, view: ServiceView, include_details: bool) -> None:
    """Add id, title and reach to each entry; with details `detail`, or `record` where no HTTP call is known."""
    capability_by_name = {item.name: item for item in view.service.capabilities}
    for entry in manifest["capabilities"]:
        capability = capability_by_name[entry["name"]]
        entry["id"] = capability.id
        entry |= _dated(view.dates_of(capability.name))
        reach = view.reach_of(capability.name)
        entry["callable"] = "unknown" if reach is None else CALLABLE[reach["callable"]]
        entry["not_callable"] = None if reach is None else reach.get("reason")
        entry["kind"] = None if reach is None else reach.get("kind")
        if capability.title:
            entry["title"] = capability.title
        if include_details:
            record = capability_record(view.service, capability, view.example_of(capability.name))
            detail = adp_detail(host, view.service, capability, record.get("call", {}).get("example"))
            entry["record" if detail is None else "detail"] = record | (detail or {})
