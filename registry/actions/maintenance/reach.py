"""Stores the reach of capabilities that an earlier program recorded, from what is stored of them."""

import logging
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from registry.core.calling.call import call_of
from registry.core.calling.reach import Reach, detail_answers, reach_of, with_reach
from registry.core.model.documents import Purpose
from registry.core.model.services import from_json
from registry.store.records import DocumentRecord, ServiceRecord
from registry.store.services import UnreachedCapability
from registry.store.unit_of_work import Store, UnitOfWork
from registry.store.values import key_name

BATCH: Final = 20  # hosts per transaction

_UNREADABLE: Final = Reach(reason="no_endpoint").to_json()  # no answer shows a capability that cannot be decoded

_log = logging.getLogger(__name__)


async def fill_reach(store: Store) -> int:
    """Return the number of services that were filled. Safe to repeat, and beside other writers."""
    filled = 0
    while True:
        async with store.begin() as uow:
            if await uow.mirroring.get() is not None:
                await uow.mirroring.lock()
            keys = await uow.services.unreached(limit=BATCH)
            if not keys:
                return filled
            domains = {domain for domain, _ in keys}
            await uow.domains.lock(domains)
            await _fill(uow, domains, await uow.services.unreached_capabilities(keys))
            filled += len(keys)


async def _fill(uow: UnitOfWork, domains: Collection[str], stored: Sequence[UnreachedCapability]) -> None:
    services = await uow.services.of(domains)
    documents = [one for one in await uow.documents.of(domains) if one.purpose == Purpose.DETAIL.value]
    changed = []
    for (_, host), group in groupby(stored, key=lambda one: (one.domain, one.host)):
        capabilities, service = list(group), services.get(host)
        reach = _reach_by_name(service, capabilities, documents)
        by_key = {key_name(name): value for name, value in reach.items()}
        await uow.services.set_reach((one, by_key.get(one.name, _UNREADABLE)) for one in capabilities)
        if service is not None and (listing := with_reach(service.listing, reach)) != service.listing:
            service.listing = listing
            changed.append(service)
    await uow.services.stamp(changed)


def _reach_by_name(
    service: ServiceRecord | None, capabilities: Sequence[UnreachedCapability], documents: Sequence[DocumentRecord]
) -> Mapping[str, dict[str, Any]]:
    """Return the reach of each capability by its name; nothing where the service cannot be decoded."""
    if service is None:
        return {}
    try:
        model = from_json({**service.model, "capabilities": [one.value() for one in capabilities]})
    except (ValueError, TypeError):
        _log.error("a capability of %s cannot be decoded: rescore rewrites it", service.host)
        return {}
    answered = detail_answers((one.via, one.url, one.outcome) for one in documents if one.host == service.host)
    return {
        one.name: reach_of(service.host, one, call_of(model, one, None), answered(one)).to_json()
        for one in model.capabilities
    }
