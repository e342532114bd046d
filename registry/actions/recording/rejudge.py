"""Judges services again after changes elsewhere on which their trust depends: a listing, an ownership."""

from datetime import datetime
from typing import Final

from registry.actions.recording.rescore import BATCH, rescore_hosts
from registry.store.unit_of_work import Store

CAUSES: Final = 500
"""Changes that are worked on together: each service that depends on several is judged once."""


async def rejudge(store: Store, *, now: datetime) -> int:
    """Rescore the services that depend on noted changes; return how many were judged. If interrupted, start again.

    Two processes may do it at once: the second changes nothing. Raise StoreUnavailable.
    """
    async with store.read() as uow:
        causes = await uow.trust.causes(limit=CAUSES)
    if not causes:
        return 0
    names = {name for cause in causes for name in cause.names}
    judged, after = 0, ("", "")
    while True:
        async with store.begin() as uow:
            keys = await uow.trust.dependents(names, after, limit=BATCH)  # guard: rejudge
            await uow.domains.lock({domain for domain, _ in keys})
            await rescore_hosts(uow, keys, now)
            if not keys:
                await uow.trust.settle(causes)
                return judged
        judged, after = judged + len(keys), keys[-1]
