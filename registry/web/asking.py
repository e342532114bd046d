"""Ask the API of this process for what pages show, so that page and API never differ."""

from collections.abc import Mapping
from typing import Any

import orjson
from starlette.requests import Request

from registry.edge import inside
from registry.edge.problems import PROBLEM_TYPES, UNAVAILABLE, Problem
from registry.edge.responses import path_segment

_BY_SLUG = {kind.slug: kind for kind in PROBLEM_TYPES}
_KEPT = (b"retry-after",)


async def ask(request: Request, path: str, query: Mapping[str, str] | None = None, /, **values: str) -> Any:
    """Return the JSON of an answer of the API; `values` are encoded into the template `path`.

    Raise Problem when the API answers with an error. The request's own limits pay for it.
    """
    answer = await inside.call(
        request.app.state.api,
        request.scope,
        path.format_map(values),
        query,
        raw_path=path.format_map({name: path_segment(value) for name, value in values.items()}),
    )
    content = orjson.loads(bytes(answer.body))
    if answer.status >= 400:
        raise as_problem(content, {name.decode(): answer.header(name) for name in _KEPT})
    return content


def as_problem(content: Mapping[str, Any], headers: Mapping[str, str | None]) -> Problem:
    """Return the error that a problem document describes, to be raised again."""
    kind = _BY_SLUG.get(str(content.get("type", "")).rpartition("/")[2], UNAVAILABLE)
    kept = {name: value for name, value in headers.items() if value is not None}
    known = {"type", "title", "status", "detail", "instance", "success", "error"}
    members = {name: value for name, value in content.items() if name not in known}
    return Problem(kind, str(content.get("detail", "")), headers=kept, **members)
