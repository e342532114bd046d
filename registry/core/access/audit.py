"""The audit log: who changed what, on whose word, and why. Entries are added and never changed or removed.

Actors are written `<kind>:<id>`: `operator:cli` for a command on the registry's own machine, `key:<id>` for an API
key, `owner:<id>` for the holder of an owner's token, `system:<job>` for the registry's own decisions. Anonymous clients
are `client:anonymous`: their addresses are personal data and are not written down.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

OPERATOR: Final = "operator:cli"
ANONYMOUS: Final = "client:anonymous"


def key_actor(key: str) -> str:
    return f"key:{key}"


def key_of_actor(actor: str) -> str | None:
    """Return the id of the API key that an actor is, or None."""
    kind, _, key = actor.partition(":")
    return key if kind == "key" else None


def owner_actor(claim: str) -> str:
    return f"owner:{claim}"


def system_actor(job: str) -> str:
    return f"system:{job}"


ACTOR_KINDS: Final = ("operator", "key", "owner", "system", "client")
SUBJECTS: Final = ("host", "ownership", "report", "key")
"""First words of all actions."""

PUBLIC_SUBJECTS: Final = frozenset({"host", "ownership"})
"""Subjects of actions that everybody may know of: decisions about a host, and who speaks for it."""

PUBLIC_REASONS: Final = frozenset({"host.blocked", "host.unblocked", "host.quarantined", "host.released"})
"""Actions with public reasons; the form says so. Other reasons may name persons."""

_OF_ONE_HOST: Final = frozenset(
    {
        "host.note_set", "host.canonical_set", "host.webhook_set", "host.webhook_removed", "host.recheck_asked",
        "host.call_checks_set",
        "ownership.token_issued", "ownership.token_replaced",
    }
)  # fmt: skip
"""Actions of owners that never concern the hosts below."""


def concerns_below(action: str, detail: Mapping[str, Any]) -> bool:
    """Return whether a decision about a host concerns the hosts below it: a hold says so in its detail, an ownership by
    its scope, and opt-outs always do."""
    return action not in _OF_ONE_HOST and detail.get("covers_below", detail.get("scope", "domain") == "domain")


def shown_reason(action: str, reason: str) -> str:
    """Return what everybody may read of a reason: all of it, or nothing."""
    return reason if action in PUBLIC_REASONS else ""  # guard: audit-reasons


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """`action`: `<subject>.<verb>`, for instance `host.blocked`. `domain`, `host`: its object, or empty. `reason`: the
    actor's own words. `detail`: further facts as JSON, without secrets."""

    actor: str
    action: str
    domain: str = ""
    host: str = ""
    reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
