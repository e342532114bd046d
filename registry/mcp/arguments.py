"""Checks the arguments of a tool against its schema, with messages that say what is allowed.

A message names members of the schema only, never what was sent: a value, or the name of an unknown member, may be
anything.
"""

from collections.abc import Mapping
from typing import Any, Final

import jsonschema_rs

_MOST_FAULTS: Final = 5


class BadArguments(ValueError):
    """The arguments do not fit; the message says what is allowed and repeats no input."""


class ArgumentsOf:
    """The checker of one tool's arguments."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._validator = jsonschema_rs.Draft202012Validator(dict(schema))

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Raise BadArguments."""
        if self._validator.is_valid(arguments):
            return
        faults: dict[str, None] = {}
        for error in self._validator.iter_errors(arguments):
            faults[self._fault(error)] = None
            if len(faults) == _MOST_FAULTS:
                break
        raise BadArguments("; ".join(faults))

    def _fault(self, error: jsonschema_rs.ValidationError) -> str:
        schema, place = self._place(error)
        kind = error.kind.name
        if kind == "required":
            missing = error.kind.as_dict()["property"]
            return f"{place + '.' if place else ''}{missing} is required"
        if kind == "additionalProperties":
            accepted = ", ".join(schema.get("properties", {})) or "none"
            return f"{place or 'the arguments'}: unknown member; accepted: {accepted}"
        return f"{place or 'the arguments'} must be {_allowed(schema)}"

    def _place(self, error: jsonschema_rs.ValidationError) -> tuple[Mapping[str, Any], str]:
        """Return the schema that was broken and the place in it, made of the names of the schema."""
        schema, names = self._schema, list[str]()
        steps = iter([str(step) for step in error.schema_path][:-1])
        for step in steps:
            if step == "properties":
                name = next(steps)
                schema = schema["properties"][name]
                names.append(name)
            elif step == "items":
                schema = schema["items"]
                names.append("(each)")
        return schema, ".".join(names)


def _allowed(schema: Mapping[str, Any]) -> str:
    """Return what a value may be, as the end of a sentence."""
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    if schema["type"] == "integer":
        return f"a whole number from {schema['minimum']} to {schema['maximum']}"
    if schema["type"] == "array":
        unique = "different " if schema.get("uniqueItems") else ""
        return f"a list of {schema['minItems']} to {schema['maxItems']} {unique}values"
    if schema["type"] == "object":
        return "an object"
    shape = f" that match {schema['pattern']}" if "pattern" in schema else ""
    least = schema.get("minLength", 0)
    return f"text of {f'{least} to' if least else 'at most'} {schema.get('maxLength', 6)} characters{shape}"
