"""Reference data from its publishers: fetched, doubted, stored. What is not believed changes nothing and is told.

`believed` is also how stored data is read again: by whoever adopts it, against what that program was shipped with.
"""

import hashlib
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from registry.core import special_purpose, suffixes
from registry.core.addresses import REGISTRY_V4, REGISTRY_V6, Row
from registry.core.documents import Fetched
from registry.core.suffixes import BadReference, SuffixList
from registry.store.reference import ReferenceRecord
from registry.store.unit_of_work import Store

SUFFIXES: Final = "public-suffix-list"
CAPS: Final[Mapping[str, int]] = {SUFFIXES: 2 * 1024 * 1024, REGISTRY_V4: 256 * 1024, REGISTRY_V6: 256 * 1024}
"""Bytes, about eight times what each is today; also all names there are."""


class Fetch(Protocol):
    """One https URL by the crawler's own guarded transport; whatever the server does is in the answer."""

    def __call__(self, url: str, *, cap: int, etag: str | None, last_modified: str | None) -> Awaitable[Fetched]: ...


class RefreshFailed(Exception):
    """Some of the data did not come, or was not believed; the rest was kept. `reasons`: by name, in our words."""

    def __init__(self, refreshed: "Refreshed") -> None:
        super().__init__("; ".join(f"{name}: {why}" for name, why in refreshed.refused.items()))
        self.refreshed = refreshed


@dataclass(slots=True)
class Refreshed:
    """By name: `changed` (stored anew), `unchanged`, and `refused` with the reason."""

    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


async def refresh(store: Store, urls: Mapping[str, str], fetch: Fetch, *, now: datetime) -> Refreshed:
    """`urls`: by name of CAPS; an empty one is not asked. Raises RefreshFailed after all were tried."""
    result = Refreshed()
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
        raise RefreshFailed(result)
    return result


def believed(name: str, body: bytes) -> SuffixList | tuple[Row, ...]:
    """What it says: the suffix list, or the blocks that are refused beside the shipped ones. Raises BadReference."""
    if name == SUFFIXES:
        newer = suffixes.believable(suffixes.parse_suffixes(body), suffixes.SHIPPED)
        if newer.version < suffixes.SHIPPED.version:
            raise BadReference(f"the list is of {newer.version or 'no date'}, the shipped one newer")
        return newer
    return special_purpose.believable(special_purpose.parse_registry(body, name), name)


async def _refresh(store: Store, name: str, url: str, fetch: Fetch, now: datetime) -> bool:
    """Whether there is anything new. Raises BadReference."""
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
    believed(name, body)
    _not_older(name, body, known)
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


def _body(fetched: Fetched) -> bytes:
    if fetched.failure is not None:
        raise BadReference(f"{fetched.failure.value} ({fetched.reason})")
    if fetched.status != 200 or fetched.truncated:
        raise BadReference(f"answered with status {fetched.status}")
    return fetched.body


def _not_older(name: str, body: bytes, known: ReferenceRecord | None) -> None:
    """A mirror that lags behind, or somebody who replays an old list, must not move hosts back."""
    if name != SUFFIXES or known is None:
        return
    newer, stored = suffixes.parse_suffixes(body), suffixes.parse_suffixes(known.body)
    if newer.version < stored.version:
        raise BadReference(f"the list is of {newer.version or 'no date'}, the stored one of {stored.version}")
