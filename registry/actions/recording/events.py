"""Makes the events of a recorded or recomputed service. Pure; the difference itself is made in `core/changes`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from registry.actions.recording.present import Shown
from registry.core.changes.states import State, state_of
from registry.core.changes.versions import Version, changed, listed
from registry.store.records import ChangeRecord, ServiceRecord
from registry.store.values import key_name

Capabilities = Mapping[str, Mapping[str, Any]]
"""The capabilities of one service as stored, by name."""


def change_of(
    previous: ServiceRecord | None,
    capabilities: Capabilities,
    shown: Shown,
    now: datetime,
    *,
    cause: Literal["visit", "rescore"],
    hidden_as: State | None = None,
) -> list[ChangeRecord]:
    """Return the event of a recomputed service; for a hidden one only that it was hidden, with the state `hidden_as`.
    `capabilities`: those of `previous`. Nothing when only dates differ."""
    service = shown.service
    if service is None:
        return []
    key = (service.domain, service.host)
    if service.hidden:
        was_shown = previous is not None and not previous.hidden
        return [ChangeRecord(*key, "service.hidden", now, {"state": hidden_as or "opted_out"})] if was_shown else []
    after = _version(service, {key_name(shown.name): shown.data for shown in shown.capabilities})
    facts = _facts(service, now)
    if previous is None or previous.hidden:
        return [ChangeRecord(*key, "service.listed", now, {**facts, "cause": cause, **listed(after)})]
    change = changed(_version(previous, capabilities), after)
    if change is None:
        return freshened(previous, service, now)
    return [ChangeRecord(*key, "service.changed", now, {**facts, "cause": cause, **change})]


def freshened(previous: ServiceRecord, seen: ServiceRecord, now: datetime) -> list[ChangeRecord]:
    """Return the event of a service that has the same content and another state: it was stale and is fresh again."""
    before, after = _state(previous, now), _state(seen, now)
    if seen.hidden or before == after:
        return []
    return [state_changed(seen, before, now)]


def state_changed(service: ServiceRecord, before: str, now: datetime) -> ChangeRecord:
    """Return the event of a service of which nothing changed but its state, which was `before`."""
    facts = _facts(service, now)
    told = {"op": "replace", "path": "/state", "value": facts["state"], "old": before}
    data = {**facts, "cause": "time", "changed": ["state"], "difference": [told], "truncated": False}
    return ChangeRecord(service.domain, service.host, "service.changed", now, data)


def _version(service: ServiceRecord, capabilities: Capabilities) -> Version:
    facts = {
        "score": service.score,
        "rubric_version": service.rubric_version,
        "trust_level": service.trust_level.value,
        "trust_reasons": list(service.listing.trust_reasons),
        "auth_type": service.auth_type,
        "pricing_type": service.pricing_type,
        "formats": list(service.formats),
        "category": service.category,
        "injection_flags": list(service.injection_flags),
        "well_known_url": service.well_known_url,
    }
    return Version.of(service.model, capabilities, facts)


def _state(service: ServiceRecord, now: datetime) -> str:
    return state_of(service.trust_level, service.seen_at, now)


def _facts(service: ServiceRecord, now: datetime) -> dict[str, Any]:
    """Return what every event of a service that is shown says of it."""
    return {
        "state": _state(service, now),
        "name": service.name,
        "score": service.score,
        "trust_level": service.trust_level.value,
        "formats": list(service.formats),
        "injection_flags": list(service.injection_flags),
    }
