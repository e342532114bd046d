"""Find the members of a source document that a translation does not express, key by key.

What a member says is found by reading the document again without it: the leaves of the model that then differ come from
this member. It is expressed if a client of the written document receives one of them. So the comparison does not depend
on how the source's format names or writes a value ("float" and "number", "/rent" and "https://host/rent"), and a member
that no reader reads cannot be forgotten. Members of the same name at the same depth are left out together, because each
reading costs time.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from registry.core.format_support.public_addresses import private_places
from registry.core.format_support.writing.task import Loss, short_name
from registry.core.model.services import Service
from registry.core.names.domains import host_of
from registry.core.reading.json_pointer import at
from registry.core.translating.sources import ITEM, Leaf, Readable, ReadModel, Scalar, leaves_of, model, scalar

MAX_READINGS: Final = 150  # of one document
MAX_READ_CHARS: Final = 2_000_000  # of one document, all readings together
MAX_MISSING: Final = 20  # capabilities that need a member and are looked at
MAX_LOSSES: Final = 2_000  # of one document, one by one
PROSE_CHARS: Final = 20  # a longer text hardly stands for anything but itself

_PRIVATE: Final = "addresses that are not public are left out"
_SYNTAX: Final = frozenset({"$schema", "@context", "@type"})
_MARK = re.compile(r"version|schema|protocol|spec|type|format", re.IGNORECASE)
_NAMES: Final = ("name", "id", "key", "code")
_AUTH: Final = ("invocations", ITEM, "auth")

Place = tuple[str | int, ...]


@dataclass(slots=True)
class ReadBack:
    """The written document as a client reads it. `entries`: leaves by the place of the capability in a source, (URL,
    JSON Pointer). `left_out`: reasons by the same places. `reasons`: for parameters that are not received. `written`:
    for each value in the written document itself, the keys that have it."""

    title: str
    service: frozenset[Leaf]
    entries: dict[tuple[str, str], frozenset[Leaf]] = field(default_factory=dict)
    left_out: dict[tuple[str, str], str] = field(default_factory=dict)
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    written: Mapping[Scalar, frozenset[str]] = field(default_factory=dict)

    def has(self, leaf: Leaf, capability: tuple[str, str] | None) -> bool:
        """Return whether the client receives a leaf of the service, or of a capability."""
        path, value = leaf
        if capability is None:
            return leaf in self.service or self._has_auth(leaf)
        if leaf in self.entries.get(capability, frozenset()):
            return True
        if path[:3] == _AUTH and capability in self.entries:  # the credentials of the site are those of its calls
            return self.has((path[2:], value), None)
        return False

    def has_path(self, leaf: Leaf, capability: tuple[str, str] | None) -> bool:
        """Return whether the client receives another value at the place of the leaf."""
        found = self.service if capability is None else self.entries.get(capability, frozenset())
        return any(path == leaf[0] for path, _ in found)

    def _has_auth(self, leaf: Leaf) -> bool:
        path, value = leaf
        if path[:1] != ("auth",):
            return False
        if any((("invocations", ITEM, *path), value) in entry for entry in self.entries.values()):
            return True
        says_none = (path[-1] == "required" and value == ("boolean", False)) or value == ("string", "none")
        kinds = {found for place, found in self.service if place == ("auth", "schemes", ITEM, "type")}
        return says_none and not kinds - {("string", "none")}


@dataclass(frozen=True, slots=True)
class _Member:
    """A scalar of the source document. `capability`: the index of the described capability, or None."""

    place: Place
    value: Scalar
    capability: int | None
    names: frozenset[str]  # keys on the way to it, and what the objects on the way are called

    @property
    def key(self) -> str:
        return str(self.place[-1])


@dataclass(frozen=True, slots=True)
class _DependentLeaf:
    """A leaf of the model that depends on a member, and its capabilities (None: the service). Not `stated`: it would be
    there with the contrary of a flag."""

    leaf: Leaf
    capabilities: Sequence[int | None]
    stated: bool = True


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Whether a member is expressed. `inexact`: the client receives something else in its place."""

    expressed: bool
    inexact: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Change:
    """The difference in the model without some members of the document: leaves that are gone and that are added.
    `capabilities`: by index, None if the reader left it out. `shared`: the capabilities that lost a leaf."""

    service: tuple[frozenset[Leaf], frozenset[Leaf]]
    capabilities: Mapping[int, tuple[frozenset[Leaf], frozenset[Leaf]] | None]
    shared: Mapping[Leaf, Sequence[int]]
    shared_leaves: frozenset[Leaf]
    values: frozenset[Scalar]  # of the members


class SourceComparison:
    """The comparison of one source document with the translation as a client receives it."""

    def __init__(self, source: Readable, received: ReadBack) -> None:
        self._source = source
        self._indexes: dict[frozenset[Leaf], _LeafIndex] = {}
        self._received = received
        self._url = source.source.url
        self._before: ReadModel = model(source.service(source.value), self._url)
        self._places = {place: index for index, (place, _) in enumerate(self._before.capabilities) if place is not None}
        self._text = json.dumps(source.value)
        host = host_of(self._url)
        # the translation describes this host, whether or not it writes it
        self._own_addresses = {("string", text) for text in (host, f"https://{host}", f"https://{host}/")}

    def losses(self) -> list[Loss]:
        """Return one loss for each member that is not expressed, the highest one where nothing below it is."""
        members = list(self._members())
        verdicts = self._judge_members(members)
        lost = {member.place: verdicts[member.place] for member in members if not verdicts[member.place].expressed}
        kept = {member.place for member in members if verdicts[member.place].expressed}
        # capabilities are lost one by one, each for its own reason
        kept |= {member.place[: self._depth(member) - 1] for member in members if self._depth(member)}
        losses = [self._loss(place, verdicts) for place, verdicts in _find_highest(lost, kept)]
        if len(losses) > MAX_LOSSES:
            excess = len(losses) - MAX_LOSSES
            losses = [*losses[:MAX_LOSSES], Loss("", f"{excess} more members", "too many to list", self._url)]
        return losses

    def _depth(self, member: _Member) -> int:
        """Return the number of keys that lead to the capability of the member; 0 without one."""
        place = None if member.capability is None else self._before.capabilities[member.capability][0]
        return (place or "").count("/")

    # --- the members of the document

    def _members(self) -> Iterator[_Member]:
        level: list[tuple[Place, Any, int | None, frozenset[str]]] = [
            ((), self._source.value, self._places.get(""), frozenset())
        ]
        while level:
            place, value, capability, names = level.pop()
            if isinstance(value, dict | list):
                capability = self._places.get(at("", *place), capability) if place else capability
                if isinstance(value, dict):
                    called = (value.get(key) for key in _NAMES)
                    names = names | {text for text in called if isinstance(text, str)}
                children = value.items() if isinstance(value, dict) else enumerate(value)
                level += [
                    ((*place, key), child, capability, names | {str(key)} if isinstance(key, str) else names)
                    for key, child in children
                    if key not in _SYNTAX or place
                ]
            elif value is not None and value != "":
                yield _Member(place, scalar(value), capability, names)

    # --- what they say

    def _judge_members(self, members: Sequence[_Member]) -> dict[Place, _Verdict]:
        verdicts: dict[Place, _Verdict] = {}
        groups: dict[tuple[Any, ...], list[_Member]] = defaultdict(list)
        for member in members:
            is_prose = len(str(member.value[1])) >= PROSE_CHARS
            verdict = self._judge_member(member, self._find_alike(member), is_read=True) if is_prose else None
            if verdict is not None and verdict.expressed:
                verdicts[member.place] = verdict
            else:
                key = ITEM if isinstance(member.place[-1], int) else member.place[-1]
                groups[member.place[0], len(member.place), key].append(member)
        readings = min(MAX_READINGS, MAX_READ_CHARS // max(len(self._text), 1))
        for number, group in enumerate(sorted(groups.values(), key=lambda group: -len(group))):
            change = self._find_change(group) if number < readings else None
            for member in group:
                said = self._find_alike(member) if change is None else self._find_said(member, change)
                verdicts[member.place] = self._judge_member(member, said)
        return verdicts

    def _find_alike(self, member: _Member) -> list[_DependentLeaf]:
        """Return the leaves of the model with the value of the member."""
        index = member.capability
        leaves = self._before.service if index is None else self._before.capabilities[index][1]
        return [_DependentLeaf(leaf, (index,)) for leaf in leaves if leaf[1] == member.value]

    def _find_change(self, group: Sequence[_Member]) -> _Change:
        """Return the difference that these members make: the model without them or, for flags, with the contrary."""
        value = json.loads(self._text)
        for member in group:
            holder: Any = value
            for key in member.place[:-1]:
                holder = holder[key]
            if member.value[0] == "boolean":
                holder[member.place[-1]] = not member.value[1]
            elif isinstance(holder, dict):
                del holder[member.place[-1]]
            else:
                holder[member.place[-1]] = None  # the other items keep their places
        before, after = self._before, model(self._source.service(value), self._url)
        has_places = all(place is not None for place, _ in before.capabilities)
        by_place = dict(after.capabilities)
        capabilities: dict[int, tuple[frozenset[Leaf], frozenset[Leaf]] | None] = {}
        shared: dict[Leaf, list[int]] = defaultdict(list)
        for index, (place, leaves) in enumerate(before.capabilities):
            if has_places:
                found = by_place.get(place)
            else:
                found = after.capabilities[index][1] if len(after.capabilities) == len(before.capabilities) else None
            capabilities[index] = None if found is None else (leaves - found, found - leaves)
            for leaf in leaves - found if found is not None else ():
                shared[leaf].append(index)
        service = (before.service - after.service, after.service - before.service)
        values = frozenset(member.value for member in group)
        return _Change(service, capabilities, shared, frozenset(shared), values)

    def _find_said(self, member: _Member, change: _Change) -> list[_DependentLeaf]:
        """Return the leaves that depend on the member."""
        index = member.capability
        if index is None:
            gone, added = change.service
            # what stands outside of the capabilities, such as a base URL or a schema, may be part of them in the model
            shared = self._nearest(member, change.shared_leaves, change.values)
            parts = [_DependentLeaf(leaf, change.shared[leaf]) for leaf in shared]
            missing = (number for number, difference in change.capabilities.items() if difference is None)
            for number in islice(missing, MAX_MISSING):
                parts += [_DependentLeaf(leaf, (number,)) for leaf in self._find_related(member, number)]
        else:
            difference, parts = change.capabilities[index], []
            if difference is None:  # the reader takes no capability without this member
                return [_DependentLeaf(leaf, (index,)) for leaf in self._find_related(member, index)]
            gone, added = difference
        said = [*(_DependentLeaf(leaf, (index,)) for leaf in self._nearest(member, gone, change.values)), *parts]
        if said or member.value[0] != "boolean":
            return said
        return [_DependentLeaf(leaf, (index,), stated=False) for leaf in self._nearest(member, added, change.values)]

    def _nearest(self, member: _Member, leaves: frozenset[Leaf], others: frozenset[Scalar] | None = None) -> list[Leaf]:
        if (index := self._indexes.get(leaves)) is None:
            index = self._indexes[leaves] = _LeafIndex(leaves)
        return index.nearest(member, others)

    def _find_related(self, member: _Member, index: int) -> list[Leaf]:
        """Return the leaves of a capability that have the value of the member, or are named after it."""
        return self._nearest(member, self._before.capabilities[index][1])

    def _judge_member(self, member: _Member, said: Sequence[_DependentLeaf], *, is_read: bool = False) -> _Verdict:
        """Return whether the client receives the member's facts."""
        if member.value in self._own_addresses:
            return _Verdict(True)
        if not said and not is_read:
            return self._judge_unread(member)
        inexact, reason = False, None
        for part in said:
            for index in part.capabilities:
                place = None if index is None else (self._url, self._before.capabilities[index][0] or "")
                if self._received.has(part.leaf, place) is part.stated:
                    return _Verdict(True)
                inexact = inexact or self._received.has_path(part.leaf, place)
                if place is not None and part.leaf[0][0] == "params":
                    reason = self._received.reasons.get(place)
        return _Verdict(False, inexact, reason)

    def _judge_unread(self, member: _Member) -> _Verdict:
        """Return the verdict on a member that changes nothing in the model: the mark of its format or dialect, what its
        reader does not read, or what goes without saying."""
        if len(member.place) == 1:
            if member.key in self._source.form.marks:
                return _Verdict(True)
            value = {key: item for key, item in self._source.value.items() if key != member.key}
            if _MARK.search(member.key) and not self._source.is_recognised(value):
                return _Verdict(True)
        keys = self._received.written.get(member.value, frozenset())
        return _Verdict(member.key in keys or (bool(keys) and len(str(member.value[1])) >= PROSE_CHARS))

    # --- losses

    def _loss(self, place: Place, verdicts: Sequence[_Verdict]) -> Loss:
        """Return the loss of a member and everything below it."""
        pointer, title = at("", *place), self._received.title
        above = (at("", *place[:length]) for length in range(len(place), 0, -1))
        capability = next((holder for holder in above if holder in self._places), "")
        reason = self._received.left_out.get((self._url, capability))
        what = _label(place, self._source.value, is_capability=reason is not None and pointer == capability)
        if reason is None:
            reason = next((verdict.reason for verdict in verdicts if verdict.reason), None)
        if reason is None:
            is_inexact = any(verdict.inexact for verdict in verdicts)
            reason = f"{title} cannot express it exactly" if is_inexact else f"{title} has no place for it"
        return Loss(pointer, what, reason, self._url)


def compare_sources(sources: Iterable[Readable], received: ReadBack) -> list[Loss]:
    """Return the members of the sources that the written document does not express."""
    return [loss for source in sources for loss in SourceComparison(source, received).losses()]


def private_addresses(source: Readable) -> list[Loss]:
    """Return the members of the host's own document that are not handed out, because they are not public."""
    url, places = source.source.url, private_places(source.value, source.source.url)
    return [Loss(at("", *place), _label(place, source.value, is_capability=False), _PRIVATE, url) for place in places]


def received_of(title: str, service: Service, written: Mapping[str, Any]) -> ReadBack:
    """Return the service as a client receives it; the caller adds the entries."""
    keys: dict[Scalar, set[str]] = defaultdict(set)
    for path, value in leaves_of(written):
        keys[value].add(path[-1])
    frozen = {value: frozenset(found) for value, found in keys.items()}
    return ReadBack(title, model(service, "").service, written=frozen)


class _LeafIndex:
    """Leaves of the model, found by their value and by the keys on the way to them: each is asked for every member."""

    def __init__(self, leaves: Iterable[Leaf]) -> None:
        self._leaves = list(leaves)
        self._alike: dict[object, dict[Leaf, None]] = defaultdict(dict)
        for leaf in self._leaves:
            self._alike[leaf[1]][leaf] = None
            for key in leaf[0]:
                self._alike[key][leaf] = None

    def nearest(self, member: _Member, others: frozenset[Scalar] | None = None) -> list[Leaf]:
        """Return the leaves that the member itself states, out of leaves that depend on it and on similar members.
        Preferred are leaves with its value or named after it; else leaves that contain its value; else leaves without
        the value of any of the `others`. Among these, leaves of the same parameter come first, then of the same key."""
        named = self._alike.get(member.value[1], {}) if isinstance(member.value[1], str) else {}
        near = list(self._alike.get(member.value, {}) | named)
        near = near or [leaf for leaf in self._leaves if _holds(leaf[1][1], member.value[1])]
        if not near and others is not None:
            addresses = [value for kind, value in others if kind == "string" and "://" in value][:MAX_MISSING]
            near = [leaf for leaf in self._leaves if leaf[1] not in others]
            near = [leaf for leaf in near if not any(_holds(leaf[1][1], address) for address in addresses)]
        overlaps = [len(member.names & set(path)) for path, _ in near]
        most = max(overlaps, default=0)
        near = [leaf for leaf, overlap in zip(near, overlaps, strict=True) if overlap == most]
        return [leaf for leaf in near if leaf[0][-1] == member.key] or near


def _holds(text: object, part: object) -> bool:
    """Return whether a text begins or ends with the other: a base URL, a path."""
    if not isinstance(text, str) or not isinstance(part, str):
        return False
    return len(part) > 1 and (text.startswith(part) or text.endswith(part))


def _find_highest(lost: Mapping[Place, _Verdict], kept: Iterable[Place]) -> list[tuple[Place, list[_Verdict]]]:
    """Return the highest places below which all is lost, sorted, each with the verdicts on its members."""
    expressed = {place[:length] for place in kept for length in range(len(place) + 1)}
    found: dict[Place, list[_Verdict]] = defaultdict(list)
    for place, verdict in lost.items():
        lengths = range(1, len(place) + 1)
        found[next(place[:length] for length in lengths if place[:length] not in expressed)].append(verdict)
    return sorted(found.items(), key=lambda item: [str(key).zfill(6) for key in item[0]])


def _label(place: Place, value: Any, *, is_capability: bool) -> str:
    """Return the member in a few words: its key, for an item of an array with the name of the array."""
    if is_capability:
        for key in place:
            value = value[key]
        called = (value.get(key) for key in ("name", "id", "title")) if isinstance(value, dict) else ()
        return f"capability {short_name(next((text for text in called if isinstance(text, str)), str(place[-1])))}"
    keys = [key for key in place if isinstance(key, str)]
    return short_name(keys[-1]) if keys else "members"
