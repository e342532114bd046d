"""The entry of a service in one of its formats, as ARD describes it (v0.91, section 4.2)."""

from datetime import datetime
from typing import Any, Final

from registry.actions.queries.discover import MatchedEntry
from registry.actions.queries.entries import Entry
from registry.core.changes.kinds import state_of
from registry.core.format_support.artifact_types import TYPE_OF
from registry.core.merging.trust import LEVEL, doubt_of
from registry.core.names.air import air_urn
from registry.core.names.domains import is_confusable
from registry.edge.responses import service_url, timestamp, timestamps

MAX_TAGS: Final = 20
_QUERIES: Final = range(2, 6)

# guard: untrusted-entry
_UNTRUSTED: Final = (
    "displayName", "url", "description", "tags", "capabilities", "representativeQueries", "version",
)  # fmt: skip


def full_entry(entry: Entry, base: str, now: datetime) -> dict[str, Any]:
    """Return everything known about an entry. `base`: this registry's URL."""
    shown = _entry(entry, base, now)
    if len(entry.parts.examples) in _QUERIES:
        shown["representativeQueries"] = entry.parts.examples
    return shown


def result(matched: MatchedEntry, base: str, now: datetime) -> dict[str, Any]:
    """Return an entry as a result of a search. Its `score` is relevance alone; quality and trust are in `metadata`.

    Queries that describe an entry serve indexing and are left out (section 5.3.2).
    """
    shown = _entry(matched.entry, base, now)
    shown["metadata"]["waypost:confident"] = matched.found.hit.confident
    score = min(100, max(0, round(100 * matched.found.relevance)))
    return {**shown, "score": score, "source": f"{base}/ard"}


def _entry(entry: Entry, base: str, now: datetime) -> dict[str, Any]:
    card = entry.card
    shown: dict[str, Any] = {
        "identifier": air_urn(card.host, entry.slug),
        "displayName": card.name or card.host,
        "type": TYPE_OF[entry.slug],
        "url": entry.url,
        "description": card.description,
        "tags": entry.parts.tags[:MAX_TAGS],
        "capabilities": entry.parts.capabilities,
        "updatedAt": timestamp(card.updated_at),
        "metadata": {
            "waypost:host": card.host,
            "waypost:domain": card.domain,
            "waypost:confusable": is_confusable(card.host),
            "waypost:format": entry.slug,
            "waypost:qualityScore": card.score,
            "waypost:identity": card.identity.value,
            "waypost:doubt": doubt_of(card.trust),
            "waypost:trustLevel": card.trust_level.value,
            "waypost:trustSince": timestamps(card.trust_since).get(LEVEL),
            "waypost:trustReasons": " ".join(card.trust.get("reasons", ())),
            "waypost:owned": card.owned_since is not None,
            "waypost:canonicalHost": card.canonical_host,
            "waypost:category": card.category,
            "waypost:authType": card.auth_type,
            "waypost:pricingType": card.pricing_type,
            "waypost:seenAt": timestamp(card.seen_at),
            "waypost:freshness": state_of(card.trust_level, card.seen_at, now),
            "waypost:service": service_url(base, card.host),
        },
        "injection_flags": card.injection_flags,
        "untrusted_text": _UNTRUSTED,
    }
    if card.version:
        shown["version"] = card.version
    return {name: value for name, value in shown.items() if value or name in ("injection_flags", "untrusted_text")}
