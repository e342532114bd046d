"""The part of the HTTP benchmark that uses the `registry` that is first on PYTHONPATH, so that two trees take turns.

    fill DATABASE FOLDER COUNT    put services into an empty database and build the index from it
    serve DATABASE FOLDER         serve the API by uvicorn, as `waypost serve` does; prints its port on the first line

It runs on uvloop, as `waypost` does. The serving process neither updates the index nor crawls, so its CPU time is that
of the answers.
"""

import contextlib
import dataclasses
import socket
import sys
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import uvicorn
import uvloop
from pydantic import SecretStr

from benchmarks.search.texts import Texts
from registry.api import app as api
from registry.core.model.listing import Listing
from registry.core.model.services import Capability, Service, to_json
from registry.settings import Settings
from registry.store.records import CapabilityRecord, ServiceRecord
from registry.wiring import Waypost, open_waypost

_BATCH = 500
_REACH = {"callable": "true", "kind": "http", "method": "POST", "address": "https://api.pigeonpost.example/v2/parcels"}
_NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def settings(database: str, folder: str) -> Settings:
    return Settings(database_url=SecretStr(database), data=Path(folder), public_url="https://registry.example",
                    read_rate=1_000_000_000, log_level="WARNING")  # fmt: skip


async def fill(waypost: Waypost, count: int) -> None:
    store: Any = waypost._store
    stream = Texts().services(count)
    while batch := list(islice(stream, _BATCH)):
        async with store.begin() as uow:
            await uow.services.put([_record(listing) for listing in batch])
            await uow.services.replace_capabilities(
                {(listing.domain, listing.host): _capabilities(listing) for listing in batch}, now=_NOW
            )
    await waypost.search.reindex()


def _record(listing: Listing) -> ServiceRecord:
    """Return the row that `record` stores for a service that was found once."""
    shared_values = {field.name: getattr(listing, field.name) for field in dataclasses.fields(Listing)}
    values = {
        **shared_values, "base_url": f"https://{listing.host}",
        "well_known_url": f"https://{listing.host}/.well-known/agent.json",
        "cap_count": len(listing.capabilities), "hidden": False, "crawl_failures": 0,
        "model": to_json(Service(name=listing.name, description=listing.description)), "listing": listing,
        "rubric_version": "1", "created_at": _NOW, "updated_at": _NOW, "seen_at": _NOW,
        "injection_flags": (),
    }  # fmt: skip
    names = {field.name for field in dataclasses.fields(ServiceRecord)}
    return ServiceRecord(**{key: value for key, value in values.items() if key in names})


def _capabilities(listing: Listing) -> list[CapabilityRecord]:
    capabilities = (
        Capability(id=capability.name, name=capability.name, description=capability.description)
        for capability in listing.capabilities
    )
    as_json = (to_json(Service(capabilities=(capability,)))["capabilities"][0] for capability in capabilities)
    # older trees have no reach; without it, each answer would make that of capabilities recorded by them
    names = {field.name for field in dataclasses.fields(CapabilityRecord)}
    more: dict[str, Any] = {"reach": _REACH} if "reach" in names else {}
    return [CapabilityRecord(str(value["name"]), value, **more) for value in as_json]


async def serve(waypost: Waypost) -> None:
    if hasattr(waypost, "open_search"):
        await waypost.open_search()
    settled = getattr(api, "settled", contextlib.nullcontext)  # older trees have neither
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    config = uvicorn.Config(
        api.create_app(waypost, waypost.settings),
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        lifespan="off",
    )
    print(listening.getsockname()[1], flush=True)
    with settled():
        await uvicorn.Server(config).serve(sockets=[listening])


async def main() -> None:
    act, database, folder, *arguments = sys.argv[1:]
    async with open_waypost(settings(database, folder)) as waypost:
        await (fill(waypost, int(arguments[0])) if act == "fill" else serve(waypost))


if __name__ == "__main__":
    uvloop.run(main())
