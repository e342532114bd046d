"""Ask the API of this process: for what pages show, and to do what forms say. So pages and API never differ.

Without a session (`registry.web.sessions`), forms change only what any stranger may change. Forms on pages of other
sites are refused before (`registry.edge.middleware`).
"""

import math
import re
from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import orjson
from markupsafe import Markup, escape
from starlette.requests import Request

from registry.core.names.domains import host_syntax
from registry.edge import inside, problems
from registry.edge.problems import Problem
from registry.edge.requests import MAX_INLINE_DOCUMENT, computed
from registry.edge.responses import path_segment
from registry.web import text

FORM: Final = "application/x-www-form-urlencoded"
MAX_FIELDS: Final = 16
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f]")
"""No HTML may hold them. JSON that does is refused, so nothing is lost."""

_SCHEME: Final = re.compile(r"https?://", re.IGNORECASE)
_SECRETS: Final = ("token", "receiver_token")
_NAME_CHARS: Final = 40
_MAX_AGAIN: Final = 65_536

_NOT_SHOWN: Final = (problems.OPTED_OUT, problems.GONE, problems.UNKNOWN_SERVICE)
_BY_SLUG = {kind.slug: kind for kind in problems.PROBLEM_TYPES}


async def ask(request: Request, path: str, query: Mapping[str, str] | None = None, /, **values: str) -> Any:
    """Return the JSON of an answer of the API; `values` are encoded into the template `path`.

    Raise Problem when the API answers with an error. The request's own limits pay for it.
    """
    raw_path = path.format_map({name: path_segment(value) for name, value in values.items()})
    api, filled = request.app.state.api, path.format_map(values)
    answer = await inside.call(api, request.scope, filled, query, raw_path=raw_path)
    content = orjson.loads(bytes(answer.body))
    if answer.status >= 400:
        raise as_problem(content, answer.header(b"retry-after"))
    return content


async def ask_about(request: Request, path: str, host: str, query: Mapping[str, str] | None = None) -> Any:
    """Return the `data` of an answer about a host; None if the host is unknown, hidden or opted out. Raise Problem."""
    try:
        return (await ask(request, path, query, host=host))["data"]
    except Problem as problem:
        if problem.kind not in _NOT_SHOWN:
            raise
        return None


async def pass_on(
    request: Request,
    path: str,
    body: bytes,
    query: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
    token: str | None = None,
) -> tuple[int, Any, inside.InsideAnswer]:
    """Return status and JSON of the API's answer, and the answer itself. `token`: the bearer token in the form.

    Raise Problem for failures that no field can correct: a reached limit, a registry that cannot answer, or a mirror,
    whose origin decides.
    """
    api = request.app.state.api
    headers = [] if token is None else [(b"authorization", b"Bearer " + token.encode("ascii", "replace"))]
    answer = await inside.call(api, request.scope, path, query, method=method, body=body, headers=headers)
    content = orjson.loads(bytes(answer.body))
    is_mirrored = answer.status == problems.MIRRORED.status and _kind_of(content) is problems.MIRRORED
    if answer.status == 429 or answer.status >= 500 or is_mirrored:
        raise as_problem(content, answer.header(b"retry-after"))
    return answer.status, content, answer


async def try_on(
    request: Request,
    path: str,
    body: bytes = b"",
    query: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
    token: str | None = None,
) -> tuple[int, Any]:
    """Return status and JSON of the API's answer as `pass_on` does; a reached limit is an answer too, for its form.

    Its `wait` says in words when to try again, such as "in 2 minutes"; empty if that is not known. Raise Problem when
    the registry cannot answer, or is a mirror.
    """
    try:
        status, content, _ = await pass_on(request, path, body, query, method=method, token=token)
    except Problem as problem:
        if problem.kind is not problems.RATE_LIMITED:
            raise
        seconds = problem.headers.get("retry-after", "")
        wait = f"in {text.duration(int(seconds))}" if seconds.isdigit() else ""
        return problem.kind.status, {"detail": problem.detail, "status": problem.kind.status, "wait": wait}
    return status, content


def refusal_words(content: Mapping[str, Any]) -> str:
    """Return why the API refused, for a form: the detail in plain words, and when to try again if `try_on` knows it."""
    said = str(content["detail"]).replace("`", "")
    return f"{said} Try again {content['wait']}." if content.get("wait") else said


def _kind_of(content: Mapping[str, Any]) -> problems.ProblemType:
    return _BY_SLUG.get(str(content.get("type", "")).rpartition("/")[2], problems.UNAVAILABLE)


def as_problem(content: Mapping[str, Any], retry_after: str | None = None) -> Problem:
    """Return the error that a problem document describes, to be raised again."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    known = {"type", "title", "status", "detail", "instance", "success", "error"}
    members = {name: value for name, value in content.items() if name not in known}
    return Problem(_kind_of(content), str(content.get("detail", "")), headers=headers, **members)


def number_of(request: Request, name: str, least: int, most: int) -> int:
    """Return a whole number of the address within bounds; `least` when it is missing or not a number."""
    text = request.query_params.get(name, "")
    return min(max(int(text[:9]), least), most) if text.isascii() and text.isdigit() else least


async def sent(request: Request, names: Collection[str], max_bytes: float = math.inf) -> dict[str, str]:
    """Return the fields of a form by name, with "" for missing ones of `names`. Raise Problem.

    The server bounds every body; `max_bytes` is for forms that need less.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Problem(problems.UNSUPPORTED_MEDIA_TYPE, f"A form has to be sent as {FORM}.")
    raw = await request.body()
    if len(raw) > max_bytes:  # guard: form-bytes
        raise Problem(problems.BODY_TOO_LARGE, "This form is larger than the page accepts.")
    fields = await computed(request, len(raw), MAX_INLINE_DOCUMENT, _parsed, raw)
    if not fields.keys() <= set(names):
        raise Problem(problems.BAD_REQUEST, "The form has a field that the page does not know.")
    return dict.fromkeys(names, "") | fields


def _parsed(raw: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:  # too many fields, or not UTF-8
        raise Problem(problems.BAD_REQUEST, "The form cannot be read.") from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Problem(problems.BAD_REQUEST, "The form gives a field twice.")
    return {name: value.replace("\r\n", "\n") for name, value in fields.items()}  # browsers send CRLF for each line end


def fields_again(raw: bytes) -> list[tuple[str, Markup]]:
    """Return the fields of a form that was not taken, to be sent again; none if it is large, cannot be read or holds a
    secret."""
    if len(raw) > _MAX_AGAIN:
        return []
    try:
        fields = _parsed(raw)
    except Problem:
        return []
    if any(fields.get(name) for name in _SECRETS):
        return []
    return [(name[:_NAME_CHARS], as_written(value)) for name, value in fields.items() if value]


def name_written(written: str) -> str:
    """Return a name in the form that the API accepts: NUL cannot be in a body, and no name has it."""
    return written.replace("\0", "\ufffd").strip()


def host_written(written: str) -> str:
    """Return the canonical host of a name or URL that a person wrote. Raise InvalidName."""
    return host_syntax(_SCHEME.sub("", name_written(written)).partition("/")[0])


def as_written(written: str) -> Markup:
    """Return the text for an editable field, without the marks for hidden characters, which would change it."""
    return escape(_CONTROLS.sub("\ufffd", written))
