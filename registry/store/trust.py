"""Facts outside a service's documents on which its trust depends: listings, names and owners elsewhere.

Triggers note every change of these in `trust_causes`, by the names that `speaking.depends_on` uses. Each cause is a
separate row and is written without a look-up, so that writers never wait for each other.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import delete, or_, select, text

from registry.store.repository import Key, Repository
from registry.store.tables import ServiceRow, TrustCauseRow


class Cause(NamedTuple):
    """A change: its number, and the names that it concerns."""

    id: int
    names: Sequence[str]


_LISTED_SITES = text("""
SELECT d FROM unnest(CAST(:domains AS text[])) d
WHERE EXISTS (SELECT FROM services s WHERE s.domain = d AND NOT s.hidden)
""")


class Trust(Repository):
    async def listed(self, domains: Collection[str], hosts: Collection[str]) -> Mapping[str, Sequence[str]]:
        """Return the listed ones of the hosts, which are of these domains, with the hosts that they name."""
        row = ServiceRow
        statement = select(row.host, row.named_hosts).where(
            row.domain.in_(list(domains)), row.host.in_(list(hosts)), ~row.hidden
        )
        return {host: tuple(named) for host, named in await self._execute(statement)}

    async def listed_sites(self, domains: Collection[str]) -> frozenset[str]:
        """Return the domains with a listed host."""
        found = await self._execute(_LISTED_SITES, {"domains": list(domains)})
        return frozenset(found.scalars())

    async def causes(self, *, limit: int) -> list[Cause]:
        row = TrustCauseRow
        statement = select(row.id, row.names).order_by(row.id).limit(limit)
        return [Cause(number, names) for number, names in await self._execute(statement)]

    async def dependents(self, names: Collection[str], after: Key, *, limit: int) -> list[Key]:
        """Return services after `after` that depend on one of the names, or are one of them; by (domain, host)."""
        row = ServiceRow
        statement = (
            select(row.domain, row.host)
            .where(
                row.trust_depends_on.overlap(list(names)),
                or_(row.domain > after[0], (row.domain == after[0]) & (row.host > after[1])),
            )
            .order_by(row.domain, row.host)
            .limit(limit)
        )
        return await self._keys(statement)

    async def settle(self, causes: Collection[Cause]) -> None:
        """Delete causes whose dependents were judged again."""
        await self._execute(delete(TrustCauseRow).where(TrustCauseRow.id.in_([one.id for one in causes])))
