"""A lease of domains as the crawler receives it, and the finished visits as it returns them.

Lease -> DomainJob -> HostJob go out; FinishedDomain -> Visit -> ProbeResult come back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from registry.core.assessing.assess import Assessment
from registry.core.model.documents import FetchResult, Outcome, Probe, Via
from registry.core.visiting.call_checks import CallAddress, CallCheck
from registry.core.visiting.shares import Spent, Standing

_NO_ADDRESS: Final = frozenset({"nxdomain", "no_address", "dns_bad_name"})


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A document of an earlier visit: requested again conditionally (RFC 9110 section 13)."""

    url: str
    format: str | None
    outcome: Outcome
    sha256: bytes
    etag: str | None = None
    last_modified: str | None = None
    via: Via | None = None  # the document that names it
    reason: str = ""  # of the outcome


@dataclass(frozen=True, slots=True)
class RobotsRecord:
    """robots.txt as last fetched. `status`: None if it could not be fetched. Cached in the database for 24 h. `is_own`:
    the host itself served it. The file of another host, after a redirect, is obeyed in this visit but is no opt-out; it
    is read again in the next visit."""

    status: int | None
    body: bytes
    fetched_at: datetime
    is_own: bool = True


@dataclass(frozen=True, slots=True)
class HostJob:
    host: str  # A-label
    whole_plan: bool  # otherwise only the known documents, conditionally
    known: tuple[KnownDocument, ...] = ()
    pending: tuple[Probe, ...] = ()  # ADP details (and pointers) that an earlier visit had no budget for
    robots: RobotsRecord | None = None
    short: bool = False  # a sub-host of a domain that served a document: only the short list of its label
    closed: tuple[str, ...] = ()  # hosts of the domain that opted out: never requested
    named: bool = False  # a user asked for this host: all paths of all formats are requested
    lists_tools: bool = False  # the tools of its MCP servers may be listed: it was named, submitted, or listed before
    further: tuple[str, ...] = ()  # paths that a first bulk visit leaves out and this one requests (limits.py)
    standing: Standing = Standing.KEPT  # which part of the domain's daily budget it may spend
    calls: tuple[CallAddress, ...] = ()  # addresses for calls whose check is due


@dataclass(frozen=True, slots=True)
class DomainJob:
    domain: str  # registrable domain
    hosts: tuple[HostJob, ...]
    spent: Mapping[Standing, Spent] = field(default_factory=dict)  # in the last 24 hours, over all its hosts


@dataclass(frozen=True, slots=True)
class Lease:
    """`expires_at`: until then no other worker receives these domains. `token`: fencing token against a late holder."""

    token: UUID
    expires_at: datetime
    domains: tuple[DomainJob, ...]


class ProbeResult(NamedTuple):
    """One probe, its answer, and the judgement of it."""

    probe: Probe
    fetched: FetchResult
    assessment: Assessment


@dataclass(frozen=True, slots=True)
class HostCandidate:
    """Another host that a document of this visit names. It is seeded later and judged by its own documents."""

    host: str
    rel: str
    document: str  # URL of the document that names it


@dataclass(frozen=True, slots=True)
class Visit:
    """One pass over one host. `outcome` is FOUND if it served a document with Role.SERVICE, else the reason why not.
    `requests`: planned requests. `sent`: requests, with repeats, for which a connection was at least tried."""

    host: str
    started_at: datetime
    finished_at: datetime
    outcome: Outcome
    reason: str
    answers: tuple[ProbeResult, ...]
    whole_plan: bool
    requests: int
    sent: int
    standing: Standing
    address: str | None = None
    robots: RobotsRecord | None = None
    pending: tuple[Probe, ...] = ()  # left over when the budget was spent
    candidates: tuple[HostCandidate, ...] = ()
    alias_of: str | None = None  # the host that answered for this one inside its domain (apex <-> www)
    retry_after: int | None = None  # seconds, as asked for by the host, capped
    calls: tuple[CallCheck, ...] = ()

    @property
    def has_no_address(self) -> bool:
        """Return whether the name certainly has no address, or none that may be dialled. A failed look-up proves
        neither."""
        is_unknown = self.outcome is Outcome.UNREACHABLE and self.reason in _NO_ADDRESS
        return is_unknown or self.outcome is Outcome.REFUSED_ADDRESS


def skipped(job: HostJob, now: datetime, reason: str) -> Visit:
    """Return a visit without any request, for a host whose visit is not made today; its pending requests stay."""
    return Visit(
        job.host, now, now, Outcome.SKIPPED, reason, (), False, 0, 0, job.standing,
        robots=job.robots, pending=job.pending,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class FinishedDomain:
    domain: str
    visits: tuple[Visit, ...]
