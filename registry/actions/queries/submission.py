"""What became of a list of submitted hosts, state by state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from registry.actions.queries.inspect import HostStatus, status
from registry.store.submission_lists import HostState as HostState  # interfaces name it
from registry.store.unit_of_work import Store


@dataclass(frozen=True, slots=True)
class SubmittedHost:
    """`status`: None when nothing is known of the host any more, or its site opted out."""

    now: HostState
    status: HostStatus | None


@dataclass(frozen=True, slots=True)
class ListStatus:
    """`counts`: number of accepted hosts by state. `refused`: as in `submit_list.SubmittedList`. `next_index`: where
    the next page begins; None for the last one."""

    id: UUID
    asked_at: datetime
    is_done: bool
    counts: Mapping[str, int]
    refused: Sequence[Mapping[str, Any]]
    hosts: Sequence[SubmittedHost]
    next_index: int | None


async def list_status(store: Store, list_id: UUID, *, after: int, limit: int, now: datetime) -> ListStatus | None:
    """Return a page of the list, from the host at place `after` on; None when there is no such list."""
    async with store.begin() as uow:
        record = await uow.submission_lists.get(list_id)
        if record is None:
            return None
        counts = await uow.submission_lists.counts(list_id, now=now)
        states = await uow.submission_lists.page(list_id, after=after, limit=limit + 1, now=now)
    shown = states[:limit]
    statuses = [None if one.state == "opted_out" else await status(store, one.host, now=now) for one in shown]
    return ListStatus(
        id=record.id,
        asked_at=record.asked_at,
        is_done=record.done_at is not None,
        counts=counts,
        refused=record.refused,
        hosts=[SubmittedHost(one, about) for one, about in zip(shown, statuses, strict=True)],
        next_index=states[limit].index if len(states) > limit else None,
    )
