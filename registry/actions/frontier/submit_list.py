"""Lists of hosts that are submitted together, once for each Idempotency-Key.

(draft-ietf-httpapi-idempotency-key-header: the same key with the same body gets the same answer, with another body an
error, and while the first request is being worked on another error.)
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from registry.actions.frontier.submit import REMEMBERED, submit_all
from registry.actions.mirroring.deciding import refuse_in_mirror
from registry.core.names.domains import Host, InvalidName, canonical_host
from registry.store.submission_lists import SubmissionListRecord, SubmittedHostRecord
from registry.store.unit_of_work import Store

MOST_HOSTS: Final = 1_000

BATCH: Final = 50
"""Hosts per transaction. Others that write about their domains wait for its end."""

KEYS_KEPT: Final = REMEMBERED
"""How long a key is remembered, with its client."""

LISTS_KEPT: Final = timedelta(days=30)

ABANDONED_AFTER: Final = timedelta(minutes=5)
"""After this time a list that is not done was left by a process that ended, and the next request with its key does the
rest. A list of MOST_HOSTS takes seconds."""

ACCEPTED: Final = frozenset({"new", "queued", "known"})


class KeyReused(Exception):
    """The client used this Idempotency-Key for another body."""


class InFlight(Exception):
    """The first request with this Idempotency-Key is still being worked on."""


@dataclass(frozen=True, slots=True)
class SubmittedList:
    """`hosts`: the accepted ones, in the order of the list. `refused`: {"index", "code"} of the others, and "retry_at"
    (ISO 8601) where it can be tried again. `is_repeated`: an earlier request with the same key submitted it."""

    id: UUID
    asked_at: datetime
    refused: Sequence[dict[str, Any]]
    is_repeated: bool = False


async def submit_list(
    store: Store,
    names: Sequence[str],
    *,
    list_id: UUID,
    body_sha256: bytes,
    client: str,
    key: str | None,
    now: datetime,
    exempt: Collection[str] = (),
) -> SubmittedList:
    """Queue the hosts, each as `submit` does, and store what became of each. Raise KeyReused, InFlight and
    DecidedAtOrigin.

    `list_id`: random bits that nobody can guess, used unless the key names an earlier list.
    """
    record = SubmissionListRecord(list_id, now, None, body_sha256, [])
    async with store.begin() as uow:
        await refuse_in_mirror(uow)
        before = None if key is None else await uow.submission_lists.of_key(client, key)
        if before is not None and now - before.asked_at < KEYS_KEPT:
            if before.body_sha256 != body_sha256:  # guard: idempotency-body
                raise KeyReused
            if before.done_at is not None:  # guard: idempotency-repeat
                return SubmittedList(before.id, before.asked_at, before.refused, is_repeated=True)
            if not await uow.submission_lists.take_over(before.id, asked_before=now - ABANDONED_AFTER, now=now):
                raise InFlight  # guard: idempotency-in-flight
            record = before
        else:
            if before is not None:
                await uow.submission_lists.erase_clients(before=before.asked_at)
            if not await uow.submission_lists.add(record, client=None if key is None else client, key=key):
                raise InFlight
    accepted, refused = await _submitted(store, names, record.id, client, now, exempt)
    async with store.begin() as uow:
        await uow.submission_lists.add_hosts(accepted)
        await uow.submission_lists.finish(record.id, refused, now=now)
        await uow.submission_lists.prune(before=now - LISTS_KEPT)
    return SubmittedList(record.id, record.asked_at, refused)


async def _submitted(
    store: Store, names: Sequence[str], list_id: UUID, client: str, now: datetime, exempt: Collection[str]
) -> tuple[list[SubmittedHostRecord], list[dict[str, Any]]]:
    """Submit the hosts, BATCH in a transaction; return the accepted ones and the refusals, in the order of the list."""
    places: dict[Host, int] = {}
    refused: list[dict[str, Any]] = []
    for index, name in enumerate(names):
        try:
            host = canonical_host(name, exempt=exempt)
        except InvalidName as error:
            refused.append({"index": index, "code": error.code})
            continue
        if places.setdefault(host, index) != index:
            refused.append({"index": index, "code": "repeated"})
    accepted: list[SubmittedHostRecord] = []
    hosts = list(places)
    for start in range(0, len(hosts), BATCH):
        batch = hosts[start : start + BATCH]
        for host, submission in zip(batch, await submit_all(store, batch, client=client, now=now), strict=True):
            if submission.state in ACCEPTED:
                accepted.append(SubmittedHostRecord(host.domain, host.host, list_id, places[host], submission.state))
                continue
            refusal: dict[str, Any] = {"index": places[host], "code": submission.state}
            if submission.retry_at is not None:
                refusal["retry_at"] = submission.retry_at.isoformat()
            refused.append(refusal)
    return accepted, sorted(refused, key=itemgetter("index"))
