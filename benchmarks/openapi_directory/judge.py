"""Ask openapi-core whether it accepts a call, and sort its refusals by kind."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from openapi_core import Config, OpenAPI
from openapi_core.exceptions import OpenAPIError

from benchmarks.openapi_directory.oracle import Operation
from tests.core.calling.judges import openapi_request

_FORM: Final = "application/x-www-form-urlencoded"


class Unjudged(Exception):
    """openapi-core cannot judge the call; the text says why."""


def refusal(document: dict[str, Any], operation: Operation, call: Mapping[str, Any]) -> str | None:
    """Return why openapi-core refuses an example; None if it accepts it. Raise Unjudged."""
    example = call["example"]
    if re.search("[?#]", operation.path):
        raise Unjudged("a path with # or ?")
    media_type = example["headers"].get("Content-Type", "")
    if any("/" in value for value in _path_values(operation, urlsplit(example["url"]).path)):
        raise Unjudged("a path value with a slash")
    if media_type and "json" not in media_type and media_type != _FORM:
        raise Unjudged(f"a body of {media_type.partition(';')[0]}")
    url = urlsplit(example["url"])
    # servers and paths were compared by the oracle: here only this operation, which openapi-core finds at once
    reduced = {
        **document,
        "servers": [{"url": f"{url.scheme}://{url.netloc}{_prefix(operation, url.path)}"}],
        "paths": {operation.path: _without_servers(document["paths"][operation.path], operation.method)},
    }
    request = openapi_request(example, _written(call, media_type) if "body" in example else None)
    try:
        description = OpenAPI.from_dict(reduced, config=Config(spec_validator_cls=None))
        errors = list(description.iter_request_errors(request))
    except OpenAPIError as error:
        raise Unjudged(f"the document: {type(error).__name__}") from None
    except Exception as error:  # a broken description may raise anything in the library
        raise Unjudged(f"openapi-core fails: {type(error).__name__}") from None
    return "; ".join(f"{type(error).__name__}: {error} {error.__cause__ or ''}" for error in errors) or None


def _path_values(operation: Operation, path: str) -> list[str]:
    """Return the values of the path's variables, which fill whole segments nearly always."""
    segments = operation.path.split("/")
    pairs = zip(segments, path.split("/")[-len(segments) :], strict=False)
    return [unquote(value) for segment, value in pairs if "{" in segment]


def _prefix(operation: Operation, path: str) -> str:
    """Return what the server adds to the path of the operation."""
    segments, own = path.split("/"), operation.path.count("/")
    return "/".join(segments[: len(segments) - own])


def _without_servers(item: dict[str, Any], method: str) -> dict[str, Any]:
    kept = {key: value for key, value in item.items() if key in ("parameters", "$ref")}
    return {**kept, method: {key: value for key, value in item.get(method, {}).items() if key != "servers"}}


def _written(call: Mapping[str, Any], media_type: str) -> bytes:
    """Return the body as the line for curl has it: there forms are encoded."""
    if media_type != _FORM:
        return json.dumps(call["example"]["body"]).encode()
    if "curl" not in call:
        raise Unjudged("a form that no line of curl can hold")
    return shlex.split(call["curl"])[-1].encode()
