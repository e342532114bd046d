"""`/changes`: the latest events of the change feed; `/audit`: the decisions about hosts, with authors and reasons."""

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from registry.actions.feed import FeedRow, InvalidCursor
from registry.core.changes.kinds import KINDS, LISTED, SAYS, Types, payload_of
from registry.core.changes.words import changed_parts
from registry.edge.problems import INVALID_CURSOR, INVALID_PARAMETER, Problem
from registry.edge.requests import registry_of
from registry.edge.responses import REVALIDATE, timestamp
from registry.web.asking import ask
from registry.web.rendering import links_of, respond

EVENTS: Final = 50
PARTS: Final = 12
"""Parts of an event that are shown."""


async def changes(request: Request) -> Response:
    """Return a page of events, the latest first. Raise Problem for an unknown kind and for an invalid cursor."""
    kind, cursor = request.query_params.get("type") or None, request.query_params.get("cursor")
    if kind is not None and kind not in KINDS:
        raise Problem(INVALID_PARAMETER, "There are no events of this kind.")
    types = Types.of((kind,) if kind else ())
    try:
        page = await registry_of(request).feed.recent(types, cursor=cursor, limit=EVENTS)
    except InvalidCursor:
        raise Problem(INVALID_CURSOR, "Start again with the latest changes.") from None
    values = {
        "events": [event_row(event) for event in page.events],
        "older": page.older,
        "kind": kind,
        "kinds": SAYS,
        "is_first": cursor is None,
    }
    return respond(request, "changes.html", values)


def event_row(event: FeedRow) -> Mapping[str, Any]:
    """Return what the page shows for an event. Names in it are texts of the site."""
    payload = payload_of(event.kind, event.data)
    is_redacted = bool(payload.get("redacted"))
    return {
        "host": event.host,
        "says": SAYS.get(event.kind, event.kind),
        "kind": event.kind,
        "at": timestamp(event.at),
        "is_listed": event.kind in LISTED and not is_redacted,
        "is_redacted": is_redacted,
        "state": payload.get("state"),
        "name": payload.get("name"),
        "reason": payload.get("reason") or payload.get("how") or payload.get("outcome"),
        "score": payload.get("score"),
        "parts": [] if is_redacted else changed_parts(payload)[:PARTS],
    }


async def audit(request: Request) -> Response:
    cursor = request.query_params.get("cursor")
    data = (await ask(request, "/api/audit", None if cursor is None else {"cursor": cursor}))["data"]
    values = {
        "decisions": data["decisions"],
        "is_first": cursor is None,
        "next": data["cursor"] and links_of(request).to("/audit", {"cursor": data["cursor"]}),
    }
    return respond(request, "audit.html", values, cache=REVALIDATE)
