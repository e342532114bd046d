"""Submit hosts: a form for one or many, and the state of each."""

import re
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from registry.actions.frontier.submit import MOST_HOSTS
from registry.web.asking import ask
from registry.web.forms import as_written, name_written, pass_on, sent
from registry.web.rendering import pages_of

PATH: Final = "/submit"
_STATE: Final = "/submissions/{id}"
_MAX_BYTES: Final = 262_144
ROWS: Final = 20
_SEPARATORS: Final = re.compile(r"[\s,;]+")
_MAX_OFFSET: Final = 1_000
_PRIVATE: Final = "private, no-cache"

SETTLED: Final = frozenset({"listed", "not_listed", "opted_out", "dropped"})
"""States of a host that do not change by themselves soon."""


async def form(request: Request) -> Response:
    return _form(request, request.query_params.get("hosts", "")[:300])


async def submit(request: Request) -> Response:
    """Queue the hosts. Anyone may submit any host: the listing contains only what the host itself serves."""
    written = (await sent(request, ("hosts",), _MAX_BYTES))["hosts"]
    hosts = [name for name in _SEPARATORS.split(name_written(written)) if name]
    if not hosts:
        return _form(request, written, "Write the name of at least one host.")
    if len(hosts) > MOST_HOSTS:
        return _form(request, written, f"Write the names of 1 to {MOST_HOSTS} hosts.")
    status, content, _ = await pass_on(request, "/api/submissions", orjson.dumps({"hosts": hosts}))
    if status >= 400:
        return _form(request, written, content["detail"])
    return RedirectResponse(pages_of(request).links.to(_STATE, id=content["data"]["id"]), 303)


async def state(request: Request) -> Response:
    pages, list_id, offset = pages_of(request), request.path_params["id"], _offset(request)
    query = {"limit": str(ROWS), "offset": str(offset)}
    data: dict[str, Any] = (await ask(request, "/api/submissions/{id}", query, id=list_id))["data"]
    done = sum(count for name, count in data["counts"].items() if name in SETTLED)
    values = {
        "id": list_id,
        "list": data,
        "accepted": sum(count for name, count in data["counts"].items() if name != "refused"),
        "done": done,
        "is_settled": data["is_complete"] and all(name in SETTLED | {"refused"} for name in data["counts"]),
        "first": offset + 1,
        "poll": pages.links.to("/api/submissions/{id}", query, id=list_id),
        "before": pages.links.to(_STATE, {"offset": max(0, offset - ROWS)}, id=list_id) if offset else None,
        "next": pages.links.to(_STATE, {"offset": data["next_offset"]}, id=list_id) if data["next_offset"] else None,
    }
    return pages.respond(request, "submission.html", values, cache=_PRIVATE)


def _offset(request: Request) -> int:
    text = request.query_params.get("offset", "0")
    return min(int(text), _MAX_OFFSET) if text.isascii() and text.isdigit() and len(text) < 6 else 0


def _form(request: Request, written: str, fault: str | None = None) -> Response:
    values = {"written": as_written(written), "fault": fault, "most": MOST_HOSTS}
    return pages_of(request).respond(request, "submit.html", values, status=400 if fault else 200)


ROUTES: Final = (Route(PATH, form), Route(PATH, submit, methods=["POST"]), Route(_STATE, state))
