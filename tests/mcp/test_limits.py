"""A call over MCP costs its client what the same costs over the API."""

import asyncio
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from tests.api.sites import BIKES, CARD, NEW, PIGEON
from tests.mcp.serving import LEGACY, posted, served
from tests.support.api import Api


@pytest.fixture(autouse=True)
def frozen_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeze the clock of the limits, since a minute that ends between two requests would reset the allowance."""
    monkeypatch.setattr("registry.edge.middleware.time", SimpleNamespace(monotonic=lambda: 1_000.0))


async def _tool(client: httpx2.AsyncClient, name: str, **arguments: Any) -> httpx2.Response:
    return await posted(client, "tools/call", LEGACY, name=name, arguments=arguments)


def _left(answer: httpx2.Response, limit: str = "work") -> int:
    """Return what remains of a limit, by the header of an answer."""
    part = next(part for part in answer.headers["ratelimit"].split(", ") if part.startswith(f'"{limit}"'))
    return int(part.split(";")[1].removeprefix("r="))


async def test_every_request_to_the_api_is_paid(own_api: Api) -> None:
    settings = own_api.waypost.settings.model_copy(update={"read_rate": 100})
    async with served(own_api.waypost, settings) as address, httpx2.AsyncClient(base_url=address) as client:
        before = _left(await posted(client, "tools/list", LEGACY))
        assert before == 99
        for name, arguments, cost in (
            ("discover_services", {"q": "create a parcel"}, 1),
            ("discover_services", {"q": "create a parcel", "limit": 20}, 2),
            ("get_service", {"domain": PIGEON}, 1),
            ("compare_services", {"domains": [PIGEON, BIKES, CARD]}, 3),
            ("registry_status", {}, 11),
            ("get_service", {"domain": "..."}, 1),
        ):
            after = _left(await _tool(client, name, **arguments))
            assert before - after == cost, name
            before = after


async def test_a_client_without_units_is_told_when_to_come_back(own_api: Api) -> None:
    settings = own_api.waypost.settings.model_copy(update={"read_rate": 6})
    async with served(own_api.waypost, settings) as address, httpx2.AsyncClient(base_url=address) as client:
        for _ in range(5):
            assert (await _tool(client, "get_service", domain=PIGEON)).status_code == 200
        refused = (await _tool(client, "compare_services", domains=[PIGEON, BIKES, CARD])).json()["result"]
        assert refused["isError"] is True
        assert "Try again in" in refused["content"][0]["text"]
        assert (await _tool(client, "get_service", domain=PIGEON)).status_code == 429


async def test_submissions_have_their_own_limit(own_api: Api) -> None:
    settings = own_api.waypost.settings.model_copy(update={"submit_rate": 2, "submit_wait": 0})
    own_api.waypost.settings = settings
    async with served(own_api.waypost, settings) as address, httpx2.AsyncClient(base_url=address) as client:
        over_http = await client.post("/api/services", json={"domain": NEW})
        assert over_http.status_code == 202
        second = await _tool(client, "submit_service", domain=PIGEON)
        assert _left(second, "submissions") == 0
        assert second.json()["result"]["structuredContent"]["state"] == "queued"
        third = (await _tool(client, "submit_service", domain=PIGEON)).json()["result"]
        assert third["isError"] is True
        assert "submissions" in third["content"][0]["text"]


async def test_a_client_waiting_for_a_visit_can_ask_meanwhile(own_api: Api) -> None:
    """Turns bound how much of one client is worked on at once; a wait is no work."""
    settings = own_api.waypost.settings.model_copy(update={"submit_wait": 20})
    own_api.waypost.settings = settings
    async with served(own_api.waypost, settings) as address, httpx2.AsyncClient(base_url=address, timeout=60) as client:
        hosts = [NEW, f"a.{NEW}", f"b.{NEW}"]
        waiting = [asyncio.create_task(_tool(client, "submit_service", domain=host)) for host in hosts[:1] * 3]
        answer = await _tool(client, "get_service", domain=PIGEON)
        assert answer.status_code == 200
        assert not all(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
