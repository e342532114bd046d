"""A small document never costs much work, whichever interface is asked about its host."""

import json
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import httpx2
import pytest

from registry.core.translating import TARGETS
from registry.edge.problems import UNTRANSLATABLE
from registry.edge.requests import MAX_INLINE_DOCUMENT
from tests.api.sites import PIGEON
from tests.core.calling.hostile_schemas import KINDS, WORST
from tests.mcp.serving import posted, served
from tests.support.api import Api
from tests.support.builders import Page, Site, crawl

CPU_SECONDS = 0.05
SMALL = {f"small-{name}": make(1 + first // 10, 1 + second // 10) for name, (make, first, second) in KINDS.items()}
SCHEMAS = WORST | SMALL


def _host(name: str) -> str:
    return f"{name}.example"


def _document(host: str, schema: Any) -> str:
    content = {"application/json": {"schema": schema}}
    body = {"required": True, "content": content}
    operation = {"operationId": "slow", "summary": "Book a slow boat", "requestBody": body, "responses": {}}
    document = {"openapi": "3.1.0", "info": {"title": "Slow", "version": "1"}, "paths": {"/x": {"post": operation}},
                "servers": [{"url": f"https://{host}/"}]}  # fmt: skip
    return json.dumps(document, separators=(",", ":"))


def _site(name: str, schema: Any) -> Site:
    text = "# Slow\n\n> Slow boats\n\n- [api](/openapi.json)\n"
    return {
        "/openapi.json": Page(_document(_host(name), schema)),
        "/llms.txt": Page(text, media_type="text/plain"),
    }


@pytest.fixture
async def hostile(own_api: Api) -> Api:
    sites = {_host(name): _site(name, schema) for name, schema in SCHEMAS.items()}
    await crawl(own_api.store, sites, datetime.now(UTC).replace(microsecond=0))
    await own_api.waypost.search.reindex()
    return own_api


def _page(host: str) -> str:
    return f"/s/{host}"


def _paths(name: str) -> list[str]:
    """Return what every interface answers about a host. Only small documents are translated in the event loop."""
    host = _host(name)
    service, page = f"/api/services/{host}", _page(host)
    targets = TARGETS if name.startswith("small-") else ("woa",)
    return [
        f"{service}/capabilities/slow", service, f"{service}?include_details=true", f"{service}/status",
        f"{service}/history", f"{service}/evidence", f"{service}/crawl", f"/api/discover?q={host}",
        page, f"{page}/c/slow", f"{page}/evidence", f"{page}/history",
        f"/v0.1/servers?search={host}", f"/ard/agents?filter=publisherId='{host}'",
        *(f"{service}/manifest/{target}?version=1.0.0" for target in targets),
    ]  # fmt: skip


Ask = Callable[[], Awaitable[httpx2.Response]]


async def _thread_seconds(ask: Ask) -> tuple[float, httpx2.Response]:
    """Return the least time of this thread that an answer took in five tries, and the answer."""
    best = 1e9
    for _ in range(5):
        start = time.thread_time()
        answer = await ask()
        best = min(best, time.thread_time() - start)
        if best <= CPU_SECONDS:
            break
    return best, answer


@pytest.mark.long
async def test_no_answer_about_a_hostile_host_takes_long_in_the_event_loop(hostile: Api) -> None:
    slow, unlisted, unanswered = {}, set(), []
    async with served(hostile.waypost, hostile.waypost.settings) as url, httpx2.AsyncClient(base_url=url) as client:
        honest_page, _ = await _thread_seconds(partial(hostile.get, _page(PIGEON)))  # much of it is the template
        for name in SCHEMAS:
            host = _host(name)
            capability = {"domain": host, "name": "slow"}
            asks: dict[str, Ask] = {path: partial(hostile.get, path) for path in _paths(name)}
            asks["search of ARD"] = partial(hostile.post, "/ard/search", json={"query": {"text": host}})
            for tool, arguments in (("get_service", {"domain": host}), ("get_capability", capability)):
                asks[tool] = partial(posted, client, "tools/call", name=tool, arguments=arguments)
            for asked, ask in asks.items():
                seconds, answer = await _thread_seconds(ask)
                if seconds > CPU_SECONDS + (honest_page if asked.startswith(_page("")) else 0):
                    slow[name, asked] = round(seconds, 3)
                if asked.endswith("capabilities/slow") and answer.status_code == 404:
                    unlisted.add(name)
                elif answer.status_code not in (200, UNTRANSLATABLE.status) and name not in unlisted:
                    unanswered.append((name, asked, answer.status_code, answer.text[:200]))
    assert slow == {}
    assert unanswered == []
    assert len(unlisted) <= 6, f"hostile hosts are not listed: {unlisted}"


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
async def test_no_verdict_on_a_hostile_document_takes_long_in_the_event_loop(api: Api) -> None:
    """Documents of up to MAX_INLINE_DOCUMENT bytes are checked in the event loop, larger ones in other processes."""
    slow = {}
    for name, (make, first, second) in KINDS.items():
        body = _largest(lambda part, made=make, most=(first, second): made(*(1 + round(n * part) for n in most)))
        seconds, answer = await _thread_seconds(partial(api.post, "/api/validate?format=openapi", content=body))
        if seconds > CPU_SECONDS:
            slow[name] = round(seconds, 3)
        assert answer.status_code in (200, 400), (name, answer.text[:300])
    assert slow == {}


def _largest(make: Callable[[float], Any]) -> bytes:
    """Return the largest document of a kind that is checked in the event loop."""
    parts = (number / 200 for number in range(200, -1, -1))
    bodies = (_document("large.example", make(part)).encode() for part in parts)
    return next(body for body in bodies if len(body) <= MAX_INLINE_DOCUMENT)


async def test_an_example_that_was_left_out_has_its_reason(hostile: Api) -> None:
    for name in ("enum-and-items", "slow-patterns"):
        call = (await hostile.json(f"/api/services/{_host(name)}/capabilities/slow"))["call"]
        assert call["missing"] == [{"what": "parameters", "why": "an example of this schema would take too much work"}]
        assert call["arguments"] == {}
