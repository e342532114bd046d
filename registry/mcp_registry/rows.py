"""A stored record as a row of the MCP registry's API: the server, the API's metadata, and what this registry knows.

What this registry knows is in the `_meta` of the row, beside the server, because validators of the API refuse unknown
members in the server's `_meta`.
"""

from datetime import datetime
from typing import Any, Final

import orjson

from registry.actions.queries.mcp_servers import ListedMcpServer
from registry.core.calling.server_records.validation import SCHEMA_URL
from registry.core.merging.trust import shown
from registry.core.model.listing import TrustLevel
from registry.core.scheduling.policy import STALE_AFTER
from registry.edge.responses import service_url, timestamp, timestamps

OFFICIAL: Final = "io.modelcontextprotocol.registry/official"
OWN: Final = "dev.waypost/registry"

GONE: Final = "No longer listed."
REPLACED: Final = "Another version took its place."

# guard: untrusted-mcp-server
_UNTRUSTED: Final = ("server", f"_meta.{OWN}.description", f"_meta.{OWN}.off_site")
"""The texts of sites in a row."""


def row(found: ListedMcpServer, base: str, now: datetime) -> dict[str, Any]:
    """Return one row, JSON-ready for orjson. `base`: the URL of this registry."""
    is_gone = found.server is None
    official: dict[str, Any] = {
        "status": found.status,
        "statusChangedAt": timestamp(found.status_changed_at),
        "publishedAt": timestamp(found.published_at),
        "updatedAt": timestamp(found.updated_at),
        "isLatest": found.is_latest,
    }
    if is_gone:
        official["statusMessage"] = GONE if found.is_latest else REPLACED
    own = {"host": found.host, "untrusted_text": _UNTRUSTED} if is_gone else _own(found, base, now)
    server = _tombstone(found) if found.server is None else orjson.Fragment(found.server)
    return {"server": server, "_meta": {OFFICIAL: official, OWN: own}}


def _tombstone(found: ListedMcpServer) -> dict[str, str]:
    """Return the minimal record; a deleted server keeps only its name and version."""
    return {"$schema": SCHEMA_URL, "name": found.name, "description": GONE, "version": found.version}


def _own(found: ListedMcpServer, base: str, now: datetime) -> dict[str, Any]:
    level = TrustLevel(found.trust_level) if found.trust_level else TrustLevel.UNVERIFIED
    return {
        "host": found.host,
        "url": service_url(base, found.host),
        "score": found.score,
        "trust_level": level,
        "trust": shown(
            level, found.trust.get("reasons", ()), found.trust.get("resembles"), timestamps(found.trust_since)
        ),
        "owned": found.owned_since is not None,
        "canonical_host": found.canonical_host,
        "checked_at": timestamp(found.last_visit_at),
        "seen_at": timestamp(found.seen_at),
        "stale": found.seen_at is None or now - found.seen_at > STALE_AFTER,
        "injection_flags": found.injection_flags or [],
        "untrusted_text": _UNTRUSTED,
        **found.notes,
    }
