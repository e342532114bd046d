"""Turn schemas of documents into finite JSON Schemas of draft 2020-12, and validate values with them.

Documents write several drafts and OpenAPI's variants, with mistakes. `keywords` keeps the parts with a defined meaning,
so compiled schemas have no reference, no recursion and a bounded size; patterns are matched in linear time.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeGuard

import jsonschema_rs

from registry.core.calling.effort import Effort, get_matching_work, has_unchecked_pattern, pattern_work, weight_of
from registry.core.reading.plain_text import line

MAX_DEPTH: Final = 16
MAX_PATTERN_CHARS: Final = 1_000
FAULT_CHARS: Final = 300

_MAX_REFERENCES: Final = 8  # a longer chain of references is not followed
_REGEX_BYTES: Final = 300_000
_LINEAR: Final = jsonschema_rs.RegexOptions(size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES)
"""Matching takes linear time, without lookaround and backreferences."""
_BACKTRACK_STEPS: Final = 1_000
_BACKTRACKING: Final = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=_BACKTRACK_STEPS, size_limit=_REGEX_BYTES, dfa_size_limit=_REGEX_BYTES
)
_MAX_UNCOUNTED: Final = 99
_HIGH_COUNT: Final = re.compile(r"\{(\d{1,2}),\d{3,}\}")
_LOOKAROUND: Final = re.compile(r"\(\?<?[=!]")
_CACHED_CHARS: Final = 500
_MAX_NUMBER: Final = 1e300
_MESSAGE_TIMES: Final = 10  # a message of nested alternatives takes so many times the check
_TYPES: Final = ("string", "integer", "number", "boolean", "object", "array", "null")
_NAMES_OF_TYPES: Final[Mapping[type, tuple[str, ...]]] = {
    str: ("string",), bool: ("boolean",), int: ("integer", "number"), float: ("number", "integer"),
    list: ("array",), tuple: ("array",), type(None): ("null",),
}  # fmt: skip
_COUNTS: Final = frozenset({
    "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains",
})  # fmt: skip
_BOUNDS: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_LITERAL: Final = re.compile(r"/(\^.*\$)/[a-z]{0,6}", re.DOTALL)
"""A pattern as JavaScript writes it in code. Read as a pattern, it matches nothing: no text begins after a slash."""
_ONE: Final = ("not", "if", "then", "else", "items", "additionalProperties", "propertyNames", "contains")
_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS: Final = ("properties", "patternProperties", "dependentSchemas")
_PATTERNS: Final = ("pattern", "patternProperties")

Schema = Mapping[str, Any]


@dataclass(slots=True)
class Root:
    """A whole schema, into which references point. `cut` is set once a part was not followed. The methods spend
    `effort` and raise OutOfEffort."""

    schema: Schema
    effort: Effort = field(default_factory=Effort)
    cut: bool = False

    def resolved(self, schema: object) -> Schema | bool:
        """Return the schema that `schema` is or refers to, inside the root only; True (anything) where that fails."""
        if isinstance(schema, bool):
            return schema
        for _ in range(_MAX_REFERENCES):
            if not isinstance(schema, Mapping):
                return True
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            self.effort.spend(5 + len(schema) + len(reference))  # guard: reference-effort
            siblings = {key: value for key, value in schema.items() if key != "$ref"}
            target = self._target(reference)
            if isinstance(target, bool) or target is None:
                self.cut = self.cut or target is None
                return target if target is False else siblings or True
            self.effort.spend(len(target))
            schema = {**target, **siblings} if siblings else target
        self.cut = True
        return True

    def keywords(self, schema: Schema) -> dict[str, Any]:
        """Return the keywords of one level, see `keywords`."""
        sizes = (len(value) for value in schema.values() if isinstance(value, list | tuple | Mapping))
        self.effort.spend(50 + 3 * len(schema) + sum(sizes))
        return keywords(schema)

    def settled(self, schema: object, depth: int = 0) -> Any:
        """Return a finite schema without references: True (anything) below MAX_DEPTH."""
        self.effort.spend(5)
        resolved = self.resolved(schema)
        if isinstance(resolved, bool):
            return resolved
        if depth >= MAX_DEPTH:
            self.cut = True
            return True
        kept = self.keywords(resolved)
        for key in _ONE:
            if key in kept:
                kept[key] = self.settled(kept[key], depth + 1)
        for key in _LISTS:
            if key in kept:
                kept[key] = [self.settled(item, depth + 1) for item in kept[key]]
        for key in _MAPS:
            if key in kept:
                kept[key] = {name: self.settled(item, depth + 1) for name, item in kept[key].items()}
        return kept

    def _target(self, reference: str) -> Schema | bool | None:
        if reference == "#":
            return self.schema
        if not reference.startswith("#/"):
            return None
        value: Any = self.schema
        for part in reference[2:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            value = value.get(key) if isinstance(value, Mapping) else None
        return value if isinstance(value, Mapping | bool) else None


def keywords(schema: Schema) -> dict[str, Any]:
    """Return the keywords of one level in the form of draft 2020-12; malformed ones are left out. OpenAPI 3.0 and draft
    4 are rewritten: `nullable`, boolean `exclusiveMinimum`, `items` as a list."""
    kept = {key: value for key, value in schema.items() if key in _MEANT and _MEANT[key](value)}
    if types := _types(schema):
        kept["type"] = types if len(types) > 1 else types[0]
    if "required" in kept:
        kept["required"] = _texts(kept["required"])
    if "dependentRequired" in kept:
        kept["dependentRequired"] = {name: _texts(names) for name, names in kept["dependentRequired"].items()}
    for exclusive, inclusive in _BOUNDS.items():
        if schema.get(exclusive) is True and inclusive in kept:
            kept[exclusive] = kept.pop(inclusive)
    if "pattern" in kept and (literal := _LITERAL.fullmatch(kept["pattern"])):
        kept["pattern"] = literal[1]
    if isinstance(schema.get("items"), list | tuple) and schema["items"]:
        kept.setdefault("prefixItems", list(schema["items"]))
    if "enum" in kept and schema.get("nullable") is True and None not in kept["enum"]:
        kept["enum"] = [*kept["enum"], None]
    if "enum" in kept and "type" in kept and not _has_type(kept["enum"], kept["type"]):
        del kept["type"]  # `type: integer` beside texts: no value would be valid, and the list is what the site knows
    return kept


def is_valid(settled: Any, value: Any, effort: Effort) -> bool:
    """Return whether `value` is valid under a settled schema, formats included, or nothing can be said. Raise
    OutOfEffort. Patterns that cannot be matched in linear time (lookaround, back references) or compiled cheaply are
    not checked."""
    effort.spend_check(settled, value)  # guard: checking-effort
    try:
        return _validator(settled).is_valid(value)
    except (ValueError, OverflowError, RecursionError):
        return True


def fault(settled: Any, value: Any, effort: Effort) -> str | None:
    """Return where and why `value` is not valid under a settled schema; None if `is_valid` is true. Raise
    OutOfEffort."""
    before = effort.left
    if is_valid(settled, value, effort):
        return None
    effort.spend(_MESSAGE_TIMES * (before - effort.left))  # an error holds the errors of all parts below it
    try:
        _validator(settled).validate(value)
    except jsonschema_rs.ValidationError as found:
        error = found
    else:
        return None
    place = "/".join(str(part) for part in error.instance_path)
    message = line(str(error.message), FAULT_CHARS)
    return f"at /{place}: {message}" if place else message


def matcher(pattern: str, effort: Effort) -> Callable[[str], bool] | None:
    """Return a test of texts; None if the pattern cannot be compiled, or not cheaply. Each test spends effort. Raise
    OutOfEffort."""
    work = pattern_work(pattern)
    options: jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions = _LINEAR
    steps, most = 0, MAX_PATTERN_CHARS * 1_000
    if work is None and (shorter := _HIGH_COUNT.sub(r"{\1,}", pattern)) != pattern:
        # a bound is expensive to compile, and says nothing about a text that is shorter than it
        pattern, work, most = shorter, pattern_work(shorter), _MAX_UNCOUNTED
    if work is None:  # with lookaround, its parts may still be cheap; steps of backtracking have a limit
        work, options, steps = pattern_work(_LOOKAROUND.sub("(?:", pattern)), _BACKTRACKING, _BACKTRACK_STEPS
    effort.spend(2 * (2 * len(pattern) + (work or 0)))
    if work is None:
        return None
    try:
        validator = jsonschema_rs.Draft202012Validator({"pattern": pattern}, offline=True, pattern_options=options)
    except ValueError:
        return None

    def matches(text: str) -> bool:
        effort.spend(100 + steps + get_matching_work(pattern, text))
        return len(text) <= most and validator.is_valid(text)

    return matches


def is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _validator(settled: Any) -> jsonschema_rs.Draft202012Validator:
    if weight_of(settled, _CACHED_CHARS) > _CACHED_CHARS:
        return _compile_tolerantly(settled)
    text = json.dumps(settled, ensure_ascii=True)
    return _cached(text) if len(text) <= _CACHED_CHARS else _compile_tolerantly(settled)


@lru_cache(maxsize=1_000)
def _cached(text: str) -> jsonschema_rs.Draft202012Validator:
    """Return the validator of a short schema, as JSON: the parameters of many operations are alike."""
    return _compile_tolerantly(json.loads(text))


def _compile_tolerantly(settled: Any) -> jsonschema_rs.Draft202012Validator:
    if has_unchecked_pattern(settled):
        settled = _without_patterns(settled)
    try:
        return _compile(settled)
    except jsonschema_rs.ValidationError:
        return _compile(_without_patterns(settled))


def _compile(settled: Any) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(settled, validate_formats=True, offline=True, pattern_options=_LINEAR)


def _without_patterns(settled: Any) -> Any:
    if isinstance(settled, list):
        return [_without_patterns(item) for item in settled]
    if not isinstance(settled, dict):
        return settled
    kept = {key: value for key, value in settled.items() if key not in _PATTERNS}
    for key in (*_ONE, *_LISTS):
        if key in kept:
            kept[key] = _without_patterns(kept[key])
    for key in _MAPS:
        if key in kept:
            kept[key] = {name: _without_patterns(item) for name, item in kept[key].items()}
    if "patternProperties" in settled:
        kept.pop("additionalProperties", None)
    return kept


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list | tuple) else ()
    return list(dict.fromkeys(item for item in items if isinstance(item, str)))


def _types(schema: Schema) -> list[str]:
    declared = schema.get("type")
    names = declared if isinstance(declared, list | tuple) else [declared]
    types = list(dict.fromkeys(name for name in names if isinstance(name, str) and name in _TYPES))
    return [*types, "null"] if types and schema.get("nullable") is True and "null" not in types else types


def _has_type(values: Iterable[Any], types: str | list[str]) -> bool:
    """Return whether one of the values has one of the types."""
    names = {types} if isinstance(types, str) else set(types)
    return any(not names.isdisjoint(_NAMES_OF_TYPES.get(type(value), ("object",))) for value in values)


def _is_bound(value: object) -> bool:
    """Return whether every calculation with the number can represent the result."""
    return is_number(value) and abs(value) <= _MAX_NUMBER


_MEANT: Final[Mapping[str, Callable[[object], bool]]] = {
    **dict.fromkeys(_COUNTS, lambda value: is_number(value) and value % 1 == 0 and 0 <= value < 2**53),
    **dict.fromkeys(("minimum", "maximum", *_BOUNDS), _is_bound),
    "multipleOf": lambda value: is_number(value) and _is_bound(value) and value > 0,
    "const": lambda value: True,
    "uniqueItems": lambda value: isinstance(value, bool),
    **dict.fromkeys(("enum", "required", *_LISTS), lambda value: isinstance(value, list | tuple) and bool(value)),
    **dict.fromkeys(("pattern", "format"), lambda value: isinstance(value, str) and len(value) <= MAX_PATTERN_CHARS),
    **dict.fromkeys((*_MAPS, "dependentRequired"), lambda value: isinstance(value, Mapping)),
    **dict.fromkeys(_ONE, lambda value: isinstance(value, Mapping | bool)),
}
"""The keywords that are kept, with a test of their values."""
