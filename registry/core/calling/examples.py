"""Example values for JSON Schemas: the document's own where they are valid, else made from the schema.

Deterministic and bounded. A value that was made is checked against the schema wherever it is not valid by construction.
"""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from registry.core.calling.effort import get_comparing_work, get_matching_work
from registry.core.calling.patterns import get_making_work, texts_of_pattern
from registry.core.calling.schemas import Root, Schema, is_number, is_valid, keywords, matcher

MAX_DEPTH: Final = 12
MAX_CANDIDATES: Final = 10
MAX_ITEMS: Final = 50
MAX_VARIANTS: Final = 12
MAX_TEXT: Final = 2_000

TEXT: Final = "example"

_SHOWN_DEPTH: Final = 3  # names in a reason

_STANDARD: Final = {
    "date-time": "2026-01-31T12:00:00Z", "date": "2026-01-31", "time": "12:00:00Z", "duration": "P1D",
    "email": "name@example.com", "idn-email": "name@example.com", "hostname": "example.com",
    "idn-hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.com/",
    "url": "https://example.com/", "uri-reference": "/example", "iri": "https://example.com/",
    "iri-reference": "/example", "uri-template": "https://example.com/{id}",
    "uuid": "123e4567-e89b-42d3-a456-426614174000", "json-pointer": "/example", "relative-json-pointer": "0",
    "regex": "^a$", "byte": "ZXhhbXBsZQ==", "base64": "ZXhhbXBsZQ==", "int32": "1", "int64": "1", "decimal": "1.00",
}  # fmt: skip
_FORMATS: Final = {
    **_STANDARD,
    **dict.fromkeys(("datetime", "dateTime", "iso-datetime", "google-datetime", "timestamp"), _STANDARD["date-time"]),
    **dict.fromkeys(("guid", "uuid4", "UUID"), _STANDARD["uuid"]),
    **dict.fromkeys(("uint32", "uint64", "integer", "long"), "1"),
    **dict.fromkeys(("phone", "phone-number", "e164"), "+15555550100"),
    "double": "1.5", "float": "1.5", "date-time-rfc1123": "Sat, 31 Jan 2026 12:00:00 GMT", "google-duration": "1s",
    "URL": _STANDARD["uri"], "ip": _STANDARD["ipv4"], "iso-country-code": "US", "country-code": "US",
    "http-method": "GET",
}  # fmt: skip
"""The formats of JSON Schema and of the registry of OpenAPI, then names that real descriptions have instead."""
_COMMON: Final = (
    TEXT, "1", "a", "A", "ABC", "en", "en-US", "12:00", "1.0.0", "a:a", "+15555550100", "#aaaaaa",
    "a" * 32, "a" * 40, "a" * 64, "0x" + "a" * 40, "0x" + "a" * 64, *_STANDARD.values(),
    "http://example.com/",
)  # fmt: skip
"""Texts that are tried where a document gives a pattern and no example."""
_COMMON_WORK: Final = 200  # of matching a short text; where it is more, only texts made for the pattern are tried
_COMBINED: Final = ("allOf", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas", "contains")
_CHECKED: Final = (*_COMBINED, "patternProperties", "propertyNames", "maxProperties", "maxContains", "minContains")
"""Keywords that the made values do not follow by construction: these are checked."""
_OF_TEXTS: Final = ("pattern", "format", "minLength", "maxLength")
_OF_NUMBERS: Final = ("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_BY_KEYWORD: Final = (
    ("object", ("properties", "required", "additionalProperties", "minProperties", "patternProperties")),
    ("array", ("items", "prefixItems", "minItems", "maxItems", "uniqueItems")),
    ("string", _OF_TEXTS),
    ("number", _OF_NUMBERS[1:]),
)

_T = TypeVar("_T")


class Unfillable(Exception):
    """No valid value could be made; the text says why."""


class Filler:
    """Makes values for the parts of one schema. `made` becomes true when a value is not the document's own. The methods
    spend the effort of `root` and raise OutOfEffort."""

    def __init__(self, root: Root) -> None:
        self.root, self.made = root, False

    def value(self, schema: object, depth: int = 0) -> Any:
        """Return a value that is valid under `schema`. Raises Unfillable."""
        resolved = self.root.resolved(schema)
        if resolved is False:
            raise Unfillable("no value is allowed")
        if resolved is True or isinstance(resolved, bool):
            return self._new(TEXT)
        if depth > MAX_DEPTH:
            raise Unfillable("the schema is nested too deep")
        own = self.documented(resolved)
        if own:
            return own[0]
        rules = self.root.keywords(resolved)
        if "const" in rules or "enum" in rules:
            raise Unfillable("none of the listed values is valid")
        return self._make_value(rules, resolved, depth)

    def documented(self, schema: object) -> list[Any]:
        """Return a list of the first value that the document itself gives for `schema` and that is valid, or of none.
        Examples come before defaults and listed values; null and empty texts are used only where they are listed."""
        resolved = self.root.resolved(schema)
        if isinstance(resolved, bool):
            return []
        for value in _list_documented(resolved):
            if self.fits(resolved, value):
                return [value]
        return []

    def fits(self, schema: object, value: Any) -> bool:
        return is_valid(self.root.settled(schema), value, self.root.effort)

    def _make_value(self, rules: dict[str, Any], schema: Schema, depth: int) -> Any:
        reason = "no value could be made"
        has_parts = any(key in rules for key in _CHECKED)
        for variant in _variants(rules, self.root):
            try:
                is_final = not any(key in variant for key in ("allOf", "anyOf", "oneOf", "enum", "const"))
                value = self._make_typed(variant, depth) if is_final else self.value(variant, depth + 1)
            except Unfillable as error:
                reason = str(error)
                continue
            if not has_parts or self.fits(schema, value):
                return value
            reason = "no value that fits all parts of the schema could be made"
        raise Unfillable(reason)

    def _make_typed(self, rules: dict[str, Any], depth: int) -> Any:
        kind = _type(rules)
        if kind == "object":
            return self._object(rules, depth)
        if kind == "array":
            return self._array(rules, depth)
        if kind == "string":
            return self._new(self._text(rules))
        if kind in ("integer", "number"):
            return self._new(self._number(rules, kind))
        return self._new({"boolean": True, "null": None}.get(kind, TEXT))

    def _new(self, value: _T) -> _T:
        self.made = True
        return value

    def _object(self, rules: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = rules.get("properties", {})
        required = dict.fromkeys(rules.get("required", ()))
        names = [name for name in properties if name in required]
        names += [name for name in required if name not in properties]
        least = int(rules.get("minProperties", 0))
        names += [name for name in properties if name not in required][: max(0, least - len(names))]
        names += [f"key{number}" for number in range(1, min(least - len(names), MAX_ITEMS) + 1)]
        filled: dict[str, Any] = {}
        waiting = deque(names)
        while waiting:
            self.root.effort.spend(20)
            name = waiting.popleft()
            if name in filled:
                continue
            try:
                schema = properties[name] if name in properties else rules.get("additionalProperties", True)
                filled[name] = self.value(schema, depth + 1)
            except Unfillable as error:
                raise Unfillable(str(error) if depth > _SHOWN_DEPTH else f"{name}: {error}") from None
            waiting += rules.get("dependentRequired", {}).get(name, ())
        return filled or self._new(filled)

    def _array(self, rules: dict[str, Any], depth: int) -> list[Any]:
        least, most = rules.get("minItems", 0), rules.get("maxItems", MAX_ITEMS)
        count = max(least, min(1, most), min(len(rules.get("prefixItems", ())), most))
        if count > MAX_ITEMS:
            raise Unfillable(f"needs {least} items")
        items: list[Any] = []
        for index in range(int(count)):
            prefix = rules.get("prefixItems", ())
            schema = prefix[index] if index < len(prefix) else rules.get("items", True)
            try:
                value = self.value(schema, depth + 1)
            except Unfillable:
                if index >= least:
                    break
                raise
            if rules.get("uniqueItems"):
                self.root.effort.spend(get_comparing_work([value], items))
            if rules.get("uniqueItems") and value in items:
                value = self._make_another(schema, value, items)
            items.append(value)
        return items or self._new(items)

    def _make_another(self, schema: object, value: Any, items: Sequence[Any]) -> Any:
        """Return a valid item that is not in `items`."""
        resolved = self.root.resolved(schema)
        listed = resolved.get("enum", ()) if isinstance(resolved, Mapping) else ()
        candidates: list[Any] = list(listed)[:MAX_ITEMS] if isinstance(listed, list | tuple) else []
        if isinstance(value, str):
            candidates += [f"{value}{len(items)}", f"{len(items)}"]
        elif is_number(value):
            candidates += [value + len(items), value - len(items)]
        self.root.effort.spend(get_comparing_work(candidates, items))
        for candidate in candidates:
            if candidate not in items and self.fits(schema, candidate):
                return candidate
        raise Unfillable("not enough different items could be made")

    def _text(self, rules: dict[str, Any]) -> str:
        rules = {key: rules[key] for key in _OF_TEXTS if key in rules}
        least, most = rules.get("minLength", 0), rules.get("maxLength", MAX_TEXT)
        if least > MAX_TEXT or least > most:
            raise Unfillable(f"needs a text of {least} characters")
        known = _FORMATS.get(rules.get("format", ""), TEXT)
        if "pattern" not in rules:
            text: str = (known + "x" * max(0, int(least) - len(known)))[: int(most)]
            if rules.get("format") in _FORMATS and not is_valid(rules, text, self.root.effort):
                raise Unfillable(f"no text of the format {rules['format']} with this length could be made")
            return text
        effort, pattern = self.root.effort, rules["pattern"]
        for text in self._list_texts(pattern, known, int(least)):
            if least <= len(text) <= most and is_valid(rules, text, effort):
                (effort.whole or effort).matched[pattern] = text
                return text
        raise Unfillable(f"the document has no example, and no text was found that matches {pattern[:200]}")

    def _list_texts(self, pattern: str, known: str, least: int) -> Iterator[str]:
        """Yield common texts that match, then texts made for the pattern that match. Where that cannot be said, because
        the pattern is of another dialect or too expensive, yield what is made for it."""
        effort = self.root.effort
        matches = matcher(pattern, effort)
        matched = (effort.whole or effort).matched
        common = (*([matched[pattern]] if pattern in matched else ()), known)
        if get_matching_work(pattern, TEXT) <= _COMMON_WORK:
            common += _COMMON
        if matches is not None:
            yield from filter(matches, common)
        effort.spend(get_making_work(pattern))
        yield from filter(matches or bool, texts_of_pattern(pattern, least))

    def _number(self, rules: dict[str, Any], kind: str) -> int | float:
        rules = {key: rules[key] for key in _OF_NUMBERS if key in rules}
        for value in _numbers(rules, kind):
            if is_valid(rules, value, self.root.effort):
                return value
        raise Unfillable("no number within the limits could be made")


def _list_documented(schema: Schema) -> Iterator[Any]:
    if "const" in schema:
        yield schema["const"]
        return
    examples = schema.get("examples")
    candidates: list[Any] = []
    if isinstance(examples, Mapping):  # OpenAPI: {name: {value}}
        examples = [item.get("value") for item in list(examples.values())[:MAX_CANDIDATES] if isinstance(item, Mapping)]
    if isinstance(examples, list | tuple):
        candidates += examples[:MAX_CANDIDATES]
    candidates += [schema[key] for key in ("example", "default") if key in schema]
    yield from (value for value in candidates if value is not None and value != "")
    listed = schema.get("enum")
    if isinstance(listed, list | tuple):
        yield from sorted(listed[:MAX_CANDIDATES], key=lambda value: value is None or value == "")


def is_plain(rules: Mapping[str, Any]) -> bool:
    """Return whether values of all properties, each valid, make a valid object under these keywords."""
    is_object = _type({"type": "object", **rules}) == "object"
    return is_object and not any(
        key in rules for key in (*_CHECKED, "dependentRequired", "minProperties", "enum", "const")
    )


def _type(rules: dict[str, Any]) -> str:
    declared = rules.get("type")
    if isinstance(declared, str):
        return declared
    types = declared or []
    kind = next((kind for kind in types if kind != "null"), "null" if types else None)
    return kind or next((kind for kind, keys in _BY_KEYWORD if any(key in rules for key in keys)), "")


def _variants(rules: dict[str, Any], root: Root) -> Iterator[dict[str, Any]]:
    """Yield schemas without combinators, each a way to satisfy the schema; some may turn out not to."""
    base = {key: value for key, value in rules.items() if key not in _COMBINED}
    for part in rules.get("allOf", ())[:MAX_VARIANTS]:
        base = _merge_part(base, part, root)
    variants = [base]
    for key in ("anyOf", "oneOf"):
        branches = [root.resolved(branch) for branch in rules.get(key, ())[:MAX_VARIANTS]]
        if branches:
            branches.sort(key=lambda branch: not isinstance(branch, bool) and branch.get("type") == "null")
            pairs = [(variant, branch) for variant in variants for branch in branches][:MAX_VARIANTS]
            variants = [_merge_part(variant, branch, root) for variant, branch in pairs]
    yield from variants
    for variant in variants:
        for key in ("then", "else"):
            if key in rules:
                yield _merge_part(variant, rules[key], root)


def _merge_part(first: dict[str, Any], part: object, root: Root) -> dict[str, Any]:
    """Return rules under which a value satisfies both, as far as that can be said by keywords."""
    second = root.resolved(part)
    parts = (first, second) if isinstance(second, Mapping) else (first,)
    sizes = (len(value) for rules in parts for value in rules.values() if isinstance(value, list | tuple | Mapping))
    root.effort.spend(100 + 4 * sum(sizes))
    if isinstance(second, bool):
        return first if second else {**first, "enum": []}
    if isinstance(listed := second.get("enum"), list | tuple) and "enum" in first:
        root.effort.spend(get_comparing_work(first["enum"], listed))  # guard: merging-effort
    other = keywords(second)
    merged = {**first, **other}
    for key in ("properties", "patternProperties", "dependentRequired"):
        if key in first and key in other:
            both = first[key].keys() & other[key].keys()
            united = {name: {"allOf": [first[key][name], other[key][name]]} for name in both if key == "properties"}
            merged[key] = {**first[key], **other[key], **united}
    if "required" in first and "required" in other:
        merged["required"] = list(dict.fromkeys((*first["required"], *other["required"])))
    if "type" in first and "type" in other:
        merged["type"] = _common_types(first["type"], other["type"]) or other["type"]
    if "enum" in first and "enum" in other:
        merged["enum"] = [value for value in first["enum"] if value in other["enum"]]
    for key, pick in (("minimum", max), ("minLength", max), ("minItems", max), ("minProperties", max),
                      ("exclusiveMinimum", max), ("maximum", min), ("maxLength", min), ("maxItems", min),
                      ("maxProperties", min), ("exclusiveMaximum", min)):  # fmt: skip
        if key in first and key in other:
            merged[key] = pick(first[key], other[key])
    for key in ("allOf", "anyOf", "oneOf"):
        if key in first and key in other:
            merged[key] = other[key]
            merged["allOf"] = [*merged.get("allOf", ()), {key: first[key]}]
    for key in ("examples", "example", "default"):
        if key in second and key not in first:
            merged[key] = second[key]
    return merged


def _common_types(first: str | list[str], second: str | list[str]) -> list[str]:
    firsts, seconds = ([kinds] if isinstance(kinds, str) else kinds for kinds in (first, second))
    common = [kind for kind in firsts if kind in seconds]
    if "integer" in firsts + seconds and "number" in firsts + seconds and "integer" not in common:
        common.append("integer")
    return common


def _numbers(rules: dict[str, Any], kind: str) -> Iterator[int | float]:
    """Yield candidates, the simplest first."""
    low = max((rules[key] for key in ("minimum", "exclusiveMinimum") if key in rules), default=None)
    high = min((rules[key] for key in ("maximum", "exclusiveMaximum") if key in rules), default=None)
    step = rules.get("multipleOf", 1)
    candidates: list[int | float] = [1, 0]
    for bound, sign in ((low, 1), (high, -1)):
        if bound is not None and abs(bound) < 2**53:
            towards = math.ceil if sign > 0 else math.floor
            candidates += [bound, towards(bound), towards(bound) + sign, bound + sign * step]
            if abs(bound / step) < 2**53:
                multiple = towards(bound / step)
                candidates += [multiple * step, (multiple + sign) * step]
    if low is not None and high is not None:
        candidates.append(low + (high - low) / 2)
    candidates.append(step)
    for value in candidates:
        whole = int(value) if math.isfinite(value) and value == int(value) else None
        if whole is not None or kind == "number":
            yield value if whole is None else whole
