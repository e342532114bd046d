"""Requests to an MCP endpoint and the replies to them: JSON-RPC 2.0 over streamable HTTP.

Model Context Protocol 2026-07-28 (stateless: every request carries its version) and 2025-11-25 (a handshake, and a
session that the server may name in a header). Only the methods of `Method` exist; tools are never called.
"""

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from registry.core.format_support.manifest import map_of
from registry.core.model.documents import Fetched, Json, Post, Probe, Purpose, Via
from registry.core.reading.reader import Unreadable, read_json
from registry.core.visiting.robots import PRODUCT

STATELESS: Final = "2026-07-28"
"""The first version without a handshake."""
LEGACY: Final = "2025-11-25"
"""The version that the handshake offers; the server may answer with an older one."""

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


class Reply(NamedTuple):
    """A JSON-RPC reply: `result`, or None and the `code` of its error; both None for an answer that is no reply."""

    result: dict[str, Json] | None = None
    code: int | None = None


class Endpoint:
    """Makes the requests to one endpoint. `url`: where to; after a redirect, where the first answer came from.

    `session_id` and `version` are those that the handshake agreed on.
    """

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
            members["_meta"] = {
                f"{_META}protocolVersion": STATELESS,
                f"{_META}clientCapabilities": {},
                f"{_META}clientInfo": _CLIENT,
            }
        return self._probe(method, {"id": self.last_id, "params": members} if members else {"id": self.last_id}, cap)

    def handshake(self, cap: int) -> Probe:
        """Return the `initialize` of the versions before STATELESS."""
        self.version = LEGACY
        params: dict[str, Json] = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": dict(_CLIENT)}
        return self.request(Method.INITIALIZE, cap, params)

    def notification(self) -> Probe:
        """Return `notifications/initialized`, which has no reply."""
        return self._probe(Method.INITIALIZED, {}, NOTIFICATION_CAP)

    def agree(self, result: Mapping[str, Json], headers: Mapping[str, str]) -> bool:
        """Take version and session from the answer to the handshake; False when either is not usable."""
        version, session_id = result.get("protocolVersion"), headers.get("mcp-session-id")
        if not isinstance(version, str) or not _VERSION.fullmatch(version):
            return False
        if session_id is not None and not _SESSION.fullmatch(session_id):  # guard: session-id-syntax
            return False
        self.version, self.session_id = version, session_id
        return True

    def _probe(self, method: Method, members: Mapping[str, Any], cap: int) -> Probe:
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


def reply_in(fetched: Fetched, request_id: int) -> Reply:
    """Return the reply to a request, from a JSON body or an event stream, whatever the status. Never raises."""
    media_type = fetched.headers.get("content-type", "").partition(";")[0].strip().lower()
    parts = events_in(fetched.body) if media_type == EVENT_STREAM else (fetched.body,)
    for part in parts:
        reply = reply_of(part, request_id)
        if reply is not None:
            return reply
    return Reply()


def events_in(stream: bytes) -> Iterator[bytes]:
    """Yield the data of each event of a stream that a blank line ends (HTML standard, "Server-sent events")."""
    for event in _BLANK_LINE.split(stream):
        if data := data_of(event):
            yield data


def data_of(event: bytes) -> bytes:
    """Return the lines of one event's `data` fields."""
    lines = (line for line in _LINE_END.split(event) if line.startswith(b"data:"))
    return b"\n".join(line[5:].removeprefix(b" ") for line in lines)


def reply_of(message: bytes, request_id: int) -> Reply | None:
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
            return Reply(result)
        if isinstance(error, dict) and item.get("id") in (request_id, None):
            code = error.get("code")
            return Reply(None, code if isinstance(code, int) else 0)
    return None


def server_info(result: dict[str, Json]) -> Json:
    """Return what the server says of itself: `serverInfo` of the handshake, in `_meta` since STATELESS."""
    return result.get("serverInfo") or map_of(map_of(result, "_meta"), f"{_META}serverInfo")
