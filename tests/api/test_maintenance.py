"""Maintenance: reads go on, every write but opt-outs is refused, and clients see the message."""

import re

import pytest

from registry.api.app import make_routes
from tests.api.sites import NEW
from tests.support.api import Api

MESSAGE = "The database moves until 14:00 UTC."
WORKING = {"/api/validate", "/api/opt-outs", "/api/owner/{domain}/opt-out", "/api/discover", "/api/records"}
HTML = {"Accept": "text/html"}

WRITES = sorted(
    (method, path)
    for path, operations in make_routes().openapi()["paths"].items()
    for method in operations
    if method not in ("get", "head")
)


@pytest.fixture
async def maintained(own_api: Api) -> Api:
    await own_api.waypost.jobs.set_maintenance(MESSAGE)
    await own_api.waypost.mode.look()
    return own_api


async def test_every_write_is_refused_except_opt_outs(maintained: Api) -> None:
    assert {path for _, path in WRITES} > WORKING
    for method, path in WRITES:
        filled = re.sub(r"\{id[^}]*\}", "0198f3a0-0000-7000-8000-000000000000", path)
        address = re.sub(r"\{[^}]*\}", NEW, filled)
        headers = {"Authorization": "Bearer none"}
        response = await maintained.client.request(method.upper(), address, json={"domain": NEW}, headers=headers)
        is_refused = response.status_code == 503 and response.json()["type"] == "/api/problems/maintenance"
        assert is_refused == (path not in WORKING), (method, path, response.text)
        if is_refused:
            assert MESSAGE in response.json()["detail"] and int(response.headers["retry-after"]) > 0


async def test_reads_go_on_and_say_so(maintained: Api) -> None:
    for path in ("/", "/search?q=letters", "/no-such-page"):
        page = (await maintained.get(path, headers=HTML)).text
        assert f"This registry is in maintenance: {MESSAGE}" in page
    assert (await maintained.get("/api/services")).status_code == 200
    ready = await maintained.get("/readyz")
    assert (ready.status_code, ready.json()["notes"]) == (200, [f"maintenance: {MESSAGE}"])
    sent = await maintained.client.post("/submit", data={"hosts": NEW}, headers=HTML)
    assert sent.status_code == 503 and MESSAGE in sent.text


async def test_it_ends_for_all(maintained: Api) -> None:
    await maintained.waypost.jobs.set_maintenance(None)
    await maintained.waypost.mode.look()
    assert "maintenance" not in (await maintained.get("/", headers=HTML)).text
    assert (await maintained.post("/api/services?wait=0", json={"domain": NEW})).status_code == 202
