"""The actions that keep stored data current, small and consistent with this program."""

from collections.abc import Callable, Mapping

from registry.actions.maintenance import prune as pruning
from registry.actions.maintenance import refresh as refreshing
from registry.actions.maintenance import rehome as rehoming
from registry.actions.recording import record
from registry.actions.recording import rejudge as rejudging
from registry.actions.recording import rescore as rescoring
from registry.core.scheduling.jobs import Retention
from registry.store import migrate
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now
from registry.wiring.reference import Reference


class MaintenanceActions:
    def __init__(self, store: Store, reference: Reference) -> None:
        self._store = store
        self._reference = reference

    async def rescore(
        self, progress: Callable[[int, int], None] | None = None, *, only_outdated: bool = False
    ) -> rescoring.RescoreCounts:
        return await rescoring.rescore(self._store, now=utc_now(), progress=progress, only_outdated=only_outdated)

    async def rejudge(self) -> int:
        """Judge services again after changes on which their trust depends; return their number."""
        return await rejudging.rejudge(self._store, now=utc_now())

    async def tell_stale(self) -> int:
        """Add an event for each service that became stale; return their number."""
        return await record.tell_stale(self._store, now=utc_now())

    async def prune(self, retention: Retention) -> Mapping[str, int]:
        return await pruning.prune(self._store, retention, now=utc_now())

    async def refresh(self, urls: Mapping[str, str], fetch: refreshing.Fetch) -> refreshing.RefreshResult:
        """Fetch and store reference data. It is in force in this process when this returns or raises RefreshError."""
        try:
            return await refreshing.refresh(self._store, urls, fetch, now=utc_now())
        finally:
            await self._reference.adopt()

    async def rehome(self) -> rehoming.RehomeCounts:
        return await rehoming.rehome(self._store, now=utc_now())

    async def check_schema(self) -> None:
        """Raise OutdatedSchema unless the database has the schema of this program."""
        await migrate.check_schema(self._store.engine)
