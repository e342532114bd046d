"""A service as it stands in lists: ADP's keys first, what we know beyond them after."""

from datetime import datetime
from typing import Any, Final

from registry.api.answers import moment, service_url
from registry.core.domains import is_confusable
from registry.core.listing import TrustLevel
from registry.core.revisit import FOUND_MOST
from registry.store.cards import Card

STALE_AFTER: Final = 2 * FOUND_MOST
"""Twice the longest ordinary wait between two visits: it may be the crawler that is late, not the site."""


def summary(card: Card, base: str, now: datetime) -> dict[str, Any]:
    """What every row about a service carries; see schemas.Summary."""
    return {
        "name": card.name,
        "domain": card.host,
        "confusable": is_confusable(card.host),
        "description": card.description,
        "base_url": card.base_url,
        "auth_type": card.auth_type,
        "pricing_type": card.pricing_type,
        "verified": card.trust_level is TrustLevel.VERIFIED,
        "trust_level": card.trust_level,
        "category": None,
        "format": card.formats[0] if card.formats else None,
        "formats": card.formats,
        "protocols": card.protocols,
        "score": card.score,
        "auth": auth(card.auth),
        "pricing": pricing(card.pricing),
        "freshness": freshness(card.last_visit_at, card.seen_at, now),
        "url": service_url(base, card.host),
        "untrusted_text": ["name", "description"],
    }


def freshness(last_visit_at: datetime | None, seen_at: datetime | None, now: datetime) -> dict[str, Any]:
    """Beside the score and the trust level, never inside them: an outage of ours must not cost a site anything."""
    return {
        "last_crawled_at": moment(last_visit_at),
        "seen_at": moment(seen_at),
        "stale": seen_at is None or now - seen_at > STALE_AFTER,
    }


def auth(model: dict[str, Any]) -> dict[str, Any]:
    """The exact schemes (services.Auth as JSON, defaults left out), with both keys always there."""
    return {"schemes": model.get("schemes", []), "required": model.get("required")}


def pricing(model: dict[str, Any]) -> dict[str, Any]:
    return {"model": "unknown", **model}
