"""Returns the records of single hosts as they are now, for mirrors that read of them in the change feed."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from registry.actions.dumps.position import position
from registry.actions.dumps.records import encoded, state_of_opt_out, tombstone, usage_of_record
from registry.core.names.domains import registrable_domain
from registry.store.unit_of_work import Store, UnitOfWork

MOST_HOSTS: Final = 50
ANSWER_BYTES: Final = 8 * 1024 * 1024
"""Bytes of records after which the rest of the hosts is left for another question. One record is always returned."""


@dataclass(frozen=True, slots=True)
class Records:
    """`records`: JSON objects, one per host. `left`: hosts for which there was no room.

    `sequence`: the position of the feed that all of them are at least as new as.
    """

    sequence: int
    cursor: str
    records: tuple[bytes, ...]
    left: tuple[str, ...]
    size: int


async def lookup(store: Store, hosts: Collection[str]) -> Records:
    """Return what is public of at most MOST_HOSTS hosts in canonical spelling, also that there is nothing.

    All are read in one snapshot. Raise StoreUnavailable.
    """
    keys = [(registrable_domain(host), host) for host in dict.fromkeys(hosts)]
    async with store.snapshot() as uow:
        at = await position(uow)
        limits = await uow.holds.limits({domain for domain, _ in keys})
        found: list[bytes] = []
        left: list[str] = []
        size = 0
        for domain, host in keys:
            if found and size > ANSWER_BYTES:
                left.append(host)
                continue
            states = {name: state_of_opt_out(how) for name, how in limits[domain].told_closed(host).items()}
            if states:
                raw = tombstone(host, states[min(states, key=len)], states)
            else:
                raw = await _record(uow, (domain, host))
            found.append(raw)
            size += len(raw)
    return Records(at.sequence, at.cursor, tuple(found), tuple(left), size)


async def _record(uow: UnitOfWork, key: tuple[str, str]) -> bytes:
    records = await uow.records.of([key])
    if not records:
        return tombstone(key[1], "absent")
    record = records[0]
    return await asyncio.to_thread(encoded, record, usage_of_record(record))
