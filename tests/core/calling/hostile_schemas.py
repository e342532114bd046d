"""Small schemas that are much work, by kind: some kilobytes each, and seconds where only bytes are counted."""

import json
from itertools import pairwise
from typing import Any, Final

from hypothesis import strategies as st

Schema = dict[str, Any]


def objects(properties: dict[str, Any], **more: Any) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties, **more}


def enum_and_items(listed: int, items: int) -> Schema:
    schema = {"type": "array", "items": {"enum": [[number] for number in range(listed)]}, "example": [["x"]] * items}
    return objects({"a": schema})


def many_enums(count: int, listed: int) -> Schema:
    return objects({f"a{n}": enum_and_items(listed, listed)["properties"]["a"] for n in range(count)})


def slow_patterns(count: int, times: int) -> Schema:
    patterns = (f"^(?:[\\w-]{{1,40}}){{1,{times}}}{number}$" for number in range(count))
    return objects({f"p{n}": {"type": "string", "pattern": pattern} for n, pattern in enumerate(patterns)})


def wide_classes(count: int, times: int) -> Schema:
    letters = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in "[]^-&~\\")
    return objects({f"p{n}": {"type": "string", "pattern": f"[^{letters}]{{{times}}}{n}"} for n in range(count)})


def flags(count: int, times: int) -> Schema:
    return objects({f"p{n}": {"type": "string", "pattern": "(?i)" + r"\pL" * times + str(n)} for n in range(count)})


def hidden_patterns(count: int, times: int) -> Schema:
    """Below members with the names of keywords."""
    inner = {key: {"pattern": "(?i)" + r"\pL" * times} for key in ("enum", "const", "required", "pattern")}
    return objects({f"p{n}": {"properties": inner, "example": {"enum": "x"}} for n in range(count)})


def long_texts(times: int, length: int) -> Schema:
    return objects({"a": {"pattern": f"[01]*1[01]{{{times}}}$", "example": "01" * length}})


def fan_out(levels: int, width: int) -> Schema:
    names = [f"d{n}" for n in range(levels + 1)]
    parts = {
        name: objects({f"x{n}": {"$ref": f"#/$defs/{below}"} for n in range(width)}) for name, below in pairwise(names)
    }
    return {**objects({"a": {"$ref": "#/$defs/d0"}}), "$defs": {**parts, names[-1]: {"type": "integer"}}}


def combined(width: int, depth: int) -> Schema:
    itself = [{"$ref": "#/$defs/x"}] * width
    schema: Any = dict.fromkeys(("allOf", "anyOf", "oneOf"), itself)
    for _ in range(depth):
        schema = {"anyOf": [schema, {"not": {"$ref": "#/$defs/x"}}], "if": schema, "then": {"$ref": "#/$defs/x"}}
    return {**objects({"a": {"$ref": "#/$defs/x"}}), "$defs": {"x": schema if len(str(schema)) < 60_000 else {}}}


def large_targets(count: int, keys: int) -> Schema:
    """Each reference copies the members of its target."""
    parts = {f"b{n}": {"$ref": f"#/$defs/b{n + 1}", **{f"k{key}": 1 for key in range(keys)}} for n in range(8)}
    return {**objects({f"q{n}": {"$ref": "#/$defs/b0"} for n in range(count)}), "$defs": parts}


def long_references(count: int, length: int) -> Schema:
    return {
        **objects({f"q{n}": {"$ref": "#/$defs/b"} for n in range(count)}),
        "$defs": {"b": {"$ref": "#" + "/a" * length}},
    }


def repeated_examples(count: int, length: int) -> Schema:
    return {
        **objects({f"q{n}": {"$ref": "#/$defs/b"} for n in range(count)}),
        "$defs": {"b": {"example": [1] * length}},
    }


def merged_enums(count: int, listed: int) -> Schema:
    return objects({"a": {"allOf": [{"enum": list(range(listed))}] * count}})


def many_alternatives(count: int, items: int) -> Schema:
    return objects({"a": {"anyOf": [{"items": {"type": "integer"}}] * count, "example": ["x"] * items}})


def unique_items(count: int, size: int) -> Schema:
    listed = {"enum": [[["z"] * size, number] for number in range(60)]}
    schema = {"type": "array", "minItems": 50, "uniqueItems": True, "items": listed}
    return objects({f"a{n}": schema for n in range(min(count, 20))})


def nested_unique(depth: int, items: int) -> Schema:
    schema = '{"uniqueItems":true,"properties":{"a":' * (depth % 14) + "{}" + "}}" * (depth % 14)
    example = '{"a":' * (depth % 14) + json.dumps([1] * items) + "}" * (depth % 14)
    return objects({"a": {**json.loads(schema), "example": json.loads(example)}})


def property_names(listed: int, keys: int) -> Schema:
    names = {"enum": [f"e{number}" for number in range(listed)]}
    return {"type": "object", "propertyNames": names, "example": {f"k{number}": 1 for number in range(keys)}}


def dependents(count: int, width: int) -> Schema:
    width = min(width, 60)
    part = {"properties": {f"a{n}": {"type": "integer"} for n in range(width)}}
    return objects({f"a{n}": {} for n in range(width)}, dependentSchemas={f"a{n}": part for n in range(count % 30)})


def huge_numbers(digits: int, count: int) -> Schema:
    huge = 10 ** min(digits, 4_000)
    limits = ((huge, huge), (5e-324, 1.7e308), (huge, 1), (1e308, -1e308), (0.1, 2**53))
    numbers = {f"n{n}": {"type": "number", "multipleOf": a, "minimum": b} for n, (a, b) in enumerate(limits)}
    counts = {"m": {"type": "object", "minProperties": 2**53 - 1}, "i": {"type": "array", "minItems": 2**53 - count}}
    return objects({**numbers, **counts, "t": {"type": "string", "minLength": 2**53 - 1}})


def formats(count: int, length: int) -> Schema:
    kinds = ("regex", "idn-hostname", "uri", "email", "uri-template", "idn-email", "iri")
    return objects({f"f{n}": {"format": kinds[n % 7], "example": "ü(" * length} for n in range(min(count, 7))})


def many_properties(count: int, size: int) -> Schema:
    part = {"default": {"x": 1}, "properties": {"x": {"type": "integer", "enum": list(range(min(size, 40)))}}}
    return {"type": "object", "properties": {f"a{n}": part for n in range(count)}}


KINDS: Final = {
    "enum-and-items": (enum_and_items, 2_500, 4_000),
    "many-enums": (many_enums, 50, 60),
    "slow-patterns": (slow_patterns, 300, 30),
    "wide-classes": (wide_classes, 300, 60),
    "flags": (flags, 60, 200),
    "hidden-patterns": (hidden_patterns, 20, 200),
    "long-texts": (long_texts, 200, 20_000),
    "fan-out": (fan_out, 15, 8),
    "combined": (combined, 12, 5),
    "large-targets": (large_targets, 500, 900),
    "long-references": (long_references, 500, 25_000),
    "repeated-examples": (repeated_examples, 500, 20_000),
    "merged-enums": (merged_enums, 12, 3_000),
    "many-alternatives": (many_alternatives, 2_000, 4_000),
    "unique-items": (unique_items, 20, 20),
    "nested-unique": (nested_unique, 13, 9_000),
    "property-names": (property_names, 3_000, 3_000),
    "dependents": (dependents, 20, 60),
    "huge-numbers": (huge_numbers, 4_000, 1),
    "formats": (formats, 7, 8_000),
    "many-properties": (many_properties, 500, 20),
}
"""By name: what makes the schema, and the worst of its two sizes that fit into some 60 KB."""

WORST: Final = {name: make(first, second) for name, (make, first, second) in KINDS.items()}

hostile_schemas: Final = st.sampled_from(sorted(KINDS)).flatmap(
    lambda name: st.builds(KINDS[name][0], st.integers(1, KINDS[name][1]), st.integers(1, KINDS[name][2]))
)
