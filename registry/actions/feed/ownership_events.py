"""Makes the events of ownerships. They name what an owner sets without its value: a note that is deleted is gone."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

from registry.core.access.claims import EndReason
from registry.store.claims import ClaimRecord
from registry.store.records import ChangeRecord


def proven(claim: ClaimRecord, now: datetime) -> ChangeRecord:
    data = {"state": "proven", "method": claim.method, "scope": claim.scope}
    return ChangeRecord(claim.domain, claim.host, "ownership.proven", now, data)


def changed(domain: str, host: str, member: Literal["owner_note", "canonical_host"], now: datetime) -> ChangeRecord:
    """Return the event of a setting of the host. `member`: its name in the answer about the service."""
    return ChangeRecord(domain, host, "ownership.changed", now, {"state": "proven", "changed": [member]})


def repinned(domain: str, hosts: Iterable[str], now: datetime) -> list[ChangeRecord]:
    """Return the events of hosts that another canonical host stands for now, or none."""
    return [changed(domain, host, "canonical_host", now) for host in hosts]


def ended(claim: ClaimRecord, reason: EndReason, now: datetime) -> ChangeRecord:
    data = {"state": "ended", "scope": claim.scope, "reason": reason}
    return ChangeRecord(claim.domain, claim.host, "ownership.ended", now, data)
