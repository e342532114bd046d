"""Stage S6: the tools of the MCP servers that a host's cards name, by `tools/list` (docs/probe-plan.md, "Tools").

A conversation with one endpoint is a generator that yields requests and is sent answers, None for a request that was
not made. It ends with a document that holds the tools, or with the reason why there are none.
"""

from collections.abc import Callable, Generator, Iterable
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.assessing.verdicts import by_status
from registry.core.format_support.manifest import list_of, map_of
from registry.core.format_support.probing import CARD_CAP
from registry.core.formats import mcp_json, mcp_server_card, mcp_server_json, mcp_tools_list
from registry.core.model.documents import Fetched, Json, Outcome, Probe, Purpose, Via
from registry.core.model.services import Protocol
from registry.core.names.domains import host_of, parse_https, same_site
from registry.core.visiting.mcp_messages import STATELESS, Endpoint, Method, Reply, reply_in, server_info
from registry.core.visiting.visits import ProbeResult

REL: Final = "tools/list"
MAX_SERVERS: Final = 2  # of one host and visit
MAX_PAGES: Final = 5
MAX_TOOLS: Final = 2_000
MAX_CURSOR_CHARS: Final = 2_000
HANDSHAKE_CAP: Final = 64 * 1024
TOOLS_CAP: Final = CARD_CAP - HANDSHAKE_CAP  # bytes of all pages together, so that the document stays readable

_CARDS: Final = frozenset({form.FORMAT.slug for form in (mcp_server_card, mcp_json, mcp_server_json)})
_TRANSPORTS: Final = frozenset({None, "", "http", "https", "streamable-http", "streamable", "streamable_http"})
_JSON: Final = "application/json"
_TRY_HANDSHAKE: Final = frozenset({400, 406, 415, 422})
"""Statuses with which a server before STATELESS refuses a request without a session."""


class Listed(NamedTuple):
    """How a conversation ended. `document` holds the tools; None unless FOUND. `last`: the last answer, if any."""

    outcome: Outcome
    reason: str
    document: bytes | None = None
    last: Fetched | None = None


Conversation: TypeAlias = Generator[Probe, Fetched | None, Listed]


def endpoints(host: str, documents: Iterable[ProbeResult]) -> list[tuple[str, Via]]:
    """Return the endpoints whose tools may be listed, each with the card that names it, at most MAX_SERVERS.

    `documents`: found on this host. An endpoint is on the host's registrable domain, is no template, and needs no
    credentials as far as its card says.
    """
    named: dict[str, Via] = {}
    for document in documents:
        service = document.assessment.service
        if service is None or document.assessment.format not in _CARDS or service.auth.required:
            continue
        for protocol in service.protocols:
            url = _listable(host, protocol)
            if url is not None:
                named.setdefault(url, via(document.fetched.final_url))
    return list(named.items())[:MAX_SERVERS]


Exchange: TypeAlias = Callable[[Probe], Generator[Probe, Fetched, Fetched | None]]
"""Sends one message, as a generator that yields it for its answer; it returns None if the message may not be sent."""


def listed(url: str, reference: Via, exchange: Exchange) -> Generator[Probe, Fetched, Listed]:
    """Hold the conversation with one endpoint."""
    talk = conversation(url, reference)
    probe = next(talk)
    while True:
        fetched = yield from exchange(probe)
        try:
            probe = talk.send(fetched)
        except StopIteration as end:
            ending: Listed = end.value
            return ending


def answer(url: str, reference: Via, listed: Listed, now: datetime) -> ProbeResult:
    """Return the end of a conversation as the answer at the endpoint's URL."""
    probe = Probe(url, Purpose.TOOLS, "S6", _JSON, CARD_CAP, reference)
    last = listed.last
    fetched = Fetched(
        url,
        url,
        now if last is None else last.at,
        None if last is None else last.status,
        {"content-type": _JSON} if listed.document is not None else {},
        listed.document or b"",
        failure=None if last is not None and last.status is not None else listed.outcome,
        reason=listed.reason,
        elapsed_ms=0 if last is None else last.elapsed_ms,
        address=None if last is None else last.address,
    )
    if listed.document is None:
        return ProbeResult(probe, fetched, Assessment(listed.outcome, listed.reason))
    return ProbeResult(probe, fetched, assess_body(listed.document, url, _JSON, fetched.headers, via=reference))


def via(card: str) -> Via:
    """Return the reference under which the tools of a card's server are requested and stored."""
    return Via(card, "", REL, mcp_tools_list.FORMAT.slug)


def _listable(host: str, protocol: Protocol) -> str | None:
    if protocol.id != "mcp" or not protocol.endpoint or protocol.transport not in _TRANSPORTS:
        return None
    if "{" in protocol.endpoint:
        return None
    url = parse_https(protocol.endpoint)
    server = host_of(url or "")
    return url if server is not None and same_site(server, host) else None  # guard: tools-same-site


def conversation(url: str, reference: Via) -> Conversation:
    """Ask one endpoint for its tools. Requests are `server/discover` or the older handshake, then pages of tools."""
    endpoint = Endpoint(url, reference)
    answer = yield endpoint.request(Method.DISCOVER, HANDSHAKE_CAP)
    reply = _reply(answer, endpoint)
    if isinstance(reply, Listed) or answer is None:
        return reply if isinstance(reply, Listed) else _no_reply(answer)
    endpoint.url = answer.final_url
    if reply.result is None or not _is_stateless(reply.result):
        if reply == Reply() and answer.status not in _TRY_HANDSHAKE:
            return _no_reply(answer)
        answer = yield endpoint.handshake(HANDSHAKE_CAP)
        reply = _reply(answer, endpoint)
        if isinstance(reply, Listed):
            return reply
        if reply.result is None or answer is None or not endpoint.agree(reply.result, answer.headers):
            return _no_reply(answer, reply)
        yield endpoint.notification()
    if "tools" not in map_of(reply.result, "capabilities"):
        return Listed(Outcome.NOT_A_MANIFEST, "no_tools", last=answer)
    return (yield from _pages(endpoint, server_info(reply.result)))


def _pages(endpoint: Endpoint, server: Json) -> Conversation:
    """Request the pages of tools. Pages after one that cannot be read are missing, which the document states."""
    tools: list[Json] = []
    cursors: list[str] = []
    room, complete, last = TOOLS_CAP, False, None
    for _ in range(MAX_PAGES):  # guard: tools-pages
        params: dict[str, Json] = {"cursor": cursors[-1]} if cursors else {}
        answer = yield endpoint.request(Method.LIST_TOOLS, room, params)
        reply = _reply(answer, endpoint)
        page = None if isinstance(reply, Listed) or reply.result is None else reply.result.get("tools")
        if answer is None or isinstance(reply, Listed) or reply.result is None or not isinstance(page, list):
            if not tools:
                return reply if isinstance(reply, Listed) else _no_reply(answer, reply)
            break
        last = answer
        tools += page[: MAX_TOOLS - len(tools)]
        room -= len(answer.body)
        cursor = reply.result.get("nextCursor")
        if not isinstance(cursor, str) or not cursor:
            complete = True
            break
        if cursor in cursors or len(cursor) > MAX_CURSOR_CHARS or len(tools) >= MAX_TOOLS or room <= 0:
            break
        cursors.append(cursor)
    document = mcp_tools_list.compose(tools, server=server, version=endpoint.version, complete=complete)
    return Listed(Outcome.FOUND, "", document, last)


def _is_stateless(result: dict[str, Json]) -> bool:
    """Return whether the server that answered `server/discover` supports the version that it was asked in."""
    versions = list_of(result, "supportedVersions")
    return not versions or STATELESS in versions


def _reply(answer: Fetched | None, endpoint: Endpoint) -> Reply | Listed:
    """Return the reply in an answer, or how the conversation ends: no answer, or one that needs credentials.

    Of other errors the body is read: before STATELESS, errors of JSON-RPC came with 400.
    """
    if answer is None:
        return Listed(Outcome.SKIPPED, "visit_budget")
    if answer.failure is not None or answer.status is None:
        return Listed(answer.failure or Outcome.UNREACHABLE, answer.reason, last=answer)
    ending = by_status(answer.status)
    if ending is not None and ending[0] not in _MAY_HOLD_REPLY:
        return Listed(*ending, last=answer)
    return reply_in(answer, endpoint.last_id)


_MAY_HOLD_REPLY: Final = frozenset({Outcome.ABSENT, Outcome.NOT_A_MANIFEST})


def _no_reply(answer: Fetched | None, reply: Reply | None = None) -> Listed:
    """Return the end of a conversation with an endpoint that speaks no MCP, or refuses the method."""
    if reply is not None and reply.code is not None:
        return Listed(Outcome.NOT_A_MANIFEST, f"rpc_error_{reply.code}", last=answer)
    status = None if answer is None else answer.status
    outcome, reason = (status and by_status(status)) or (Outcome.NOT_A_MANIFEST, "no_rpc_reply")
    return Listed(outcome, reason, last=answer)
