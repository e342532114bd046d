"""Bodies of requests: read by the strict reader, and validated by the shape that also documents them."""

from functools import cache
from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from registry.core.model.documents import Json
from registry.edge.problems import INVALID_BODY, Problem, broken_rule
from registry.edge.routing import parse_body

REFERENCE: Final = "#/components/schemas/{model}"
_MAX_NAMED: Final = 20

Shape = TypeVar("Shape")


@with_config(ConfigDict(extra="forbid"))
class ClosedBody(TypedDict):
    """A body without members that its shape does not name."""


async def read_as(request: Request, shape: type[Shape], *, list_errors: bool = False) -> Shape:
    """Return the body of a request, which has the shape: a TypedDict or a pydantic model. Raise Problem."""
    return checked(parse_body(await request.body()), shape, list_errors=list_errors)


def checked(value: Json, shape: type[Shape], *, list_errors: bool = False) -> Shape:
    """Return the value as the shape. Raise Problem, which names places and rules and repeats no part of the value.
    `list_errors`: the problem has the faults one by one too, as its member `errors`."""
    key: Any = shape
    try:
        valid: Shape = _adapter(key).validate_python(value, strict=True)
        return valid
    except ValidationError as error:
        known = _members(key)
        faults = [
            f"{_place(fault, known)}: {broken_rule(fault)}"
            for fault in error.errors(include_url=False, include_input=False)[:_MAX_NAMED]
        ]
        problem = Problem(INVALID_BODY, "; ".join(dict.fromkeys(faults)))
        if list_errors:
            problem.members["errors"] = faults
        raise problem from None


def schema_of(shape: Any) -> dict[str, Any]:
    """Return the JSON Schema of a shape, for OpenAPI. Shapes inside it are in its `$defs`."""
    return _adapter(shape).json_schema(ref_template=REFERENCE)


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


@cache
def _members(shape: Any) -> frozenset[str]:
    """Return the names of all members of a shape and of the shapes inside it."""
    schema = schema_of(shape)
    return frozenset(name for one in (schema, *schema.get("$defs", {}).values()) for name in one.get("properties", ()))


def _place(fault: Any, known: frozenset[str]) -> str:
    """Return the path of members that the shape defines; invented members are not repeated."""
    location = fault["loc"]
    parts = [str(part) for part in location if isinstance(part, int) or part in known]
    if fault["type"] == "extra_forbidden" and location and location[-1] in known:
        parts = parts[:-1]  # a member of another object
    return ".".join(parts) or "the body"
