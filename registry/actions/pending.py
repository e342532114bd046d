"""Probes that a visit had no budget for, as they are kept until the next visit."""

from dataclasses import asdict
from typing import Any

from registry.core.documents import Probe, Purpose, Via


def probe_to_json(probe: Probe) -> dict[str, Any]:
    return asdict(probe)


def probe_from_json(value: dict[str, Any]) -> Probe:
    """The inverse. Raises KeyError or TypeError for anything that is none."""
    via = value["via"]
    return Probe(**{**value, "purpose": Purpose(value["purpose"]), "via": Via(**via) if via else None})
