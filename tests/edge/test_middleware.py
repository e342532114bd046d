"""What holds for every request: CORS, caching, HEAD, ids, limits, problem details. Through the whole application."""

import re
import uuid
from types import SimpleNamespace

import pytest

from registry.edge import problems
from tests.api.sites import PIGEON
from tests.support import shapes
from tests.support.api import Api, make_client
from tests.support.shapes import assert_shape

pytestmark = pytest.mark.asyncio(loop_scope="module")

CORS = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "Accept-Ranges, Content-Range, ETag, Link, Location, Mcp-Session-Id, RateLimit, "
    "RateLimit-Policy, Retry-After, WWW-Authenticate, Waypost-Has-More, X-Request-Id",
    "access-control-allow-methods": "GET, POST, PUT, DELETE, OPTIONS",
    "access-control-allow-headers": "Accept, Authorization, Content-Type, Idempotency-Key, If-None-Match, "
    "Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id, X-Request-Id",
}
PREFLIGHT = {**CORS, "access-control-max-age": "86400"}
READABLE = (
    "/api/discover?q=parcel", "/api/services", f"/api/services/{PIGEON}", f"/api/services/{PIGEON}/status",
    f"/api/services/{PIGEON}/capabilities/create_parcel", "/api/health", f"/api/health/{PIGEON}", "/api/rubric",
    "/.well-known/agent", "/api/capabilities/discover_services", "/api/problems", "/api/problems/not-found",
)  # fmt: skip


@pytest.mark.parametrize(
    "path",
    [
        *READABLE, "/api/nothing", "/api/discover", "/.well-known/nothing", "/api/services/x.dev/oauth-client",
        "/api/services/unknown.example",
    ],
)  # fmt: skip
async def test_browsers_may_read_every_response_including_errors(api: Api, path: str) -> None:
    response = await api.get(path)
    assert {name: response.headers[name] for name in CORS} == CORS
    preflight = await api.client.options(path)
    assert (preflight.status_code, preflight.content) == (204, b"")
    assert {name: preflight.headers[name] for name in PREFLIGHT} == PREFLIGHT
    assert "content-length" not in preflight.headers


async def test_paths_that_are_not_for_browsers_have_no_cors(api: Api) -> None:
    assert "access-control-allow-origin" not in (await api.get("/healthz")).headers
    assert (await api.client.options("/healthz")).status_code == 405


@pytest.mark.parametrize("path", READABLE)
async def test_a_client_with_a_current_etag_gets_304(api: Api, path: str) -> None:
    first = await api.get(path)
    tag = first.headers["etag"]
    assert re.fullmatch('"[0-9a-f]{32}"', tag)
    for if_none_match in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        repeated = await api.get(path, headers={"If-None-Match": if_none_match})
        assert (repeated.status_code, repeated.content) == (304, b"")
        assert repeated.headers["etag"] == tag
        assert repeated.headers["cache-control"] == first.headers["cache-control"]
        assert {name: repeated.headers[name] for name in CORS} == CORS
    assert (await api.get(path, headers={"If-None-Match": '"other"'})).status_code == 200


async def test_different_responses_have_different_etags(api: Api) -> None:
    tags = {(await api.get(path)).headers["etag"] for path in READABLE}
    assert len(tags) == len(READABLE)


@pytest.mark.parametrize("path", [*READABLE, "/api/nothing", "/healthz"])
async def test_head_is_get_without_its_body(api: Api, path: str) -> None:
    get_response, head_response = await api.get(path), await api.client.head(path)
    assert (head_response.status_code, head_response.content) == (get_response.status_code, b"")
    varying = ("x-request-id", "ratelimit", "content-length" if get_response.status_code >= 400 else "")
    assert {name: value for name, value in head_response.headers.items() if name not in varying} == {
        name: value for name, value in get_response.headers.items() if name not in varying
    }


async def test_errors_are_problems_that_adp_clients_can_read(api: Api) -> None:
    for path, kind in (
        ("/nothing/here", problems.NOT_FOUND),
        ("/api/nothing", problems.NOT_FOUND),
        ("/api/services/", problems.NOT_FOUND),
        ("/api/services/unknown.example", problems.UNKNOWN_SERVICE),
        ("/api/discover", problems.INVALID_PARAMETER),
        ("/api/rubric?x=1", problems.UNKNOWN_PARAMETER),
    ):
        response = await api.get(path)
        body = response.json()
        assert response.headers["content-type"] == "application/problem+json"
        assert response.headers["cache-control"] == "no-store"
        assert_shape(shapes.PROBLEM, body)
        assert_shape(shapes.FAILED, body)
        assert (response.status_code, body["status"], body["title"]) == (kind.status, kind.status, kind.title)
        assert body["instance"] == "urn:uuid:" + response.headers["x-request-id"]
        problem_type = await api.json(body["type"])
        assert problem_type["data"]["title"] == kind.title


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/api/services", "GET, HEAD, OPTIONS, POST"),
        ("PUT", f"/api/services/{PIGEON}", "GET, HEAD, OPTIONS"),
        ("PUT", "/api/discover", "GET, HEAD, OPTIONS, POST"),
        ("GET", "/api/validate", "OPTIONS, POST"),
        ("HEAD", "/api/validate", "OPTIONS, POST"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_gets_the_allowed_ones(api: Api, method: str, path: str, allowed: str) -> None:
    response = await api.client.request(method, path)
    assert (response.status_code, response.headers["allow"]) == (405, allowed)
    assert response.headers["content-type"] == "application/problem+json"


async def test_only_valid_request_ids_are_kept(api: Api) -> None:
    request_id = str(uuid.uuid4())
    assert (await api.get("/healthz", headers={"X-Request-Id": request_id.upper()})).headers[
        "x-request-id"
    ] == request_id
    for forged in ("abc", "x" * 500, f"{request_id}\tforged", ""):
        returned_id = (await api.get("/healthz", headers={"X-Request-Id": forged})).headers["x-request-id"]
        assert str(uuid.UUID(returned_id)) == returned_id
        assert returned_id != forged


@pytest.fixture
def frozen_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Freeze the clock of the limits, since a minute that ends between two requests would reset the allowance."""
    monkeypatch.setattr("registry.edge.middleware.time", SimpleNamespace(monotonic=lambda: 1_000.0))


@pytest.mark.usefixtures("frozen_clock")
async def test_each_client_has_its_own_allowance(api: Api) -> None:
    settings = api.waypost.settings.model_copy(update={"read_rate": 2, "submit_rate": 1})
    async with make_client(api.waypost, settings) as client:
        responses = [await client.get("/api/rubric") for _ in range(3)]
        assert [response.status_code for response in responses] == [200, 200, 429]
        refused = responses[-1]
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.headers["ratelimit-policy"] == '"work";q=2;w=60'
        assert refused.headers["ratelimit"].startswith('"work";r=0;t=')
        assert refused.json()["limit"] == "work"
        assert_shape(shapes.FAILED, refused.json())
        assert {name: refused.headers[name] for name in CORS} == CORS
        assert [(await client.get("/healthz")).status_code for _ in range(5)] == [200] * 5
        submitted = [(await client.post("/api/services", json={"domain": ""})).status_code for _ in range(2)]
        assert submitted == [400, 429]


@pytest.mark.usefixtures("frozen_clock")
async def test_a_forged_address_does_not_reset_the_allowance(api: Api) -> None:
    settings = api.waypost.settings.model_copy(update={"read_rate": 1, "trusted_proxies": ("10.0.0.0/8",)})
    async with make_client(api.waypost, settings) as client:
        codes = [
            (await client.get("/api/rubric", headers={"X-Forwarded-For": f"198.51.100.{n}"})).status_code
            for n in range(2)
        ]
    assert codes == [200, 429]
    async with make_client(api.waypost, settings, address="10.0.0.1") as client:
        codes = [
            (await client.get("/api/rubric", headers={"X-Forwarded-For": f"198.51.100.{n}"})).status_code
            for n in (1, 2, 2)
        ]
    assert codes == [200, 200, 429]
