"""Services as entries of catalogues: one entry for each format that is a separate artifact.

An entry has no row: it is a pair of a service and one of its formats. Lists and counts are of entries.
"""

import logging
import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import ColumnElement, DateTime, Text, any_, case, func, literal, select, tuple_, type_coerce

from registry.core.model.listing import Filters
from registry.store.cards import Card, cards
from registry.store.catalogue import CARD_COLUMNS
from registry.store.engine import decode
from registry.store.facets import FACET_COLUMNS, service_conditions
from registry.store.lane import QueryPool, texts
from registry.store.repository import Key, Repository
from registry.store.tables import ServiceRow

EntryOrder = Literal["host", "name", "updated"]

MAX_DOCUMENTS: Final = 50
MAX_CAPABILITIES: Final = 30
MAX_EXAMPLES: Final = 5

_log = logging.getLogger(__name__)

_PARTS: Final = """
SELECT s.host, s.model->'tags', s.model->'examples',
       (SELECT jsonb_agg(jsonb_build_array(d.format, d.url)) FROM (
          SELECT d.format, d.url FROM documents d
          WHERE d.domain = s.domain AND d.host = s.host AND d.outcome = 'found' AND d.format = ANY(s.formats)
          ORDER BY length(d.url), d.url LIMIT %(documents)s) d),
       (SELECT jsonb_agg(jsonb_build_array(c.name, c.data->'examples')) FROM (
          SELECT c.name, c.data FROM capabilities c WHERE c.domain = s.domain AND c.host = s.host
          ORDER BY c.position LIMIT %(capabilities)s) c)
FROM unnest(%(domains)s::text[], %(hosts)s::text[]) AS k(domain, host)
JOIN services s ON s.domain = k.domain AND s.host = k.host WHERE NOT s.hidden
"""


class EntryParts(NamedTuple):
    """Parts of entries that cards lack. `urls`: the documents of each format, the shortest address first."""

    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    urls: Mapping[str, Sequence[str]] = {}


class EntryReads:
    """Reads the parts without transactions, as `Cards` does. Raises StoreUnavailable."""

    def __init__(self, pool: QueryPool) -> None:
        self._pool = pool

    async def parts(self, keys: Sequence[Key]) -> dict[str, EntryParts]:
        """Return by host the parts of entries that cards lack. A part that cannot be decoded is empty."""
        bound = {
            "domains": texts([domain for domain, _ in keys]),
            "hosts": texts([host for _, host in keys]),
            "documents": MAX_DOCUMENTS,
            "capabilities": MAX_CAPABILITIES,
        }
        return {row[0]: _parts(*row) for row in await self._pool.rows(_PARTS, bound)}


@dataclass(frozen=True, slots=True)
class ListConditions:
    """Conditions of a list beside Filters. `name`: part of the service's name, in any case. The time is exclusive."""

    name: str | None = None
    created_after: datetime | None = None


class Entries(Repository):
    async def page(
        self,
        filters: Filters,
        extra: ListConditions,
        slugs: Sequence[str],
        *,
        order: EntryOrder,
        at: tuple[str | datetime, str] | None,
        limit: int,
    ) -> tuple[list[Card], int | None]:
        """Return the services with an entry in one of the formats, from the place `at` on. On the first page also
        return the total of entries: counting reads every service, which must not happen on every page.

        `at`: the values of the keys of `order` of the first service: domain and host; name and host; time of the last
        change and host. A service whose keys change meanwhile may be missed, or returned again.
        """
        matching = [*service_conditions(filters), *_extra(extra), ServiceRow.formats.overlap(list(slugs))]
        keys, is_descending = _ORDERS[order]
        from_place = []
        if at is not None:
            first = func.lower(literal(at[0])) if order == "name" else literal(at[0])
            row, place = tuple_(*keys), tuple_(first, literal(at[1]))
            from_place = [row <= place if is_descending else row >= place]
        statement = (
            select(*CARD_COLUMNS)
            .select_from(ServiceRow)
            .where(*matching, *from_place)
            .order_by(*((key.desc() if is_descending else key.asc()) for key in keys))
            .limit(limit)
        )
        found = list(cards(await self._execute(statement)))
        if at is not None:
            return found, None
        total = select(func.coalesce(func.sum(_entries(slugs)), 0)).where(*matching)
        return found, await self._number(total)

    async def counts(
        self, filters: Filters, slugs: Sequence[str], facet: str, keys: Collection[Key] | None, *, most: int
    ) -> tuple[dict[str, int], int]:
        """Return the number of entries in one of the formats by value of a facet, the `most` frequent first, and the
        number of entries with other values.

        `keys`: only these services. The facet `format` counts by slug, `host` by host, the others as in search.
        """
        matching = [*service_conditions(filters), ServiceRow.formats.overlap(list(slugs))]
        if keys is not None:
            matching.append(tuple_(ServiceRow.domain, ServiceRow.host).in_(list(keys)))
        if facet == "format":
            rows = select(func.unnest(ServiceRow.formats).label("value"), literal(1).label("entries"))
        else:
            value: ColumnElement[Any] = _HOST if facet == "host" else FACET_COLUMNS[facet]
            rows = select(value.label("value"), _entries(slugs).label("entries"))
        each = rows.where(*matching).subquery()
        wanted = each.c.value.in_(list(slugs)) if facet == "format" else each.c.value.is_not(None)
        number = func.sum(each.c.entries)
        statement = (
            select(each.c.value, number, func.sum(number).over())
            .where(wanted)
            .group_by(each.c.value)
            .order_by(number.desc(), each.c.value)
            .limit(most)
        )
        found = (await self._execute(statement)).all()
        counts = {str(name): int(count) for name, count, _ in found}
        return counts, int(found[0][2]) - sum(counts.values()) if found else 0


_HOST: Final = type_coerce(ServiceRow.host, Text)
_ORDERS: Final[dict[EntryOrder, tuple[tuple[ColumnElement[Any], ...], bool]]] = {
    "host": ((type_coerce(ServiceRow.domain, Text), _HOST), False),
    "name": ((func.lower(ServiceRow.name), _HOST), False),
    "updated": (
        (type_coerce(ServiceRow.updated_at, DateTime(timezone=True)), type_coerce(ServiceRow.host, Text)),
        True,
    ),
}
"""Keys of each order, and whether it descends. `host` follows the primary key."""


def _entries(slugs: Sequence[str]) -> ColumnElement[int]:
    """Return how many entries a service has in these formats; it has each format once."""
    one_each = (case((literal(slug) == any_(ServiceRow.formats), 1), else_=0) for slug in slugs)
    return reduce(operator.add, one_each)


def _extra(extra: ListConditions) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if extra.name is not None:
        found.append(ServiceRow.name.icontains(extra.name.replace("\0", "\ufffd"), autoescape=True))
    if extra.created_after is not None:
        found.append(ServiceRow.created_at > extra.created_after)
    return found


def _parts(host: str, tags: bytes | None, examples: bytes | None, documents: Any, capabilities: Any) -> EntryParts:
    try:
        urls: dict[str, list[str]] = {}
        for slug, url in decode(documents) or ():
            urls.setdefault(slug, []).append(url)
        named = decode(capabilities) or ()
        sentences = [*(decode(examples) or ()), *(text for _, given in named for text in given or ())]
        unique = tuple(dict.fromkeys(text for text in sentences if isinstance(text, str)))[:MAX_EXAMPLES]
        return EntryParts(tuple(decode(tags) or ()), unique, tuple(name for name, _ in named), urls)
    except ValueError:
        _log.error("a part of %s cannot be decoded: rescore rewrites it", host)
        return EntryParts()
