"""The budget of work for computations on a site's own schema, and estimates of that work.

Bytes do not measure it: an `enum` of 2,500 lists under an example of 4,000 items is 41 KB and ten million comparisons.
Work is counted instead of timed, so that every machine makes the same examples.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

CAPABILITY_EFFORT: Final = 200_000
"""Units of work for the example of one capability. A unit is about 0.1 µs on one core of 2026. The most expensive of
the recorded capabilities takes a tenth."""
SERVICE_EFFORT: Final = 4_000_000
"""Units for the examples of all capabilities of a service. Ordinary capabilities take some 500 each."""
MAX_VALUE_WEIGHT: Final = 4_096  # weight of one example, about 64 KB of text

_CHARS: Final = 16  # of text that weigh as much as one value
_PARTS: Final = ("allOf", "anyOf", "oneOf")
_MAPS: Final = ("properties", "patternProperties", "dependentSchemas")
_CONDITIONS: Final = ("not", "if", "then", "else")
_OF_MEMBERS: Final = ("items", "additionalProperties", "propertyNames", "contains", "prefixItems", "patternProperties")
_FORMAT_WORK: Final = 6  # of an internationalised host name, for each unit of weight
_MATCHED: Final = 50  # units of a pattern's work times characters that are one unit: ten million steps take 20 ms
MAX_PATTERN_WORK: Final = 30_000
"""Units of work of one pattern: three milliseconds. A more expensive one is not compiled."""

_CHAR: Final = 2
_CLASS: Final = 6
_WIDE: Final = 80  # most of Unicode, in UTF-8
_PROPERTY: Final = 400  # `\p{L}`: hundreds of ranges


class OutOfEffort(Exception):
    """The budget of a capability or of its service is spent. The text says whose."""


@dataclass(slots=True)
class Effort:
    """Units of work that may still be spent. `whole` is the budget of the service, which all its capabilities share.
    `matched`: the text that was found last for a pattern, which is tried first when the pattern occurs again."""

    left: int = CAPABILITY_EFFORT
    whole: "Effort | None" = None
    matched: dict[str, str] = field(default_factory=dict)

    def spend(self, units: int) -> None:
        """Take units from both budgets, before the work is done. Raise OutOfEffort."""
        self.left -= units
        if self.left < 0:  # guard: capability-effort
            raise OutOfEffort("an example of this schema would take too much work")
        if self.whole is not None:
            self.whole.left -= units
            if self.whole.left < 0:  # guard: service-effort
                raise OutOfEffort("the examples of this service would take too much work")

    def weigh(self, value: object) -> int:
        """Return the weight of a value, and spend as much. Raise OutOfEffort before all of a large value is read."""
        weight = weight_of(value, self.left if self.whole is None else min(self.left, self.whole.left))
        self.spend(weight)
        return weight

    def spend_check(self, schema: object, value: object) -> None:
        """Spend the work of compiling a settled schema and of checking a value. Raise OutOfEffort."""
        self.spend(100 + 4 * self.weigh(schema) + 2 * self.weigh(value) + 2 * patterns_work(schema))
        self.spend(_checking_work(schema, value, {}))


def weight_of(value: object, most: int) -> int:
    """Return the number of values inside `value`, long texts counting more; no more than is needed to pass `most`."""
    weight, waiting = 0, [value]
    while waiting and weight <= most:
        item = waiting.pop()
        weight += 1
        if isinstance(item, str):
            weight += len(item) // _CHARS
        elif isinstance(item, Mapping):
            weight += sum(1 + len(str(key)) // _CHARS for key in item)
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
        elif isinstance(item, int):
            weight += item.bit_length() // 64
    return weight


def patterns_work(schema: object) -> int:
    """Return the work of estimating all patterns of a settled schema and of compiling the patterns in use."""
    return sum(len(pattern) + (pattern_work(pattern) or 0) for pattern in _patterns(schema))


def has_unchecked_pattern(schema: object) -> bool:
    """Return whether a settled schema has a pattern that is not compiled: too expensive, or of a syntax without a
    bound."""
    return any(pattern_work(pattern) is None for pattern in _patterns(schema))


def _patterns(schema: object) -> list[str]:
    found, waiting = [], [schema]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list | tuple):
            waiting += item
        elif isinstance(item, Mapping):
            if isinstance(item.get("pattern"), str):
                found.append(item["pattern"])
            if isinstance(item.get("patternProperties"), Mapping):
                found += item["patternProperties"]
            waiting += [item[key] for key in (*_PARTS, *_CONDITIONS, *_OF_MEMBERS[:-1]) if key in item]
            waiting += [part for key in _MAPS if key in item for part in item[key].values()]
    return found


def _checking_work(schema: object, value: object, weights: dict[int, int]) -> int:
    """Return an upper bound of the comparisons that validate a value. Each part of the schema is read once; a part that
    applies to many members of the value counts once for each. `weights` of values by identity: each is weighed once."""
    if not isinstance(schema, Mapping):
        return 1
    work = len(schema) + 2 * _weight(schema.get("enum")) + 2 * _weight(schema.get("const"))
    if isinstance(value, str):
        work += _FORMAT_WORK * (1 + len(value) // _CHARS) if "format" in schema else 0
        work += get_matching_work(schema["pattern"], value) if "pattern" in schema else 0
    for part in (part for key in _PARTS for part in schema.get(key, ())):
        work += 2 * _checking_work(part, value, weights)
    work += sum(_checking_work(schema[key], value, weights) for key in _CONDITIONS if key in schema)
    if not isinstance(value, Mapping | list | tuple):
        return work
    spread = {key: schema[key] for key in _OF_MEMBERS if key in schema}
    if spread or "uniqueItems" in schema:
        if id(value) not in weights:
            weights[id(value)] = _weight(value)
        weight = weights[id(value)]
        work += (15 + _weight(spread) + patterns_work(spread)) * weight
    work += len(schema.get("required", ()))
    work += sum(_checking_work(part, value, weights) for part in schema.get("dependentSchemas", {}).values())
    properties = schema.get("properties", {}) if isinstance(value, Mapping) else {}
    work += sum(_checking_work(part, value[name], weights) for name, part in properties.items() if name in value)
    return work


def get_matching_work(pattern: str, text: str) -> int:
    """Return the work of matching a text."""
    return (pattern_work(pattern) or 0) * len(text) // _MATCHED


def _weight(value: object) -> int:
    return 0 if value is None else weight_of(value, MAX_PATTERN_WORK * _MATCHED)


def get_comparing_work(first: Any, second: Any) -> int:
    """Return the work of looking for each of the values `first` among the values `second`."""
    return _weight(first) * max(1, len(second)) // 2


# --- regular expressions ---------------------------------------------------------------------------------------------
# Work is estimated from the text, before anything compiles it: the engine limits the memory of a compiled pattern, not
# the time. Reading a class of characters may take longer than all else, and 300 patterns just below the limit seconds.


@lru_cache(maxsize=2_000)
def pattern_work(pattern: str) -> int | None:
    """Return the units of work that compiling takes, at most MAX_PATTERN_WORK; None if it would be more, or if the
    pattern has flags, lookaround, back references or an unbalanced group: nothing bounds those."""
    sums, last, at = [_CHAR], 0, 0  # of the groups that are open; the last part of the innermost
    while at < len(pattern):
        char, width, work = pattern[at], 1, _CHAR
        if char == "(":
            width = _group_opening(pattern, at)
            if not width:
                return None
            sums.append(_CHAR)
            last, at = 0, at + width
            continue
        if char == ")":
            if len(sums) == 1:
                return None
            work = sums.pop()
        elif char == "[":
            work, width = _class(pattern, at)
        elif char == "\\":
            work, width = _escape(pattern, at)
        elif char == "{" and (count := _count(pattern, at)) is not None:
            times, width = count
            work = last * max(1, times) - last
        elif char == ".":
            work = _WIDE
        elif ord(char) > 0x7F:
            work = 2 * _CHAR
        if not work and char != "{":
            return None
        sums[-1] += work
        if sums[-1] > MAX_PATTERN_WORK:  # guard: pattern-work
            return None
        last = last + work if char == "{" else last if char in "*+?" else work
        at += width
    return sums[0] if len(sums) == 1 else None


def _group_opening(pattern: str, at: int) -> int:
    """Return the width of the beginning of a group; 0 for flags and lookaround."""
    if not pattern.startswith("(?", at):
        return 1
    if pattern.startswith("(?:", at):
        return 3
    end = pattern.find(">", at)
    is_named = pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!") and end > 0
    return end + 1 - at if is_named else 0


def _count(pattern: str, at: int) -> tuple[int, int] | None:
    """Return the repetitions of `{n}`, `{n,}` or `{n,m}`, and its width; None where the brace stands for itself."""
    end = pattern.find("}", at)
    least, _, most = pattern[at + 1 : end].partition(",")
    if end < 0 or not least.strip().isdecimal():
        return None
    number = most.strip() if most.strip().isdecimal() else least.strip()
    return (int(number) if len(number) < 7 else 10**6, end + 1 - at)


def _escape(pattern: str, at: int) -> tuple[int, int]:
    """Return the work and the width of an escape; no work for a back reference."""
    char = pattern[at + 1 : at + 2]
    if char in "pP" and char:
        end = pattern.find("}", at)
        return _PROPERTY, end + 1 - at if end > 0 and pattern.startswith("{", at + 2) else 3
    if char in "123456789k":
        return 0, 2
    return (_WIDE if char in "WDSs" else _CLASS), 2


def _class(pattern: str, at: int) -> tuple[int, int]:
    start, work, is_wide = at, _CLASS, pattern.startswith("[^", at)
    at += 2 if is_wide else 1
    depth = 1
    while depth and at < len(pattern):
        char, width = pattern[at], 1
        if char == "\\":
            part, width = _escape(pattern, at)
            is_wide = is_wide or part >= _WIDE
            work += part
        else:
            work += _CHAR if ord(char) <= 0x7F else 2 * _CHAR
            depth += (char == "[") - (char == "]")
        at += width
    return work + (_WIDE if is_wide else 0), at - start
