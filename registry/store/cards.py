"""Services as entries of lists. JSON is decoded row by row, so that one bad row does not hide the others."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

from registry.core.model.listing import TrustLevel
from registry.store.claims import CANONICAL, OWNED_SINCE
from registry.store.engine import Row, decode
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
                                           c.data->'confirmation', c.data->'injection_flags')
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


class Cards:
    """Reads shown cards without transactions: each query sees what is committed when it runs.

    Raises StoreUnavailable.
    """

    def __init__(self, pool: QueryPool) -> None:
        self._pool = pool

    async def of(self, keys: Sequence[Key], capabilities: Collection[str] = ()) -> dict[str, Card]:
        """Return cards by host, each with its capabilities that have one of the names.

        A service may have thousands of capabilities; an answer shows a few of them.
        """
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
