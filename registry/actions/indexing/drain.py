"""Carry noted changes over to the search index; called again and again by whoever feeds it."""

from dataclasses import dataclass
from datetime import datetime

from registry.actions.indexing.feeding import carry, enrol, feeding
from registry.actions.indexing.reindex import rebuild
from registry.core.listing import SearchUnavailable
from registry.core.ranking import Embedder
from registry.search.backend import Backend, IndexState, WriterBusy
from registry.store.unit_of_work import Store


@dataclass(frozen=True, slots=True)
class Drained:
    """Notes that were dropped, and what it took: unchanged documents are not written."""

    notes: int
    written: int
    deleted: int
    rebuilt: bool


async def drain(store: Store, backend: Backend, *, now: datetime, embedder: Embedder | None = None) -> Drained | None:
    """Bring the index up to date with the database; None while another process does that.

    An index that is missing, outdated or damaged is built anew first. Raises StoreUnavailable and SearchUnavailable;
    nothing is lost by either, the notes stay.
    """
    await enrol(store, backend, now=now)
    state = (await backend.health()).state
    if state is IndexState.AWAY:  # an engine that is too slow to answer is not helped by a build on top
        raise SearchUnavailable("the search engine does not answer")
    needs_build = state is not IndexState.READY
    if not needs_build and await _is_up_to_date(store, backend):
        return Drained(0, 0, 0, False)
    async with feeding(store, backend) as hold:
        if hold is None:
            return None
        try:
            if needs_build:
                await rebuild(store, backend, hold, embedder=embedder)
            carried = await carry(store, backend, hold, embedder)
        except WriterBusy:
            return None
        return Drained(carried.notes, carried.written, carried.deleted, needs_build)


async def _is_up_to_date(store: Store, backend: Backend) -> bool:
    """The usual case costs one query and no lock."""
    async with store.begin() as uow:
        return await uow.search.oldest(backend.target) is None
