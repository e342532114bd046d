"""A lease of domains as the crawler gets it, and the finished visits as it gives them back.

Lease -> DomainJob -> HostJob go out; FinishedDomain -> Visit -> Answer come back (house.md section 4, rule 1).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from registry.core.assess import Assessment
from registry.core.documents import Fetched, Outcome, Probe, Via


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A document of an earlier visit: asked for again conditionally (RFC 9110 section 13)."""

    url: str
    format: str | None
    outcome: Outcome
    sha256: bytes
    etag: str | None = None
    last_modified: str | None = None
    via: Via | None = None  # which document asked for it
    reason: str = ""  # of the outcome


@dataclass(frozen=True, slots=True)
class RobotsRecord:
    """robots.txt as last fetched: status None means it could not be fetched. Cached in the database for 24 h."""

    status: int | None
    body: bytes
    fetched_at: datetime


@dataclass(frozen=True, slots=True)
class HostJob:
    host: str  # A-label
    whole_plan: bool  # else only the known documents, conditionally
    known: tuple[KnownDocument, ...] = ()
    pending: tuple[Probe, ...] = ()  # ADP details (and pointers) that an earlier visit had no budget for
    robots: RobotsRecord | None = None
    short: bool = False  # a sub-host looked at because its domain had a hit: its label's short list only
    closed: tuple[str, ...] = ()  # hosts of the domain that opted out: nothing may lead there


@dataclass(frozen=True, slots=True)
class DomainJob:
    domain: str  # registrable domain
    hosts: tuple[HostJob, ...]
    spent: int = 0  # requests made of the domain in the last 24 hours, over all its hosts


@dataclass(frozen=True, slots=True)
class Lease:
    """`expires_at`: nobody else takes these domains before; `token` fences off a holder that came too late."""

    token: UUID
    expires_at: datetime
    domains: tuple[DomainJob, ...]


class Answer(NamedTuple):
    """One probe, what came, and what the core thinks of it."""

    probe: Probe
    fetched: Fetched
    assessment: Assessment


@dataclass(frozen=True, slots=True)
class Candidate:
    """Another host that a document of this visit names: seeded later, attributed to whoever serves it."""

    host: str
    rel: str
    document: str  # URL of the document that names it


@dataclass(frozen=True, slots=True)
class Visit:
    """One pass over one host. `outcome` sums it up: FOUND when any SERVICE document was found, else why not."""

    host: str
    started_at: datetime
    finished_at: datetime
    outcome: Outcome
    reason: str
    answers: tuple[Answer, ...]
    whole_plan: bool
    requests: int
    address: str | None = None
    robots: RobotsRecord | None = None
    pending: tuple[Probe, ...] = ()  # left over when the budget was spent
    candidates: tuple[Candidate, ...] = ()
    alias_of: str | None = None  # the host that answered for this one inside its domain (apex <-> www)
    retry_after: int | None = None  # seconds, as asked for by the host, capped


def skipped(job: HostJob, now: datetime, reason: str) -> Visit:
    """The visit that is not made today: nobody was asked anything, and unfinished business stays."""
    return Visit(job.host, now, now, Outcome.SKIPPED, reason, (), False, 0, robots=job.robots, pending=job.pending)


@dataclass(frozen=True, slots=True)
class FinishedDomain:
    domain: str
    visits: tuple[Visit, ...]
