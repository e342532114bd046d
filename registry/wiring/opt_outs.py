"""The actions on opt-outs: requests, their checks, and the consequences."""

from collections.abc import Collection, Sequence

from registry.actions.maintenance import forget as forgetting
from registry.actions.maintenance import opt_out as opting_out
from registry.store.records import OptOutRequestRecord
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now


class OptOutActions:
    """`exempt`: names of the connect-to table, which may be special-use names."""

    def __init__(self, store: Store, exempt: Collection[str]) -> None:
        self._store = store
        self._exempt = exempt

    async def hosts(self, domain: str) -> Collection[str]:
        """Return the hosts of a registrable domain that opted out; each covers all hosts below it too."""
        async with self._store.begin() as uow:
            return (await uow.opt_outs.of([domain])).get(domain, frozenset())

    async def request(self, name: str, wish: opting_out.Wish, *, client: str) -> opting_out.Asked:
        return await opting_out.ask(self._store, name, wish, client=client, now=utc_now(), exempt=self._exempt)

    async def request_as_operator(self, name: str, wish: opting_out.Wish) -> OptOutRequestRecord:
        """Register a request that the caller checks at once; no limit on repetitions applies."""
        return await opting_out.ask_at_once(self._store, name, wish, now=utc_now(), exempt=self._exempt)

    async def status(self, host: str) -> opting_out.Asked:
        return await opting_out.status(self._store, host)

    async def claim(self, limit: int) -> Sequence[OptOutRequestRecord]:
        """Return requests for the caller to check."""
        return await opting_out.claim(self._store, limit=limit, now=utc_now())

    async def settle(self, request: OptOutRequestRecord, proof: opting_out.Proof) -> opting_out.Verdict:
        return await opting_out.settle(self._store, request, proof, now=utc_now())

    async def readmit(self, host: str) -> opting_out.Verdict:
        return await opting_out.readmit(self._store, host, now=utc_now())

    async def forget(self, name: str, *, opt_out: bool, reason: str) -> forgetting.Forgotten:
        """Delete everything stored about the host; with `opt_out` also bar it from being visited again."""
        declared_by: forgetting.How | None = "operator" if opt_out else None
        return await forgetting.forget(
            self._store, name, now=utc_now(), opt_out=declared_by, evidence=reason, reason=reason
        )
