"""Services as entries of ARD catalogues: list, look-up, search and counts.

A service has one entry for each of its formats that is a separate artifact (`artifact_types.TYPE_OF`). Selection, order
and hiding are those of `/api/discover` and `/api/services`. A page counts entries, so it may end within a service; its
token names the first service of the next page and the entry of it that was shown last.
"""

import base64
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson

from registry.core.format_support.artifact_types import TYPE_OF, artifact_formats
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.model.listing import Filters, StaleCursor
from registry.core.names.air import AirName
from registry.core.names.domains import registrable_domain
from registry.store.cards import Card, EntryParts
from registry.store.catalogue import EntryOrder as EntryOrder  # interfaces name it
from registry.store.catalogue import ListConditions as ListConditions  # interfaces name it
from registry.store.repository import Key
from registry.store.unit_of_work import Store

ARTIFACTS: Final = tuple(TYPE_OF)  # slugs of the formats that have entries
_MAX_TOKEN: Final = 4_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One format of one service. `url`: the host's own document of that format."""

    card: Card
    slug: str
    url: str
    parts: EntryParts


@dataclass(frozen=True, slots=True)
class EntryList:
    """A page of entries. `total`: all matching entries on the first page, None on later pages."""

    entries: tuple[Entry, ...]
    total: int | None
    next_token: str | None


@dataclass(frozen=True, slots=True)
class CountedValues:
    """The most frequent values with their numbers of entries, and the number of entries with other values."""

    counts: Mapping[str, int]
    others: int


@dataclass(frozen=True, slots=True)
class EntryCounts:
    facets: Mapping[str, CountedValues]


def entries_of(
    card: Card, parts: EntryParts | None, slugs: Sequence[str], shown: tuple[str, str] | None = None
) -> Iterator[Entry]:
    """Yield the entries of a service, after the entry that was `shown` last (host and slug)."""
    own = [slug for slug in artifact_formats(card.formats) if slug in slugs]
    if shown is not None and shown[0] == card.host and shown[1] in own:
        own = own[own.index(shown[1]) + 1 :]
    parts = parts or EntryParts()
    for slug in own:
        # The document at the most preferred path of the format, else the shortest address. Documents inside another one
        # have a fragment and come last. A host without any, such as while a visit is recorded, gets its best document.
        rank = {f"https://{card.host}{path}": place for place, path in enumerate(FORMAT_BY_SLUG[slug].paths)}
        places = {url: (url not in rank, "#" in url, rank.get(url, 0)) for url in parts.urls.get(slug, ())}
        yield Entry(card, slug, min(places, key=places.__getitem__, default=card.well_known_url), parts)


def cut(
    cards: Sequence[Card],
    parts: Mapping[str, EntryParts],
    slugs: Sequence[str],
    shown: tuple[str, str] | None,
    limit: int,
) -> tuple[list[Entry], tuple[Card, str] | None]:
    """Return at most `limit` entries of the services, and where the next page begins: the service, and the slug of its
    entry that was shown last or an empty text. `shown`: as in `entries_of`, of the first service."""
    found: list[Entry] = []
    for card in cards:
        for entry in entries_of(card, parts.get(card.host), slugs, shown if card is cards[0] else None):
            if len(found) == limit:
                return found, (card, found[-1].slug if found[-1].card.host == card.host else "")
            found.append(entry)
    return found, None


def make_token(*parts: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(parts)).decode().rstrip("=")


def read_token(token: str, kind: str, size: int) -> list[str]:
    """Return the parts of a token. Raise StaleCursor. Tokens are not signed: a forged one only names another place."""
    try:
        value: Any = orjson.loads(base64.urlsafe_b64decode(token[:_MAX_TOKEN] + "=" * (-len(token) % 4)))
    except ValueError:
        value = None
    is_ours = isinstance(value, list) and len(value) == size and all(isinstance(part, str) for part in value)
    if not is_ours or value[0] != kind:
        raise StaleCursor("this token was not made by this registry")
    return [str(part) for part in value]


def _read_list_token(token: str, digest: str, order: EntryOrder) -> tuple[tuple[str | datetime, str], tuple[str, str]]:
    _, of_query, first, host, slug = read_token(token, "l", 5)
    if of_query != digest:
        raise StaleCursor("this token belongs to another list")
    if "\0" in first + host:
        raise StaleCursor("this token was not made by this registry")
    if order != "updated":
        return (first, host), (host, slug)
    try:
        at = datetime.fromisoformat(first)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise StaleCursor("this token was not made by this registry")
    return (at, host), (host, slug)


@dataclass(eq=False)
class EntryQueries:
    """Reads services as entries of catalogues."""

    _store: Store

    async def entry(self, name: AirName) -> Entry | None:
        """Return the entry of a shown service; None if the host or the format is unknown. Raise StoreUnavailable."""
        keys = [(registrable_domain(name.host), name.host)]
        card = (await self._store.cards.of(keys)).get(name.host)
        if card is None or name.slug not in artifact_formats(card.formats):
            return None
        parts = (await self._store.cards.parts(keys)).get(name.host)
        return next(entries_of(card, parts, (name.slug,)), None)

    async def list_entries(
        self, filters: Filters, extra: ListConditions, *, order: EntryOrder, limit: int, token: str | None = None
    ) -> EntryList:
        """Return a page of all entries that match, and their total. Raise StaleCursor, StoreUnavailable."""
        slugs = artifact_formats(filters.formats or ARTIFACTS)
        if not slugs:
            return EntryList((), 0, None)
        digest = hashlib.sha256(repr((filters, extra, order)).encode()).hexdigest()[:16]
        at, shown = _read_list_token(token, digest, order) if token else (None, None)
        async with self._store.read() as uow:
            cards, total = await uow.catalogue.entry_page(filters, extra, slugs, order=order, at=at, limit=limit + 1)
        parts = await self._store.cards.parts([(card.domain, card.host) for card in cards])
        found, rest = cut(cards, parts, slugs, shown, limit)
        if rest is None:
            return EntryList(tuple(found), total, None)
        card, shown_slug = rest
        first = {"host": card.domain, "name": card.name, "updated": card.updated_at.isoformat()}[order]
        return EntryList(tuple(found), total, make_token("l", digest, first, card.host, shown_slug))

    async def entry_counts(
        self, filters: Filters, facets: Mapping[str, int], keys: Collection[Key] | None = None
    ) -> EntryCounts:
        """Return the numbers of entries by facet and value, for these services or for all that pass the filters.
        `facets`: name of a facet -> maximum number of values. Raise StoreUnavailable."""
        slugs = artifact_formats(filters.formats or ARTIFACTS)
        if not slugs:
            return EntryCounts({facet: CountedValues({}, 0) for facet in facets})
        async with self._store.read() as uow:
            return EntryCounts(
                {
                    facet: CountedValues(*await uow.catalogue.entry_counts(filters, slugs, facet, keys, most=most))
                    for facet, most in facets.items()
                }
            )
