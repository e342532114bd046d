"""Read the fields of forms within bounds, only from pages of this registry, and pass them on to the API.

The registry has no cookies and no sessions: these forms change only what any stranger may change. Forms on pages of
other sites are refused before (`registry.edge.middleware`).
"""

import math
import re
from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

import orjson
from markupsafe import Markup, escape
from starlette.requests import Request

from registry.edge import inside
from registry.edge.problems import BAD_REQUEST, BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, Problem
from registry.edge.requests import MAX_INLINE_DOCUMENT, computed
from registry.web.asking import as_problem

FORM: Final = "application/x-www-form-urlencoded"
MAX_FIELDS: Final = 8
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f]")
"""No HTML may hold them. JSON that does is refused, so nothing is lost."""


async def sent(request: Request, names: Collection[str], max_bytes: float = math.inf) -> dict[str, str]:
    """Return the fields of a form by name, with "" for missing ones of `names`. Raise Problem.

    The server bounds every body; `max_bytes` is for forms that need less.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Problem(UNSUPPORTED_MEDIA_TYPE, f"A form has to be sent as {FORM}.")
    raw = await request.body()
    if len(raw) > max_bytes:  # guard: form-bytes
        raise Problem(BODY_TOO_LARGE, "This form is larger than the page accepts.")
    fields = await computed(request, len(raw), MAX_INLINE_DOCUMENT, _parsed, raw)
    if not fields.keys() <= set(names):
        raise Problem(BAD_REQUEST, "The form has a field that the page does not know.")
    return dict.fromkeys(names, "") | fields


def _parsed(raw: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError:  # too many fields, or not UTF-8
        raise Problem(BAD_REQUEST, "The form cannot be read.") from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise Problem(BAD_REQUEST, "The form gives a field twice.")
    return {name: value.replace("\r\n", "\n") for name, value in fields.items()}  # browsers send CRLF for each line end


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

    Raise Problem for failures that no field can correct: a reached limit, or a registry that cannot answer.
    """
    headers = [] if token is None else [(b"authorization", b"Bearer " + token.encode("ascii", "replace"))]
    answer = await inside.call(
        request.app.state.api, request.scope, path, query, method=method, body=body, headers=headers
    )
    content = orjson.loads(bytes(answer.body))
    if answer.status == 429 or answer.status >= 500:
        retry_after = {"retry-after": answer.header(b"retry-after")}
        raise as_problem(content, retry_after)
    return answer.status, content, answer


def name_written(text: str) -> str:
    """Return a name in the form that the API accepts: NUL cannot be in a body, and no name has it."""
    return text.replace("\0", "\ufffd").strip()


def as_written(text: str) -> Markup:
    """Return the text for an editable field, without the marks for hidden characters, which would change it."""
    return escape(_CONTROLS.sub("\ufffd", text))
