"""Fetch reference data from its publishers, and store it only if it is plausible."""

import hashlib
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from registry.core.model.documents import FetchResult
from registry.core.names import addresses, suffixes
from registry.core.names.addresses import REGISTRY_V4, REGISTRY_V6, RegistryRow
from registry.core.names.suffixes import BadReference, SuffixList
from registry.store.reference import ReferenceRecord
from registry.store.unit_of_work import Store

SUFFIXES: Final = "public-suffix-list"


CAPS: Final[Mapping[str, int]] = {SUFFIXES: 2 * 1024 * 1024, REGISTRY_V4: 256 * 1024, REGISTRY_V6: 256 * 1024}
"""Maximum size in bytes by name, about eight times today's; its keys are all the names."""


class Fetch(Protocol):
    """Fetches an https URL with the crawler's guarded transport. Returns failures, never raises them."""

    def __call__(
        self, url: str, *, cap: int, etag: str | None, last_modified: str | None
    ) -> Awaitable[FetchResult]: ...


class RefreshError(Exception):
    """Some data could not be fetched or was refused; the rest was stored. `refreshed.refused` has the reasons."""

    def __init__(self, refreshed: "RefreshResult") -> None:
        super().__init__("; ".join(f"{name}: {reason}" for name, reason in refreshed.refused.items()))
        self.refreshed = refreshed


@dataclass(slots=True)
class RefreshResult:
    """Results by name: `changed` (stored), `unchanged`, and `refused` with the reason."""

    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


async def refresh(store: Store, urls: Mapping[str, str], fetch: Fetch, *, now: datetime) -> RefreshResult:
    """Refresh all data. `urls`: by name of CAPS, empty ones are skipped. Try all, then raise RefreshError if any
    failed."""
    result = RefreshResult()
    for name, url in urls.items():
        if not url:
            continue
        try:
            has_changed = await _refresh(store, name, url, fetch, now)
        except BadReference as error:
            result.refused[name] = str(error)
        else:
            (result.changed if has_changed else result.unchanged).append(name)
    if result.refused:
        raise RefreshError(result)
    return result


def checked_data(name: str, body: bytes) -> SuffixList | tuple[RegistryRow, ...]:
    """Return the suffix list, or the address blocks to refuse beside the shipped ones. Raise BadReference."""
    if name == SUFFIXES:
        newer = suffixes.require_plausible(suffixes.parse_suffixes(body), suffixes.SHIPPED)
        if newer.version < suffixes.SHIPPED.version:
            raise BadReference(f"the list is of {newer.version or 'no date'}, the shipped one newer")
        return newer
    return addresses.require_plausible(addresses.parse_registry(body, name), name)


async def _refresh(store: Store, name: str, url: str, fetch: Fetch, now: datetime) -> bool:
    """Refresh one; return whether it changed. Raise BadReference."""
    async with store.begin() as uow:
        known = await uow.references.get(name)
    same_url = known is not None and known.url == url
    fetched = await fetch(
        url,
        cap=CAPS[name],
        etag=known.etag if known and same_url else None,
        last_modified=known.last_modified if known and same_url else None,
    )
    if fetched.status == 304 and known is not None:
        async with store.begin() as uow:
            await uow.references.checked(name, now=now)
        return False
    body = _body(fetched)
    checked_data(name, body)
    _require_not_older(name, body, known)
    record = ReferenceRecord(
        name,
        body,
        hashlib.sha256(body).digest(),
        url,
        fetched.headers.get("etag"),
        fetched.headers.get("last-modified"),
        now,
        now,
    )
    async with store.begin() as uow:
        await uow.references.put(record)
    return known is None or known.sha256 != record.sha256


def _body(fetched: FetchResult) -> bytes:
    if fetched.failure is not None:
        raise BadReference(f"{fetched.failure.value} ({fetched.reason})")
    if fetched.status != 200 or fetched.truncated:
        raise BadReference(f"answered with status {fetched.status}")
    return fetched.body


def _require_not_older(name: str, body: bytes, known: ReferenceRecord | None) -> None:
    """Raise BadReference for an older list: a lagging mirror or a replayed list must not move hosts back."""
    if name != SUFFIXES or known is None:
        return
    newer, stored = suffixes.parse_suffixes(body), suffixes.parse_suffixes(known.body)
    if newer.version < stored.version:
        raise BadReference(f"the list is of {newer.version or 'no date'}, the stored one of {stored.version}")
