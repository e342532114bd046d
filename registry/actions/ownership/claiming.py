"""Claims of ownership: anyone may claim a host, but only its site can publish the value that proves the claim.

The claimant gets the value to publish, which is public, and the claim token, which is secret. Only the bearer of the
token can request checks and get the owner's token. A check by file costs the site one request, so these are bounded per
hour; checks by DNS cost it nothing. A network (an address, or an IPv6 /48) replaces only its earlier claims, never
those of others (decision 46). A new proof ends an older ownership of the same host and scope.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from registry.actions import Clock, feed, polled
from registry.actions.access import new_token
from registry.actions.maintenance.forget import release_locked
from registry.actions.mirroring.apply import refuse_in_mirror
from registry.core.access.audit import AuditEvent, owner_actor, system_actor
from registry.core.access.claims import CLAIM, OPEN_FOR, OWNER, Answer, EndReason, Method, Scope, challenge, place
from registry.core.access.clients import NETWORK_FACTOR, network_of
from registry.core.access.tokens import Token
from registry.core.names.domains import canonical_host
from registry.store.claims import ClaimRecord
from registry.store.unit_of_work import Store, UnitOfWork
from registry.store.values import REASON_CHARS, clean

MAX_OPEN: Final = 20
"""Open claims of one client. All clients of an IPv6 /48 together may have NETWORK_FACTOR times as many."""

MAX_OPEN_PER_HOST: Final = 3
"""Open claims of one client for one host. A further one replaces the newest, so the first keeps its place."""

MAX_OPEN_PER_DOMAIN: Final = 20
"""Open claims of one network for a domain. A further one replaces the newest claim of the network's client with most
claims. Other networks do not count: a bound over all of them would either refuse the real owner or push out the first
claimant."""

HOUR: Final = timedelta(hours=1)

OWN_CHECKS: Final = 3  # checks by file per hour of a domain that are reserved for each network
CHECKS_OF_NETWORK: Final = 10  # checks by file per hour that one network can request for a domain
CHECKS_OF_DOMAIN: Final = 60  # checks by file in an hour of all networks together, beyond the OWN_CHECKS of each
AGAIN_AFTER: Final = timedelta(seconds=5)  # minimum time between two checks of a claim
LOOK_AGAIN: Final = timedelta(minutes=30)
"""After a check by DNS found no proof, an open claim is looked up again in such intervals: a new record can take hours
to appear, and a look-up costs the site nothing. Files are requested only when the claimant asks."""

_NO_DIGEST: Final = bytes(32)

State = Literal["open", "proven", "expired", "ended"]


class NotTheClaimant(Exception):
    """The token is unknown, or belongs to another claim."""


class BadClaim(ValueError):
    """The claim is not possible; the message says why."""


class TooMany(Exception):
    """A limit was reached; `retry_after` says when to try again."""

    def __init__(self, message: str, retry_after: timedelta) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class ClaimView:
    """A claim as its claimant sees it. `publish`: the text; `at`: where. `waiting`: a check waits for a worker.
    `check_after`: from when a further check can be requested; None: at once, or not at all."""

    record: ClaimRecord
    state: State
    publish: str
    at: str
    waiting: bool
    check_after: datetime | None = None


def used(record: ClaimRecord, now: datetime) -> int:
    """Return how many checks or changes the claim has used in the current hour."""
    return record.used if record.hour_at is not None and now - record.hour_at < HOUR else 0


def counted(record: ClaimRecord, now: datetime) -> ClaimRecord:
    """Return the claim with one more check or change counted."""
    number = used(record, now)
    return replace(record, used=number + 1, hour_at=record.hour_at if number else now)


async def _of(uow: UnitOfWork, token: Token, *, lock: bool = False) -> ClaimRecord:
    record = await uow.claims.get(token.id, lock=lock)
    is_right = token.matches(_NO_DIGEST if record is None else record.digest)  # guard: claim-token
    if record is None or not is_right:
        raise NotTheClaimant
    return record


async def _refuse_files_of_closed(uow: UnitOfWork, record: ClaimRecord) -> None:
    limits = (await uow.holds.limits([record.domain]))[record.domain]
    if record.method == "file" and not limits.may_be_visited(record.host):  # guard: claim-closed
        raise BadClaim("this host is never visited, so it can be claimed by DNS only")


async def _make_room(uow: UnitOfWork, new: ClaimRecord, open_claims: Sequence[ClaimRecord], now: datetime) -> None:
    """Remove the claim that `new` replaces, if any. `open_claims`: claims of the same network, the oldest first."""
    of_domain = [known for known in open_claims if known.domain == new.domain]
    of_host = [known for known in of_domain if (known.client, known.host) == (new.client, new.host)]
    clients = Counter(known.client for known in of_domain)
    replaced = None
    if len(of_host) >= MAX_OPEN_PER_HOST:
        replaced = of_host[-1]  # guard: claim-first-kept
    elif len(of_domain) >= MAX_OPEN_PER_DOMAIN:
        replaced = max(reversed(of_domain), key=lambda known: clients[known.client])  # guard: claim-replaces-own
    current = None if replaced is None else await uow.claims.get(replaced.id, lock=True)
    if current is None or current.proven_at is not None:  # guard: claim-proof-kept
        return
    if used(current, now):  # guard: claim-checks-kept
        await uow.claims.put(replace(current, expires_at=now, due_at=None))
    else:
        await uow.claims.remove(current)


def _is_waiting(record: ClaimRecord, now: datetime) -> bool:
    return _state(record, now) == "open" and record.due_at is not None and record.due_at <= now


def _claimed(record: ClaimRecord, now: datetime, check_after: datetime | None = None) -> ClaimView:
    text = challenge(record.id, record.host, record.scope, record.digest)
    return ClaimView(
        record, _state(record, now), text, place(record.host, record.method), _is_waiting(record, now), check_after
    )


async def _refused_until(uow: UnitOfWork, record: ClaimRecord, now: datetime) -> tuple[datetime, str] | None:
    """Return until when a check of an open claim is refused, and why; None if it may be requested."""
    if record.checked_at is not None and now - record.checked_at < AGAIN_AFTER:
        return record.checked_at + AGAIN_AFTER, "The claim was checked just now."
    if record.method == "file":
        checks = await uow.claims.checks_by_file(record.domain, since=now - HOUR)
        of_network = checks.get(record.network or record.client or record.id)
        own = 0 if of_network is None else of_network.number
        beyond = sum(max(0, one.number - OWN_CHECKS) for one in checks.values())
        # The first checks of a network are never refused because of others.
        # guard: claim-first-checks
        is_refused = own >= CHECKS_OF_NETWORK or (own >= OWN_CHECKS and beyond >= CHECKS_OF_DOMAIN)
        if is_refused:  # guard: claim-checks
            counts = [of_network] if of_network and own >= CHECKS_OF_NETWORK else checks.values()
            until = max(one.hour_at for one in counts) + HOUR
            return until, "Too many checks of this domain within an hour; checks by DNS are not counted."
    return None


def _state(record: ClaimRecord, now: datetime) -> State:
    if record.ended_at is not None:
        return "ended"
    if record.proven_at is not None:
        return "proven"
    return "open" if now < record.expires_at else "expired"


TAKEN_FOR: Final = timedelta(seconds=20)
"""Time after which another worker may check a claim, because the first may have died: longer than a check takes."""

MAX_PER_NETWORK: Final = 3  # claims of the clients of one network that are checked at once, over all workers
REVERIFIED_AFTER: Final = timedelta(hours=1)
"""Minimum time between the last verification of a host and one triggered by a proof of its domain: repeated proofs of a
domain must not add up to the failures that end the ownerships of its hosts."""

CHECKER: Final = system_actor("claim-check")


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """A due check. `may_fetch`: the host may be visited; otherwise request nothing from it."""

    claim: str
    host: str
    method: Method
    value: str
    may_fetch: bool


async def _proven(
    uow: UnitOfWork, claim: ClaimRecord, owners: Sequence[ClaimRecord], every: timedelta, now: datetime
) -> None:
    owned = replace(
        claim, proven_at=now, verified_at=now, due_at=now + every, client=None, network=None, used=0, hour_at=None
    )
    await uow.claims.put(owned)
    for older in owners:
        if (older.host, older.scope) == (claim.host, claim.scope):  # guard: claim-transfer
            await end(uow, older, "transferred", actor=owner_actor(claim.id), now=now)
        # guard: claim-verified-again
        elif claim.covers(older.host) and older.checked_at is not None and now - older.checked_at >= REVERIFIED_AFTER:
            await uow.claims.put(replace(older, due_at=now))  # the domain may have changed hands
    await uow.ledger.add_changes([feed.proven(owned, now)])
    detail = {"claim": claim.id, "method": claim.method, "scope": claim.scope}
    entry = AuditEvent(owner_actor(claim.id), "ownership.proven", claim.domain, claim.host, "", detail)
    await uow.audit.add(entry, now=now)


async def _verified(uow: UnitOfWork, claim: ClaimRecord, answer: Answer, every: timedelta, now: datetime) -> None:
    standing = claim.standing.after(answer, now)
    checked = replace(
        claim,
        failures=standing.failures,
        unanswered_since=standing.unanswered_since,
        verified_at=now if answer == "published" else claim.verified_at,
        due_at=now + every,
    )
    if standing.is_over:  # guard: claim-failures
        reason: EndReason = "no_longer_published" if answer == "missing" else "unanswered"
        await end(uow, checked, reason, actor=CHECKER, now=now)
    else:
        await uow.claims.put(checked)


async def lock(uow: UnitOfWork, domain: str) -> None:
    """Lock out all other writers of the domain, in the order in which holds lock. A domain may be claimed before it has
    a row to lock."""
    if await uow.mirroring.get() is not None:
        await uow.mirroring.lock()
    await uow.domains.lock([domain])
    await uow.claims.serialize(domain)


async def end(uow: UnitOfWork, claim: ClaimRecord, reason: EndReason, *, actor: str, now: datetime) -> None:
    """End a proven ownership. The caller has locked the domain and its claims."""
    own = owner_actor(claim.id)
    limits = (await uow.holds.limits([claim.domain]))[claim.domain]
    for held in limits.holds:
        if held.kind == "hidden" and held.actor == own:  # guard: owner-end-shows
            await release_locked(uow, held.host, "hidden", actor=actor, reason="the ownership ended", now=now)
    await uow.owner_settings.remove_of(claim.id, claim.domain)
    ended = replace(claim, ended_at=now, end_reason=reason, due_at=None, claimed_until=None, owner_digest=None)
    await uow.claims.put(ended)
    changes = feed.repinned(claim.domain, await uow.owner_settings.settle_pins(claim.domain, now=now), now)
    await uow.ledger.add_changes([feed.ended(claim, reason, now), *changes])
    detail = {"claim": claim.id, "scope": claim.scope, "reason": reason}
    await uow.audit.add(AuditEvent(actor, "ownership.ended", claim.domain, claim.host, "", detail), now=now)


@dataclass(eq=False)
class ClaimActions:
    """Claims of ownership: making, checking and settling them. `_every`: time between two verifications of an
    ownership. `_exempt`: names that may be special-use names."""

    _store: Store
    _clock: Clock
    _every: timedelta
    _exempt: Collection[str] = ()

    async def claim(self, name: str, method: Method, scope: Scope, *, client: str) -> tuple[ClaimView, Token]:
        """Store a claim and return it with its token; only the token's digest is stored. Raise InvalidName, BadClaim,
        TooMany and DecidedAtOrigin."""
        now = self._clock()
        host = canonical_host(name, exempt=self._exempt)
        if scope == "domain" and (host.host != host.domain or method != "dns"):  # guard: claim-domain
            raise BadClaim("a whole domain is claimed by DNS, at the registrable domain itself")
        network, token = network_of(client), new_token(CLAIM)
        record = ClaimRecord(
            host.domain, host.host, token.id, method, scope, token.digest, client, now, now + OPEN_FOR, network
        )
        async with self._store.begin() as uow:
            await refuse_in_mirror(uow, record.host)
            await _refuse_files_of_closed(uow, record)
            await uow.claims.serialize(network)  # guard: claim-at-once
            await uow.claims.remove_expired(network, now=now, since=now - HOUR)
            open_claims = await uow.claims.open_of(network, now=now)
            own = sum(known.client == client for known in open_claims)
            if own >= MAX_OPEN or len(open_claims) >= NETWORK_FACTOR * MAX_OPEN:  # guard: claim-open
                raise TooMany("You, or others in your network, have too many open claims.", timedelta(days=1))
            await _make_room(uow, record, open_claims, now)
            await uow.claims.put(record)
        return _claimed(record, now), token

    async def claim_status(self, token: Token) -> ClaimView:
        """Return the claim of a claim token. Raise NotTheClaimant."""
        now = self._clock()
        async with self._store.begin() as uow:
            record = await _of(uow, token)
            is_open = _state(record, now) == "open" and not _is_waiting(record, now)
            refused = await _refused_until(uow, record, now) if is_open else None
        return _claimed(record, now, None if refused is None else refused[0])

    async def ask(self, token: Token) -> ClaimView:
        """Request a check of an open claim, unless one is about to start. Raise NotTheClaimant, BadClaim, TooMany and
        DecidedAtOrigin."""
        now = self._clock()
        async with self._store.begin() as uow:
            found = await _of(uow, token)
            await refuse_in_mirror(uow, found.host)
            await uow.claims.serialize(found.domain)
            record = await uow.claims.get(found.id, lock=True) or found
            if _state(record, now) != "open" or _is_waiting(record, now):
                return _claimed(record, now)
            await _refuse_files_of_closed(uow, record)
            if (refused := await _refused_until(uow, record, now)) is not None:
                raise TooMany(refused[1], refused[0] - now)
            record = replace(counted(record, now), due_at=now)
            await uow.claims.put(record)
        return _claimed(record, now)

    async def hand_out(self, token: Token) -> Token | None:
        """Return the owner's token of a proven claim; None if it was handed out before, or the claim is not proven. The
        token has the id of the claim. Raise NotTheClaimant."""
        async with self._store.begin() as uow:
            record = await _of(uow, token, lock=True)
            if not (record.is_owner and record.owner_digest is None):  # guard: owner-token-once
                return None
            owner = replace(new_token(OWNER), id=token.id)
            await uow.claims.put(replace(record, owner_digest=owner.digest))
            entry = AuditEvent(owner_actor(record.id), "ownership.token_issued", record.domain, record.host)
            await uow.audit.add(entry, now=self._clock())
            return owner

    async def check_claim(self, token: Token, *, seconds: float) -> tuple[ClaimView, Token | None]:
        """Request a check of the claim and wait at most `seconds` for it. Return the claim, and the owner's token if it
        is proven and the token was not handed out before."""
        claimed = await self.ask(token)
        if claimed.waiting:
            claimed = await polled(lambda: self.claim_status(token), lambda found: not found.waiting, seconds)
        if claimed.state != "proven" or claimed.record.owner_digest is not None:
            return claimed, None
        return claimed, await self.hand_out(token)

    async def take(self, limit: int) -> Sequence[ClaimCheck]:
        """Return at most `limit` due checks for the caller to make; other workers do not get them for TAKEN_FOR."""
        now = self._clock()
        async with self._store.begin() as uow:
            claims = await uow.claims.take(limit=limit, per_network=MAX_PER_NETWORK, now=now, until=now + TAKEN_FOR)
            limits = await uow.holds.limits({claim.domain for claim in claims}) if claims else {}
        return [
            ClaimCheck(
                claim.id, claim.host, claim.method, challenge(claim.id, claim.host, claim.scope, claim.digest),
                limits[claim.domain].may_be_visited(claim.host),
            )
            for claim in claims
        ]  # fmt: skip

    async def settle(self, claim_id: str, answer: Answer, reason: str = "") -> None:
        """Store the answer of a check and apply its consequences. Repeated failures end an ownership by the rule of
        `core/access/claims.py`. `reason`: a code of `core/access/claim_outcomes.py`."""
        now = self._clock()
        async with self._store.begin() as uow:
            found = await uow.claims.get(claim_id)
            if found is None:
                return
            await lock(uow, found.domain)
            claims = await uow.claims.owners(found.domain, lock=True)
            claim = await uow.claims.get(claim_id, lock=True)
            if claim is None or claim.due_at is None or claim.due_at > now:
                return  # it has ended, or another worker was faster
            checked = replace(
                claim,
                checked_at=now,
                answer=answer,
                reason=clean(reason, REASON_CHARS),
                due_at=None,
                claimed_until=None,
            )
            if claim.proven_at is not None:
                await _verified(uow, checked, answer, self._every, now)
            elif answer == "published" and now < claim.expires_at:  # guard: claim-expiry
                await _proven(uow, checked, claims, self._every, now)
            else:
                again = now + LOOK_AGAIN if claim.method == "dns" else None
                await uow.claims.put(replace(checked, due_at=again))
