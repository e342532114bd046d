"""Change schemas of OpenAPI into JSON Schema 2020-12, and unite the parts of `allOf`."""

from collections.abc import Mapping
from operator import is_
from typing import Any, Final, Literal

from registry.core.format_support.params import JSON_TYPES, type_of
from registry.core.format_support.shapes import LIST, NUMBER, OBJECT, TEXT, Kind

_TEXTS: Final = frozenset({"description", "title", "example", "examples", "$comment"})
_EXCLUSIVE: Final = (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum"))
_KEYWORDS: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(("required", "enum", "examples", "allOf", "anyOf", "oneOf"), LIST),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), NUMBER),
    **dict.fromkeys(("pattern", "format"), TEXT),
    "properties": OBJECT,
}
_OF_MEMBERS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
Mark = Literal["readOnly", "writeOnly"]
Known = dict[tuple[int, Mark], tuple[Any, Any]]


def to_json_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Change the keywords of OpenAPI 2.0 and 3.0 that JSON Schema 2020-12 writes in another way; return `schema`. Words
    for types that JSON Schema lacks become formats. A keyword with a value of the wrong type is removed."""
    kind = schema.get("type")
    if isinstance(kind, str) and kind not in JSON_TYPES:
        schema |= {**type_of(kind), **({"format": schema["format"]} if "format" in schema else {})}
    for keyword, limit in _EXCLUSIVE:
        if keyword in schema and schema[keyword] is True and limit in schema:
            schema[keyword] = schema[limit]
    if "example" in schema:
        example = schema.pop("example")
        schema["examples"] = schema["examples"] if isinstance(schema.get("examples"), list) else [example]
    invalid = [key for key, value in schema.items() if (expected := _KEYWORDS.get(key)) and not expected.holds(value)]
    for key in invalid:
        del schema[key]
    return schema


def unite_all_of(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with the members of its `allOf` in one object; unchanged where two of them disagree."""
    parts = schema.get("allOf")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        return schema
    whole: dict[str, Any] = {}
    for part in (*parts, {key: value for key, value in schema.items() if key != "allOf"}):
        for key, value in part.items():
            known = whole.get(key)
            if key == "properties" and isinstance(known, dict) and isinstance(value, dict):
                whole[key] = {**known, **{name: _unite(known.get(name), item) for name, item in value.items()}}
            elif key == "required" and isinstance(known, list) and isinstance(value, list):
                whole[key] = [*known, *(name for name in value if name not in known)]
            elif key in whole and key not in _TEXTS and known != value:
                return schema
            else:
                whole[key] = value
    return whole


def _unite(first: Any, second: Any) -> Any:
    """Return a member that two parts describe: both apply, so a mark such as `readOnly` of the first one stays."""
    return {**first, **second} if isinstance(first, dict) and isinstance(second, dict) else second


def leave_out(schema: Any, mark: Mark, known: Known) -> Any:
    """Return a schema without the members that have this mark, at any depth, and without their values in its examples.
    A schema without such members is returned itself. `known` keeps the results, and the schemas whose id() is the key:
    many schemas share their parts."""
    if not isinstance(schema, dict | list):
        return schema
    key = id(schema), mark
    if key not in known:
        if isinstance(schema, list):
            items = [leave_out(item, mark, known) for item in schema]
            known[key] = schema, schema if all(map(is_, items, schema)) else items
        else:
            members = _leave_out(schema, mark, known)
            is_whole = len(members) == len(schema) and all(map(is_, members.values(), schema.values()))
            known[key] = schema, schema if is_whole else members
    return known[key][1]


def _leave_out(schema: dict[str, Any], mark: Mark, known: Known) -> dict[str, Any]:
    names = _marked(schema, mark)
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if not isinstance(value, dict | list):
            result[key] = value
        elif key in _OF_MEMBERS and isinstance(value, dict):
            left = names if key == "properties" else frozenset()
            kept = {name: leave_out(item, mark, known) for name, item in value.items() if name not in left}
            is_whole = len(kept) == len(value) and all(map(is_, kept.values(), value.values()))
            result[key] = value if is_whole else kept
        elif key == "required" and isinstance(value, list):
            required = [name for name in value if not isinstance(name, str) or name not in names]
            if required or not value:
                result[key] = value if len(required) == len(value) else required
        elif key in ("example", "default", "examples"):
            several = key == "examples" and isinstance(value, list)
            shown = (
                [without_values(one, schema, mark) for one in value] if several else without_values(value, schema, mark)
            )
            result[key] = value if shown == value else shown
        else:
            result[key] = value if key in ("enum", "const") else leave_out(value, mark, known)
    return result


def without_values(value: Any, schema: Any, mark: Mark) -> Any:
    """Return an example of `schema` without the values of members that have this mark."""
    if not isinstance(schema, dict):
        return value
    if isinstance(value, list):
        return [without_values(item, schema.get("items"), mark) for item in value]
    if not isinstance(value, dict):
        return value
    names, members = _marked(schema, mark), schema.get("properties")
    members = members if isinstance(members, dict) else {}
    return {name: without_values(item, members.get(name), mark) for name, item in value.items() if name not in names}


def _marked(schema: dict[str, Any], mark: Mark) -> frozenset[str]:
    """Return the names of the members of an object that have this mark, those of its `allOf` included."""
    members, parts = schema.get("properties"), schema.get("allOf")
    own = members.items() if isinstance(members, dict) else ()
    names = {name for name, member in own if isinstance(member, dict) and _has_mark(member, mark)}
    for part in parts if isinstance(parts, list) else ():
        names |= _marked(part, mark) if isinstance(part, dict) else frozenset()
    return frozenset(names)


def _has_mark(member: dict[str, Any], mark: Mark) -> bool:
    parts = member.get("allOf")
    parts = parts if isinstance(parts, list) else ()
    return member.get(mark) is True or any(isinstance(part, dict) and part.get(mark) is True for part in parts)
