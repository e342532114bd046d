"""Writes that a page of another site makes its visitors' browsers send, at every address of every interface."""

import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from registry.cli.interfaces import interfaces_of
from registry.edge.interfaces import Interface
from registry.web.asking import FORM
from tests.api.sites import PIGEON
from tests.support.api import PUBLIC_URL, Api
from tests.web.sending import limited

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON, PLAIN = "application/json", "text/plain;charset=UTF-8"
EVIL = "https://evil.example"
CROSS = ({"Sec-Fetch-Site": "cross-site", "Origin": EVIL}, {"Sec-Fetch-Site": "same-site"}, {"Origin": EVIL})
TOKEN = {"Authorization": "Bearer wp_owner_0123456789abcdef_" + "x" * 43}
BODIES = {"/api/records": b'{"hosts": ["%b"]}' % PIGEON.encode(), "/ard/search": b'{"query": {"text": "parcel"}}'}


def writes(interface: Interface) -> Iterator[tuple[str, str]]:
    """Yield method and path of all operations of an interface that are not GET; one without routes has POST."""
    app: Any = interface.app
    while not hasattr(app, "routes") and hasattr(app, "_app"):
        app = app._app
    found = list(_writes(app.routes)) if hasattr(app, "routes") else [("POST", root) for root in interface.roots]
    for method, path in found:
        for agent in ("discover-services", "submit-domain") if path == "/woa/{agent_id}" else (PIGEON,):
            yield method, re.sub("{[^}]+}", agent, path)


def _writes(routes: Any) -> Iterator[tuple[str, str]]:
    for route in routes:
        yield from _writes(getattr(getattr(route, "original_router", None), "routes", ()))
        for method in (getattr(route, "methods", None) or set()) - {"GET", "HEAD", "OPTIONS"}:
            yield method, route.path


def all_writes(api: Api) -> list[tuple[str, str, bool]]:
    """Return method and path of all writes, and whether it is a form of a page."""
    interfaces = interfaces_of(api.waypost, api.waypost.settings)
    found = [(*write, interface.label == "web") for interface in interfaces for write in writes(interface)]
    assert len(found) > 35, "the routes are found"
    assert {path.split("/")[1] for _, path, _ in found} >= {"api", "ard", "mcp", "v0", "v0.1", "woa", "check", "claim"}
    return found


async def sent(api: Api, method: str, path: str, media_type: str, **headers: str) -> httpx2.Response:
    fields = {"Content-Type": media_type, "Accept": JSON, **headers}
    return await api.client.request(method, path, content=BODIES.get(path, b"{}"), headers=fields)


def slug(answer: httpx2.Response) -> str:
    is_problem = answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["type"]).rpartition("/")[2] if is_problem else ""


async def test_plain_text_of_pages_of_other_sites_is_refused_everywhere(api: Api) -> None:
    for method, path, is_form in all_writes(api):
        for headers in CROSS:
            for media_type in (PLAIN, FORM, "multipart/form-data; boundary=x"):
                answer = await sent(api, method, path, media_type, **headers)
                assert answer.status_code in (403, 415), (method, path, headers, answer.text)
                assert is_form or slug(answer) in ("foreign-origin", "unsupported-media-type"), (method, path)


async def test_other_media_types_are_refused_by_the_whole_api(api: Api) -> None:
    for method, path, is_form in all_writes(api):
        for media_type in (PLAIN, FORM, "multipart/form-data; boundary=x", "text/json", "application/jsonx"):
            if not is_form:
                answer = await sent(api, method, path, media_type)
                assert (answer.status_code, slug(answer)) == (415, "unsupported-media-type"), (
                    method,
                    path,
                    answer.text,
                )


async def test_json_of_pages_of_other_sites_is_refused_where_it_writes(api: Api) -> None:
    for method, path, is_form in all_writes(api):
        reads = path.startswith(("/ard/", "/mcp", "/v0", "/api/discover", "/api/records", "/woa/discover"))
        for headers in CROSS:
            if not reads and not is_form:
                answer = await sent(api, method, path, JSON, **headers)
                assert (answer.status_code, slug(answer)) == (403, "foreign-origin"), (method, path, answer.text)


@pytest.mark.slow
async def test_writes_of_programs_and_of_own_pages_are_taken(api: Api) -> None:
    own = ({}, {"Sec-Fetch-Site": "same-origin", "Origin": PUBLIC_URL}, {"Origin": PUBLIC_URL})
    for method, path, is_form in all_writes(api):
        for headers in own:
            answer = await sent(api, method, path, FORM if is_form else JSON, **headers)
            assert slug(answer) not in ("foreign-origin", "unsupported-media-type"), (method, path, answer.text)
            assert answer.status_code not in (415, 500), (method, path, answer.text)


async def test_pages_of_other_sites_may_search(api: Api) -> None:
    for path in BODIES:
        assert (await sent(api, "POST", path, JSON, **CROSS[0])).status_code == 200


async def test_a_token_lets_a_page_write_only_where_one_is_needed(api: Api) -> None:
    """A page could invent a token. Where none is needed, that must not help it to spend its visitor's limits."""
    owner = await sent(api, "POST", f"/api/owner/{PIGEON}/hide", JSON, **CROSS[0], **TOKEN)
    assert owner.status_code == 401
    submitted = await sent(api, "POST", "/api/services", JSON, **CROSS[0], **TOKEN)
    assert submitted.status_code == 403
    basic = await sent(api, "PUT", f"/api/owner/{PIGEON}/note", JSON, **CROSS[0], Authorization="Basic eDp4")
    assert basic.status_code == 403


async def test_what_is_refused_spends_nothing(api: Api) -> None:
    async with limited(api, 1) as api:
        for headers in (*CROSS, {}):
            assert (await sent(api, "POST", "/api/services", PLAIN, **headers)).status_code in (403, 415)
        assert (await sent(api, "POST", "/api/services", JSON)).status_code == 400
        assert (await sent(api, "POST", "/api/services", JSON)).status_code == 429


@pytest.mark.parametrize("media_type", ["application/woa+json", "Application/JSON; charset=utf-8", ""])
async def test_all_json_is_taken(api: Api, media_type: str) -> None:
    headers = {"Content-Type": media_type} if media_type else {}
    assert (await api.post("/api/validate", content=b"{}", headers=headers)).status_code == 200


async def test_a_refusal_says_what_to_do(api: Api) -> None:
    answer = await sent(api, "POST", "/api/services", PLAIN)
    assert (answer.headers["accept-post"], answer.json()["accepted"]) == (JSON, [JSON])
    assert JSON in answer.json()["detail"]


async def test_an_empty_body_needs_no_media_type(api: Api) -> None:
    answer = await api.post(f"/api/owner/{PIGEON}/hide", headers={"Content-Type": FORM})
    assert answer.status_code == 401
