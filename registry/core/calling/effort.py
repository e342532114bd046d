"""The budget of work for computations on a site's own schema, and estimates of that work.

Bytes do not measure it: an `enum` of 2,500 lists under an example of 4,000 items is 41 KB and ten million comparisons.
Work is counted instead of timed, so that every machine makes the same examples.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from registry.core.calling.pattern_work import MAX_PATTERN_WORK, pattern_work

CAPABILITY_EFFORT: Final = 200_000
"""Units of work for the example of one capability. A unit is about 0.1 µs on one core of 2026. The most expensive of
the recorded capabilities takes a tenth."""
SERVICE_EFFORT: Final = 1_200_000
"""Units for the examples of all capabilities of a service. Ordinary capabilities take some 500 each."""
MAX_VALUE_WEIGHT: Final = 4_096
"""Weight of one example, about 64 KB of text."""

_CHARS: Final = 16  # of text that weigh as much as one value
_PARTS: Final = ("allOf", "anyOf", "oneOf")
_MAPS: Final = ("properties", "patternProperties", "dependentSchemas")
_CONDITIONS: Final = ("not", "if", "then", "else")
_OF_MEMBERS: Final = ("items", "additionalProperties", "propertyNames", "contains", "prefixItems", "patternProperties")
_FORMAT_WORK: Final = 6  # of an internationalised host name, for each unit of weight
_MAX_TEXTS_WORK: Final = 70_000  # seven texts of a thousand parts
_MATCHED: Final = 50  # units of a pattern's work times characters that are one unit: ten million steps take 20 ms


class OutOfEffort(Exception):
    """The budget of a capability or of its service is spent. The text says whose."""


@dataclass(slots=True)
class Effort:
    """Units of work that may still be spent. `whole` is the budget of the service, which all its capabilities share."""

    left: int = CAPABILITY_EFFORT
    whole: "Effort | None" = None
    _patterns: set[str] = field(default_factory=set)

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

    def spend_texts(self, pattern: str) -> None:
        """Spend the work of making texts for a pattern: once for all capabilities, because they are kept."""
        known = (self.whole or self)._patterns
        if pattern in known:
            return
        work = pattern_work(pattern)
        self.spend(2_000 + 30 * len(pattern) + (_MAX_TEXTS_WORK if work is None else min(_MAX_TEXTS_WORK, 35 * work)))
        known.add(pattern)

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
        work += (pattern_work(schema["pattern"]) or 0) * len(value) // _MATCHED if "pattern" in schema else 0
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


def _weight(value: object) -> int:
    return 0 if value is None else weight_of(value, MAX_PATTERN_WORK * _MATCHED)


def get_comparing_work(first: Any, second: Any) -> int:
    """Return the work of looking for each of the values `first` among the values `second`."""
    return _weight(first) * max(1, len(second)) // 2
