"""`/docs/api`: the reference of the API for people, made from its OpenAPI document: a page for each operation and for
each shape of an answer, and their contents.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
from starlette.requests import Request
from starlette.responses import Response

from registry.core.wording.command_line import command_line, json_text
from registry.edge.problems import NOT_FOUND, Problem
from registry.web.rendering import HOUR, links_of, respond

PATH: Final = "/docs/api"
OPERATION: Final = "/docs/api/{operation}"
SHAPES: Final = "/docs/api/shapes"
SHAPE: Final = "/docs/api/shapes/{shape}"
_METHODS: Final = ("get", "post", "put", "patch", "delete")

Row = dict[str, Any]
"""What a template shows of a member, a body, an answer, an operation, a group or a shape."""

Parts = list[tuple[str, str | None]]
"""The name of a type in pieces: a text, and the component schema that it links to."""


class Reference:
    """The OpenAPI document as its pages show it. `base`: the URL of this API, for the examples of requests."""

    def __init__(self, document: Mapping[str, Any], base: str) -> None:
        self.info: Mapping[str, Any] = document["info"]
        self.groups = _groups(document, base)
        self.operations: Mapping[str, Row] = {one["id"]: one for group in self.groups for one in group["operations"]}
        self.shapes: Mapping[str, Row] = {shape["name"]: shape for shape in _shapes(document)}
        self.users: dict[str, list[Row]] = {}
        """Name of a shape, or slug of a problem type -> the operations that name it."""
        for one in self.operations.values():
            for name in dict.fromkeys(_names(one)):
                self.users.setdefault(name, []).append(one)


def reference_of(request: Request) -> Reference:
    """Return the reference, which is made once."""
    state = request.app.state
    if getattr(state, "reference", None) is None:
        state.reference = Reference(state.openapi(), links_of(request).base)
    made: Reference = state.reference
    return made


async def contents(request: Request) -> Response:
    made = reference_of(request)
    return respond(request, "reference.html", {"info": made.info, "groups": made.groups}, cache=HOUR)


async def operation(request: Request) -> Response:
    made = reference_of(request)
    one = made.operations.get(request.path_params["operation"])
    if one is None:
        raise Problem(NOT_FOUND, "The API has no operation of this name.")
    named = [(name, made.shapes[name]) for name in one["folded"]]
    return respond(request, "operation.html", {"operation": one, "shapes": named}, cache=HOUR)


async def shapes(request: Request) -> Response:
    return respond(request, "shapes.html", {"names": list(reference_of(request).shapes)}, cache=HOUR)


async def shape(request: Request) -> Response:
    made = reference_of(request)
    one = made.shapes.get(request.path_params["shape"])
    if one is None:
        raise Problem(NOT_FOUND, "The API has no shape of this name.")
    return respond(request, "shape.html", {"shape": one, "users": made.users.get(one["name"], [])}, cache=HOUR)


def _groups(document: Mapping[str, Any], base: str) -> list[Row]:
    """Return the tags in their order. An operation appears only in the group of its first tag."""
    order = [tag["name"] for tag in document["tags"]]
    of_tag: dict[str, list[Row]] = {name: [] for name in order}
    for path, item in document["paths"].items():
        for method in _METHODS:
            if (operation := item.get(method)) is not None:
                group = min(operation["tags"], key=order.index)
                of_tag[group].append({**_operation(path, method, operation, base), "group": group})
    return [
        {"name": tag["name"], "text": tag["description"], "operations": of_tag[tag["name"]]} for tag in document["tags"]
    ]


def _members(schema: Mapping[str, Any]) -> list[Row]:
    required = schema.get("required", ())
    return [_member(name, "", name in required, part) for name, part in schema.get("properties", {}).items()]


def _shapes(document: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the component schemas by name."""
    for name, schema in sorted(document["components"]["schemas"].items()):
        allowed = ", ".join(f"`{value}`" for value in schema.get("enum", ()))
        texts = [schema.get("description", ""), f"One of {allowed}." if allowed else ""]
        yield {
            "name": name,
            "text": " ".join(filter(None, texts)),
            "members": _members(schema),
        }


def operation_id(method: str, path: str) -> str:
    """Return the last part of the address of an operation's page, such as `get-api-discover`."""
    return re.sub(r"[^a-z0-9]+", "-", f"{method}{path}".lower()).strip("-")


def _operation(path: str, method: str, operation: Mapping[str, Any], base: str) -> Row:
    media = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    body = list(_type(media["schema"])) if media else []
    answers = [_answer(status, response) for status, response in sorted(operation["responses"].items())]
    types = [body, *(answer["type"] for answer in answers if not answer["problems"])]
    return {
        "id": operation_id(method, path),
        "method": method.upper(),
        "path": path,
        "summary": operation["summary"],
        "text": operation["description"],
        "parameters": [
            _member(entry["name"], entry["in"], entry["required"], entry["schema"], entry.get("description", ""))
            for entry in operation.get("parameters", ())
        ],
        "body": body,
        "members": _members(media.get("schema", {})),
        "samples": list(_samples(media, "Body")),
        "answers": answers,
        "folded": list(dict.fromkeys(shape for parts in types for _, shape in parts if shape)),
        "curl": _curl(method, path, operation, media, base),
    }


def _names(operation: Row) -> Iterator[str]:
    """Yield the shapes and the problem types that the operation names."""
    yield from operation["folded"]
    for answer in operation["answers"]:
        yield from answer["problems"]


def _member(name: str, place: str, required: bool, schema: Mapping[str, Any], text: str = "") -> Row:
    """Return a parameter of an operation, or a member of a shape. `place`: path or query; empty for a member."""
    examples, default = schema.get("examples", ()), schema.get("default")
    allowed = schema.get("enum") or schema.get("items", {}).get("enum", ())  # of a text, or of each text of a list
    return {
        "name": name,
        "place": place,
        "required": required,
        "type": list(_type(schema)),
        "texts": _texts(text, schema),
        "allowed": [_value(value) for value in allowed],
        "default": None if default in (None, [], "") else _value(default),
        "example": _value(examples[0]) if len(examples) > 0 else None,
    }


def _texts(text: str, schema: Mapping[str, Any]) -> Sequence[str]:
    """Return the description of a member, and in a second paragraph what its schema adds."""
    description = text or schema.get("description", "")
    added = [_bounds(schema), schema.get("description", "") if text else ""]
    return list(dict.fromkeys(filter(None, (description, " ".join(part for part in added if part != description)))))


def _value(value: Any) -> str:
    """Return a value as it would be written in a URL: texts without quotes."""
    return value if isinstance(value, str) else _json(value)


def _answer(status: str, response: Mapping[str, Any]) -> Row:
    """Return one response of an operation; one of an error has the slugs of its problem types in place of samples."""
    content: Mapping[str, Any] = response.get("content", {})
    media: Mapping[str, Any] = next(iter(content.values()), {})
    is_problem = int(status) >= 400
    titles = {name: f"Answer {status}" + ("" if name == "application/json" else f" as {name}") for name in content}
    return {
        "status": status,
        "text": response["description"],
        "media_types": list(content),
        "type": list(_type(media["schema"])) if media.get("schema") else [],
        "problems": list(media.get("examples", ())) if is_problem else [],
        "samples": []
        if is_problem
        else [sample for name, one in content.items() for sample in _samples(one, titles[name])],
    }


def _samples(media: Mapping[str, Any], title: str) -> Iterator[Row]:
    if "example" in media:
        yield {"title": title, "text": _json(media["example"], indented=True)}
    for example in media.get("examples", {}).values():
        yield {"title": f"{title}: {example['summary']}", "text": _json(example["value"], indented=True)}


def _type(schema: Mapping[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield the pieces of the type's name, such as `list of `, `DiscoverRow`."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield name, name
    elif "anyOf" in schema:
        for index, alternative in enumerate(schema["anyOf"]):
            if index:
                yield " or ", None
            yield from _type(alternative)
    elif "const" in schema:
        yield _json(schema["const"]), None
    elif schema.get("type") == "array":
        yield "list of ", None
        yield from _type(schema.get("items", {}))
    elif isinstance(schema.get("additionalProperties"), dict):
        yield "map of text to ", None
        yield from _type(schema["additionalProperties"])
    else:
        yield schema.get("type") or schema.get("format", "any value"), None


def _bounds(schema: Mapping[str, Any]) -> str:
    """Return the limits of a number or text as a sentence, or an empty text."""
    limits: dict[str, Any] = {}
    for part in (schema, schema.get("items", {}), *schema.get("anyOf", ())):
        names = ("minimum", "maximum", "maxLength", "maxItems", "format")
        limits |= {name: part[name] for name in names if name in part}
    said = []
    if "minimum" in limits:
        said.append(f"{limits['minimum']} " + (f"to {limits['maximum']}" if "maximum" in limits else "or more"))
    said += [f"at most {limits['maxLength']} characters"] if "maxLength" in limits else []
    said += [f"at most {limits['maxItems']} values"] if "maxItems" in limits else []
    said += [f"format {limits['format']}"] if "format" in limits else []
    return f"{', '.join(said).capitalize()}." if said else ""


def _curl(method: str, path: str, operation: Mapping[str, Any], media: Mapping[str, Any], base: str) -> str:
    """Return a command with examples of the path and of required parameters, and with a token if one is needed."""
    query = {}
    for parameter in operation.get("parameters", ()):
        examples = parameter["schema"].get("examples") or [parameter["name"].upper()]
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(str(examples[0]), safe=""))
        elif parameter["required"]:
            query[parameter["name"]] = examples[0]
    url = f"{base}{path}{'?' + urlencode(query) if query else ''}"
    bodies = [example["value"] for example in media.get("examples", {}).values()]
    bodies = [media["example"]] if "example" in media else bodies
    body = json_text(bodies[0]) if bodies else None
    words = ["curl", url, *(["-X", method.upper()] if method != ("get" if body is None else "post") else [])]
    if operation.get("security"):
        words += ["-H", "Authorization: Bearer TOKEN"]
    if body is not None:
        words += ["-H", "Content-Type: application/json", "-d", body]
    return command_line(words)


def _json(value: Any, *, indented: bool = False) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indented else None).decode()
