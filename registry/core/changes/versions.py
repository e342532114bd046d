"""What a service is at one time, as one JSON object, and what changed between two of them.

The object has the members of the common model (docs/architecture.md), the facts that this registry adds (score, trust,
state ...), and `capabilities` by name. Left out is what changes without the service: dates, and where in which document
a value stands. So a document that is only sorted anew changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from registry.core.changes.difference import difference
from registry.core.changes.fingerprints import fingerprint

MAX_NAMED: Final = 100
"""Capabilities that one change names; a change of more is `truncated`."""

_PLACES: Final = frozenset({"origin", "provenance"})

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Version:
    """`fields`: all but the capabilities. `capabilities`: by name, unique within the service. `known`: fingerprints of
    capabilities that are computed already, by name."""

    fields: Json
    capabilities: Mapping[str, Json]
    known: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: Mapping[str, Any],
        capabilities: Mapping[str, Mapping[str, Any]],
        facts: Json,
        known: Mapping[str, str] | None = None,
    ) -> "Version":
        """Return the version of a service. `model`, `capabilities`: as stored. `facts`: members that it does not have
        itself; they win over its own."""
        named = {name: _capability(data) for name, data in capabilities.items()}
        return cls({**_without_places(model), **facts}, named, known or {})

    def fingerprint_of(self, name: str) -> str:
        """Return the fingerprint of a capability."""
        return self.known.get(name) or fingerprint(self.capabilities[name])

    def fingerprint(self, known: Mapping[str, str]) -> str:
        """Return the fingerprint of the object in which each capability is replaced by its own fingerprint.

        `known`: fingerprints of capabilities that are computed already.
        """
        capabilities = {name: known.get(name) or fingerprint(data) for name, data in self.capabilities.items()}
        return fingerprint({**self.fields, "capabilities": capabilities})


def capability_fingerprint(data: Mapping[str, Any]) -> str:
    """Return the fingerprint of a capability as stored, which events of the change feed name too: 64 digits."""
    return fingerprint(_capability(data))


def listed(after: Version) -> Json:
    """Return what an event says of a service that is shown from now on."""
    prints = {name: after.fingerprint_of(name) for name in after.capabilities}
    added = [{"name": name, "fingerprint": prints[name]} for name in [*prints][:MAX_NAMED]]
    return {
        "fingerprint": {"before": None, "after": after.fingerprint(prints)},
        "capabilities": {"added": added, "removed": [], "changed": []},
        "truncated": len(prints) > MAX_NAMED,
    }


def changed(before: Version, after: Version) -> Json | None:
    """Return what an event says of a service that changed; None when it did not.

    `changed` are the members that differ; `capabilities` alone, or `score` alone, say that nothing else does.
    """
    old, new = before.capabilities, after.capabilities
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    fields = [name for name in {**before.fields, **after.fields} if before.fields.get(name) != after.fields.get(name)]
    if not names and not fields:
        return None
    prints: Json = {name: after.fingerprint_of(name) for name in new}
    differing = set(names)
    old_prints = {name: prints[name] for name in old if name not in differing}
    old_prints |= {name: fingerprint(old[name]) for name in names if name in old}
    told = difference(
        {**before.fields, "capabilities": {name: old[name] for name in names if name in old}},
        {**after.fields, "capabilities": {name: new[name] for name in names if name in new}},
    )
    shown = names[:MAX_NAMED]
    return {
        "fingerprint": {"before": before.fingerprint(old_prints), "after": after.fingerprint(prints)},
        "changed": sorted([*fields, "capabilities"] if names else fields),
        "capabilities": {
            "added": [{"name": name, "fingerprint": prints[name]} for name in shown if name not in old],
            "removed": [{"name": name, "fingerprint": old_prints[name]} for name in shown if name not in new],
            "changed": [
                {"name": name, "before": old_prints[name], "after": prints[name]}
                for name in shown if name in old and name in new
            ],
        },
        "difference": told.operations,
        "truncated": told.truncated or len(names) > MAX_NAMED,
    }  # fmt: skip


def _capability(data: Mapping[str, Any]) -> Json:
    capability = _without_places(data)
    if "invocations" in capability:
        capability["invocations"] = [_without_places(invocation) for invocation in capability["invocations"]]
    return capability


def _without_places(value: Mapping[str, Any]) -> Json:
    """Return a part of the model without the members that say where a value stands."""
    return {key: item for key, item in value.items() if key not in _PLACES}
