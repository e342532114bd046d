"""Stage S6: ask MCP servers of a host's cards for their tools, by `tools/list` (docs/crawler.md, "Tools").

A conversation with one endpoint is a generator: it yields requests and is sent the answers. It ends with a document
that holds the tools, or with the reason why it has no tools. Requests are JSON-RPC 2.0 over streamable HTTP, by Model
Context Protocol 2026-07-28 (stateless: every request carries its version) or 2025-11-25 (a handshake, and a session
that the server may name in a header). Tools are never called.
"""

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.assessing.verdicts import get_outcome_of_status
from registry.core.format_support.manifest import list_of, map_of
from registry.core.format_support.probing import CARD_CAP
from registry.core.formats import mcp_json, mcp_server_card, mcp_server_json, mcp_tools_list
from registry.core.model.documents import FetchResult, Json, Outcome, Post, Probe, Purpose, Via
from registry.core.model.services import Protocol
from registry.core.names.domains import host_of, parse_https, same_site
from registry.core.reading.reader import Unreadable, read_json
from registry.core.visiting.robots import PRODUCT
from registry.core.visiting.visits import ProbeResult

STATELESS: Final = "2026-07-28"  # the first version without a handshake
LEGACY: Final = "2025-11-25"  # the version that the handshake offers; the server may answer with an older one

NOTIFICATION_CAP: Final = 1024
EVENT_STREAM: Final = "text/event-stream"

_META: Final = "io.modelcontextprotocol/"
_CLIENT: Final[Mapping[str, Json]] = {"name": PRODUCT, "version": "1"}
_ACCEPT: Final = "application/json, text/event-stream"
_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}")
_SESSION = re.compile(r"[\x21-\x7e]{1,512}")
_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LINE_END = re.compile(rb"\r\n|\n|\r")


class Method(StrEnum):
    DISCOVER = "server/discover"
    INITIALIZE = "initialize"
    INITIALIZED = "notifications/initialized"
    LIST_TOOLS = "tools/list"


class McpReply(NamedTuple):
    """A JSON-RPC reply: `result`, or None and the `code` of its error; both None for an answer that is no reply."""

    result: dict[str, Json] | None = None
    code: int | None = None


class McpEndpoint:
    """Makes the requests to one endpoint. `url`: its address; after a redirect, the source of the first answer.
    `session_id` and `version`: agreed in the handshake."""

    def __init__(self, url: str, via: Via) -> None:
        self.url, self._via = url, via
        self.version = STATELESS
        self.session_id: str | None = None
        self.last_id = 0

    def request(self, method: Method, cap: int, params: Mapping[str, Json] | None = None) -> Probe:
        """Return the POST of one request; the reply to it has the id `last_id`."""
        self.last_id += 1
        members: dict[str, Any] = dict(params or {})
        if self.version == STATELESS:
            meta = {"protocolVersion": STATELESS, "clientCapabilities": {}, "clientInfo": _CLIENT}
            members["_meta"] = {f"{_META}{key}": value for key, value in meta.items()}
        return self.make_probe(method, {"id": self.last_id} | ({"params": members} if members else {}), cap)

    def agree(self, result: Mapping[str, Json], headers: Mapping[str, str]) -> bool:
        """Take version and session from the answer to the handshake; False when either is not usable."""
        version, session_id = result.get("protocolVersion"), headers.get("mcp-session-id")
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            return False
        if session_id is not None and not _SESSION.fullmatch(session_id):  # guard: session-id-syntax
            return False
        self.version, self.session_id = version, session_id
        return True

    def make_probe(self, method: Method, members: Mapping[str, Any], cap: int) -> Probe:
        body = json.dumps({"jsonrpc": "2.0", **members, "method": method.value}).encode()
        headers = [("Content-Type", "application/json")]
        if method is not Method.INITIALIZE:
            headers.append(("MCP-Protocol-Version", self.version))
        if self.version == STATELESS:
            headers.append(("Mcp-Method", method.value))
        if self.session_id is not None:
            headers.append(("Mcp-Session-Id", self.session_id))
        post = Post(method.value, body, tuple(headers), self.last_id if "id" in members else None)
        return Probe(self.url, Purpose.RPC, "S6", _ACCEPT, cap, self._via, post=post)


def reply_in(fetched: FetchResult, request_id: int) -> McpReply:
    """Return the reply to a request, from a JSON body or an event stream, with any status. Never raises."""
    media_type = fetched.headers.get("content-type", "").partition(";")[0].strip().lower()
    parts = events_in(fetched.body) if media_type == EVENT_STREAM else (fetched.body,)
    replies = (reply_of(part, request_id) for part in parts)
    return next((reply for reply in replies if reply is not None), McpReply())


def events_in(stream: bytes) -> Iterator[bytes]:
    """Yield the data of each event of a stream that a blank line ends (HTML standard, "Server-sent events")."""
    for event in _BLANK_LINE.split(stream):
        if data := data_of(event):
            yield data


def data_of(event: bytes) -> bytes:
    """Return the lines of one event's `data` fields."""
    lines = (line for line in _LINE_END.split(event) if line.startswith(b"data:"))
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines)


def reply_of(message: bytes, request_id: int) -> McpReply | None:
    """Return the message as the reply to this request; None for any other message."""
    try:
        value = read_json(message)
    except Unreadable:
        return None
    for item in value if isinstance(value, list) else (value,):
        if not isinstance(item, dict) or "method" in item:
            continue
        result, error = item.get("result"), item.get("error")
        if item.get("id") == request_id and isinstance(result, dict):
            return McpReply(result)
        if isinstance(error, dict) and item.get("id") in (request_id, None):
            code = error.get("code")
            return McpReply(None, code if isinstance(code, int) else 0)
    return None


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


class ToolListResult(NamedTuple):
    """How a conversation ended. `document` holds the tools; None unless FOUND. `last`: the last answer, if any."""

    outcome: Outcome
    reason: str
    document: bytes | None = None
    last: FetchResult | None = None


Conversation: TypeAlias = Generator[Probe, FetchResult, ToolListResult]
Exchange: TypeAlias = Callable[[Probe], Generator[Probe, FetchResult, FetchResult | None]]
"""Sends one message, as a generator that yields it for its answer; it returns None if the message may not be sent."""


def endpoints(host: str, documents: Iterable[ProbeResult]) -> list[tuple[str, Via]]:
    """Return the endpoints whose tools may be listed, each with the card that names it, at most MAX_SERVERS.
    `documents`: found on this host. An endpoint is on the host's registrable domain, is no template, and needs no
    credentials as far as its card says."""
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


def answer(url: str, reference: Via, listed: ToolListResult, now: datetime) -> ProbeResult:
    """Return the end of a conversation as the answer at the endpoint's URL."""
    probe = Probe(url, Purpose.TOOLS, "S6", _JSON, CARD_CAP, reference)
    last = listed.last or FetchResult(url, url, now)
    failure = None if last.status is not None else listed.outcome
    body, headers = listed.document or b"", {} if listed.document is None else {"content-type": _JSON}
    fetched = FetchResult(
        url, url, last.at, last.status, headers, body, failure=failure, reason=listed.reason,
        elapsed_ms=last.elapsed_ms, address=last.address,
    )  # fmt: skip
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


class _ConversationEnd(Exception):
    """The conversation is over: no answer, a demand for credentials, or an endpoint that speaks no MCP."""

    def __init__(self, result: ToolListResult) -> None:
        super().__init__()
        self.result = result


def conversation(url: str, reference: Via, exchange: Exchange) -> Conversation:
    """Ask one endpoint for its tools. Requests are `server/discover` or the older handshake, then pages of tools."""
    endpoint = McpEndpoint(url, reference)
    try:
        answer, reply = yield from _ask(endpoint, endpoint.request(Method.DISCOVER, HANDSHAKE_CAP), exchange)
        endpoint.url = answer.final_url
        result = reply.result
        versions = list_of(result or {}, "supportedVersions")
        if result is None or (versions and STATELESS not in versions):
            if reply == McpReply() and answer.status not in _TRY_HANDSHAKE:
                return _no_reply(answer)
            endpoint.version = LEGACY
            params: dict[str, Json] = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": dict(_CLIENT)}
            initialize = endpoint.request(Method.INITIALIZE, HANDSHAKE_CAP, params)
            answer, reply = yield from _ask(endpoint, initialize, exchange)
            result = reply.result
            if result is None or not endpoint.agree(result, answer.headers):
                return _no_reply(answer, reply)
            yield from exchange(endpoint.make_probe(Method.INITIALIZED, {}, NOTIFICATION_CAP))  # it has no reply
        if "tools" not in map_of(result, "capabilities"):
            return ToolListResult(Outcome.NOT_A_MANIFEST, "no_tools", last=answer)
        # the server's own description: of the handshake, in `_meta` since STATELESS
        server = result.get("serverInfo") or map_of(map_of(result, "_meta"), f"{_META}serverInfo")
        return (yield from _pages(endpoint, server, exchange))
    except _ConversationEnd as end:
        return end.result


def _pages(endpoint: McpEndpoint, server: Json, exchange: Exchange) -> Conversation:
    """Request the pages of tools. The first unreadable page ends the list, which the document states."""
    tools: list[Json] = []
    cursors: list[str] = []
    room, complete, last = TOOLS_CAP, False, None
    for _ in range(MAX_PAGES):  # guard: tools-pages
        params: dict[str, Json] = {"cursor": cursors[-1]} if cursors else {}
        try:
            answer, reply = yield from _ask(endpoint, endpoint.request(Method.LIST_TOOLS, room, params), exchange)
            page = (reply.result or {}).get("tools")
            if reply.result is None or not isinstance(page, list):
                raise _ConversationEnd(_no_reply(answer, reply))
        except _ConversationEnd:
            if not tools:
                raise
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
    return ToolListResult(Outcome.FOUND, "", document, last)


def _ask(
    endpoint: McpEndpoint, probe: Probe, exchange: Exchange
) -> Generator[Probe, FetchResult, tuple[FetchResult, McpReply]]:
    """Return the answer to a request and the reply in it. Raise _ConversationEnd. The body of other errors is read,
    because JSON-RPC errors came with status 400 before STATELESS."""
    answer = yield from exchange(probe)
    if answer is None:
        raise _ConversationEnd(ToolListResult(Outcome.SKIPPED, "visit_budget"))
    if answer.failure is not None or answer.status is None:
        raise _ConversationEnd(ToolListResult(answer.failure or Outcome.UNREACHABLE, answer.reason, last=answer))
    ending = get_outcome_of_status(answer.status)
    if ending is not None and ending[0] not in _MAY_HOLD_REPLY:
        raise _ConversationEnd(ToolListResult(*ending, last=answer))
    return answer, reply_in(answer, endpoint.last_id)


_MAY_HOLD_REPLY: Final = frozenset({Outcome.ABSENT, Outcome.NOT_A_MANIFEST})


def _no_reply(answer: FetchResult, reply: McpReply = McpReply()) -> ToolListResult:  # noqa: B008 - a frozen value
    """Return the end of a conversation with an endpoint that speaks no MCP, or refuses the method."""
    if reply.code is not None:
        return ToolListResult(Outcome.NOT_A_MANIFEST, f"rpc_error_{reply.code}", last=answer)
    ending = get_outcome_of_status(answer.status) if answer.status else None
    return ToolListResult(*(ending or (Outcome.NOT_A_MANIFEST, "no_rpc_reply")), last=answer)
