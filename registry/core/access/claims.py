"""Claims of ownership: what a claimant publishes to prove that a host is theirs, how long the proof counts, and which
canonical hosts of owners are in effect: an owner may name any host, and the named host has to agree.

Each claim has its own value, so a published value proves nothing for another claimant or another host. An ownership
lasts as long as its value stays published: it is verified again on a schedule.
"""

import base64
import hashlib
import hmac
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, get_args

from registry.core.names.authority import Relation, relation
from registry.core.names.domains import registrable_domain

Method = Literal["dns", "file"]
Scope = Literal["host", "domain"]
Answer = Literal[
    "published",  # the value was read
    "missing",  # a definite answer without the value: no such record or file, or another content
    "unanswered",  # no definite answer: a timeout, a server error, a 429, no connection
]
EndReason = Literal["no_longer_published", "unanswered", "transferred", "given_up", "forgotten"]
OwnershipState = Literal[
    "proven",
    "ended",
    "none",  # never proven
    "at_origin",  # this registry is a mirror: the origin knows
]


class ProofReading(NamedTuple):
    """What a check read. `reason`: a code of `claim_outcomes`, empty if the value was read."""

    answer: Answer
    reason: str = ""


METHODS: Final[tuple[Method, ...]] = get_args(Method)
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)

CLAIM: Final = "claim"  # kind of a claimant's token
OWNER: Final = "owner"  # kind of an owner's token
TXT_LABEL: Final = "_waypost-claim"
FILE_PATH: Final = "/.well-known/waypost-claim.txt"
PREFIX: Final = "waypost-claim="

OPEN_FOR: Final = timedelta(days=7)  # how long a claim can be proven
MAX_FAILURES: Final = 3  # failed verifications in a row that end an ownership
PATIENCE: Final = timedelta(days=3)
"""How long a site may give no definite answer before each further one counts as a failure."""

_FILE_LINES: Final = 100


@dataclass(frozen=True, slots=True)
class ProofStanding:
    """How far verifications of an ownership have failed. `failures`: counted ones in a row. `unanswered_since`: the
    first of the verifications in a row without a definite answer."""

    failures: int = 0
    unanswered_since: datetime | None = None

    def after(self, answer: Answer, now: datetime) -> "ProofStanding":
        """Return the standing after a verification. A definite answer counts at once; a missing one only when there
        has been none for PATIENCE, because outages of the site, or of this registry, prove nothing."""
        if answer == "published":
            return ProofStanding()
        if answer == "missing":
            return ProofStanding(self.failures + 1)
        since = self.unanswered_since or now
        is_counted = now - since >= PATIENCE  # guard: claim-patience
        return ProofStanding(self.failures + is_counted, since)

    @property
    def is_over(self) -> bool:
        return self.failures >= MAX_FAILURES


@dataclass(frozen=True, slots=True)
class Ownership:
    """The public record of who owns a host. `since`: when it was proven; `checked_at`: when it was last verified, with
    any result. A host without a proof has None in all fields."""

    state: OwnershipState = "none"
    method: Method | None = None
    scope: Scope | None = None
    since: datetime | None = None
    checked_at: datetime | None = None
    ended_at: datetime | None = None
    end_reason: EndReason | None = None


UNKNOWN_OWNER: Final = Ownership()


def challenge(claim: str, host: str, scope: Scope, digest: bytes) -> str:
    """Return the text to publish. `claim`: id of the claim; `digest`: SHA-256 of the claim token's secret. It depends
    on all of them, so that it proves nothing for another host, scope or claimant."""
    bound = "\n".join((claim, host, scope, digest.hex()))  # guard: claim-bound
    value = base64.urlsafe_b64encode(hashlib.sha256(bound.encode()).digest()).rstrip(b"=")
    return PREFIX + value.decode()


def place(host: str, method: Method) -> str:
    """Return where the text has to be published: the name of a TXT record, or a URL."""
    return f"{TXT_LABEL}.{host}" if method == "dns" else f"https://{host}{FILE_PATH}"


def is_published(value: str, texts: Iterable[bytes]) -> bool:
    """Return whether a TXT record or a line of the file is the value. Spaces around it are ignored; other lines may
    belong to other claims."""
    return any(hmac.compare_digest(text.strip(), value.encode()) for text in texts)


def lines_of(body: bytes) -> list[bytes]:
    """Return the first lines of a file; a byte order mark is left out."""
    return body.removeprefix(b"\xef\xbb\xbf").splitlines()[:_FILE_LINES]


def covers(claimed: str, domain: str, scope: Scope, host: str) -> bool:
    """Return whether a claim of the host `claimed`, stored under `domain`, covers a host. A claim of a whole domain
    covers its hosts only while the claimed name is a registrable domain: the public suffix list may have changed
    since."""
    if host == claimed:
        return True
    return scope == "domain" and claimed == domain == registrable_domain(host)  # guard: claim-scope


@dataclass(frozen=True, slots=True)
class CanonicalWish:
    """The wish that `target` stands for `host`. `has_consent`: an owner of `target` agreed."""

    host: str
    target: str
    has_consent: bool

    @property
    def is_allowed(self) -> bool:
        return self.has_consent or relation(self.target, self.host) is Relation.SAME  # guard: pin-consent


def in_effect(wishes: Collection[CanonicalWish]) -> dict[str, str]:
    """Return the canonical host by host. A wish for a host that is allowed to point elsewhere has no effect, so there
    are neither chains nor loops."""
    allowed = {wish.host: wish.target for wish in wishes if wish.is_allowed}
    return {host: target for host, target in allowed.items() if target not in allowed}  # guard: pin-chains
