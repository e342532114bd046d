"""The types that all writers use: the task (service, host, losses noted so far), and the written document.

A writer writes what it can and returns its document. Most losses are found afterwards by reading that document again
(translating/compare.py). A writer therefore notes only what a reader cannot see: why a capability is missing, or that
a name was substituted for a missing text.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from registry.core.format_support.manifest import MAX_CAPABILITIES
from registry.core.model.services import Capability, Invocation, Service
from registry.core.reading.plain_text import line

MAX_REASONS: Final = 10
_NAME_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that a translated document does not express.

    `pointer`: JSON Pointer into the source document at the URL `document`; into `services.to_json` of the service where
    that is None. `what`: the part in a few words. `why`: one clause.
    """

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
class Written:
    """The document of a writer.

    `sources`: one per entry, in the order in which a reader of the format finds the entries. `details`: ADP capability
    details by the index of their entry, for entries whose detail this registry serves.
    """

    document: dict[str, Any]
    sources: Sequence[EntrySource]
    details: dict[int, dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Task:
    """One translation.

    `title` names the format in sentences. `detail_url` maps the name of a capability to the URL of the ADP detail that
    this registry serves. `reasons` explains, by pointer, losses that reading the document will find.
    """

    service: Service
    host: str
    title: str
    detail_url: Callable[[str], str] | None = None
    losses: list[Loss] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)

    def note_loss(self, pointer: str, part: str, reason: str) -> None:
        self.losses.append(Loss(pointer, part, reason))

    def substitute(self, pointer: str, part: str, reason: str, *, has_value: bool) -> None:
        """Note that the writer substitutes a value where the format requires one.

        `has_value`: the service has a value, which does not fit. Reading the document back will find that loss, so only
        its reason is kept. Otherwise the note is the only trace of the substitution.
        """
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

    def nothing_written(self, demand: str) -> CannotWrite:
        """Return the error for a document without capabilities: `demand` with the reasons, most frequent first."""
        if not self.service.capabilities:
            return CannotWrite(f"{demand}; no document of the host names a capability")
        counts: dict[str, int] = {}
        for loss in self.losses:
            if loss.what.startswith("capability "):
                counts[loss.why] = counts.get(loss.why, 0) + 1
        total = len(self.service.capabilities)
        ranked = sorted(counts, key=lambda reason: -counts[reason])[:MAX_REASONS]
        return CannotWrite(*(f"{demand}; {counts[reason]} of {total} capabilities: {reason}" for reason in ranked))


@dataclass(frozen=True, slots=True)
class Writer:
    """How a format is written. `title` names a document of the format in sentences; `write` may raise CannotWrite."""

    title: str
    write: Callable[[Task], Written]


def call_at(task: Task, source: EntrySource) -> Invocation:
    """Return the invocation that an entry was written from."""
    return task.service.capabilities[source.capability].invocations[source.invocation]


def capability_pointer(index: int) -> str:
    """Return the JSON Pointer to a capability of the service."""
    return f"/capabilities/{index}"


def short_name(text: str) -> str:
    """Return a name, cut to a length that fits into a sentence."""
    return line(text, _NAME_CHARS)
