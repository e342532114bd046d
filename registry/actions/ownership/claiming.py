"""Claims of ownership: anybody may claim a host; only who can publish the claim's value there can prove it.

The claimant gets two things, both once: the value to publish, which is no secret, and the claim token, which is. Only
the bearer of that token can have the value checked and get the owner's token. A check costs the site one request or
none, so checks by file are bounded by the hour, per client and per domain; the DNS costs the site nothing.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from registry.actions.mirroring.deciding import refuse_in_mirror
from registry.actions.ownership.ending import lock
from registry.core.access.audit import AuditEntry, owner_actor
from registry.core.access.claims import CLAIM, OPEN_FOR, OWNER, Method, Scope, challenge, place
from registry.core.access.tokens import Token
from registry.core.names.domains import canonical_host
from registry.store.claims import ClaimRecord
from registry.store.unit_of_work import Store, UnitOfWork

MOST_OPEN: Final = 20
"""Open claims of one client."""

MOST_OPEN_OF_HOST: Final = 3
"""Open claims of one client for one host; a further one replaces the oldest."""

MOST_OPEN_OF_DOMAIN: Final = 100
"""Open claims of all clients for a domain. A further one replaces the oldest one of the client that has most, so that
nobody can keep others from claiming."""

HOUR: Final = timedelta(hours=1)

CHECKS_OF_CLIENT: Final = 10
"""Checks by file in an hour that one client can ask of a domain."""

CHECKS_OF_DOMAIN: Final = 60
"""Those of all clients together."""

AGAIN_AFTER: Final = timedelta(seconds=5)
"""Least time between two checks of a claim."""

_NO_DIGEST: Final = bytes(32)

State = Literal["open", "proven", "expired", "ended"]


class NotTheClaimant(Exception):
    """The token is unknown, or not that of the claim."""


class BadClaim(ValueError):
    """The claim is not possible; the message says why."""


class TooMany(Exception):
    """A bound was reached; `retry_after`: when it may be tried again."""

    def __init__(self, message: str, retry_after: timedelta) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim as its claimant sees it. `publish`: the text; `at`: where."""

    record: ClaimRecord
    state: State
    publish: str
    at: str


async def claim(
    store: Store,
    name: str,
    method: Method,
    scope: Scope,
    *,
    token: Token,
    client: str,
    now: datetime,
    exempt: Collection[str] = (),
) -> Claimed:
    """Store a claim with the new `token`. `exempt`: names that may be special-use names.

    Raise InvalidName, BadClaim, TooMany and DecidedAtOrigin.
    """
    host = canonical_host(name, exempt=exempt)
    if scope == "domain" and (host.host != host.domain or method != "dns"):  # guard: claim-domain
        raise BadClaim("a whole domain is claimed by DNS, at the registrable domain itself")
    record = ClaimRecord(
        host.domain, host.host, token.id, method, scope, token.digest, client, created_at=now, expires_at=now + OPEN_FOR
    )
    async with store.begin() as uow:
        await refuse_in_mirror(uow, record.host)
        await _refuse_files_of_closed(uow, record)
        if await uow.claims.open_of(client, now=now) >= MOST_OPEN:  # guard: claim-open
            raise TooMany("You have too many open claims.", timedelta(days=1))
        await _make_room(uow, record, now)
        await uow.claims.put(record)
    return _claimed(record, now)


async def status(store: Store, token: Token, *, now: datetime) -> Claimed:
    """Return the claim of a claim token. Raise NotTheClaimant."""
    async with store.begin() as uow:
        return _claimed(await _of(uow, token), now)


async def ask(store: Store, token: Token, *, now: datetime) -> Claimed:
    """Have a worker check an open claim, unless one is about to. Raise NotTheClaimant, BadClaim, TooMany and
    DecidedAtOrigin."""
    async with store.begin() as uow:
        found = await _of(uow, token)
        await refuse_in_mirror(uow, found.host)
        claims = {known.id: known for known in await uow.claims.of(found.domain, lock=True)}
        record = claims.get(found.id, found)
        if _state(record, now) != "open" or record.due_at is not None:
            return _claimed(record, now)
        await _refuse_files_of_closed(uow, record)
        if record.checked_at is not None and now - record.checked_at < AGAIN_AFTER:
            raise TooMany("The claim was checked just now.", AGAIN_AFTER)
        if record.method == "file":
            _refuse_too_many_checks(record, claims.values(), now)
        record = replace(counted(record, now), due_at=now)
        await uow.claims.put(record)
    return _claimed(record, now)


async def hand_out(store: Store, token: Token, owner: Token, *, now: datetime) -> bool:
    """Store `owner` as the token of the proven claim of a claim token; return False if it has one already, or is not
    proven. `owner` has the id of the claim. Raise NotTheClaimant."""
    async with store.begin() as uow:
        found = await _of(uow, token)
        for record in await uow.claims.of(found.domain, lock=True):
            if record.id == found.id and record.is_owner and record.owner_digest is None:  # guard: owner-token-once
                await uow.claims.put(replace(record, owner_digest=owner.digest))
                entry = AuditEntry(owner_actor(record.id), "ownership.token_issued", record.domain, record.host)
                await uow.audit.add(entry, now=now)
                return True
    return False


def owner_token(claim_id: str, secret: str) -> Token:
    return Token(OWNER, claim_id, secret)


def claim_token(claim_id: str, secret: str) -> Token:
    return Token(CLAIM, claim_id, secret)


def used(record: ClaimRecord, now: datetime) -> int:
    """Return how many checks or changes were counted for a claim in the current hour."""
    return record.used if record.hour_at is not None and now - record.hour_at < HOUR else 0


def counted(record: ClaimRecord, now: datetime) -> ClaimRecord:
    """Return a claim with one more check or change."""
    number = used(record, now)
    return replace(record, used=number + 1, hour_at=record.hour_at if number else now)


async def _of(uow: UnitOfWork, token: Token) -> ClaimRecord:
    record = await uow.claims.get(token.id)
    is_right = token.matches(_NO_DIGEST if record is None else record.digest)  # guard: claim-token
    if record is None or not is_right:
        raise NotTheClaimant
    return record


async def _refuse_files_of_closed(uow: UnitOfWork, record: ClaimRecord) -> None:
    limits = (await uow.holds.limits([record.domain]))[record.domain]
    if record.method == "file" and not limits.may_be_visited(record.host):  # guard: claim-closed
        raise BadClaim("this host is never visited, so it can be claimed by DNS only")


async def _make_room(uow: UnitOfWork, new: ClaimRecord, now: datetime) -> None:
    await lock(uow, new.domain)
    is_open = [known for known in await uow.claims.of(new.domain, lock=True) if known.proven_at is None]
    for known in [known for known in is_open if known.expires_at <= now]:
        await uow.claims.remove(known)
        is_open.remove(known)
    own = [known for known in is_open if known.client == new.client and known.host == new.host]
    if len(own) >= MOST_OPEN_OF_HOST:
        await uow.claims.remove(own[0])
    elif len(is_open) >= MOST_OPEN_OF_DOMAIN:
        clients = [known.client for known in is_open]
        most = max(clients, key=clients.count)
        await uow.claims.remove(next(known for known in is_open if known.client == most))


def _refuse_too_many_checks(record: ClaimRecord, claims: Collection[ClaimRecord], now: datetime) -> None:
    by_file = [known for known in claims if known.method == "file" and known.proven_at is None]
    own = sum(used(known, now) for known in by_file if known.client == record.client)
    if own >= CHECKS_OF_CLIENT or sum(used(known, now) for known in by_file) >= CHECKS_OF_DOMAIN:  # guard: claim-checks
        raise TooMany("Too many checks of this domain within an hour; checks by DNS are not counted.", HOUR)


def _claimed(record: ClaimRecord, now: datetime) -> Claimed:
    text = challenge(record.id, record.host, record.scope, record.digest)
    return Claimed(record, _state(record, now), text, place(record.host, record.method))


def _state(record: ClaimRecord, now: datetime) -> State:
    if record.ended_at is not None:
        return "ended"
    if record.proven_at is not None:
        return "proven"
    return "open" if now < record.expires_at else "expired"
