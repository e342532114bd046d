"""Bytes and failures of the transport -> core `Fetched`: the only module that knows both vocabularies.

pyreqwest names its failures in texts only. Each is matched here by the words that rustls, hyper and the operating
system use, and pinned by a test against a server that fails in exactly that way; what no row knows becomes the
least specific reason of its kind, never an exception. `registry.core.plan` ends a visit by how a reason begins
(names, dials: at once; requests: after a few), so reasons are a contract.
"""

import errno
import re
from datetime import datetime
from typing import Final, NamedTuple

from pyreqwest.exceptions import (
    BuilderError,
    ConnectTimeoutError,
    DecodeError,
    DetailedPyreqwestError,
    RequestError,
    RequestTimeoutError,
)

from crawler.guards import AddressRefused, Pin, Unresolved
from crawler.transport import Broken, Wire
from registry.core.documents import Fetched, Outcome, Probe


class Failure(NamedTuple):
    outcome: Outcome
    reason: str


BROKEN: Final = {
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
"""Reasons of `Broken`."""

TWO_LOCATIONS: Final = Failure(Outcome.SERVER_ERROR, "redirect_two_locations")
HOST_DEADLINE: Final = Failure(Outcome.SKIPPED, "host_deadline")
BLOCK_BUDGET: Final = Failure(Outcome.SKIPPED, "block_budget")
FLOOD: Final = Failure(Outcome.UNREACHABLE, "flood")
SHUT: Final = frozenset({"closed", "incomplete_body", "reset"})
"""What a request fails with when its connection is shut by us (crawler/floods.py)."""

OPTED_OUT: Final = Failure(Outcome.DISALLOWED, "opt_out")

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


def failure(error: Exception) -> Failure | None:
    """What a failed request says about the host; None for an exception that is a bug of ours."""
    if isinstance(error, Broken):
        reason = f"{error.reason}:{error.detail}" if error.detail else error.reason
        return Failure(BROKEN[error.reason], reason)
    if isinstance(error, Unresolved):
        return Failure(Outcome.UNREACHABLE, error.reason)
    if isinstance(error, AddressRefused):
        return Failure(Outcome.REFUSED_ADDRESS, error.reason)
    if isinstance(error, BuilderError) or not isinstance(error, RequestError):
        return None
    return _of_transport(error)


def _of_transport(error: RequestError) -> Failure:
    said = _said(error)
    connecting = "client error (Connect)" in said
    if "invalid peer certificate" in said:
        reason = next((reason for words, reason in _CERTIFICATE if words in said), "certificate_invalid")
        return Failure(Outcome.TLS_ERROR, reason)
    if isinstance(error, RequestTimeoutError):
        late = isinstance(error, ConnectTimeoutError) and connecting
        return Failure(Outcome.UNREACHABLE, "connect_timeout" if late else "request_timeout")
    if connecting:
        return _of_connect(said)
    if _OS_ERROR.search(said):
        return Failure(Outcome.UNREACHABLE, "reset")
    if "message head is too large" in said:
        return Failure(Outcome.TOO_LARGE, "headers")
    if "connection closed before message completed" in said:
        return Failure(Outcome.UNREACHABLE, "closed")
    if any(words in said for words in _CUT_OFF):
        return Failure(Outcome.UNREACHABLE, "incomplete_body")
    if isinstance(error, DecodeError) or "error reading a body" in said:
        return Failure(Outcome.UNREACHABLE, "protocol_error")
    return Failure(Outcome.UNREACHABLE, "network_error")


def _of_connect(said: str) -> Failure:
    """Before a request could be sent: TCP by the operating system's number, then the TLS handshake."""
    if system := _OS_ERROR.search(said):
        return Failure(Outcome.UNREACHABLE, _SYSTEM.get(int(system[1]), "network_error"))
    return Failure(Outcome.TLS_ERROR, "tls_closed" if "handshake eof" in said else "tls_protocol")


def _said(error: DetailedPyreqwestError) -> str:
    causes = error.details.get("causes") or ()
    return "\n".join([error.message, *(cause["message"] for cause in causes)])


NO_CONNECTION: Final = frozenset(
    {"connection_refused", "connect_timeout", "connect_reset", "host_unreachable", "network_unreachable"}
)
"""Nobody was spoken to at that address: another address of the host may be tried."""

BROKE_OFF: Final = frozenset({"incomplete_body", "protocol_error"})
"""A body ended before its time, or is no body: of a page that is no document the status tells enough."""

WORTH_A_SECOND_TRY: Final = frozenset({"closed", "reset"})
"""What a server that has closed an idle connection looks like to a client that is just using it."""


def request_headers(probe: Probe) -> dict[str, str]:
    """Fields of the request beside those of every request; conditional where an earlier visit left validators."""
    headers = {"Accept": probe.accept}
    if probe.etag and _FIELD_VALUE.fullmatch(probe.etag):
        headers["If-None-Match"] = probe.etag
    if probe.last_modified and _FIELD_VALUE.fullmatch(probe.last_modified):
        headers["If-Modified-Since"] = probe.last_modified
    return headers


_FIELD_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,2000}[\x21-\x7e])?")


def answered(
    probe: Probe, wire: Wire, at: datetime, url: str, hops: tuple[str, ...], pin: Pin, elapsed_ms: int
) -> Fetched:
    """An answer that came. By position, which takes half the time that names take."""
    return Fetched(
        probe.url,
        url,
        at,
        wire.status,
        wire.headers,
        wire.body,
        hops,
        None,
        "",
        elapsed_ms,
        pin.address,
        wire.truncated,
    )


def failed(
    probe: Probe,
    why: Failure,
    *,
    at: datetime,
    url: str,
    hops: tuple[str, ...] = (),
    pin: Pin | None = None,
    elapsed_ms: int = 0,
) -> Fetched:
    """No usable answer."""
    return Fetched(
        url=probe.url,
        final_url=url,
        at=at,
        hops=hops,
        failure=why.outcome,
        reason=why.reason,
        elapsed_ms=elapsed_ms,
        address=pin.address if pin else None,
    )
