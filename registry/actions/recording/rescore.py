"""Every service once more from its stored documents, by today's rules: no request is made for it.

Host by host under the lock of its domain, so that a visit recorded meanwhile is neither lost nor overwritten.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import Final

from registry.actions.recording.conclude import change_of
from registry.actions.recording.present import Shown, Standing, held_documents, judged, needs_body, present
from registry.actions.recording.reconcile import Current, findings_json
from registry.core.listing import TrustLevel
from registry.core.scoring.rubric import VERSION
from registry.store.errors import StoreUnavailable
from registry.store.records import ChangeRecord, DocumentRecord, ServiceRecord
from registry.store.unit_of_work import Store, UnitOfWork

BATCH: Final = 20
"""Hosts in one transaction: all their bodies are in memory at once, at most 4 MiB each."""

_log = logging.getLogger(__name__)

Key = tuple[str, str]


@dataclass(slots=True)
class Rescored:
    """Hosts looked at, services that came out different (gone ones included), hosts that could not be done."""

    hosts: int = 0
    changed: int = 0
    failed: list[str] = field(default_factory=list)


async def rescore(
    store: Store,
    *,
    now: datetime,
    progress: Callable[[int, int], None] | None = None,
    only_outdated: bool = False,
) -> Rescored:
    """`progress` is called with the hosts done and the hosts there are. Raises StoreUnavailable; can be repeated.

    `only_outdated`: hosts with anything that was judged by another version of the rubric.
    """
    result, but = Rescored(), VERSION if only_outdated else None
    async with store.begin() as uow:
        total = await uow.documents.count_hosts(but_version=but)
    after: Key = ("", "")
    while True:
        async with store.begin() as uow:
            keys = await uow.documents.hosts(after, limit=BATCH, but_version=but)
        if not keys:
            return result
        await _rescore_or_halve(store, keys, now, result)
        after = keys[-1]
        result.hosts += len(keys)
        if progress is not None:
            progress(result.hosts, max(total, result.hosts))


async def _rescore_or_halve(store: Store, keys: Sequence[Key], now: datetime, result: Rescored) -> None:
    try:
        result.changed += await _rescore_together(store, keys, now)
    except StoreUnavailable:
        raise
    except Exception as error:  # one host's documents must not keep all others from being scored
        if len(keys) == 1:
            _log.error("%s cannot be rescored", keys[0][1], exc_info=error)
            result.failed.append(keys[0][1])
            return
        middle = len(keys) // 2
        for half in (keys[:middle], keys[middle:]):
            await _rescore_or_halve(store, half, now, result)


async def _rescore_together(store: Store, keys: Sequence[Key], now: datetime) -> int:
    async with store.begin() as uow:
        await uow.domains.lock({domain for domain, _ in keys})
        return await rescore_hosts(uow, keys, now)


async def rescore_hosts(uow: UnitOfWork, keys: Sequence[Key], now: datetime) -> int:
    """Hosts of locked domains, by (domain, host), from their stored documents; gives the services that came out
    different. Raises ValueError for a document that cannot be decoded."""
    domains = {domain for domain, _ in keys}
    documents = await uow.documents.of(domains, strict=True)
    services = await uow.services.of(domains)
    by_host = {key: [Current(one) for one in of_host] for key, of_host in groupby(documents, key=_key)}
    wanted = {key: by_host[key] for key in keys if key in by_host}
    bodies = await uow.documents.bodies(
        {(one.record.domain, one.record.sha256) for of in wanted.values() for one in of if needs_body(one)}
    )
    computed = await asyncio.to_thread(_compute, wanted, bodies, services, now)
    changed = 0
    for key, (rejudged, shown) in computed.items():
        await uow.documents.put(rejudged)
        changed += await _write(uow, key, services.get(key[1]), shown, now)
    return changed


def _compute(
    wanted: Mapping[Key, Sequence[Current]],
    bodies: Mapping[tuple[str, bytes], bytes],
    services: Mapping[str, ServiceRecord],
    now: datetime,
) -> dict[Key, tuple[list[DocumentRecord], Shown]]:
    computed = {}
    for (domain, host), current in wanted.items():
        fresh = [replace(one, assessment=judged(one, bodies)) for one in current]
        previous = services.get(host)
        seen_at = previous.seen_at if previous else max(one.record.seen_at for one in fresh)
        standing = Standing(
            seen_at,
            previous.crawl_failures if previous else 0,
            previous is not None and previous.trust_level is TrustLevel.UNVERIFIED,
            previous is not None and previous.hidden,
        )
        shown = present(domain, host, held_documents(fresh, bodies), previous, standing, now)
        computed[domain, host] = ([new for one in fresh if (new := _rejudged(one)) != one.record], shown)
    return computed


def _rejudged(one: Current) -> DocumentRecord:
    """The document as today's rules read its body. That it was found and is asked for again does not change."""
    judgement = one.assessment
    if judgement is None or not one.record.has_body or one.record.alias_of is not None:
        return one.record
    same = judgement.outcome is one.record.outcome
    return replace(
        one.record,
        outcome=judgement.outcome,
        reason=one.record.reason if same else judgement.reason,  # "echo_host" is about the host, not the body
        format=judgement.format,
        dialect=judgement.dialect,
        findings=findings_json(judgement),
        rubric_version=VERSION,
    )


async def _write(uow: UnitOfWork, key: Key, previous: ServiceRecord | None, shown: Shown, now: datetime) -> bool:
    """Whether anything shown is different."""
    await uow.services.replace_findings({key: shown.findings})
    if shown.service is None or shown.score is None:
        if previous is None:
            return False
        await uow.services.remove([key])
        await uow.ledger.add_changes([ChangeRecord(*key, "service.delisted", now, {"reason": "rescored"})])
        return True
    await uow.services.replace_capabilities({key: shown.capabilities})
    await uow.services.put([shown.service])
    await uow.services.add_scores([shown.score])
    await uow.ledger.add_changes(change_of(previous, shown, now))
    return previous is None or shown.service.updated_at == now


def _key(document: DocumentRecord) -> Key:
    return document.domain, document.host
