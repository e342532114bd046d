"""A small document never costs much work, whichever interface is asked about its host."""

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from registry.core.translating import TARGETS
from tests.core.calling.hostile_schemas import KINDS, WORST
from tests.support.api import Api
from tests.support.builders import Page, Site, crawl

CPU_SECONDS = 0.05
SMALL = {f"small-{name}": make(1 + first // 10, 1 + second // 10) for name, (make, first, second) in KINDS.items()}
SCHEMAS = WORST | SMALL


def _host(name: str) -> str:
    return f"{name}.example"


def _site(name: str, schema: Any) -> Site:
    content = {"application/json": {"schema": schema}}
    body = {"required": True, "content": content}
    operation = {"operationId": "slow", "summary": "Book a slow boat", "requestBody": body, "responses": {}}
    document = {"openapi": "3.1.0", "info": {"title": "Slow", "version": "1"}, "paths": {"/x": {"post": operation}},
                "servers": [{"url": f"https://{_host(name)}/"}]}  # fmt: skip
    text = "# Slow\n\n> Slow boats\n\n- [api](/openapi.json)\n"
    return {
        "/openapi.json": Page(json.dumps(document, separators=(",", ":"))),
        "/llms.txt": Page(text, media_type="text/plain"),
    }


@pytest.fixture
async def hostile(own_api: Api) -> Api:
    sites = {_host(name): _site(name, schema) for name, schema in SCHEMAS.items()}
    await crawl(own_api.store, sites, datetime.now(UTC).replace(microsecond=0))
    await own_api.waypost.search.reindex()
    return own_api


def _paths(name: str) -> list[str]:
    """Return what is answered about a host. Only small documents are translated in the event loop."""
    service = f"/api/services/{_host(name)}"
    targets = TARGETS if name.startswith("small-") else ("openapi", "woa")
    return [
        service, f"{service}?include_details=true", f"{service}/capabilities/slow", f"{service}/status",
        f"{service}/documents", f"{service}/history", f"/services/{_host(name)}", f"/services/{_host(name)}/documents",
        *(f"{service}/manifest/{target}?version=1.0.0" for target in targets),
    ]  # fmt: skip


@pytest.mark.slow
async def test_no_answer_about_a_hostile_host_takes_long_in_the_event_loop(hostile: Api) -> None:
    slow, calls = {}, 0
    for name in SCHEMAS:
        for path in _paths(name):
            for _ in range(5):
                start = time.thread_time()
                answer = await hostile.get(path)
                took = time.thread_time() - start
                if took <= CPU_SECONDS:
                    break
            else:
                slow[path] = round(took, 3)
            assert answer.status_code < 500, (path, answer.text[:300])
            calls += answer.status_code == 200 and path.endswith("capabilities/slow")
    assert slow == {}
    assert calls >= len(SCHEMAS) - 6, "hostile hosts are not listed"


async def test_an_example_that_was_left_out_has_its_reason(hostile: Api) -> None:
    for name in ("enum-and-items", "slow-patterns"):
        call = (await hostile.json(f"/api/services/{_host(name)}/capabilities/slow"))["call"]
        assert call["missing"] == [{"what": "parameters", "why": "an example of this schema would take too much work"}]
        assert call["arguments"] == {}
