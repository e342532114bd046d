"""`GET /api/feed`: what changed, page by page, and `GET /api/feed/stream`: the same as Server-Sent Events.

Both return the events in the order of `registry.actions.feed`. Waiting clients cost no queries: one poll of the
database serves all of them in this process.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any, Final, cast

import orjson
from fastapi import Header, Query, Request, Response
from pydantic import TypeAdapter
from starlette.responses import StreamingResponse

from registry.actions.feed import CURSOR_CHARS, EventPage, ExpiredCursor, FeedRow, InvalidCursor, Place, decode
from registry.api.documents import errors, example, not_modified
from registry.api.params import FeedLimit, FeedWait
from registry.api.schemas import feed as schemas
from registry.core.changes.kinds import PATTERNS, Types, payload_of
from registry.core.reading.plain_text import unbroken
from registry.edge import parsers, problems
from registry.edge.connections import long_poll
from registry.edge.limiter import charge, charge_stored, of_bytes
from registry.edge.problems import Problem, invalid_cursor
from registry.edge.requests import base_url, registry_of
from registry.edge.responses import REVALIDATE, accepted_weights, encoded_response, timestamp
from registry.edge.routing import strict_router
from registry.wiring import StoreUnavailable, utc_now

CLOUD_EVENTS: Final = "application/cloudevents-batch+json"
EVENT_STREAM: Final = "text/event-stream"
LATEST: Final = "latest"
DUMP: Final = "/dumps/manifest.json"

HEARTBEAT_SECONDS: Final = 15.0
ALLOWANCE_SECONDS: Final = 1.0
"""How often a stream whose client has used up its allowance looks whether there is some again."""

STREAM_LIMIT: Final = 100
RETRY_MS: Final = 5_000

_CURSOR_TEXT: Final = (
    "`cursor` of the last page, for the same `types`. Without it: from the oldest event that is kept. `latest`: only "
    "events that come from now on."
)
_STREAM_TEXT: Final = (
    "`event: feed` has a page as its data, as `GET /api/feed` answers; `event: heartbeat`, at least every "
    f"{HEARTBEAT_SECONDS:.0f} seconds, has a page without events. To resume, send the last `cursor`: as the parameter, "
    "or as `Last-Event-ID`, which wins. A cursor that expires meanwhile ends the stream with `event: problem`."
)
_REFUSALS: Final = (problems.INVALID_PARAMETER, problems.INVALID_CURSOR, problems.CURSOR_EXPIRED)
_EXPIRED: Final = {"code": "cursor_expired", "dump": f"https://registry.example{DUMP}"}
_SCHEMA: Final = "/openapi.json#/components/schemas/FeedPayload"

_CLOUD_EVENT: Final = {
    name: member
    for name, member in TypeAdapter(schemas.CloudEvent)
    .json_schema(ref_template="#/components/schemas/{model}").items()
    if name != "$defs"  # those of a page too
}  # fmt: skip

Cursor = Annotated[str | None, Query(max_length=CURSOR_CHARS, description=_CURSOR_TEXT)]
Kinds = Annotated[
    tuple[str, ...],
    *parsers.any_of(*PATTERNS),
    Query(description="Only these types of events, comma separated; `service.*` stands for all of services."),
]

router = strict_router(tags=["changes"])


@router.get(
    "/api/feed",
    response_model=schemas.FeedPage,
    responses={
        200: {
            "content": {
                **example(schemas.FeedPage)["content"],
                CLOUD_EVENTS: {
                    "schema": {"type": "array", "items": _CLOUD_EVENT},
                    "example": [example(schemas.CloudEvent)["content"]["application/json"]["example"]],
                },
            }
        },
        **not_modified(),
        **errors(*_REFUSALS, own={problems.CURSOR_EXPIRED.slug: _EXPIRED}),
    },
    summary="What changed",
    description="All events in one order that never changes, each exactly once to a reader that sends back `cursor`. "
    f"`Accept: {CLOUD_EVENTS}` renders the same events as CloudEvents 1.0; the next page is then in `Link`, and "
    "`Waypost-Has-More` says whether to ask for it at once.",
)
async def feed(
    request: Request, cursor: Cursor = None, types: Kinds = (), limit: FeedLimit = 100, wait: FeedWait = 0
) -> Response:
    wanted = Types.of(types)
    page = await _page(request, cursor, wanted, limit)
    if wait and cursor is not None and not page.events and not page.has_more:
        page = await _awaited(request, page, wanted, limit, wait)
    if _wants_cloud_events(request):
        return _cloud_events(request, page, wanted, limit)
    body = orjson.dumps(_shown(request, page))
    charge_stored(request, len(body))
    return encoded_response(request, body, cache=REVALIDATE, headers={"Vary": "Accept"})


@router.get(
    "/api/feed/stream",
    response_class=StreamingResponse,
    responses={
        200: {"description": _STREAM_TEXT, "content": {EVENT_STREAM: {"schema": {"type": "string"}}}},
        **errors(*_REFUSALS),
    },
    summary="What changes, as Server-Sent Events",
    description=_STREAM_TEXT,
)
async def stream(
    request: Request,
    cursor: Cursor = None,
    types: Kinds = (),
    last_event_id: Annotated[
        str | None, Header(max_length=CURSOR_CHARS, description="The last `cursor`; browsers send it on their own.")
    ] = None,
) -> Response:
    wanted = Types.of(types)
    page = await _page(request, last_event_id or cursor, wanted, STREAM_LIMIT)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return _EventStream(_streamed(request, page, wanted), media_type=EVENT_STREAM, headers=headers)


class _EventStream(StreamingResponse):
    """A response that holds its connection open while it runs. Raise Problem when there are too many."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with long_poll(scope, "stream") as may_stream:
            if not may_stream:
                detail = "This client, or this server, has too many event streams. Follow the feed with `wait` instead."
                raise Problem(problems.RATE_LIMITED, detail, headers={"Retry-After": "60"}, limit="event-streams")
            await super().__call__(scope, receive, send)


async def _page(request: Request, cursor: str | None, types: Types, limit: int) -> EventPage:
    """Return the requested page. Raise Problem."""
    actions = registry_of(request).feed
    if cursor == LATEST:
        return await actions.latest(types)
    try:
        place = None if cursor is None else decode(cursor, types)
    except InvalidCursor as error:
        raise invalid_cursor(error) from None
    try:
        return await actions.page(place, types, limit)
    except ExpiredCursor:
        raise _expired(request) from None


async def _awaited(request: Request, page: EventPage, types: Types, limit: int, seconds: int) -> EventPage:
    """Wait for the first events after an empty page, at most `seconds`; return the last page. Raise Problem."""
    actions, clock = registry_of(request).feed, asyncio.get_running_loop().time
    if turn := request.scope.get("waypost.turn"):
        turn.close()  # the client may send other requests while this one waits
    deadline = clock() + seconds
    with long_poll(request.scope) as may_wait:
        while may_wait and not page.events and await actions.wait(page.place, deadline - clock()):
            page = await _following(request, page.place, types, limit)
    return page


async def _streamed(request: Request, page: EventPage, types: Types) -> AsyncIterator[bytes]:
    """Yield the events of the stream. It ends when the cursor expires or the server stops."""
    actions, clock = registry_of(request).feed, asyncio.get_running_loop().time
    yield f"retry: {RETRY_MS}\n\n".encode()
    message = _message(request, "feed" if page.events else "heartbeat", page)
    yield message
    heartbeat_at = clock() + HEARTBEAT_SECONDS
    while not actions.has_ended and not request.scope.get("waypost.head"):  # HEAD needs only the header fields
        await _afford(request, len(message))  # pay first: a page read before the wait would be out of date
        message = b""
        if page.has_more or await actions.wait(page.place, heartbeat_at - clock()):
            try:
                page = await _following(request, page.place, types, STREAM_LIMIT)
            except StoreUnavailable:
                return  # the client connects again
            except Problem as problem:
                yield b"event: problem\ndata: " + unbroken(orjson.dumps(problem.members)) + b"\n\n"
                return
        else:
            page = replace(page, events=())
        is_due = clock() >= heartbeat_at and not actions.has_ended
        if page.events or is_due:
            message = _message(request, "feed" if page.events else "heartbeat", page)
            yield message
            heartbeat_at = clock() + HEARTBEAT_SECONDS


async def _following(request: Request, place: Place, types: Types, limit: int) -> EventPage:
    """Return the page after a cursor that was valid a moment ago. Raise Problem."""
    try:
        return await registry_of(request).feed.shared_page(place, types, limit)
    except ExpiredCursor:
        raise _expired(request) from None


async def _afford(request: Request, size: int) -> None:
    """Wait until the client has enough units of work for a message of this size, or the server stops.

    Otherwise a stream would be a way around the client's limit.
    """
    while size and not registry_of(request).feed.has_ended:
        try:
            charge(request, 1 + of_bytes(size))  # guard: stream-work
        except Problem:
            await asyncio.sleep(ALLOWANCE_SECONDS)
        else:
            return


def _message(request: Request, event: str, page: EventPage) -> bytes:
    """Return a message of an event stream (HTML Standard, section 9.2). JSON without indentation has no line breaks."""
    return (
        f"id: {page.cursor}\nevent: {event}\ndata: ".encode() + unbroken(orjson.dumps(_shown(request, page))) + b"\n\n"
    )


def _shown(request: Request, page: EventPage) -> schemas.FeedPage:
    now, latest_at = utc_now(), page.ends.latest_at
    return {
        "events": [event_row(event) for event in page.events],
        "cursor": page.cursor,
        "has_more": page.has_more,
        "freshness": {
            "generated_at": timestamp(now),
            "latest_event_at": timestamp(latest_at),
            "lag_seconds": None if latest_at is None else max(0, int((now - latest_at).total_seconds())),
            "retention_days": registry_of(request).settings.keep_changes_days,
        },
    }


def event_row(event: FeedRow) -> schemas.FeedEvent:
    """Return an event as the feed shows it."""
    return {
        "event_id": str(event.event_id),
        "type": event.kind,
        "entity": {"kind": cast(Any, event.kind.partition(".")[0]), "id": event.host},
        "occurred_at": timestamp(event.at),
        "payload": cast(schemas.FeedPayload, payload_of(event.kind, event.data)),
    }


def _cloud_events(request: Request, page: EventPage, types: Types, limit: int) -> Response:
    """Return the page in the JSON batch format of CloudEvents 1.0.2, which has no members for the page itself."""
    base = base_url(request)
    events: list[schemas.CloudEvent] = [
        {
            "specversion": "1.0",
            "id": str(event.event_id),
            "source": base,
            "type": f"dev.waypost.{event.kind}",
            "subject": event.host,
            "time": timestamp(event.at),
            "datacontenttype": "application/json",
            "dataschema": f"{base}{_SCHEMA}",
            "data": cast(schemas.FeedPayload, payload_of(event.kind, event.data)),
        }
        for event in page.events
    ]
    body = orjson.dumps(events)
    charge_stored(request, len(body))
    following = f"{base}/api/feed?cursor={page.cursor}&limit={limit}"
    if types.patterns:
        following += f"&types={','.join(types.patterns)}"
    headers = {
        "Vary": "Accept",
        "Link": f'<{following}>; rel="next"',
        "Waypost-Has-More": "true" if page.has_more else "false",
    }
    return encoded_response(request, body, media_type=CLOUD_EVENTS, cache=REVALIDATE, headers=headers)


def _wants_cloud_events(request: Request) -> bool:
    """Return whether the client prefers CloudEvents to JSON (RFC 9110 section 12.5.1)."""
    weights = accepted_weights(",".join(request.headers.getlist("accept")))
    cloud_events = weights.get(CLOUD_EVENTS, 0.0)
    return cloud_events > 0 and cloud_events >= weights.get("application/json", 0.0)


def _expired(request: Request) -> Problem:
    return Problem(
        problems.CURSOR_EXPIRED,
        "The events after this cursor are not all kept. Read the dump, then follow the feed from its cursor.",
        code="cursor_expired",
        dump=f"{base_url(request)}{DUMP}",
    )
