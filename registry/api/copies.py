"""For mirrors: `/dumps/`, the newest dump of this registry, and `POST /api/records`, everything public about hosts.

`waypost export` and a nightly job write the dumps.
"""

import hashlib
from typing import Annotated, Final

import orjson
from fastapi import Path, Request, Response

from registry.actions.dumps import MOST_HOSTS
from registry.api.documents import describe_body, describe_read, describe_write, errors, not_modified
from registry.api.params import existing
from registry.api.schemas import feed as schemas
from registry.core.names.domains import InvalidName, host_syntax
from registry.edge.bodies import read_as
from registry.edge.files import file_response
from registry.edge.limiter import charge, charge_stored
from registry.edge.problems import INVALID_BODY, NOT_FOUND, RANGE_NOT_SATISFIABLE, Problem
from registry.edge.requests import registry_of
from registry.edge.responses import CACHED, matches_etag
from registry.edge.routing import strict_router

PATH: Final = "/api/records"
_HOSTS_FOR_A_UNIT: Final = 5

router = strict_router(tags=["copies"])


@router.get(
    "/dumps/manifest.json",
    **describe_read(schemas.DumpManifest, NOT_FOUND),
    summary="What the newest dump consists of",
    description="Its parts with their SHA-256, the number of records, and the cursor at which `GET /api/feed` "
    "continues: a copy that loads the dump and then follows the feed misses nothing. 404 when no dump was made yet.",
)
async def manifest(request: Request) -> Response:
    found = await registry_of(request).dumps.manifest()
    raw = existing(found, NOT_FOUND, "This registry has not written a dump yet.")
    etag = f'"{hashlib.sha256(raw).hexdigest()}"'
    headers = {"ETag": etag, "Cache-Control": CACHED}
    conditions = request.headers.getlist("if-none-match")
    if conditions and matches_etag(conditions, etag):
        return Response(None, 304, headers)
    return Response(raw, 200, headers, "application/json")


@router.get(
    "/dumps/{part}",
    response_class=Response,
    responses={
        200: {
            "description": "The part, or with `Range` 206 and some of its bytes.",
            "content": {"application/zstd": {"schema": {"type": "string", "format": "binary"}}},
        },
        206: {"description": "One range of its bytes."},
        **not_modified(),
        **errors(NOT_FOUND, RANGE_NOT_SATISFIABLE),
    },
    summary="A part of a dump",
    description="NDJSON, compressed with zstd: a record of a service, or of a host that opted out, on each line. The "
    "ETag is the SHA-256 of the manifest. One `Range` is honoured, with `If-Range`, so that a broken download can be "
    "continued. A name is never used for other bytes, and parts of the dump before the newest one stay.",
)
async def part(
    request: Request,
    part: Annotated[str, Path(max_length=200, description="A name of the manifest.", examples=[schemas.EXAMPLE_PART])],
) -> Response:
    found = await registry_of(request).dumps.part(part)
    about, path = existing(found, NOT_FOUND, "No dump that is kept here has a part of this name.")
    return file_response(request, path, size=about.bytes, etag=f'"{about.sha256}"', media_type="application/zstd")


@router.post(
    PATH,
    **describe_write(schemas.Records, body=describe_body(schemas.RecordsQuestion), side_effects=False),
    summary="The records of some hosts, as in a dump",
    description=f"For copies of the registry: the current records of at most {MOST_HOSTS} hosts, all as of one moment, "
    "and a note for each host without one. They are at least as new as every event of `GET /api/feed` up to "
    "`sequence`. Hosts that did not fit are in `left`: ask for them again.",
)
async def records(request: Request) -> Response:
    body = await read_as(request, schemas.RecordsQuestion)
    try:
        hosts = [host_syntax(name) for name in body["hosts"]]
    except InvalidName:
        raise Problem(INVALID_BODY, "hosts: has a text that is no host name") from None
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
