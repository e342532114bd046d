"""Clean texts and ids for written documents, and substitutes where a format requires a text.

Where no document of the host has a required text, a name is used instead: the capability's, a list of all names, or the
host's. Each substitution is noted as a loss, because a reader cannot recognise it.
"""

import re
from typing import Final

from registry.core.format_support.manifest import ID_CHARS, NAME_CHARS, TEXT_CHARS, has_placeholder, unique_name
from registry.core.format_support.writing.task import Task, capability_pointer
from registry.core.model.services import Capability, Service
from registry.core.reading.plain_text import ELLIPSIS, line, split_name

_SUBSTITUTED: Final = "the format requires one and no usable one is known: {} is used"


def clean_text(text: str | None, chars: int = TEXT_CHARS) -> str | None:
    """Return the text on one line; None for an empty text and for an unrendered template (readers drop those)."""
    clean = line(text, chars) if text else ""
    return None if not clean or has_placeholder(clean) else clean


def service_name(task: Task) -> str:
    name = clean_text(task.service.name, NAME_CHARS)
    if name is None:
        task.substitute("/name", "name", _SUBSTITUTED.format("the host"), has_value=bool(task.service.name))
    return name or task.host


def service_description(task: Task) -> str:
    description = clean_text(task.service.description)
    if description is None:
        reason = _SUBSTITUTED.format("a list of names")
        task.substitute("/description", "description", reason, has_value=bool(task.service.description))
    return description or names_of(task.service, task.host)


def names_of(service: Service, host: str) -> str:
    """Return the host with the names of its capabilities or else protocols, all taken from documents."""
    names = (name for capability in service.capabilities if (name := clean_text(capability.name, NAME_CHARS)))
    protocols = (protocol.id for protocol in service.protocols if clean_text(protocol.id))
    return cut(f"{host}: {', '.join(dict.fromkeys([*names]) or dict.fromkeys(protocols)) or 'agent service'}", 300)


def capability_name(task: Task, index: int, capability: Capability, fallback: str) -> str:
    name = clean_text(capability.name, NAME_CHARS)
    if name is None:
        reason = _SUBSTITUTED.format("the id")
        task.substitute(f"{capability_pointer(index)}/name", "name", reason, has_value=bool(capability.name))
    return name or fallback


def capability_description(task: Task, index: int, capability: Capability, fallback: str) -> str:
    description = clean_text(capability.description)
    if description is None:
        reason, has_value = _SUBSTITUTED.format("the name"), bool(capability.description)
        task.substitute(f"{capability_pointer(index)}/description", "description", reason, has_value=has_value)
    return description or clean_text(capability.name, NAME_CHARS) or fallback


def cut(text: str, chars: int) -> str:
    """Return the text, cut to `chars` characters, if possible after a word; a cut text ends in an ellipsis."""
    if len(text) <= chars:
        return text
    head = text[: chars - 1]
    ends_at_word = text[chars - 1] == " " or " " not in head[chars // 2 :]
    words = head if ends_at_word else head.rpartition(" ")[0]
    return words.rstrip(" ,;:.") + ELLIPSIS


def plain_id(text: str) -> str:
    """Return the id unchanged where possible, for formats that accept any text."""
    return clean_text(text, ID_CHARS) or snake_case(text)


def snake_case(text: str) -> str:
    """Return `search_flights` for `searchFlights` and `Search flights`; the result starts with a letter."""
    words = re.sub(r"[^a-z0-9]+", "_", split_name(text).casefold()).strip("_")[:ID_CHARS].strip("_")
    return words if words[:1].isalpha() else f"c_{words}" if words else "capability"


def kebab_case(text: str) -> str:
    """Return `search-flights` for `search_flights`."""
    if re.fullmatch(r"[a-z0-9-]+", text):
        return text[:ID_CHARS]
    return snake_case(text).replace("_", "-")


def unique(name: str, used_names: set[str], separator: str) -> str:
    """Return `name`, with a number appended if it is taken, within ID_CHARS; add the result to `used_names`."""
    return unique_name(name, used_names, separator, ID_CHARS - 8)
