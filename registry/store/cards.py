"""Services as entries of lists. JSON is decoded row by row, so that one bad row does not hide the others."""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from registry.core.merging.trust import identity_of
from registry.core.model.listing import IdentityState, TrustLevel
from registry.store.claims import CANONICAL, OWNED_SINCE
from registry.store.engine import Row, decode
from registry.store.facets import FACET_VALUES, facet_statement, facet_values
from registry.store.lane import QueryPool, bound_keys, texts
from registry.store.records import ServiceColumns
from registry.store.repository import Key
from registry.store.values import key_name

_log = logging.getLogger(__name__)


class CardCapability(NamedTuple):
    name: str
    description: str | None
    detail_url: str | None  # absolute URL of the host's own detail document
    side_effects: bool | None = None
    confirmation: dict[str, Any] | None = None  # services.Confirmation as JSON, without defaults
    injection_flags: Sequence[str] | None = None
    reach: dict[str, Any] | None = None  # calling.reach.Reach as JSON; None: not computed yet


@dataclass(slots=True)
class Card(ServiceColumns):
    """A service in a list. `capabilities` are filled when cards are fetched by key, not in long lists.

    `auth` and `pricing` are services.Auth and services.Pricing as JSON, without defaults. `version`: of the service
    itself. `operational`: the state declared by its document, or None. `trust`: `records.trust_to_json`; empty if
    recorded before it was known; `trust_since`: its dates, see core/merging/trust.py. `owned_since`: when the
    ownership of the host was proven, or None. `canonical_host`: the host that the owner has pinned for it.
    """

    crawl_failures: int
    created_at: datetime
    updated_at: datetime
    seen_at: datetime
    last_visit_at: datetime | None = None
    owned_since: datetime | None = None
    canonical_host: str | None = None
    auth: dict[str, Any] = field(default_factory=dict)
    pricing: dict[str, Any] = field(default_factory=dict)
    version: str | None = None
    operational: bool | None = None
    trust: dict[str, Any] = field(default_factory=dict)
    trust_since: dict[str, str] = field(default_factory=dict)
    capabilities: tuple[CardCapability, ...] = ()

    @property
    def identity(self) -> IdentityState:
        return identity_of(self.trust_level, self.trust, is_owned=self.owned_since is not None)


CARD_FIELDS: Final[Mapping[str, str]] = {
    **{name: f"services.{name}" for name in ServiceColumns.__dataclass_fields__},
    **{name: f"services.{name}" for name in ("crawl_failures", "created_at", "updated_at", "seen_at")},
    "last_visit_at": "(SELECT last_visit_at FROM hosts h WHERE h.domain = services.domain AND h.host = services.host)",
    "owned_since": OWNED_SINCE.format(services="services"),
    "canonical_host": CANONICAL.format(services="services"),
    "auth": "services.model->'auth'",
    "pricing": "services.model->'pricing'",
    "version": "services.model->'version'",
    "operational": "services.model#>'{relations,operational}'",
    "trust": "services.trust",
    "trust_since": "services.trust_since",
}
"""Field of a card -> its SQL, in the order of the fields; `capabilities` follow where they are wanted."""

_CARDS: Final = f"""
SELECT {", ".join(CARD_FIELDS.values())},
       (SELECT jsonb_agg(jsonb_build_array(c.name, c.data->'description', c.data->'detail_url', c.data->'side_effects',
                                           c.data->'confirmation', c.data->'injection_flags', c.reach)
                         ORDER BY c.position)
        FROM capabilities c
        WHERE c.domain = services.domain AND c.host = services.host AND c.name = ANY(%(names)s::text[]))
FROM unnest(%(domains)s::text[], %(hosts)s::text[]) AS k(domain, host)
JOIN services ON services.domain = k.domain AND services.host = k.host
WHERE NOT services.hidden
"""  # noqa: S608  (only our own names)

_SEEN: Final = """
SELECT s.host, s.seen_at FROM unnest(%(domains)s::text[], %(hosts)s::text[]) AS k(domain, host)
JOIN services s ON s.domain = k.domain AND s.host = k.host WHERE NOT s.hidden
"""

_RESEMBLING: Final = """
SELECT s.host FROM unnest(%(domains)s::text[], %(hosts)s::text[]) AS k(domain, host)
JOIN services s ON s.domain = k.domain AND s.host = k.host
WHERE s.trust#>>'{resembles,name}' = ANY(%(names)s::text[])
"""

_CANONICAL: Final = """
SELECT DISTINCT o.canonical FROM unnest(%(domains)s::text[], %(hosts)s::text[]) AS k(domain, host)
JOIN owner_settings o ON o.domain = k.domain AND o.host = k.host WHERE o.canonical IS NOT NULL
"""

_STANDS_FOR: Final = """
SELECT o.canonical, array_agg(o.host ORDER BY o.host)
FROM unnest(%(domains)s::text[], %(hosts)s::text[]) AS k(domain, host)
JOIN owner_settings o ON o.domain = k.domain AND o.canonical = k.host
JOIN services s ON s.domain = o.domain AND s.host = o.host WHERE NOT s.hidden GROUP BY o.canonical
"""

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

_CALLS: Final = """
SELECT s.host, p.parts, (
  SELECT jsonb_agg(jsonb_build_array(c.data, c.detail, c.example, (
    SELECT d.outcome FROM documents d WHERE d.domain = c.domain AND d.host = c.host
      AND d.url_hash = sha256(convert_to(c.data->>'detail_url', 'UTF8'))))
    ORDER BY c.position)
  FROM capabilities c WHERE c.domain = s.domain AND c.host = s.host AND c.name = ANY(%(names)s::text[])
    AND octet_length(c.data::text) + coalesce(octet_length(c.detail::text), 0)
      + coalesce(octet_length(c.example::text), 0) <= %(bytes)s)
FROM unnest(%(domains)s::text[], %(hosts)s::text[]) AS k(domain, host)
JOIN services s ON s.domain = k.domain AND s.host = k.host
CROSS JOIN LATERAL (
  SELECT jsonb_object_agg(key, value) FROM jsonb_each(s.model) WHERE key = ANY(%(members)s::text[])) AS p(parts)
WHERE NOT s.hidden AND coalesce(octet_length(p.parts::text), 0) <= %(bytes)s
"""

CALL_MEMBERS: Final = ("name", "auth", "protocols", "packages", "pointers")
"""Members of a service on which calls depend."""

MAX_STORED_BYTES: Final = 131_072
"""Bytes of a capability, and of these members of a service, from which a call in a list is made."""

MAX_DOCUMENTS: Final = 50
MAX_CAPABILITIES: Final = 30
MAX_EXAMPLES: Final = 5


class EntryParts(NamedTuple):
    """Parts of entries that cards lack. `urls`: the documents of each format, the shortest address first."""

    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    urls: Mapping[str, Sequence[str]] = {}


class StoredCalls(NamedTuple):
    """A service and some of its capabilities, as undecoded JSON: CALL_MEMBERS; data, detail, example and the outcome of
    the request for the detail of each capability, in order."""

    host: str
    service: bytes
    capabilities: bytes


class Cards:
    """Reads shown services without transactions: each query sees what is committed. Raises StoreUnavailable."""

    def __init__(self, pool: QueryPool) -> None:
        self._pool = pool

    async def of(self, keys: Sequence[Key], capabilities: Collection[str] = ()) -> dict[str, Card]:
        """Return cards by host, each with those of its perhaps thousands of capabilities that have one of the names."""
        names = texts([key_name(name) for name in capabilities])
        return {card.host: card for card in cards(await self._pool.rows(_CARDS, {**bound_keys(keys), "names": names}))}

    async def seen(self, keys: Sequence[Key]) -> dict[str, datetime]:
        """Return by host when its documents were last seen."""
        return dict(await self._pool.rows(_SEEN, bound_keys(keys)))

    async def canonical(self, keys: Sequence[Key]) -> list[str]:
        """Return the canonical hosts of these hosts."""
        return [host for (host,) in await self._pool.rows(_CANONICAL, bound_keys(keys))]

    async def stands_for(self, keys: Sequence[Key]) -> dict[str, list[str]]:
        """Return by host the shown hosts for which it is canonical; leave out hosts without any."""
        return dict(await self._pool.rows(_STANDS_FOR, bound_keys(keys)))

    async def resembling(self, keys: Sequence[Key], names: Collection[str]) -> frozenset[str]:
        """Return the hosts whose services use one of these well-known names without owning it."""
        rows = await self._pool.rows(_RESEMBLING, {**bound_keys(keys), "names": texts(list(names))})
        return frozenset(host for (host,) in rows)

    async def parts(self, keys: Sequence[Key]) -> dict[str, EntryParts]:
        """Return by host the parts of entries that cards lack. A part that cannot be decoded is empty."""
        bound: dict[str, Any] = {**bound_keys(keys), "documents": MAX_DOCUMENTS, "capabilities": MAX_CAPABILITIES}
        return {row[0]: _parts(*row) for row in await self._pool.rows(_PARTS, bound)}

    async def stored_calls(self, keys: Sequence[Key], capabilities: Collection[str]) -> list[StoredCalls]:
        """Return the services with those of their capabilities that have one of the names, as far as calls depend on
        them. Leave out what has more than MAX_STORED_BYTES."""
        names = texts([key_name(name) for name in capabilities])
        bound: dict[str, Any] = {**bound_keys(keys), "names": names, "members": texts(CALL_MEMBERS)}
        rows = await self._pool.rows(_CALLS, {**bound, "bytes": MAX_STORED_BYTES})
        by_host = {host: StoredCalls(host, service or b"", found or b"") for host, service, found in rows}
        return [by_host[host] for _, host in keys if host in by_host]

    async def facets(self, keys: Sequence[Key], facets: Sequence[str]) -> tuple[int, dict[str, dict[str, int]]]:
        """Return how many of the services are shown, and their numbers by facet and value, the most frequent first."""
        rows = await self._pool.rows(facet_statement(tuple(facets)), bound_keys(keys))
        found = {}
        for place, name in enumerate(facets):
            numbers = Counter(value for row in rows for value in facet_values(row[place]))
            found[name] = dict(sorted(numbers.items(), key=lambda pair: (-pair[1], pair[0]))[:FACET_VALUES])
        return len(rows), found


def cards(rows: Iterable[Row]) -> Iterable[Card]:
    """Yield one card per row, which holds CARD_FIELDS and perhaps the capabilities; jsonb as bytes."""
    for row in rows:
        card = Card(*row)
        card.trust_level = TrustLevel(card.trust_level)
        card.formats, card.protocols = tuple(card.formats), tuple(card.protocols)
        card.injection_flags = tuple(card.injection_flags)
        for name in ("version", "operational"):
            setattr(card, name, _decoded(getattr(card, name), card.host))
        for name in ("auth", "pricing", "trust", "trust_since"):
            setattr(card, name, _decoded(getattr(card, name), card.host) or {})
        found: Any = card.capabilities  # bytes, None, or the default
        card.capabilities = tuple(CardCapability(*one) for one in _decoded(found or None, card.host) or ())
        yield card


def _decoded(value: bytes | None, host: str) -> Any:
    try:
        return decode(value)
    except ValueError:
        _log.error("a part of %s cannot be decoded: rescore rewrites it", host)
        return None


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
