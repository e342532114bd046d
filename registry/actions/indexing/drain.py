"""Applies noted changes to the search index; called repeatedly by the process that feeds it."""

from dataclasses import dataclass
from datetime import datetime

from registry.actions.indexing.feeding import apply_notes, feeding, register_target
from registry.actions.indexing.reindex import rebuild
from registry.core.model.listing import SearchUnavailable
from registry.core.ranking import Embedder
from registry.search.backend import Backend, IndexState, WriterBusy
from registry.store.unit_of_work import Store


@dataclass(frozen=True, slots=True)
class Drained:
    """Numbers of notes completed and of documents written and deleted; unchanged documents are not written."""

    notes: int
    written: int
    deleted: int
    rebuilt: bool


async def drain(store: Store, backend: Backend, *, now: datetime, embedder: Embedder | None = None) -> Drained | None:
    """Bring the index up to date with the database; None while another process does that.

    An index that is missing, outdated or damaged is rebuilt first. Raise StoreUnavailable and SearchUnavailable; the
    notes then stay, so nothing is lost.
    """
    await register_target(store, backend, now=now)
    state = (await backend.health()).state
    if state is IndexState.AWAY:  # a rebuild would not help an engine that is too slow to answer
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
            applied = await apply_notes(store, backend, hold, embedder)
        except WriterBusy:
            return None
        return Drained(applied.notes, applied.written, applied.deleted, needs_build)


async def _is_up_to_date(store: Store, backend: Backend) -> bool:
    """Return whether no note is left: the usual case, checked with one query and no lock."""
    async with store.begin() as uow:
        return await uow.search.oldest(backend.target) is None
