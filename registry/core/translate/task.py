"""What every target works with: the service, where it is found, and the notes of what could not be said.

A target writes what it can and hands back its document. What was lost is found by reading that document again
(compare.py), so a target notes only what a reader cannot see: why a capability is missing, or that a name stands in
for a text that nobody wrote.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from registry.core.manifest import MAX_CAPABILITIES
from registry.core.plain_text import line
from registry.core.services import Capability, Invocation, Service

MAX_REASONS: Final = 10
_SHOWN_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class Loss:
    """What a document does not say. `pointer`: JSON Pointer into `services.to_json` of the service; `what`: the part
    in a few words; `why`: one clause."""

    pointer: str
    what: str
    why: str


class CannotSay(Exception):
    """A target has nothing truthful to say; `reasons` are clauses for people."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Place:
    """Which capability and which of its invocations an entry was written from, by their indexes."""

    capability: int
    invocation: int
    enveloped: bool = False  # its parameters are inside one member of the request


@dataclass(frozen=True, slots=True)
class Built:
    """A target's document. `places`: one for each entry, in the order in which a reader of the format finds them.

    `details`: ADP capability details by the index of their entry, for entries whose detail this registry serves.
    """

    document: dict[str, Any]
    places: Sequence[Place]
    details: dict[int, dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Task:
    """One translation: `title` names the format in sentences, `detail_url` maps a capability's name to our detail."""

    service: Service
    host: str
    title: str
    detail_url: Callable[[str], str] | None = None
    losses: list[Loss] = field(default_factory=list)
    because: dict[str, str] = field(default_factory=dict)  # pointer -> why, for what compare.py finds lost

    def lose(self, pointer: str, what: str, why: str) -> None:
        self.losses.append(Loss(pointer, what, why))

    def stand_in(self, pointer: str, what: str, why: str, *, known: bool) -> None:
        """Something of ours is written where the format demands a value. `known`: the service has one that does not
        fit, so that compare.py finds it lost; otherwise only this note tells."""
        if known:
            self.because[pointer] = why
        else:
            self.lose(pointer, what, why)

    def drop(self, index: int, why: str) -> None:
        """A capability that the document leaves out."""
        self.lose(at_capability(index), f"capability {shown(self.service.capabilities[index].name)}", why)

    def capabilities(self) -> Iterator[tuple[int, Capability]]:
        """As many as any reader takes; the rest is lost."""
        for index, capability in enumerate(self.service.capabilities):
            if index < MAX_CAPABILITIES:
                yield index, capability
            else:
                self.drop(index, f"readers take {MAX_CAPABILITIES:,} capabilities of one document")

    def nothing_left(self, demand: str) -> CannotSay:
        """No capability could be carried: the distinct reasons, the most frequent first."""
        if not self.service.capabilities:
            return CannotSay(f"{demand}; no document of the host names a capability")
        counts: dict[str, int] = {}
        for loss in self.losses:
            if loss.what.startswith("capability "):
                counts[loss.why] = counts.get(loss.why, 0) + 1
        total = len(self.service.capabilities)
        ranked = sorted(counts, key=lambda why: -counts[why])[:MAX_REASONS]
        return CannotSay(*(f"{demand}; {counts[why]} of {total} capabilities: {why}" for why in ranked))


def call_at(task: Task, place: Place) -> Invocation:
    return task.service.capabilities[place.capability].invocations[place.invocation]


def at_capability(index: int) -> str:
    return f"/capabilities/{index}"


def shown(text: str) -> str:
    """A name for a sentence about it."""
    return line(text, _SHOWN_CHARS)
