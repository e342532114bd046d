"""What holds for every interface, shown with one that the middleware has never seen beside all that exist."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import httpx2
import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from registry.cli.interfaces import interfaces_of
from registry.core.reading.reader import MAX_BYTES
from registry.edge import metrics as counting
from registry.edge import problems
from registry.edge.interfaces import Interface, compose
from registry.edge.limiter import charge
from registry.edge.metrics import METHODS, RequestMetrics
from registry.edge.middleware import Rules
from registry.edge.problems import Problem
from registry.settings import Settings
from tests.support.api import PUBLIC_URL, Api
from tests.support.hang import HANG_SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = "the text of an error"
PATHS = ("/strange/items/a", "/strange/fails", "/strange/nothing", "/alone", "/api/rubric", "/api/discover?q=parcel")


async def _item(request: Request) -> Response:
    return JSONResponse({"name": "an item"}, headers={"ETag": '"1"'})


async def _search(request: Request) -> Response:
    charge(request, int(request.headers.get("x-units", "0")))
    return JSONResponse({"bytes": len(await request.body())})


async def _fails(request: Request) -> Response:
    raise RuntimeError(SECRET)


async def _refuses(request: Request) -> Response:
    try:
        charge(request, 10_000)
    except Problem:
        return JSONResponse({"error": "in the protocol's own form"})
    return JSONResponse({})


async def _swallows(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that takes every error for a fault of its own, as an SDK may."""
    try:
        while (await receive()).get("more_body"):
            pass
    except Exception:
        await Response("a fault", 500)(scope, receive, send)
        raise RuntimeError(SECRET) from None
    await Response("all of it", media_type="text/plain")(scope, receive, send)


async def _alone(scope: Scope, receive: Receive, send: Send) -> None:
    """An application without routes, as an SDK may be."""
    await Response("alone", media_type="text/plain")(scope, receive, send)


def strange() -> list[Interface]:
    routes = [
        Route("/strange/items/{name}", _item),
        Route("/strange/search", _search, methods=["POST"]),
        Route("/strange/fails", _fails),
        Route("/strange/refuses", _refuses),
    ]
    app = Starlette(routes=routes)
    problems.install(app)
    rules = Rules(open=("/strange",), searches=frozenset({"/strange/search"}))
    return [
        Interface(app, rules, roots=("/strange",)),
        Interface(_alone, Rules(open=("/alone",)), paths=("/alone",), name="single"),
        Interface(_swallows, Rules(), paths=("/swallows",)),
    ]


@pytest_asyncio.fixture(loop_scope="module")
async def counted(api: Api) -> AsyncIterator[tuple[httpx2.AsyncClient, RequestMetrics]]:
    metrics = RequestMetrics()
    async with _client(api, metrics) as client:
        yield client, metrics


def _client(api: Api, metrics: RequestMetrics | None, **changes: object) -> httpx2.AsyncClient:
    settings = api.waypost.settings.model_copy(update=changes)
    app = compose([*interfaces_of(api.waypost, settings), *strange()], settings, metrics=metrics)
    transport = httpx2.ASGITransport(app=app, client=("203.0.113.7", 50_000))
    return httpx2.AsyncClient(transport=transport, base_url="http://testserver", timeout=HANG_SECONDS)


Counted = tuple[httpx2.AsyncClient, RequestMetrics]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_every_answer_has_what_all_answers_have(counted: Counted, path: str, method: str) -> None:
    client, _ = counted
    request_id = str(uuid.uuid4())
    origin = PUBLIC_URL if method == "POST" else "https://x.example"  # those of other pages cost nothing
    answer = await client.request(method, path, headers={"X-Request-Id": request_id, "Origin": origin})
    assert answer.headers["x-request-id"] == request_id
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "Mcp-Session-Id" in answer.headers["access-control-expose-headers"]
    assert answer.headers["ratelimit-policy"].startswith('"work"')
    assert SECRET not in answer.text
    if method == "HEAD":
        assert answer.content == b""
    if path == "/strange/fails" and method == "GET":
        assert (answer.status_code, answer.json()["instance"]) == (500, f"urn:uuid:{request_id}")


@pytest.mark.parametrize("path", [*PATHS, "/strange/search", "/api/services"])
async def test_every_open_path_answers_a_preflight(counted: Counted, path: str) -> None:
    client, _ = counted
    asked = {"Origin": "https://x.example", "Access-Control-Request-Headers": "mcp-protocol-version"}
    answer = await client.options(path, headers=asked)
    assert (answer.status_code, answer.content) == (204, b"")
    assert "Mcp-Protocol-Version" in answer.headers["access-control-allow-headers"]
    assert "ratelimit" not in answer.headers  # it costs nothing


@pytest.mark.parametrize("media_type", ["text/html", "image/svg+xml", "application/atom+xml"])
async def test_a_page_without_a_policy_gets_one(api: Api, media_type: str) -> None:
    (policy,) = await _policies(api, Response("<p>", media_type=media_type))
    assert policy.startswith("default-src 'none';")


async def test_a_policy_of_its_own_is_kept(api: Api) -> None:
    page = Response("<p>", headers={"Content-Security-Policy": "default-src 'self'"}, media_type="text/html")
    assert await _policies(api, page) == ["default-src 'self'"]


async def _policies(api: Api, page: Response) -> list[str]:
    app = compose([*interfaces_of(api.waypost, api.waypost.settings), Interface(page, Rules(), paths=("/page",))],
                  api.waypost.settings)  # fmt: skip
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://testserver") as client:
        answer = await client.get("/page")
    return answer.headers.get_list("content-security-policy")


@pytest.mark.parametrize("path", ["/strange/search", "/swallows", "/api/validate"])
async def test_every_body_has_the_same_limit(counted: Counted, path: str) -> None:
    client, _ = counted

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(MAX_BYTES // 65_536 + 2):
            yield b" " * 65_536

    assert (await client.post(path, content=b'{"domain": ""}')).status_code != 413
    declared = await client.post(path, content=b" " * (MAX_BYTES + 1))
    chunked = await client.post(path, content=chunks())
    assert (declared.status_code, chunked.status_code) == (413, 413)
    assert declared.headers["content-type"] == chunked.headers["content-type"] == "application/problem+json"


async def test_all_interfaces_share_one_allowance(api: Api) -> None:
    metrics = RequestMetrics()
    async with _client(api, metrics, read_rate=4) as client:
        paths = ["/strange/items/a", "/api/rubric", "/alone", "/api/rubric", "/strange/items/a"]
        answers = [await client.get(path) for path in paths]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 429]
    assert metrics.refused == {"work": 1}


async def test_a_limit_that_an_interface_answers_in_its_own_way_is_counted(api: Api) -> None:
    metrics = RequestMetrics()
    async with _client(api, metrics, read_rate=1) as client:
        answer = await client.get("/strange/refuses")
    assert answer.json() == {"error": "in the protocol's own form"}
    assert metrics.refused == {"work": 1}


async def test_requests_are_counted_by_route(counted: Counted) -> None:
    client, metrics = counted
    for path in ("/strange/items/a", "/strange/items/b", "/alone", "/api/services/api.pigeonpost.example"):
        await client.get(path)
    await client.get("/api/discover?q=parcel")
    await client.get("/api/discover?q=parcel")
    await client.get("/healthz")
    await client.get("/readyz")
    await client.get("/strange/fails")
    await client.head("/alone")
    counts = {tuple(labels): sum(times.counts) for labels, times in metrics.times.items()}
    assert counts == {
        ("strange", "GET", "/strange/items/{name}", "2xx"): 2,
        ("single", "GET", "/alone", "2xx"): 1,
        ("single", "HEAD", "/alone", "2xx"): 1,
        ("api", "GET", "/api/services/{domain}", "2xx"): 1,
        ("api", "GET", "/api/discover", "2xx"): 2,
        ("strange", "GET", "/strange/fails", "5xx"): 1,
    }
    assert metrics.in_flight == 0
    assert all(times.seconds > 0 for times in metrics.times.values())


async def test_nothing_that_a_client_sends_becomes_a_label(counted: Counted) -> None:
    client, metrics = counted
    for number in range(30):
        mark = f"zq{number}"
        for path in (f"/{mark}", f"/strange/{mark}", f"/strange/items/{mark}", f"/alone/{mark}", f"/api/{mark}",
                     f"/api/services/{mark}.example", f"/api/discover?q={mark}", f"/api/rubric?{mark}=1",
                     f"//strange/{mark}", f"/strange/items/%0a{mark}"):  # fmt: skip
            await client.get(path, headers={"Host": f"{mark}.example", "User-Agent": mark, "Origin": mark})
        await client.request(f"{mark.upper()}", "/api/rubric")
        await client.request("get", "/strange/search")
    assert len(metrics.times) < 30
    assert not any("zq" in part.lower() for labels in metrics.times for part in labels)
    assert {labels.method for labels in metrics.times} <= {*METHODS, "other"}


async def test_labels_are_bounded_even_if_an_interface_is_not(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_MAX_SERIES", 10)
    metrics = RequestMetrics()
    for number in range(50):
        metrics.record({counting.ROUTE: f"/{number}"}, "GET", 200, 0.001, None)
    assert len(metrics.times) == 11
    assert sum(sum(times.counts) for times in metrics.times.values()) == 50


async def test_a_client_that_leaves_before_its_answer_is_counted(api: Api) -> None:
    metrics = RequestMetrics()
    started = asyncio.Event()

    async def waits(scope: Scope, receive: Receive, send: Send) -> None:
        started.set()
        await asyncio.Event().wait()

    async def send(message: object) -> None:
        raise AssertionError("nothing is sent")

    app = compose([Interface(waits, Rules())], Settings(), metrics=metrics)
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b"", "client": None}
    task = asyncio.ensure_future(app(scope, asyncio.Event().wait, send))  # type: ignore[arg-type]
    await started.wait()
    assert metrics.in_flight == 1
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [labels.status for labels in metrics.times] == ["none"]
    assert metrics.in_flight == 0
