"""What all writers share: the task and the written document, clean texts and ids, and members of one format alone.

A writer writes what it can. Most losses are found afterwards by reading the document again (translating/compare.py).
A writer therefore notes only what a reader cannot see: why a capability is missing, or that a name stands in for a
required text that no document has (the capability's name, a list of all names, or the host's). Members that only one
format knows are written back as its reader kept them (`native`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from registry.core.format_support import manifest
from registry.core.format_support.manifest import ID_CHARS, MAX_CAPABILITIES, NAME_CHARS, TEXT_CHARS, has_placeholder
from registry.core.model.services import Capability, Invocation, Service
from registry.core.reading.plain_text import ELLIPSIS, line, split_name

Found = TypeVar("Found")

MAX_REASONS: Final = 10
_NAME_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a translated document does not express. `pointer`: JSON Pointer into the source document at the
    URL `document`, or without `document` into `services.to_json` of the service. `what`: the part in a few words.
    `why`: one clause."""

    pointer: str
    what: str
    why: str
    document: str | None = None


class CannotWrite(Exception):
    """The format cannot express anything truthful about the service. `reasons` are clauses for people."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class EntrySource:
    """The indexes of the capability, and of its invocation, from which an entry was written."""

    capability: int
    invocation: int
    enveloped: bool = False  # the parameters are inside one member of the request


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """The document of a writer. `sources`: one per entry, in the order in which a reader of the format finds the
    entries. `details`: ADP capability details by the index of their entry, for entries whose detail this registry
    serves."""

    document: dict[str, Any]
    sources: Sequence[EntrySource]
    details: dict[int, dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Task:
    """One translation. `title` names the format in sentences. `detail_url` maps the name of a capability to the URL of
    the ADP detail that this registry serves. `reasons` explains, by pointer, losses that reading the document will
    find."""

    service: Service
    host: str
    title: str
    detail_url: Callable[[str], str] | None = None
    losses: list[Loss] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)

    def note_loss(self, pointer: str, part: str, reason: str) -> None:
        self.losses.append(Loss(pointer, part, reason))

    def substitute(self, pointer: str, part: str, reason: str, *, has_value: bool) -> None:
        """Note that the writer substitutes a value where the format requires one. `has_value`: the service has a value,
        which does not fit. Reading the document back will find that loss, so only its reason is kept. Otherwise the
        note is the only trace of the substitution."""
        if has_value:
            self.reasons[pointer] = reason
        else:
            self.note_loss(pointer, part, reason)

    def leave_out(self, index: int, reason: str) -> None:
        """Note that the document leaves out a capability."""
        name = short_name(self.service.capabilities[index].name)
        self.note_loss(capability_pointer(index), f"capability {name}", reason)

    def capabilities(self) -> Iterator[tuple[int, Capability]]:
        """Yield index and capability, up to the number that readers accept; note the rest as left out."""
        for index, capability in enumerate(self.service.capabilities):
            if index < MAX_CAPABILITIES:
                yield index, capability
            else:
                self.leave_out(index, f"readers take {MAX_CAPABILITIES:,} capabilities of one document")

    def entries(self, find: Callable[[int, Capability], Found | str]) -> Iterator[tuple[int, Capability, Found]]:
        """Yield each capability with what `find` returns; note those left out, for which it returns the reason."""
        for index, capability in self.capabilities():
            found = find(index, capability)
            if isinstance(found, str):
                self.leave_out(index, found)
            else:
                yield index, capability, found

    def nothing_written(self, demand: str) -> CannotWrite:
        """Return the error for a document without capabilities: `demand` with the reasons, most frequent first."""
        if not self.service.capabilities:
            return CannotWrite(f"{demand}; no document of the host names a capability")
        total = len(self.service.capabilities)
        counts = Counter(loss.why for loss in self.losses if loss.what.startswith("capability "))
        ranked = counts.most_common(MAX_REASONS)
        return CannotWrite(*(f"{demand}; {count} of {total} capabilities: {reason}" for reason, count in ranked))


@dataclass(frozen=True, slots=True)
class Writer:
    """How a format is written. `title` names a document of the format in sentences; `write` may raise CannotWrite."""

    title: str
    write: Callable[[Task], WrittenDocument]


def call_at(task: Task, source: EntrySource) -> Invocation:
    """Return the invocation that an entry was written from."""
    return task.service.capabilities[source.capability].invocations[source.invocation]


def capability_pointer(index: int) -> str:
    """Return the JSON Pointer to a capability of the service."""
    return f"/capabilities/{index}"


def short_name(text: str) -> str:
    """Return a name, cut to a length that fits into a sentence."""
    return line(text, _NAME_CHARS)


def stated(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that have a value."""
    return {key: value for key, value in members.items() if value is not None}


def with_native(slug: str, holder: Service | Capability, written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stated members, and the members of the format `slug` that the model keeps without a field. A member
    written from a field of the model wins; objects are united."""
    return _unite(stated(written), holder.native.get(slug, {}))


def _unite(written: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return both objects as one. Depth is bounded, because the reader of the kept value limited it."""
    united = {**kept, **written}
    for key in kept.keys() & written.keys():
        if isinstance(kept[key], Mapping) and isinstance(written[key], Mapping):
            united[key] = _unite(written[key], kept[key])
    return united


def clean_text(text: str | None, chars: int = TEXT_CHARS) -> str | None:
    """Return the text on one line; None for an empty text and for an unrendered template (readers drop those)."""
    clean = line(text, chars) if text else ""
    return None if not clean or has_placeholder(clean) else clean


def _clean_or_noted(task: Task, pointer: str, text: str | None, substitute: str, chars: int = TEXT_CHARS) -> str | None:
    """Return what `clean_text` does; for None, note that `substitute` takes the place of the member at `pointer`."""
    clean = clean_text(text, chars)
    if clean is None:
        reason = f"the format requires one and no usable one is known: {substitute} is used"
        task.substitute(pointer, pointer.rpartition("/")[2], reason, has_value=bool(text))
    return clean


def service_name(task: Task) -> str:
    return _clean_or_noted(task, "/name", task.service.name, "the host", NAME_CHARS) or task.host


def service_description(task: Task) -> str:
    description = _clean_or_noted(task, "/description", task.service.description, "a list of names")
    return description or names_of(task.service, task.host)


def names_of(service: Service, host: str) -> str:
    """Return the host with the names of its capabilities or else protocols, all taken from documents."""
    names = (name for capability in service.capabilities if (name := clean_text(capability.name, NAME_CHARS)))
    protocols = (protocol.id for protocol in service.protocols if clean_text(protocol.id))
    return cut(f"{host}: {', '.join(dict.fromkeys([*names]) or dict.fromkeys(protocols)) or 'agent service'}", 300)


def capability_name(task: Task, index: int, capability: Capability, fallback: str) -> str:
    pointer = f"{capability_pointer(index)}/name"
    return _clean_or_noted(task, pointer, capability.name, "the id", NAME_CHARS) or fallback


def capability_description(task: Task, index: int, capability: Capability, fallback: str) -> str:
    pointer = f"{capability_pointer(index)}/description"
    description = _clean_or_noted(task, pointer, capability.description, "the name")
    return description or clean_text(capability.name, NAME_CHARS) or fallback


def cut(text: str, chars: int) -> str:
    """Return the text, cut to `chars` characters, if possible after a word; a cut text ends in an ellipsis."""
    if len(text) <= chars:
        return text
    head = text[: chars - 1]
    if text[chars - 1] != " " and " " in head[chars // 2 :]:  # inside a word
        head = head.rpartition(" ")[0]
    return head.rstrip(" ,;:.") + ELLIPSIS


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
    return manifest.unique_name(name, used_names, separator, ID_CHARS - 8)
