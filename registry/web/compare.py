"""`/compare`: up to four services side by side, each as the API answers it."""

import asyncio
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from registry.core.names.domains import InvalidName, host_syntax
from registry.edge.responses import REVALIDATE
from registry.web.asking import as_written, ask_about
from registry.web.rendering import respond
from registry.web.service import MAX_COMPARED, SECTIONS, weights

PATH: Final = "/compare"
_HOST_CHARS: Final = 253
_NAMES: Final = 8


async def compare(request: Request) -> Response:
    """Return the table. Names that are no hosts, and hosts that are not listed, are marked in the form."""
    named = [name.strip()[:_HOST_CHARS] for name in request.query_params.getlist("host")[: 4 * MAX_COMPARED]]
    written = list(dict.fromkeys(name for name in named if name))
    fields: list[dict[str, str | None]] = []
    for name in written[:MAX_COMPARED]:
        try:
            fields.append({"written": name, "host": host_syntax(name)})
        except InvalidName:
            fields.append({"written": name, "host": None})
    hosts = list(dict.fromkeys(str(one["host"]) for one in fields if one["host"]))
    found = dict(zip(hosts, await asyncio.gather(*(_column(request, host) for host in hosts)), strict=True))
    columns = [column for column in found.values() if column is not None]
    values = {
        "fields": [
            {"written": as_written(str(one["written"])), "host": one["host"], "fault": _fault(one["host"], found)}
            for one in fields
        ],
        "empty": MAX_COMPARED - len(fields),
        "columns": columns,
        "left_out": max(0, len(written) - MAX_COMPARED),
        "most": MAX_COMPARED,
        "sections": SECTIONS,
        "weights": await weights(request),
    }
    return respond(request, "compare.html", values, cache=REVALIDATE)


async def _column(request: Request, host: str) -> dict[str, Any] | None:
    """Return a service with what the table says of its capabilities; None if none is listed under the host."""
    data = await ask_about(request, "/api/services/{host}", host)
    if data is None:
        return None
    capabilities = data["manifest"]["capabilities"]
    return {
        **data,
        "capability_count": len(capabilities),
        "callable_count": sum(one.get("callable") is True for one in capabilities),
        "capability_names": [one.get("title") or one["name"] for one in capabilities[:_NAMES]],
    }


def _fault(host: str | None, found: dict[str, Any]) -> str | None:
    if host is None:
        return "This is not the name of a host, such as api.example.com."
    return None if found[host] is not None else "No service is listed under this host."
