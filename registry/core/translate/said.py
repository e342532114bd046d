"""Texts and ids for documents: cleaned, never holding a template, and something true where a format demands a text.

Where a format demands a text and no document of the host has one, names stand in for it: of the capability, of its
capabilities, of the host. Each such place is noted as a loss, because a reader cannot tell it from the real thing.
"""

import re
from typing import Final

from registry.core.manifest import ID_CHARS, NAME_CHARS, TEXT_CHARS, unique_name, unrendered
from registry.core.plain_text import ELLIPSIS, line
from registry.core.services import Capability, Service
from registry.core.text import split_name
from registry.core.translate.task import Task, at_capability

_UNKNOWN: Final = "the format demands one and none that can be shown is known: {} stands in"


def said(text: str | None, chars: int = TEXT_CHARS) -> str | None:
    """The text on one line; None for no text and for a template that was never rendered (every reader drops those)."""
    clean = line(text, chars) if text else ""
    return None if not clean or unrendered(clean) else clean


def service_name(task: Task) -> str:
    name = said(task.service.name, NAME_CHARS)
    if name is None:
        task.stand_in("/name", "name", _UNKNOWN.format("the host"), known=bool(task.service.name))
    return name or task.host


def service_description(task: Task) -> str:
    description = said(task.service.description)
    if description is None:
        why = _UNKNOWN.format("a list of names")
        task.stand_in("/description", "description", why, known=bool(task.service.description))
    return description or names_of(task.service, task.host)


def names_of(service: Service, host: str) -> str:
    """What there is, by names alone: nothing is claimed that its documents do not name."""
    names = (name for one in service.capabilities if (name := said(one.name, NAME_CHARS)))
    protocols = (one.id for one in service.protocols if said(one.id))
    return cut(f"{host}: {', '.join(dict.fromkeys([*names]) or dict.fromkeys(protocols)) or 'agent service'}", 300)


def capability_name(task: Task, index: int, capability: Capability, otherwise: str) -> str:
    name = said(capability.name, NAME_CHARS)
    if name is None:
        why = _UNKNOWN.format("the id")
        task.stand_in(f"{at_capability(index)}/name", "name", why, known=bool(capability.name))
    return name or otherwise


def capability_description(task: Task, index: int, capability: Capability, otherwise: str) -> str:
    description = said(capability.description)
    if description is None:
        why, known = _UNKNOWN.format("the name"), bool(capability.description)
        task.stand_in(f"{at_capability(index)}/description", "description", why, known=known)
    return description or said(capability.name, NAME_CHARS) or otherwise


def cut(text: str, chars: int) -> str:
    """The text, cut behind a word where it is longer than `chars`; a cut text ends in an ellipsis."""
    if len(text) <= chars:
        return text
    head = text[: chars - 1]
    is_whole = text[chars - 1] == " " or " " not in head[chars // 2 :]
    whole = head if is_whole else head.rpartition(" ")[0]
    return whole.rstrip(" ,;:.") + ELLIPSIS


def plain_id(text: str) -> str:
    """An id as it is, for formats that take any text."""
    return said(text, ID_CHARS) or snake_case(text)


def snake_case(text: str) -> str:
    """`searchFlights` and `Search flights` -> `search_flights`; begins with a letter."""
    words = re.sub(r"[^a-z0-9]+", "_", split_name(text).casefold()).strip("_")[:ID_CHARS].strip("_")
    return words if words[:1].isalpha() else f"c_{words}" if words else "capability"


def kebab_case(text: str) -> str:
    """`search_flights` -> `search-flights`."""
    if re.fullmatch(r"[a-z0-9-]+", text):
        return text[:ID_CHARS]
    return snake_case(text).replace("_", "-")


def unique(wanted: str, taken: set[str], separator: str) -> str:
    """`wanted`, or with a number behind it, within ID_CHARS, where it is taken; the answer is added to `taken`."""
    return unique_name(wanted, taken, separator, ID_CHARS - 8)
