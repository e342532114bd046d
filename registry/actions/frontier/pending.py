"""Stores the probes that a visit had no budget for until the next visit."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from registry.core.model.documents import Probe, Purpose, Via


def probe_to_json(probe: Probe) -> dict[str, Any]:
    return {**probe._asdict(), "via": asdict(probe.via) if probe.via else None}


def probes_from_json(values: Sequence[Any]) -> tuple[Probe, ...]:
    """Return the probes. Values in the shape of another program version are left out: a plan finds them again."""
    return tuple(probe for value in values if (probe := _probe(value)) is not None)


def _probe(value: Any) -> Probe | None:
    try:
        via = value["via"]
        return Probe(**{**value, "purpose": Purpose(value["purpose"]), "via": Via(**via) if via else None})
    except (KeyError, TypeError, ValueError):
        return None
