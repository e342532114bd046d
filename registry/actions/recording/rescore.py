"""Recomputes services from their stored documents by the current rules, without any request.

Domains are locked meanwhile, so that a visit recorded at the same time is neither lost nor overwritten.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Final

from registry.actions.recording.conclude import may_be_mcp_server
from registry.actions.recording.known import compute_with_known
from registry.actions.recording.mcp_servers import write_mcp_servers
from registry.actions.recording.present import (
    Capabilities,
    ListingFacts,
    Presentation,
    assessment_of,
    change_of,
    held_documents,
    needs_body,
    present,
)
from registry.actions.recording.reconcile import Current, findings_json
from registry.core.access.holds import Limits
from registry.core.changes.kinds import State
from registry.core.merging.speaking import Known
from registry.core.model.listing import TrustLevel
from registry.core.scoring.rubric import VERSION
from registry.store.records import ChangeRecord, DocumentRecord, ServiceRecord
from registry.store.repository import Key
from registry.store.unit_of_work import UnitOfWork

BATCH: Final = 20
"""Hosts per transaction: all their bodies are in memory at once, at most 4 MiB each."""


async def rescore_hosts(uow: UnitOfWork, keys: Sequence[Key], now: datetime) -> int:
    """Rescore hosts of locked domains, by (domain, host); return the number of services that changed. Raise ValueError
    or TypeError for a document that cannot be decoded."""
    domains = {domain for domain, _ in keys}
    documents = await uow.documents.of(domains, strict=True)
    services = await uow.services.of(domains)
    limits = await uow.holds.limits(domains)
    by_host = {
        key: [Current(document) for document in host_documents] for key, host_documents in groupby(documents, key=_key)
    }
    selected = {key: by_host[key] for key in keys if key in by_host}
    bodies = await uow.documents.bodies(
        {
            (document.record.domain, document.record.sha256)
            for group in selected.values()
            for document in group
            if needs_body(document)
        }
    )
    computing = partial(_compute, selected, bodies, services, limits, now)
    computed = await compute_with_known(
        uow,
        services.values(),
        computing,
        lambda made: [shown.service for _, shown in made.values() if shown.service is not None],
    )
    capabilities = await uow.services.capabilities([key for key in selected if key[1] in services])
    changed = 0
    for key, (rejudged, shown) in computed.items():
        await uow.documents.put(rejudged)
        hidden_as = limits[key[0]].state(key[1])
        changed += await _write(uow, key, services.get(key[1]), capabilities.get(key, {}), shown, hidden_as, now)
    return changed


def _compute(
    selected: Mapping[Key, Sequence[Current]],
    bodies: Mapping[tuple[str, bytes], bytes],
    services: Mapping[str, ServiceRecord],
    limits: Mapping[str, Limits],
    now: datetime,
    known: Known,
) -> dict[Key, tuple[list[DocumentRecord], Presentation]]:
    computed = {}
    for (domain, host), current in selected.items():
        assessed = [replace(document, assessment=assessment_of(document, bodies)) for document in current]
        previous = services.get(host)
        seen_at = previous.seen_at if previous else max(document.record.seen_at for document in assessed)
        standing = ListingFacts(
            seen_at,
            previous.crawl_failures if previous else 0,
            previous is not None and previous.trust_level is TrustLevel.UNVERIFIED,
            not limits[domain].may_be_listed(host),
            known,
        )
        shown = present(domain, host, held_documents(assessed, bodies), previous, standing, now)
        computed[domain, host] = (
            [new for document in assessed if (new := _rejudged(document)) != document.record],
            shown,
        )
    return computed


def _rejudged(current: Current) -> DocumentRecord:
    """Return the document as judged by the current rules; unchanged if it has no body or is a copy."""
    assessment = current.assessment
    if assessment is None or not current.record.has_body or current.record.alias_of is not None:
        return current.record
    is_same_outcome = assessment.outcome is current.record.outcome
    return replace(
        current.record,
        outcome=assessment.outcome,
        reason=current.record.reason
        if is_same_outcome
        else assessment.reason,  # "echo_host" is a reason of the host, not of the body
        format=assessment.format,
        dialect=assessment.dialect,
        findings=findings_json(assessment),
        rubric_version=VERSION,
    )


async def _write(
    uow: UnitOfWork,
    key: Key,
    previous: ServiceRecord | None,
    capabilities: Capabilities,
    shown: Presentation,
    hidden_as: State | None,
    now: datetime,
) -> bool:
    """Write the result; return whether anything shown changed."""
    await uow.services.replace_findings({key: shown.findings})
    if may_be_mcp_server(previous, shown):
        await write_mcp_servers(uow, {key: shown.servers}, now)
    if shown.service is None or shown.score is None:
        if previous is None:
            return False
        await uow.services.remove([key])
        await uow.ledger.add_changes(
            [ChangeRecord(*key, "service.delisted", now, {"state": "gone", "reason": "rescored"})]
        )
        return True
    await uow.services.replace_capabilities({key: shown.capabilities}, now=now)
    await uow.services.put([shown.service])
    await uow.services.add_scores([shown.score])
    events = await asyncio.to_thread(
        change_of, previous, capabilities, shown, now, cause="rescore", hidden_as=hidden_as
    )
    await uow.ledger.add_changes(events)
    return previous is None or shown.service.updated_at == now


def _key(document: DocumentRecord) -> Key:
    return document.domain, document.host
