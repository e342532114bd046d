"""Services in the database as `record` leaves them, for the tests of search."""

from datetime import UTC, datetime, time

from registry.actions.queries.discover import SearchActions
from registry.core.model.listing import Listing
from registry.core.model.services import Capability, Service, to_json
from registry.store.records import CapabilityRecord, ServiceRecord
from registry.store.unit_of_work import Store

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


async def put(store: Store, *listings: Listing, hidden: bool = False) -> None:
    async with store.begin() as uow:
        await uow.services.put([_record(listing, hidden) for listing in listings])
        await uow.services.replace_capabilities(
            {(listing.domain, listing.host): _capabilities(listing) for listing in listings}, now=NOW
        )


async def fill(search: SearchActions, *listings: Listing) -> None:
    """Store the services and index them."""
    await put(search._store, *listings)
    await search.drain()


async def remove(store: Store, *listings: Listing) -> None:
    async with store.begin() as uow:
        await uow.services.remove([(listing.domain, listing.host) for listing in listings])


def _record(listing: Listing, hidden: bool) -> ServiceRecord:
    return ServiceRecord(
        domain=listing.domain,
        host=listing.host,
        name=listing.name,
        description=listing.description,
        base_url=f"https://{listing.host}",
        well_known_url=f"https://{listing.host}/.well-known/agent.json",
        trust_level=listing.trust_level,
        score=listing.score,
        auth_type=listing.auth_type,
        pricing_type=listing.pricing_type,
        formats=listing.formats,
        protocols=listing.protocols,
        category=listing.category or None,
        cap_count=len(listing.capabilities),
        injection_flags=(),
        hidden=hidden,
        crawl_failures=0,
        model=to_json(Service(name=listing.name, description=listing.description)),
        listing=listing,
        rubric_version="1",
        created_at=NOW,
        updated_at=listing.updated_at or NOW,
        seen_at=NOW if listing.seen_on is None else datetime.combine(listing.seen_on, time(12), UTC),
    )


def _capabilities(listing: Listing) -> list[CapabilityRecord]:
    capabilities = (
        Capability(
            id=listed.name,
            name=listed.name,
            description=listed.description,
            side_effects=listed.side_effects,
            tags=listed.semantic_types,
        )
        for listed in listing.capabilities
    )
    as_json = (to_json(Service(capabilities=(capability,)))["capabilities"][0] for capability in capabilities)
    return [
        CapabilityRecord(str(value["name"]), value, reach={"callable": listed.callability})
        for value, listed in zip(as_json, listing.capabilities, strict=True)
    ]
