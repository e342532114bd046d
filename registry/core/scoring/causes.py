"""Group the findings of a report by their cause, so that one mistake is shown once.

A view of a report for people: the report keeps every finding and every point. A cause holds the findings of one rule
about the same member of like entries, with the other findings that state the same fact or follow from it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from registry.core.format_support import common_rules
from registry.core.formats import FORMATS
from registry.core.model.findings import Rule, Severity
from registry.core.reading.positions import Position
from registry.core.scoring import rules
from registry.core.scoring.report import ReportedFinding

MAX_PLACES: Final = 5
"""Places that are shown of one cause. A document keeps no more findings of one rule."""

_ORDER: Final = tuple(Severity)
_LAST: Final = Position(10**9)
_MEMBERS: Final[Mapping[Rule, frozenset[str]]] = MappingProxyType({
    rule: frozenset(names.split())
    for rule, names in {
        rules.SERVICE_UNNAMED: "name title",
        rules.SERVICE_UNDESCRIBED: "description intent",
        rules.SERVICE_AUTH_UNKNOWN: "auth authentication security securityschemes",
        rules.SERVICE_PRICING_UNKNOWN: "pricing",
        rules.SERVICE_RATE_LIMIT_UNKNOWN: "rate_limit rate_limits ratelimit",
        rules.SERVICE_UNVERSIONED: "version",
        rules.SERVICE_PROVIDER_UNKNOWN: "provider publisher",
        rules.CAPABILITY_UNDESCRIBED: "description",
        rules.CAPABILITY_WITHOUT_PARAMS: "params parameters input inputs inputschema",
        rules.CAPABILITY_WITHOUT_RESULT: "result results output outputs outputschema responses returns",
        rules.CAPABILITY_UNREACHABLE: "endpoint url path detail_url",
        rules.CAPABILITY_SIDE_EFFECTS_UNKNOWN: "side_effects effects sensitivity",
        rules.CAPABILITY_UNCONFIRMED: "confirmation",
    }.items()
})  # fmt: skip
"""For each missing fact: the members that state it in any format, in lower case."""

_MISSING: Final[Mapping[Rule, frozenset[str]]] = MappingProxyType(
    {**_MEMBERS, **{rules.ADVICE[rule]: names for rule, names in _MEMBERS.items() if rule in rules.ADVICE}}
)
_NO_CAPABILITY: Final = (rules.SERVICE_WITHOUT_CAPABILITIES, rules.ADVICE[rules.SERVICE_WITHOUT_CAPABILITIES])
_WITHOUT_CAPABILITY: Final = (*_NO_CAPABILITY, rules.SERVICE_NOTHING_TO_CALL, rules.SERVICE_NOTHING_TO_JUDGE)
_ANY: Final = frozenset({"[]", "{}", "*"})
_PLACES: Final = tuple(tuple(part.place.split("/")[1:]) for form in FORMATS for part in form.parts)
_LISTS: Final = frozenset(
    name for form in FORMATS for part in form.parts if part.is_offered for name in part.place.split("/")[1].split("|")
)
"""Members at the top of a document, of any format, that hold what callers can use."""


@dataclass(frozen=True, slots=True)
class Cause:
    """`findings`: of one rule about like places, in the order of the report, at least one. `follows`: findings of other
    rules that are gone when these are mended."""

    findings: tuple[ReportedFinding, ...]
    follows: tuple[ReportedFinding, ...] = ()

    @property
    def first(self) -> ReportedFinding:
        return self.findings[0]

    @property
    def severity(self) -> Severity:
        """Return the gravest severity of all its findings."""
        return min((one.rule.severity for one in (*self.findings, *self.follows)), key=_ORDER.index)

    @property
    def count(self) -> int:
        """Return how often the mistake was made."""
        return _count(self.findings)

    @property
    def points(self) -> float:
        """Return what the mistake costs, with what follows from it."""
        return round(sum(one.points for one in (*self.findings, *self.follows)), 2)

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready values: the texts of the rule, at most MAX_PLACES places, and what follows."""
        first = self.first.to_json()
        texts = {key: first[key] for key in ("reason", "says", "fix", "spec")}
        places = [one.to_json() for one in self.findings[:MAX_PLACES]]
        return {
            **texts, "severity": self.severity.value, "points": self.points, "count": self.count,
            "places": [{key: one[key] for key in ("pointer", "line", "column", "evidence")} for one in places],
            "follows": [
                {"reason": one.rule.code, "severity": one.rule.severity.value, "points": one.points,
                 "says": one.rule.says, "fix": one.rule.fix}
                for one in self.follows
            ],
        }  # fmt: skip


def causes_of(findings: Iterable[ReportedFinding]) -> tuple[Cause, ...]:
    """Return each finding in exactly one cause: errors first, then warnings and notes, each in the order of the source.

    Findings without a position, about the service as a whole, come after those with one.
    """
    groups = dict(enumerate(_groups(list(findings))))
    follows: dict[int, list[ReportedFinding]] = defaultdict(list)
    for number, group in list(groups.items()):
        leader = next((key for key, other in groups.items() if key != number and _follows(group, other)), None)
        if leader is not None:
            follows[leader] += [*group, *follows.pop(number, ())]
            del groups[number]
    causes = [Cause(tuple(group), tuple(follows[number])) for number, group in groups.items()]
    return tuple(sorted(causes, key=lambda one: (_ORDER.index(one.severity), one.first.position or _LAST)))


def kind_of_place(pointer: str) -> str:
    """Return a JSON Pointer with `*` for the index or name of each entry: `/skills/3/name` is `/skills/*/name`."""
    keys = pointer.split("/")[1:]
    place = max((place for place in _PLACES if _is_at(place, keys)), key=len, default=())
    names = ["*" if key.isdecimal() or _is_name(place, index) else key for index, key in enumerate(keys)]
    return "".join(f"/{name}" for name in names)


def _is_name(place: Sequence[str], index: int) -> bool:
    """Return whether the key at `index` is the index or name of an entry, such as the method of an operation."""
    return index < len(place) and (place[index] in _ANY or (index > 0 and "|" in place[index]))


def _is_at(place: Sequence[str], keys: Sequence[str]) -> bool:
    """Return whether the keys lead to an entry at this place of a format, or into one."""
    pairs = zip(place, keys, strict=False)
    return len(keys) >= len(place) and all(part in _ANY or key in part.split("|") for part, key in pairs)


def _groups(findings: Sequence[ReportedFinding]) -> list[list[ReportedFinding]]:
    """Return the findings by rule, document and kind of place. Where a rule was broken more often than places are kept,
    all its places are one group: the last finding then counts places of any kind."""
    beyond = {(one.rule, one.document) for one in findings if one.finding.count > 1}
    groups: dict[tuple[Rule, str | None, str], list[ReportedFinding]] = defaultdict(list)
    for one in findings:
        kind = "" if (one.rule, one.document) in beyond else kind_of_place(one.finding.pointer)
        groups[one.rule, one.document, kind].append(one)
    return list(groups.values())


def _follows(group: Sequence[ReportedFinding], other: Sequence[ReportedFinding]) -> bool:
    """Return whether the findings of `group` say again what those of `other` say, or follow from it."""
    one, first = group[0], other[0]
    if one.rule is common_rules.PARTLY_READ:
        return first.rule is common_rules.UNREAD and first.document == one.document
    if one.rule in _WITHOUT_CAPABILITY and _loses_capabilities(first):
        return True
    if one.rule in _WITHOUT_CAPABILITY and one.rule not in _NO_CAPABILITY:
        return first.rule in _NO_CAPABILITY
    if one.rule not in _MISSING or first.document is None or first.rule in _MISSING:
        return False
    names, keys = _MISSING[one.rule], first.finding.pointer.lower().split("/")[1:]
    if one.document is None:
        return "*" not in kind_of_place(first.finding.pointer) and (
            bool(names.intersection(keys[:1])) or (keys[:1] == ["info"] and bool(names.intersection(keys)))
        )
    place, own_place = kind_of_place(one.finding.pointer), kind_of_place(first.finding.pointer)
    if first.document != one.document or not f"{own_place}/".startswith(f"{place}/") or _count(other) < _count(group):
        return False
    below = own_place.removeprefix(place).lower().split("/")[1:]
    stated = below[:1] or first.rule.code.partition(".")[2].split("_")  # a rule about the whole entry is named for it
    return bool(names.intersection(stated))


def _loses_capabilities(one: ReportedFinding) -> bool:
    """Return whether the finding says why entries that callers can use were left out, or that no entry is there."""
    keys = one.finding.pointer.split("/")[1:]
    return keys[:1] != [] and keys[0] in _LISTS and (len(keys) == 1 or one.rule.severity is Severity.ERROR)


def _count(group: Sequence[ReportedFinding]) -> int:
    return sum(one.finding.count for one in group)
