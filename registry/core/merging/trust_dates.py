"""Since when a service has its trust level, and each of the reasons why that is not higher."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

LEVEL: Final = "level"
"""The member with the date of the level; all others are codes of reasons (`trust.REASONS`, none of which is this)."""

Facts = tuple[str, Iterable[str]]
"""A level, and the codes of its reasons."""


def trust_since(previous: Facts | None, known: Mapping[str, str], current: Facts, now: datetime) -> dict[str, str]:
    """Return the time (ISO 8601) since when the level, and each reason, holds without interruption.

    `previous`: what held until now, None if nothing was recorded; `known`: its dates. What held already but has no date
    there began before dates were recorded: it is left out, because the time is not known.
    """
    held = set() if previous is None else {_level(previous[0]), *previous[1]}
    names = {LEVEL: _level(current[0])} | {code: code for code in current[1]}
    since = {name: known.get(name) if fact in held else now.isoformat() for name, fact in names.items()}
    return {name: at for name, at in since.items() if at is not None}


def _level(level: str) -> str:
    return f"level:{level}"
