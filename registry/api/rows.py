"""A service as a row of a list: first the keys of ADP registries, then the keys that only this registry has."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal, TypeVar, cast

from registry.actions.queries.inspect import Card
from registry.api.schemas import base as schemas
from registry.core.changes.kinds import State, state_of
from registry.core.merging.trust import explained_listing, shown
from registry.core.model.listing import Listing, TrustLevel
from registry.core.names.domains import is_confusable
from registry.core.reading.plain_text import plain
from registry.core.scheduling.policy import STALE_AFTER
from registry.edge.responses import service_url, timestamp, timestamps

Row = TypeVar("Row")

MESSAGE_CHARS: Final = 2_000

# guard: untrusted-row
_UNTRUSTED: Final = ("name", "description", "base_url", "protocols", "auth.schemes", "pricing", "version")

_ADP_DEFAULTS: Final = {"auth_type": "none", "pricing_type": "free"}
"""What ADP registries answer where nothing is known: their clients know no other values."""


def project(shape: type[Row], record: Any, **given: Any) -> Row:
    """Return the required members of a shape: the `given` ones, the rest from the record; times and bytes as texts."""
    keys: Any = shape
    row = {
        name: given[name] if name in given else _shown(getattr(record, name))
        for name in keys.__annotations__
        if name in keys.__required_keys__
    }
    return cast(Row, row)


def _shown(value: Any) -> Any:
    if isinstance(value, datetime):
        return timestamp(value)
    return value.hex() if isinstance(value, bytes) else value


def summary(card: Card, base: str, now: datetime) -> schemas.Summary:
    """Return the keys that every row about a service has."""
    is_owned = card.owned_since is not None
    trusted = shown(card.trust_level, card.trust, timestamps(card.trust_since), is_owned=is_owned)
    return {
        "name": card.name,
        "domain": card.host,
        "confusable": is_confusable(card.host),
        "description": card.description,
        "base_url": card.base_url,
        "auth_type": _ADP_DEFAULTS["auth_type"] if card.auth_type == "unknown" else card.auth_type,
        "pricing_type": _ADP_DEFAULTS["pricing_type"] if card.pricing_type == "unknown" else card.pricing_type,
        "verified": card.trust_level is TrustLevel.VERIFIED,
        "trust_level": card.trust_level,
        "trust": cast(schemas.TrustFacts, trusted),
        "category": card.category,
        "format": card.formats[0] if card.formats else None,
        "formats": card.formats,
        "protocols": card.protocols,
        "score": card.score,
        "auth": auth(card.auth, card.auth_type),
        "pricing": pricing(card.pricing, card.pricing_type),
        "version": card.version,
        "operational": card.operational,
        "freshness": freshness(card.last_visit_at, card.seen_at, state_of(card.trust_level, card.seen_at, now), now),
        "owned": is_owned,
        "canonical_host": card.canonical_host,
        "url": service_url(base, card.host),
        "injection_flags": card.injection_flags,
        "untrusted_text": _UNTRUSTED,
    }


CALLABLE: Final[Mapping[str, bool | Literal["unknown"]]] = {"true": True, "false": False, "unknown": "unknown"}
"""Stored value -> the value of `callable` in answers."""

_CLAIMS: Final = ("provider", "claims", "identity", "version", "homepage", "repository", "license", "packages")


def trust(
    listing: Listing, since: Mapping[str, str], model: Mapping[str, Any], *, is_owned: bool
) -> schemas.ExplainedTrust:
    """Return what is known of who serves a listing, what that means, and every reason why it is not more.

    `since`: when the level and the reasons began (ISO 8601); `model`: the service as JSON, for its claims.
    """
    claimed = [name for name in _CLAIMS if model.get(name)]
    facts = explained_listing(listing, timestamps(since), is_owned=is_owned)
    return cast(schemas.ExplainedTrust, {**facts, "claimed": claimed})


def confirmation(model: dict[str, Any] | None) -> schemas.Confirmation | None:
    """Return whether a person must confirm a call, and the question to ask; None if the documents do not say."""
    if model is None:
        return None
    message = model.get("message")
    return {"required": model["required"], "message": plain(message, MESSAGE_CHARS) if message else None}


def freshness(
    last_visit_at: datetime | None, seen_at: datetime | None, state: State, now: datetime
) -> schemas.Freshness:
    """Return how recent the data is. Never part of score or trust: our outage must not cost sites points."""
    return {
        "state": state,
        "last_crawled_at": timestamp(last_visit_at),
        "seen_at": timestamp(seen_at),
        "stale": seen_at is None or now - seen_at > STALE_AFTER,
    }


def auth(model: dict[str, Any], kind: str | None = None) -> schemas.Auth:
    """Return the schemes of `model` (services.Auth as JSON without defaults); `kind`: as the filter `auth_type` has."""
    shown: schemas.Auth = {"schemes": model.get("schemes", []), "required": model.get("required")}
    if kind is not None:
        shown["type"] = kind
    return shown


def pricing(model: dict[str, Any], kind: str | None = None) -> schemas.Pricing:
    """Return `model` (services.Pricing as JSON) with its defaults; `kind`: as the filter `pricing_type` has it."""
    shown = cast(schemas.Pricing, {"model": "unknown", **model})
    if kind is not None:
        shown["type"] = kind
    return shown
