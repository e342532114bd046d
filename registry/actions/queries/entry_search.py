"""Entries of catalogues that answer a question (ARD): those of the services that `discover` finds, in its order."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from registry.actions.queries.discover import MAX_DEPTH, SearchResult, discover, ranked
from registry.actions.queries.entries import (
    ARTIFACTS,
    Entry,
    EntryCounts,
    entries_of,
    entry_counts,
    make_token,
    read_token,
)
from registry.core.format_support.artifact_types import artifact_formats
from registry.core.model.listing import Filters, Query
from registry.core.names.domains import registrable_domain
from registry.core.ranking import Embedder
from registry.search.backend import Backend
from registry.store.unit_of_work import Store


@dataclass(frozen=True, slots=True)
class MatchedEntry:
    """An entry that answers a question. `found`: the search result of its service."""

    entry: Entry
    found: SearchResult


@dataclass(frozen=True, slots=True)
class EntryPage:
    entries: tuple[MatchedEntry, ...]
    next_token: str | None


async def search_entries(
    store: Store,
    backend: Backend,
    text: str,
    filters: Filters,
    *,
    limit: int,
    token: str | None = None,
    embedder: Embedder | None = None,
) -> EntryPage:
    """Return the entries of the services that answer the text best, in the order of `discover`.

    `filters.formats` select both services and entries. Raise StaleCursor, SearchUnavailable, StoreUnavailable.
    """
    slugs = artifact_formats(filters.formats or ARTIFACTS)
    if not slugs:
        return EntryPage((), None)
    cursor, shown = _read_search_token(token) if token else (None, None)
    page = await discover(store, backend, _query(text, limit, filters, slugs), cursor, embedder=embedder)
    parts = await store.entry_reads.parts([(hit.card.domain, hit.card.host) for hit in page.hits])
    entries: list[MatchedEntry] = []
    for hit in page.hits:
        for entry in entries_of(hit.card, parts.get(hit.card.host), slugs, shown if hit is page.hits[0] else None):
            if len(entries) == limit:
                last = entries[-1].entry
                shown_slug = last.slug if last.card.host == hit.card.host else ""
                return EntryPage(tuple(entries), make_token("s", hit.cursor, hit.card.host, shown_slug))
            entries.append(MatchedEntry(entry, hit))
    rest = page.next_cursor
    return EntryPage(tuple(entries), make_token("s", rest, "", "") if rest else None)


async def count_found(
    store: Store,
    backend: Backend,
    text: str,
    filters: Filters,
    facets: Mapping[str, int],
    *,
    embedder: Embedder | None = None,
) -> EntryCounts:
    """Return the numbers by facet and value of the entries that `search_entries` pages through.

    `facets`: name of a facet -> maximum number of values. Raise SearchUnavailable, StoreUnavailable.
    """
    slugs = artifact_formats(filters.formats or ARTIFACTS)
    answer = await ranked(backend, _query(text, 0, filters, slugs), embedder)
    keys = [(registrable_domain(host), host) for host in answer.ranking.hosts[:MAX_DEPTH]]
    return await entry_counts(store, filters, facets, keys)


def _query(text: str, limit: int, filters: Filters, slugs: tuple[str, ...]) -> Query:
    """Return the query for services with an entry in one of the formats, or for all services if no format is given."""
    return Query(text, limit, 0, replace(filters, formats=slugs) if filters.formats else filters)


def _read_search_token(token: str) -> tuple[str, tuple[str, str]]:
    _, cursor, host, slug = read_token(token, "s", 4)
    return cursor, (host, slug)
