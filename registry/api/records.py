"""`POST /api/records`: everything public about some hosts, for mirrors that follow the change feed."""

from typing import Final

import orjson
from fastapi import Request, Response

from registry.actions.dumps import MOST_HOSTS
from registry.api.documents import errors, example
from registry.api.schemas import feed as schemas
from registry.api.schemas.base import example_of
from registry.core.names.domains import InvalidName, host_syntax
from registry.edge.limiter import charge, charge_stored
from registry.edge.problems import INVALID_BODY, UNREADABLE_BODY, Problem
from registry.edge.requests import registry_of
from registry.edge.routing import read_body, strict_router

PATH: Final = "/api/records"
_HOSTS_FOR_A_UNIT: Final = 5

router = strict_router(tags=["copies"])


@router.post(
    PATH,
    response_model=schemas.Records,
    responses={200: example(schemas.Records), **errors(UNREADABLE_BODY, INVALID_BODY)},
    summary="The records of some hosts, as in a dump",
    description=f"For copies of the registry: the current records of at most {MOST_HOSTS} hosts, all as of one moment, "
    "and a note for each host without one. They are at least as new as every event of `GET /api/feed` up to "
    "`sequence`. Hosts that did not fit are in `left`: ask for them again.",
    openapi_extra={
        "x-side-effects": False,
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": schemas.RECORDS_QUESTION_SCHEMA,
                    "examples": {"one": {"summary": "One host", "value": example_of(schemas.RecordsQuestion)}},
                }
            },
        },
    },
)
async def records(request: Request) -> Response:
    hosts = _hosts(await read_body(request))
    charge(request, len(hosts) // _HOSTS_FOR_A_UNIT)
    found = await registry_of(request).dumps.records(hosts)
    charge_stored(request, found.size // 8)  # stored bytes are passed on unchanged: no model is computed
    content = {
        "sequence": found.sequence,
        "cursor": found.cursor,
        "records": [orjson.Fragment(record) for record in found.records],
        "left": found.left,
        "untrusted_text": ["records"],
    }
    return Response(orjson.dumps(content), 200, {"Cache-Control": "no-store"}, "application/json")


def _hosts(body: object) -> list[str]:
    names = body.get("hosts") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(names, list) or len(body) != 1:
        raise Problem(INVALID_BODY, "The body must be an object with `hosts` (list of host names) and nothing else.")
    if not 1 <= len(names) <= MOST_HOSTS or not all(isinstance(name, str) for name in names):
        raise Problem(INVALID_BODY, f"`hosts` must be a list of 1 to {MOST_HOSTS} texts.")
    try:
        return [host_syntax(str(name)) for name in names]
    except InvalidName:
        raise Problem(INVALID_BODY, "`hosts` contains a text that is no host name.") from None
