"""What the owner of a host sees: the ownership, what is set, the webhook, and who changed what."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from registry.actions.ownership.authorising import reader
from registry.core.access.holds import HoldKind
from registry.core.access.tokens import Token
from registry.core.names.domains import registrable_domain
from registry.store.audit import AuditRecord
from registry.store.claims import ClaimRecord, OwnerSettingRecord
from registry.store.reports import ReportRecord
from registry.store.unit_of_work import Store
from registry.store.webhooks import WebhookRecord

ENTRIES: Final = 50
"""Latest entries of the audit log that are shown."""


@dataclass(frozen=True, slots=True)
class Overview:
    """`holds`: those that cover the host. `setting`: None where nothing is set. `reports`: the latest about it, without
    who filed them."""

    host: str
    claim: ClaimRecord
    holds: frozenset[HoldKind]
    setting: OwnerSettingRecord | None
    webhook: WebhookRecord | None
    audit: Sequence[AuditRecord]
    reports: Sequence[ReportRecord]


async def overview(store: Store, token: Token, host: str) -> Overview:
    """Raise NotAnOwner and OtherHost."""
    domain = registrable_domain(host)
    async with store.begin() as uow:
        claim = await reader(uow, token, host)
        setting = await uow.owner_settings.get(domain, host)
        webhook = None
        if setting is not None and setting.webhook is not None:
            webhook = await uow.webhooks.locked(setting.webhook)
        limits = (await uow.holds.limits([domain]))[domain]
        entries = await uow.audit.latest(limit=ENTRIES, host=host)
        reports = await uow.reports.of_host(domain, host, limit=ENTRIES)
    return Overview(host, claim, limits.kinds(host), setting, webhook, entries, reports)
