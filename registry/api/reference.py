"""`GET /docs`: the reference of this API for people, rendered from its OpenAPI document.

One page of plain HTML: no script, no form, nothing from another host. The Content-Security-Policy forbids all of them,
in case a text in the page tried to add one.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson
from fastapi import Request, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from registry.core.wording.command_line import command_line, json_text
from registry.edge.requests import base_url
from registry.edge.responses import PAGE, encoded_response
from registry.edge.routing import strict_router

TEMPLATES: Final = Path(__file__).with_name("templates")
_METHODS: Final = ("get", "post", "put", "patch", "delete")
_STYLE: Final = (TEMPLATES / "reference.css").read_text()
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
HEADERS: Final = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}

router = strict_router(tags=["about"])


Row = dict[str, Any]
"""What the template shows of a member, a body, an answer, an operation, a chapter or a shape."""

Parts = list[tuple[str, str | None]]
"""The name of a type in pieces: a text, and the component schema that it links to."""


@router.get("/docs/api", response_class=Response, summary="The reference of this API", include_in_schema=False)
@router.get("/docs", response_class=Response, summary="The reference of this API", include_in_schema=False)
async def reference(request: Request) -> Response:
    page = getattr(request.app.state, "reference", None)
    if page is None:
        page = request.app.state.reference = render(request.app.openapi(), base_url(request))
    return encoded_response(request, page.encode(), cache=PAGE, media_type="text/html; charset=utf-8", headers=HEADERS)


def render(document: Mapping[str, Any], base: str) -> str:
    """Return the page. `base` is the URL of this API without a trailing slash, for the examples of requests."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["code"] = _with_code
    style = Markup(_STYLE)  # noqa: S704  # the file beside the template
    return environment.get_template("reference.html.jinja").render(
        info=document["info"], base=base, chapters=_chapters(document, base), shapes=_shapes(document), style=style
    )


def _chapters(document: Mapping[str, Any], base: str) -> list[Row]:
    """Return the tags in their order. An operation appears only in the chapter of its first tag."""
    order = [tag["name"] for tag in document["tags"]]
    of_tag: dict[str, list[Row]] = {name: [] for name in order}
    for path, item in document["paths"].items():
        for method in _METHODS:
            if (operation := item.get(method)) is not None:
                of_tag[min(operation["tags"], key=order.index)].append(_operation(path, method, operation, base))
    return [
        {"name": tag["name"], "text": tag["description"], "operations": of_tag[tag["name"]]} for tag in document["tags"]
    ]


def _shapes(document: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the component schemas by name."""
    for name, schema in sorted(document["components"]["schemas"].items()):
        required = schema.get("required", ())
        allowed = ", ".join(f"`{value}`" for value in schema.get("enum", ()))
        texts = [schema.get("description", ""), f"One of {allowed}." if allowed else ""]
        yield {
            "name": name,
            "text": " ".join(filter(None, texts)),
            "members": [
                _member(member, "", member in required, part) for member, part in schema.get("properties", {}).items()
            ],
        }


def _operation(path: str, method: str, operation: Mapping[str, Any], base: str) -> Row:
    media = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return {
        "id": re.sub(r"[^a-z0-9]+", "-", f"{method}{path}".lower()).strip("-"),
        "method": method.upper(),
        "path": path,
        "summary": operation["summary"],
        "text": operation["description"],
        "parameters": [
            _member(entry["name"], entry["in"], entry["required"], entry["schema"], entry.get("description", ""))
            for entry in operation.get("parameters", ())
        ],
        "body": list(_type(media["schema"])) if media else [],
        "samples": list(_samples(media, "Body")),
        "answers": [_answer(status, response) for status, response in sorted(operation["responses"].items())],
        "curl": _curl(method, path, operation, media, base),
    }


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
        yield schema.get("type", "any value"), None


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
        examples = parameter["schema"].get("examples") or [""]
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


def _with_code(text: str) -> Markup:
    """Return a description as HTML: escaped, with `` `words` `` in backticks as code."""
    pieces = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if index % 2 and index < len(pieces) - 1 else escape(piece)
        for index, piece in enumerate(pieces)
    )
