"""The actions on opt-outs: requests, their checks, the consequences, and the file that outlives the database."""

import asyncio
import logging
from collections.abc import Collection, Sequence
from pathlib import Path

from registry.actions.maintenance import forget as forgetting
from registry.actions.maintenance import opt_out as opting_out
from registry.settings import Settings
from registry.store.records import OptOutRequestRecord
from registry.store.unit_of_work import Store
from registry.wiring.clock import utc_now

_log = logging.getLogger(__name__)


class OptOutFileUnreadable(Exception):
    """The file of opt-outs cannot be read, so serving and crawling must not start: sites in it may have opted out."""


def opt_out_path(settings: Settings) -> Path:
    return settings.opt_out_file or settings.data / "opt-outs.log"


async def replay_own_file(store: Store) -> None:
    """Apply this machine's file of opt-outs, before anything is served or crawled. Raise OptOutFileUnreadable."""
    if store.opt_out_file is None:
        return
    try:
        lines, unreadable = await asyncio.to_thread(store.opt_out_file.read)
    except OSError as error:
        raise OptOutFileUnreadable(f"{store.opt_out_file.path}: {error.strerror}") from error
    if unreadable:
        _log.warning("%d lines of %s cannot be read", unreadable, store.opt_out_file.path)
    if lines:
        replayed = await opting_out.replay(store.without_file(), lines, now=utc_now())
        if replayed.opted_out or replayed.readmitted:
            counts = len(replayed.opted_out), len(replayed.readmitted)
            _log.warning("the database was older than the opt-outs: %d applied, %d ended", *counts)


class OptOutActions:
    """`exempt`: names of the connect-to table, which may be special-use names."""

    def __init__(self, store: Store, exempt: Collection[str]) -> None:
        self._store = store
        self._exempt = exempt

    async def hosts(self, domain: str) -> Collection[str]:
        """Return the hosts of a registrable domain that opted out; each also covers all hosts below it."""
        async with self._store.begin() as uow:
            return (await uow.opt_outs.of([domain])).get(domain, frozenset())

    async def request(self, name: str, wish: opting_out.Wish, *, client: str) -> opting_out.OptOutStatus:
        return await opting_out.ask(self._store, name, wish, client=client, now=utc_now(), exempt=self._exempt)

    async def request_as_operator(self, name: str, wish: opting_out.Wish) -> OptOutRequestRecord:
        """Register a request that the caller checks at once, without limits on repetition."""
        return await opting_out.ask_at_once(self._store, name, wish, now=utc_now(), exempt=self._exempt)

    async def status(self, host: str) -> opting_out.OptOutStatus:
        return await opting_out.status(self._store, host)

    async def claim(self, limit: int) -> Sequence[OptOutRequestRecord]:
        """Return requests for the caller to check."""
        return await opting_out.claim(self._store, limit=limit, now=utc_now())

    async def settle(self, request: OptOutRequestRecord, proof: opting_out.Proof) -> opting_out.Verdict:
        return await opting_out.settle(self._store, request, proof, now=utc_now())

    async def readmit(self, host: str) -> opting_out.Verdict:
        return await opting_out.readmit(self._store, host, now=utc_now())

    async def forget(self, name: str, *, opt_out: bool, reason: str) -> forgetting.ForgetResult:
        """Delete everything stored about the host; with `opt_out` also never visit it again."""
        declared_by: forgetting.How | None = "operator" if opt_out else None
        return await forgetting.forget(
            self._store, name, now=utc_now(), opt_out=declared_by, evidence=reason, reason=reason
        )
