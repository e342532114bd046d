"""Listed tools are stored beside the card that names their server, and asked for again with the whole plan."""

from typing import Any

from registry.core.visiting import tool_lists
from registry.store.unit_of_work import Store
from tests.support.builders import DAY, NOW, Page, Site, again, crawl, leased, on, service_of
from tests.support.database import rows

HOST = "lamps.com"
ENDPOINT = f"https://{HOST}/mcp"
CARD = {
    "name": "com.lamps/shop",
    "version": "1.0.0",
    "description": "Sells lamps.",
    "remotes": [{"type": "streamable-http", "url": ENDPOINT}],
}


def site(*names: str, **card: Any) -> Site:
    """Return a site whose endpoint answers each message with a batch of all replies; without names it refuses."""
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    replies = [
        {"jsonrpc": "2.0", "id": 1, "result": discovered},
        {"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": name} for name in names]}},
    ]
    endpoint = Page(replies) if names else Page("no", 401)
    return {"/.well-known/mcp/server-card.json": Page(CARD | card), "/mcp": endpoint}


async def capabilities(store: Store) -> list[str]:
    view = await service_of(store, HOST)
    return [capability.id for capability in view.service.capabilities]


async def test_tools_are_stored_and_listed_again(store: Store) -> None:
    await on(store).frontier.submit(HOST)
    await again(store, {HOST: site("order")}, NOW)
    assert await capabilities(store) == ["order"]
    stored = "SELECT purpose, format, outcome, reason, via->>'rel' FROM documents WHERE url = '" + ENDPOINT + "'"
    assert await rows(store, stored) == [("tools", "mcp-tools-list", "found", "", tool_lists.REL)]

    await again(store, {HOST: site("order", "stock")}, NOW + 2 * DAY)
    assert await capabilities(store) == ["order"], "only the card is requested between two whole plans"
    await again(store, {HOST: site("order", "stock")}, NOW + 16 * DAY)
    assert await capabilities(store) == ["order", "stock"]


async def test_a_refusal_is_stored_with_its_reason(store: Store) -> None:
    await on(store).frontier.submit(HOST)
    await again(store, {HOST: site()}, NOW)
    assert await capabilities(store) == ["mcp:com.lamps/shop"]
    stored = "SELECT purpose, outcome, reason FROM documents WHERE url = '" + ENDPOINT + "'"
    assert await rows(store, stored) == [("tools", "refused", "status_401")]


async def test_a_refusal_later_keeps_the_tools(store: Store) -> None:
    await on(store).frontier.submit(HOST)
    await again(store, {HOST: site("order")}, NOW)
    await again(store, {HOST: site()}, NOW + 15 * DAY)
    assert await capabilities(store) == ["order"]


async def test_tools_go_with_the_endpoint_that_listed_them(store: Store) -> None:
    await on(store).frontier.submit(HOST)
    await again(store, {HOST: site("order")}, NOW)
    moved = site("order", remotes=[{"type": "streamable-http", "url": f"https://{HOST}/other"}])
    await again(store, {HOST: moved}, NOW + 2 * DAY)
    assert await capabilities(store) == ["mcp:com.lamps/shop"]


async def test_a_host_that_nobody_named_is_not_asked(store: Store) -> None:
    await crawl(store, {HOST: site("order")})
    assert await capabilities(store) == ["mcp:com.lamps/shop"]
    lease = await leased(store, now=NOW + 20 * DAY)
    assert not lease.domains[0].hosts[0].lists_tools
