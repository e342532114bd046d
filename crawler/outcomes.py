"""Translates failures of the transport into outcomes and reasons. No other module knows both vocabularies.

pyreqwest describes its failures only in messages. Each is matched here by the words of rustls, hyper and the operating
system, and covered by a test against a server with exactly that failure. An unknown message becomes the least specific
reason of its kind, never an exception. `registry.core.visiting.plan` ends a visit depending on how a reason begins
(names and connections: at once; requests: after a few), so the reasons are a contract.
"""

import errno
import re
from typing import Final, NamedTuple

from pyreqwest.exceptions import BuilderError, ConnectTimeoutError, DecodeError, RequestError, RequestTimeoutError

from crawler.guards import RefusedAddress, ResolutionError
from crawler.response_body import UnusableAnswer
from registry.core.model.documents import Outcome, Probe


class FetchFailure(NamedTuple):
    outcome: Outcome
    reason: str


UNUSABLE: Final = {
    "read_timeout": Outcome.UNREACHABLE,
    "headers": Outcome.TOO_LARGE,
    "body": Outcome.TOO_LARGE,
    "chunks": Outcome.TOO_LARGE,
    "no_room": Outcome.SKIPPED,
    "encoding": Outcome.UNSUPPORTED_ENCODING,
    "gzip_truncated": Outcome.MALFORMED,
    "gzip_corrupt": Outcome.MALFORMED,
    "gzip_trailing_data": Outcome.MALFORMED,
}
"""Reason of an `UnusableAnswer` -> outcome."""

HOST_DEADLINE: Final = FetchFailure(Outcome.SKIPPED, "host_deadline")
BLOCK_BUDGET: Final = FetchFailure(Outcome.SKIPPED, "block_budget")
FLOOD: Final = FetchFailure(Outcome.UNREACHABLE, "flood")
CLOSED_BY_MONITOR: Final = frozenset({"closed", "incomplete_body", "reset"})
"""Reasons of a request whose connection crawler/flood_monitor.py may have shut down."""

OPTED_OUT: Final = FetchFailure(Outcome.DISALLOWED, "opt_out")

_CERTIFICATE: Final = (
    ("expired", "certificate_expired"),
    ("not valid yet", "certificate_not_yet_valid"),
    ("not valid for name", "certificate_wrong_name"),
    ("NotValidForName", "certificate_wrong_name"),
    ("UnknownIssuer", "certificate_untrusted"),
    ("CaUsedAsEndEntity", "certificate_untrusted"),
    ("Revoked", "certificate_revoked"),
)

_SYSTEM: Final = {
    errno.ECONNREFUSED: "connection_refused",
    errno.ECONNRESET: "connect_reset",
    errno.ETIMEDOUT: "connect_timeout",
    errno.EHOSTUNREACH: "host_unreachable",
    errno.ENETUNREACH: "network_unreachable",
}

_CUT_OFF: Final = ("end of file before message length", "without sending TLS close_notify", "unexpected EOF")

_OS_ERROR = re.compile(r"os error (\d+)")


def failure_of(error: Exception) -> FetchFailure:
    """Return the failure of a look-up or request. Raise any other exception again, because it is a bug."""
    if isinstance(error, UnusableAnswer):
        reason = f"{error.reason}:{error.detail}" if error.detail else error.reason
        return FetchFailure(UNUSABLE[error.reason], reason)
    if isinstance(error, ResolutionError):
        return FetchFailure(Outcome.UNREACHABLE, error.reason)
    if isinstance(error, RefusedAddress):
        return FetchFailure(Outcome.REFUSED_ADDRESS, error.reason)
    if isinstance(error, BuilderError) or not isinstance(error, RequestError):
        raise error
    causes = error.details.get("causes") or ()
    return _transport_failure(error, "\n".join([error.message, *(cause["message"] for cause in causes)]))


def _transport_failure(error: RequestError, messages: str) -> FetchFailure:
    connecting, os_error = "client error (Connect)" in messages, _OS_ERROR.search(messages)
    if "invalid peer certificate" in messages:
        reason = next((reason for phrase, reason in _CERTIFICATE if phrase in messages), "certificate_invalid")
        return FetchFailure(Outcome.TLS_ERROR, reason)
    if isinstance(error, RequestTimeoutError):
        is_connect_timeout = isinstance(error, ConnectTimeoutError) and connecting
        return FetchFailure(Outcome.UNREACHABLE, "connect_timeout" if is_connect_timeout else "request_timeout")
    if connecting and os_error:
        return FetchFailure(Outcome.UNREACHABLE, _SYSTEM.get(int(os_error[1]), "network_error"))
    if connecting:
        return FetchFailure(Outcome.TLS_ERROR, "tls_closed" if "handshake eof" in messages else "tls_protocol")
    if os_error:
        return FetchFailure(Outcome.UNREACHABLE, "reset")
    if "message head is too large" in messages:
        return FetchFailure(Outcome.TOO_LARGE, "headers")
    if "connection closed before message completed" in messages:
        return FetchFailure(Outcome.UNREACHABLE, "closed")
    if any(phrase in messages for phrase in _CUT_OFF):
        return FetchFailure(Outcome.UNREACHABLE, "incomplete_body")
    if isinstance(error, DecodeError) or "error reading a body" in messages:
        return FetchFailure(Outcome.UNREACHABLE, "protocol_error")
    return FetchFailure(Outcome.UNREACHABLE, "network_error")


NO_CONNECTION: Final = frozenset(
    {"connection_refused", "connect_timeout", "connect_reset", "host_unreachable", "network_unreachable"}
)
"""Reasons without a TCP connection, after which another address of the host may be tried."""

CUT_SHORT: Final = frozenset({"incomplete_body", "protocol_error"})
"""Reasons of a truncated or invalid body. For a page that is not a document, the status alone suffices."""

CLOSED_WHILE_IDLE: Final = frozenset({"closed", "reset"})
"""Reasons of a request on an idle connection that the server has just closed."""


def request_headers(probe: Probe) -> dict[str, str]:
    """Return the probe's request fields, conditional ones if an earlier visit stored valid validators."""
    headers = {"Accept": probe.accept, **(dict(probe.post.headers) if probe.post else {})}
    if probe.etag and _FIELD_VALUE.fullmatch(probe.etag):  # guard: validator-syntax
        headers["If-None-Match"] = probe.etag
    if probe.last_modified and _FIELD_VALUE.fullmatch(probe.last_modified):
        headers["If-Modified-Since"] = probe.last_modified
    if probe.span is not None:  # a whole file is a 200 even so: RFC 9110 section 14.2
        headers |= {
            "Range": f"bytes={probe.span[0]}-{probe.span[1]}",
            "If-Range": probe.span[2],
            "Accept-Encoding": "identity",
        }
    return headers


_FIELD_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,2000}[\x21-\x7e])?")
