"""Account for the entries of a document: which ones the reader understood, and which ones it dropped in silence.

A format declares where its specification puts entries (`Part`) and which types members have. `survey` finds both in a
parsed document; after the reader has run, `settle` compares. An entry is accounted for when it, or a place inside it,
is the origin of something in the service, or when a finding says what is wrong with it. Each other entry becomes a
finding, so that a reader cannot drop an entry in silence.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from registry.core.format_support import common_rules
from registry.core.format_support.manifest import Notes, evidence_text, first_text
from registry.core.format_support.shapes import LIST, OBJECT, Kind
from registry.core.model.documents import Json
from registry.core.model.findings import EVIDENCE_CHARS, Finding
from registry.core.model.services import Service
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import line

MAX_ENTRIES: Final = 50_000  # entries of one document that are compared
MAX_UNREAD: Final = 50  # findings about unread entries of one document; the last one counts the rest

PACKAGE: Final = "package"  # the model keeps its identifier instead of its origin
_VALUE_CHARS: Final = 100
_NAMES: Final = ("id", "identifier", "name", "package", "title", "operationId", "displayName", "url")
_ENDING: Final = re.compile(r"(?<=[^aeiou])y$")  # one entry, two entries
_MORE: Final = re.compile(r"and (\d+) more")
EITHER: Final = Kind("a list or an object", lambda value: isinstance(value, list | dict))
TEXT_OR_OBJECT: Final = Kind("a text or an object", lambda value: isinstance(value, str | dict))
_CONTAINERS: Final = {"[]": LIST, "{}": OBJECT, "*": EITHER}


@dataclass(frozen=True, slots=True)
class Part:
    """A place where a format's specification puts entries.

    `place` is a JSON Pointer with patterns: `[]` stands for the items of a list, `{}` for the members of an object, `*`
    for either, and `get|put` for several names. `noun` names one entry in messages. `entry` is its type, `members` are
    the types of its members. `others` are all other members that the specification defines beside the names at the end
    of `place`: an unknown object with several members beside them counts as an entry. `marks` are texts that stand for
    no entry. `is_offered`: callers can use an entry, so a document is incomplete without it.
    """

    place: str
    noun: str
    entry: Kind = OBJECT
    members: Mapping[str, Kind] = field(default_factory=dict)
    others: frozenset[str] | None = None
    marks: frozenset[str] = frozenset()
    is_offered: bool = True


class Entry(NamedTuple):
    """One entry of a document: its place, its key there, and its value."""

    pointer: str
    key: str
    item: Json
    part: Part

    @property
    def name(self) -> str:
        """Return how messages name the entry."""
        item = self.item
        name = first_text(item, *_NAMES) if isinstance(item, dict) else item if isinstance(item, str) else None
        return line(name or self.key, EVIDENCE_CHARS)


class EntryCount(NamedTuple):
    """How many entries of one kind were read, and how many were not: left out with a finding or not understood."""

    noun: str
    read: int
    not_read: int

    def in_words(self) -> str:
        """Return the numbers as in `14 operations read, 2 not read`."""
        nouns = self.noun if self.read == 1 else f"{_ENDING.sub('ie', self.noun)}s"
        return f"{self.read} {nouns} read" + (f", {self.not_read} not read" if self.not_read else "")


@dataclass(frozen=True, slots=True)
class Survey:
    """The entries of a document, and for each place of a wrong type what it holds, by JSON Pointer."""

    entries: tuple[Entry, ...]
    wrong_types: Mapping[str, str]


def survey(parts: Iterable[Part], types: Mapping[str, Kind], value: Json) -> Survey:
    """Return the entries at the places of the format, and the members whose type is wrong. A null counts as absent."""
    wrong: dict[str, str] = {}
    entries: dict[str, Entry] = {}
    for place, kind in types.items():
        typed: list[_Found] = []
        _collect(value, "", _segments_of(place), None, {}, typed)
        for pointer, _, item in typed:
            _check(item, kind, pointer, wrong)
    for part in parts:
        found: list[_Found] = []
        _collect(value, "", _segments_of(part.place), part, wrong, found)
        for pointer, key, item in found[: MAX_ENTRIES - len(entries)]:
            if isinstance(item, str) and item in part.marks:
                continue
            entries.setdefault(pointer, Entry(pointer, key, item, part))
            if isinstance(item, dict):
                for name, kind in part.members.items():
                    if name in item and not (item[name] is None or kind.holds(item[name])):
                        wrong[at(pointer, name)] = _instead(item[name], kind)
            _check(item, part.entry, pointer, wrong)
    return Survey(tuple(entries.values()), wrong)


_Found = tuple[str, str, Json]
"""JSON Pointer, key and value of a place."""


@lru_cache(maxsize=1_024)
def _segments_of(place: str) -> tuple[str, ...]:
    return tuple(place.split("/")[1:])


def _collect(
    value: Json, pointer: str, segments: tuple[str, ...], part: Part | None, wrong: dict[str, str], found: list[_Found]
) -> None:
    """Add the places below `value` to `found`, and containers of a wrong type to `wrong`. With `part`, what stands
    there in another shape is added too."""
    if not segments:
        found.append((pointer, pointer.rpartition("/")[2], value))
        return
    segment, rest = segments[0], segments[1:]
    if (kind := _CONTAINERS.get(segment)) is not None:
        if value is not None and not kind.holds(value):
            wrong[pointer] = _instead(value, kind)
            if part is None:
                return
            known = (*_NAMES, *part.members, *(rest[0].split("|") if rest else ()))
            if isinstance(value, dict) and not value.keys().isdisjoint(known):
                _collect(value, pointer, rest, part, wrong, found)  # a single entry, without its list
                return
        for key, item in _items(value):
            below, before = at(pointer, key), len(found)
            _collect(item, below, rest, part, wrong, found)
            # an entry in an unexpected shape, or a reference
            is_other = not isinstance(item, dict) or "$ref" in item or pointer in wrong
            is_member = bool(rest) and pointer in wrong and not isinstance(item, dict | list)
            if part is not None and is_other and len(found) == before and not (item is None or is_member):
                found.append((below, str(key), item))
        return
    if not isinstance(value, dict):
        return
    names = segment.split("|")
    if part is None or rest or part.others is None:  # other members are no entries
        for key in names:
            if value.get(key) is not None:
                _collect(value[key], at(pointer, key), rest, part, wrong, found)
        return
    for key, item in value.items():
        if key in names:
            if item is not None:
                _collect(item, at(pointer, key), rest, part, wrong, found)
        elif key not in part.others and _is_like_an_entry(key, item):
            found.append((at(pointer, key), key, item))


def _is_like_an_entry(key: str, item: Json) -> bool:
    return not key.startswith("x-") and isinstance(item, dict) and len(item) > 1


def _items(value: Json) -> Iterator[tuple[str | int, Json]]:
    """Yield the entries of a container; members that begin with `x-` are extensions."""
    if isinstance(value, dict):
        yield from ((key, item) for key, item in value.items() if not key.startswith("x-"))
    elif isinstance(value, list):
        yield from enumerate(value)


def _check(value: Json, kind: Kind, pointer: str, wrong: dict[str, str]) -> None:
    if value is not None and not kind.holds(value):
        wrong[pointer] = _instead(value, kind)


def _instead(value: Json, kind: Kind) -> str:
    return f"{evidence_text(value)[:_VALUE_CHARS]} instead of {kind.says}"


def settle(surveyed: Survey, service: Service, notes: Notes) -> tuple[tuple[Finding, ...], tuple[EntryCount, ...]]:
    """Return the findings about unread entries, and the counts of entries by kind. `notes` are those of the reader."""
    read = _with_ancestors((*notes.read_places, *_origins(service)))
    noted = notes.places | _with_ancestors(notes.losses)
    packages = {line(one.identifier, EVIDENCE_CHARS) for one in service.packages if one.identifier}
    read |= {one.pointer for one in surveyed.entries if one.part.noun == PACKAGE and one.name in packages}
    unread = [one for one in surveyed.entries if one.pointer not in read and one.pointer not in noted]
    if notes.left_out:
        unread = [one for one in unread if notes.left_out.isdisjoint(("", *_ancestors(one.pointer)))]
    counts: dict[str, list[int]] = {}
    for one in surveyed.entries:
        counts.setdefault(one.part.noun, [0, 0])[one.pointer not in read] += 1
    findings = [Finding(common_rules.UNREAD, one.pointer, one.name) for one in unread[:MAX_UNREAD]]
    if (more := len(unread) - MAX_UNREAD) > 0:
        findings[-1] = Finding(common_rules.UNREAD, unread[MAX_UNREAD - 1].pointer, f"and {more + 1} more", more + 1)
    offered = [one for one in unread if one.part.is_offered]
    if offered:
        noun = offered[0].part.noun
        number = sum(one.part.noun == noun for one in offered)
        evidence = f"{noun}: {number} of {sum(counts[noun])}, the first at {offered[0].pointer}"
        findings.insert(0, Finding(common_rules.PARTLY_READ, "", line(evidence, EVIDENCE_CHARS)))
    return tuple(findings), tuple(EntryCount(noun, *numbers) for noun, numbers in counts.items())


def _origins(service: Service) -> Iterator[str]:
    for capability in service.capabilities:
        for call in capability.invocations:
            if call.origin is not None:
                yield call.origin.pointer
    for pointer in service.pointers:
        yield pointer.pointer


def _with_ancestors(pointers: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for pointer in pointers:
        if pointer not in found:
            found.update(_ancestors(pointer))
    return found


def _ancestors(pointer: str) -> Iterator[str]:
    """Yield the pointer and those to the parts around it, without the root."""
    while pointer:
        yield pointer
        pointer = pointer.rpartition("/")[0]


def count_unread(evidence: Collection[str]) -> int:
    """Return how many entries the findings about unread entries stand for, by their evidence as `settle` writes it."""
    matches = (_MORE.fullmatch(text) for text in evidence)
    return sum(int(match[1]) if match else 1 for match in matches)
