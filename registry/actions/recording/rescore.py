"""Recomputes services from their stored documents by the current rules, without any request.

Domains are locked meanwhile, so that a visit recorded at the same time is neither lost nor overwritten.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Final

from registry.actions.recording.conclude import StoredDomains, Writes, add_shown
from registry.actions.recording.present import ListingFacts, assessment_of, held_documents, needs_body, present
from registry.actions.recording.reconcile import Current, findings_json
from registry.actions.recording.record import compute_with_known, write
from registry.core.merging.speaking import Known
from registry.core.model.listing import TrustLevel
from registry.core.scoring.rubric import VERSION
from registry.store.records import DocumentRecord
from registry.store.repository import Key
from registry.store.unit_of_work import UnitOfWork

BATCH: Final = 20  # hosts per transaction: all their bodies are in memory at once, at most 4 MiB each


async def rescore_hosts(uow: UnitOfWork, keys: Sequence[Key], now: datetime) -> int:
    """Rescore hosts of locked domains, by (domain, host); return the number of services that changed. Raise ValueError
    or TypeError for a document that cannot be decoded."""
    domains = {domain for domain, _ in keys}
    documents = await uow.documents.of(domains, strict=True)
    before = StoredDomains({}, documents, await uow.services.of(domains), await uow.holds.limits(domains))
    by_host = {
        key: [Current(document) for document in held]
        for key, held in groupby(documents, key=lambda document: (document.domain, document.host))
    }
    selected = {key: by_host[key] for key in keys if key in by_host}
    needed = (document for group in selected.values() for document in group if needs_body(document))
    bodies = await uow.documents.bodies({(document.record.domain, document.record.sha256) for document in needed})
    before.capabilities = await uow.services.capabilities([key for key in selected if key[1] in before.services])
    writes = await compute_with_known(uow, before.services, partial(_compute, selected, bodies, before, now))
    await write(uow, writes, now)
    changed = [one for one in writes.services if one.host not in before.services or one.updated_at == now]
    return len(writes.delisted) + len(changed)


def _compute(
    selected: Mapping[Key, Sequence[Current]],
    bodies: Mapping[tuple[str, bytes], bytes],
    before: StoredDomains,
    now: datetime,
    known: Known,
) -> Writes:
    writes = Writes()
    for (domain, host), current in selected.items():
        assessed = [replace(document, assessment=assessment_of(document, bodies)) for document in current]
        previous = before.services.get(host)
        facts = ListingFacts(
            previous.seen_at if previous else max(document.record.seen_at for document in assessed),
            previous.crawl_failures if previous else 0,
            previous is not None and previous.trust_level is TrustLevel.UNVERIFIED,
            not before.limits[domain].may_be_listed(host),
            known,
        )
        shown = present(domain, host, held_documents(assessed, bodies), previous, facts, now)
        writes.documents += [new for document in assessed if (new := _rejudged(document)) != document.record]
        hidden_as, gone = before.limits[domain].state(host), {"reason": "rescored"}
        add_shown(writes, (domain, host), before, shown, now, cause="rescore", hidden_as=hidden_as, gone=gone)
    return writes


def _rejudged(current: Current) -> DocumentRecord:
    """Return the document as judged by the current rules; unchanged if it has no body or is a copy."""
    assessment = current.assessment
    if assessment is None or not current.record.has_body or current.record.alias_of is not None:
        return current.record
    is_same_outcome = assessment.outcome is current.record.outcome
    return replace(
        current.record,
        outcome=assessment.outcome,
        # "echo_host" is a reason of the host, not of the body
        reason=current.record.reason if is_same_outcome else assessment.reason,
        format=assessment.format,
        dialect=assessment.dialect,
        findings=findings_json(assessment),
        rubric_version=VERSION,
    )
