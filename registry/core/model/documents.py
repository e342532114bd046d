"""Requests to a host and their answers: Probe, FetchResult, Outcome, Document, and observations over several answers.

Nothing here fetches: the crawler fills `FetchResult`, the core reads it.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


class Outcome(StrEnum):
    """How one probe, or the visit of one host, ended. FOUND is presence; see `ABSENCE` for absence."""

    FOUND = "found"
    NEGATIVE = "negative"
    NOT_A_MANIFEST = "not_a_manifest"
    MALFORMED = "malformed"
    ABSENT = "absent"
    GONE = "gone"
    REDIRECTED_AWAY = "redirected_away"
    REFUSED = "refused"
    REFUSED_BY_FIREWALL = "refused_by_firewall"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    UNREACHABLE = "unreachable"
    TLS_ERROR = "tls_error"
    TOO_LARGE = "too_large"
    UNSUPPORTED_ENCODING = "unsupported_encoding"
    DISALLOWED = "disallowed"
    REFUSED_ADDRESS = "refused_address"
    SKIPPED = "skipped"


ABSENCE = frozenset({Outcome.NEGATIVE, Outcome.NOT_A_MANIFEST, Outcome.ABSENT, Outcome.GONE})
"""Outcomes that mean a document is not there. Everything that is neither presence nor absence is unknown."""


_STORED: Final = frozenset({Outcome.FOUND, Outcome.NEGATIVE, Outcome.MALFORMED})
_TOO_MUCH: Final = frozenset({"depth", "too_many"})  # whole bodies that the reader refused; others were cut off


def has_body(outcome: Outcome, reason: str) -> bool:
    """Return whether the bytes of an answer with this verdict are stored for some time: of documents, of what may be
    read as one later, and of JSON of foreign schemes, which may become formats."""
    is_foreign = outcome is Outcome.NOT_A_MANIFEST and reason.startswith("foreign:")
    return outcome in _STORED or is_foreign or (outcome is Outcome.TOO_LARGE and reason in _TOO_MUCH)


@dataclass(frozen=True, slots=True)
class Via:
    """The document that names a URL, and the format it promises there."""

    document: str  # URL of the document that holds the pointer
    pointer: str  # JSON Pointer into it (RFC 6901), "" for headers, robots.txt and HTML
    rel: str  # link relation or kind of pointer: "detail_url", "service-desc", "agent_card", ...
    expected: str | None = None  # format slug


class Purpose(StrEnum):
    """Why a URL is requested; decides how the answer is judged and, with the expected format, the size cap."""

    ROBOTS = "robots"
    HOME = "home"
    CONTROL = "control"
    MANIFEST = "manifest"
    POINTER = "pointer"
    DETAIL = "detail"
    RPC = "rpc"  # one message to an MCP endpoint
    CALL = "call"  # an address that documents name for calls: OPTIONS or HEAD
    TOOLS = "tools"  # all replies of the endpoint: a document that was requested by POST


class Post(NamedTuple):
    """The message of a POST. `method`: of JSON-RPC; `headers`: names as sent; `request_id`: None expects no reply."""

    method: str
    body: bytes
    headers: tuple[tuple[str, str], ...]
    request_id: int | None = None


class Probe(NamedTuple):
    """One request of the plan. `url` is canonical https; for a document carried inside another it has a fragment."""

    url: str
    purpose: Purpose
    stage: str  # "S0" ... "S5", see probes.py
    accept: str
    cap: int  # decoded bytes
    via: Via | None = None
    etag: str | None = None
    last_modified: str | None = None
    post: Post | None = None  # None: a GET
    span: tuple[int, int, str] | None = None  # first and last byte wanted of a file, and its ETag
    method: str | None = None  # OPTIONS or HEAD; its redirects are answers, and are not followed


class FetchResult(NamedTuple):
    """The transport's answer to one probe.

    Either `failure` is set (no usable answer; `reason` is "nxdomain", "connect_timeout", "certificate_expired",
    "redirect_loop" ...) or `status` is. `headers` has lower-case names, repeated fields joined by ", ". `body` is
    decoded and at most as large as the probe's cap; `truncated` marks a cut text. `elapsed_ms` is the time that the
    site took, redirects included; the crawler's own waits and the look-up of the name do not count. A tuple, because
    hundreds of millions are made: a frozen dataclass takes three times as long to make.
    """

    url: str
    final_url: str
    at: datetime
    status: int | None = None
    headers: Mapping[str, str] = NO_HEADERS
    body: bytes = b""
    hops: tuple[str, ...] = ()  # URLs requested before final_url, in order
    failure: Outcome | None = None
    reason: str = ""
    elapsed_ms: int = 0
    address: str | None = None
    truncated: bool = False
    dropped: tuple[int, bytes] | None = None  # size and SHA-256 of a body that is no longer kept

    @property
    def size(self) -> int:
        """Bytes of the body as received, kept or not."""
        return self.dropped[0] if self.dropped else len(self.body)

    @property
    def sha256(self) -> bytes:
        """Digest of the body as received, kept or not."""
        return self.dropped[1] if self.dropped else hashlib.sha256(self.body).digest()

    def reduced(
        self, headers: Mapping[str, str], *, keep_body: bool, like: tuple[int, bytes] | None = None
    ) -> "FetchResult":
        """Return the same answer with only these headers; size and digest replace a body that is not kept. `like`: size
        and digest of another answer, shared if they are the same."""
        dropped = None if keep_body else (len(self.body), hashlib.sha256(self.body).digest())
        if dropped == like:
            dropped = like
        return self._replace(headers=headers, body=self.body if keep_body else b"", dropped=dropped)


@dataclass(frozen=True, slots=True)
class Document:
    """An answer as a format sees it: its parsed body, and how it was served."""

    raw: bytes
    value: Json  # None for texts (llms.txt) and for unreadable bodies
    url: str  # where it was served; the host in it is the identity
    media_type: str | None = None  # lower case, without parameters
    headers: Mapping[str, str] = field(default_factory=lambda: NO_HEADERS)  # Python 3.11 refuses a mapping proxy
    text: str | None = None  # the decoded body of a text document

    @property
    def members(self) -> dict[str, Json]:
        """Return the body if it is an object, else no members."""
        return self.value if isinstance(self.value, dict) else {}


class Observation(StrEnum):
    """A deviation that was seen. It stays until a later visit shows the opposite."""

    NOT_REVALIDATED = "not_revalidated"  # If-None-Match with the current ETag was answered with the whole document
    NO_HOME_LINK = "no_home_link"  # the front page has no Link field with the relation agent-manifest to the document
    UNVERSIONED_CHANGE = "unversioned_change"  # an incompatible change without a new version


STORED_AS: Final = ":observed"
"""The key of the observations among the stored header fields of a document. No field name contains a colon (RFC 9110
section 5.1), so no site can send it."""


def to_text(observations: Collection[Observation]) -> str:
    """Return the names in order, separated by spaces."""
    return " ".join(sorted(observations))


def from_text(text: str) -> frozenset[Observation]:
    """Return what `to_text` wrote. Names that no longer exist are left out."""
    names = text.split()
    return frozenset(observation for observation in Observation if observation.value in names)
