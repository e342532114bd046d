"""Reads facts outside a service's own documents on which its trust depends (`speaking.depends_on`)."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from registry.core.merging.speaking import NOTHING_KNOWN, OWNER_MARK, SITE_MARK, Known
from registry.core.names.domains import registrable_domain
from registry.store.claims import ClaimRecord
from registry.store.records import ServiceRecord
from registry.store.unit_of_work import UnitOfWork

_Result = TypeVar("_Result")


async def compute_with_known(
    uow: UnitOfWork,
    before: Iterable[ServiceRecord],
    compute: Callable[[Known], _Result],
    services: Callable[[_Result], Iterable[ServiceRecord]],
) -> _Result:
    """Return what `compute` makes, in a thread, of the stored facts on which its services depend.

    These are known only afterwards: it runs with the facts that the services needed `before`, and again if they need
    others now.
    """
    names = _names_of(before)
    result = await asyncio.to_thread(compute, await _known_of(uow, names))
    if not (needed := _names_of(services(result))) <= names:
        result = await asyncio.to_thread(compute, await _known_of(uow, needed))
    return result


def _names_of(services: Iterable[ServiceRecord]) -> frozenset[str]:
    return frozenset(name for service in services for name in service.trust_depends_on)


async def _known_of(uow: UnitOfWork, names: Collection[str]) -> Known:
    """Return the stored facts about the names."""
    if not names:
        return NOTHING_KNOWN
    sites = {name.removeprefix(SITE_MARK) for name in names if name.startswith(SITE_MARK)}
    owned = {name.removeprefix(OWNER_MARK) for name in names if name.startswith(OWNER_MARK)}
    hosts = [name for name in names if not name.startswith((SITE_MARK, OWNER_MARK))]
    owners: dict[str, str] = {}
    for domain in owned:
        claims = await uow.claims.owners(domain)
        for host in hosts if claims else ():
            if registrable_domain(host) == domain and (owner := _owner(claims, host)) is not None:
                owners[host] = owner
    return Known(
        await uow.services.listed({registrable_domain(host) for host in hosts}, hosts),
        await uow.services.listed_sites(sites),
        owners,
    )


def _owner(claims: Iterable[ClaimRecord], host: str) -> str | None:
    """Return the proven claim of a host: its own before its domain's, the latest of several."""
    covering = [(claim.host == host, claim.proven_at, claim.id) for claim in claims if claim.covers(host)]
    return max(covering)[-1] if covering else None
