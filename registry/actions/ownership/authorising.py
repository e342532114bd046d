"""Whether the bearer of a token may change a host: the ownership is proven, has not ended, and covers the host."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from registry.actions.mirroring.deciding import refuse_in_mirror
from registry.actions.ownership.claiming import HOUR, TooMany, counted, used
from registry.actions.ownership.ending import lock
from registry.core.access.audit import AuditEntry, owner_actor
from registry.core.access.tokens import Token
from registry.core.names.domains import registrable_domain
from registry.store.claims import ClaimRecord, OwnerSettingRecord
from registry.store.unit_of_work import Store, UnitOfWork

MOST_CHANGES: Final = 60
"""Changes in an hour by one owner. What protects an owner is never refused for it (`changing`)."""

_NO_DIGEST: Final = bytes(32)


class NotAnOwner(Exception):
    """The token is unknown, was replaced, or its ownership has ended."""


class OtherHost(Exception):
    """The ownership does not cover this host."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The owner who makes a change, in the transaction `uow`, which has locked the domain and its `claims`."""

    uow: UnitOfWork
    claim: ClaimRecord
    claims: tuple[ClaimRecord, ...]
    domain: str
    host: str
    now: datetime

    @property
    def actor(self) -> str:
        return owner_actor(self.claim.id)

    async def settings(self) -> OwnerSettingRecord:
        """Return what is set for the host, as set by this owner from now on."""
        known = await self.uow.owner_settings.get(self.domain, self.host)
        if known is None:
            return OwnerSettingRecord(self.domain, self.host, self.claim.id, self.now)
        return replace(known, claim=self.claim.id, changed_at=self.now)

    async def audit(self, action: str, **detail: object) -> None:
        await self.uow.audit.add(AuditEntry(self.actor, action, self.domain, self.host, "", detail), now=self.now)


async def reader(uow: UnitOfWork, token: Token, host: str) -> ClaimRecord:
    """Return the ownership of a token, which covers the host. Raise NotAnOwner and OtherHost."""
    claim = await uow.claims.get(token.id)
    digest = claim.owner_digest if claim is not None and claim.is_owner else None
    is_right = token.matches(digest or _NO_DIGEST)  # guard: owner-token
    if claim is None or digest is None or not is_right:
        raise NotAnOwner
    if not claim.covers(host):  # guard: owner-host
        raise OtherHost
    return claim


@asynccontextmanager
async def changing(
    store: Store, token: Token, host: str, *, now: datetime, is_bounded: bool = True
) -> AsyncIterator[Owner]:
    """Yield the owner for one change of a host in canonical spelling. Without `is_bounded` the change is never refused
    for a limit: hiding, leaving, and replacing or giving back the token. Raise NotAnOwner, OtherHost, TooMany and
    DecidedAtOrigin."""
    domain = registrable_domain(host)
    async with store.begin() as uow:
        await refuse_in_mirror(uow, host)
        await lock(uow, domain)
        claims = await uow.claims.owners(domain, lock=True)
        claim = await reader(uow, token, host)
        # guard: owner-protection-unbounded
        if is_bounded and used(claim, now) >= MOST_CHANGES:  # guard: owner-changes
            raise TooMany("Too many changes by this owner within an hour.", HOUR)
        claim = counted(claim, now)
        await uow.claims.put(claim)
        yield Owner(uow, claim, tuple(claims), domain, host, now)
