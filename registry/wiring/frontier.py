"""The actions on the frontier: add hosts, make them due, count waiting ones."""

import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from registry.actions.frontier import recheck as rechecking
from registry.actions.frontier import seed as seeding
from registry.actions.frontier import submit as submitting
from registry.actions.queries import inspect
from registry.core.names.domains import Host, canonical_host
from registry.core.names.seeds import Checkpoint, Refusal, Seeds
from registry.store.recorded import RecordedListener
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now


class FrontierActions:
    """`exempt`: names of the connect-to table, which may be special-use names."""

    def __init__(self, store: Store, exempt: Collection[str], listener: RecordedListener) -> None:
        self._store = store
        self._exempt = exempt
        self._listener = listener

    async def seed(
        self,
        names: Seeds,
        *,
        source: str,
        on_refusal: Callable[[Refusal], None] = lambda _: None,
        progress: Callable[[seeding.SeedReport], None] = lambda _: None,
        on_checkpoint: Callable[[Checkpoint], None] = lambda _: None,
    ) -> seeding.SeedReport:
        return await seeding.seed(
            self._store, names, source=source, now=utc_now(), exempt=self._exempt, on_refusal=on_refusal,
            progress=progress, on_checkpoint=on_checkpoint,
        )  # fmt: skip

    async def fold_candidates(self, on_refusal: Callable[[Refusal], None] = lambda _: None) -> seeding.SeedReport:
        return await seeding.fold_candidates(self._store, now=utc_now(), exempt=self._exempt, on_refusal=on_refusal)

    async def submit(self, name: str, *, client: str | None = None) -> submitting.Submission:
        return await submitting.submit(self._store, name, client=client, now=utc_now(), exempt=self._exempt)

    async def submit_list(
        self, names: Sequence[str], *, body_sha256: bytes, client: str, key: str | None
    ) -> submitting.SubmissionList:
        list_id = UUID(bytes=secrets.token_bytes(16), version=4)
        return await submitting.submit_list(
            self._store, names, list_id=list_id, body_sha256=body_sha256, client=client, key=key, now=utc_now(),
            exempt=self._exempt,
        )  # fmt: skip

    async def list_status(self, list_id: UUID, *, after: int, limit: int) -> inspect.SubmissionListStatus | None:
        return await inspect.list_status(self._store, list_id, after=after, limit=limit, now=utc_now())

    async def recheck(
        self, name: str, *, client: str | None = None, by_owner: bool = False, whole_plan: bool = True
    ) -> rechecking.Recheck:
        return await rechecking.recheck(
            self._store, name, client=client, by_owner=by_owner, whole_plan=whole_plan, now=utc_now(),
            exempt=self._exempt,
        )  # fmt: skip

    async def erase_clients(self) -> int:
        return await submitting.erase_clients(self._store, now=utc_now())

    async def wait_recorded(self, domain: str, host: str, *, since: datetime, seconds: float) -> bool:
        return await self._listener.wait(domain, host, since=since, seconds=seconds)

    async def make_due(self, names: Iterable[str]) -> int:
        return await seeding.make_due(self._store, names, now=utc_now(), exempt=self._exempt)

    async def recrawl(self) -> rechecking.RecrawlCounts:
        return await rechecking.recrawl(self._store, now=utc_now(), exempt=self._exempt)

    def hosts_of(self, names: Iterable[str]) -> list[Host]:
        """Return the canonical hosts of the names. Raise InvalidName."""
        return [canonical_host(name, exempt=self._exempt) for name in names]

    async def waiting(self, hosts: Collection[Host]) -> int:
        """Return how many of the hosts are due and not recorded yet, including those being visited."""
        return await inspect.waiting(self._store, [host.host for host in hosts], now=utc_now())
