"""Tools of MCP servers over real TLS: the official SDK's server in both eras of the protocol, and hostile endpoints."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from registry.core.merging.merge import held_from, merge
from registry.core.model.documents import Outcome, Purpose
from registry.core.model.services import Capability
from registry.core.visiting import tool_lists
from registry.core.visiting.visits import HostJob, ProbeResult, Visit
from tests.crawler.support import Visiting, far, hasty
from tests.support.asgi import served_by
from tests.support.sites import Answer, Behaviour, Exchange, Reply, Site, Sites, moved

pytestmark = pytest.mark.slow  # servers and deadlines

HOST = "shop.example"
ELSEWHERE = "lamps-elsewhere.com"  # readers of cards drop addresses at special-use names
ENDPOINT = f"https://{HOST}/mcp"
CARD_PATH = "/.well-known/mcp/server-card.json"
NAMED = HostJob(HOST, whole_plan=True, named=True)
SSE = "text/event-stream"


def card(endpoint: str = ENDPOINT, **remote: Any) -> Reply:
    remotes = [{"type": "streamable-http", "url": endpoint, **remote}]
    server = {"name": "example.shop/lamps", "version": "1.0.0", "description": "Sells lamps.", "remotes": remotes}
    return Reply(json.dumps(server))


def lamp_server() -> MCPServer:
    server = MCPServer("Lamps", version="1.0.0")

    @server.tool(title="Order a lamp")
    def order(lamp: str, count: int = 1) -> str:
        """Order lamps of one kind."""
        raise AssertionError("a crawler called a tool")

    @server.tool()
    def price(lamp: str) -> float:
        """Price of one lamp."""
        raise AssertionError("a crawler called a tool")

    return server


@asynccontextmanager
async def sdk_endpoint(*, stateless: bool, as_json: bool) -> AsyncIterator[Behaviour]:
    server = lamp_server()
    app = server.streamable_http_app(
        stateless_http=stateless,
        json_response=as_json,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    async with server.session_manager.run():
        yield served_by(app)


def before_stateless(endpoint: Behaviour) -> Behaviour:
    """Return the endpoint as a server that knows only the versions with a handshake."""

    async def answer(exchange: Exchange) -> None:
        if json.loads(exchange.body)["method"] == "server/discover":
            error = {"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "No session ID"}}
            await exchange.send(Reply(json.dumps(error), 400).encode())
        else:
            await endpoint(exchange)

    return answer


def sent_to(sites: Sites, path: str = "/mcp") -> list[str]:
    """Return the methods of all messages to the endpoint."""
    exchanges = [exchange for exchange in sites.seen if exchange.path == path]
    assert all(exchange.method == "POST" for exchange in exchanges)
    return [json.loads(exchange.body)["method"] for exchange in exchanges]


def tools_of(host_visit: Visit) -> ProbeResult | None:
    results = [answer for answer in host_visit.answers if answer.probe.purpose is Purpose.TOOLS]
    assert len(results) <= 1
    return results[0] if results else None


def verdict(host_visit: Visit) -> tuple[Outcome, str]:
    result = tools_of(host_visit)
    assert result is not None
    return result.assessment.outcome, result.assessment.reason


def capabilities(host_visit: Visit) -> dict[str, Capability]:
    service = merge(HOST, [held_from(answer) for answer in host_visit.answers]).service
    assert service is not None
    return {capability.id: capability for capability in service.capabilities}


Run = Callable[..., Any]


@pytest.fixture
def run(visiting: Visiting) -> Run:
    """Visit a host whose card names an endpoint; return the sites and the visit."""

    async def visit(
        endpoint: Answer, job: HostJob = NAMED, more: dict[str, Answer] | None = None, **settings: Any
    ) -> tuple[Sites, Visit]:
        site: Site = {CARD_PATH: card(), "/mcp": endpoint, **(more or {})}
        sites = {HOST: site, ELSEWHERE: Reply(b"{}")}
        async with visiting(sites, **settings) as (served, visitor):
            return served, await visitor.visit_host(job, visitor.new_pacer(), far())

    return visit


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("stateless", [True, False])
@pytest.mark.parametrize("is_old", [False, True])
async def test_the_tools_of_a_server_become_capabilities(
    run: Run, is_old: bool, stateless: bool, as_json: bool
) -> None:
    async with sdk_endpoint(stateless=stateless, as_json=as_json) as endpoint:
        sites, done = await run(before_stateless(endpoint) if is_old else endpoint)
    handshake = ["initialize", "notifications/initialized"] if is_old else []
    assert sent_to(sites) == ["server/discover", *handshake, "tools/list"]
    assert done.outcome is Outcome.FOUND and verdict(done) == (Outcome.FOUND, "")
    found = capabilities(done)
    assert set(found) == {"order", "price"}, "the tools replace the capability that stood for the whole server"
    order = found["order"]
    assert order.description == "Order lamps of one kind." and order.params is not None
    assert order.params["required"] == ["lamp"] and order.params["properties"]["count"]["default"] == 1
    [call] = order.invocations
    assert (call.kind, call.endpoint, call.name) == ("mcp_tool", ENDPOINT, "order")
    assert call.origin is not None and call.origin.format == "mcp-tools-list"


async def test_the_document_is_the_same_in_the_next_visit(run: Run) -> None:
    digests = set()
    for _ in range(2):
        async with sdk_endpoint(stateless=False, as_json=False) as endpoint:
            _, done = await run(before_stateless(endpoint))
        result = tools_of(done)
        assert result is not None
        digests.add(result.fetched.sha256)
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("job", "setting", "is_asked"),
    [
        (HostJob(HOST, whole_plan=True), "named", False),
        (HostJob(HOST, whole_plan=True, lists_tools=True), "named", True),
        (HostJob(HOST, whole_plan=True), "all", True),
        (NAMED, "off", False),
    ],
)
async def test_who_is_asked_is_a_setting(run: Run, job: HostJob, setting: str, is_asked: bool) -> None:
    sites, done = await run(rpc(), job, mcp_tools=setting)
    assert bool(sent_to(sites)) is is_asked is (tools_of(done) is not None)


def result_of(exchange: Exchange, **page: Any) -> dict[str, Any]:
    """Return the reply of a well-behaved stateless server. `page`: the members of the result of tools/list."""
    message = json.loads(exchange.body)
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    result = discovered if message["method"] == "server/discover" else {"tools": [{"name": "order"}], **page}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def rpc(**page: Any) -> Behaviour:
    async def answer(exchange: Exchange) -> None:
        await exchange.send(Reply(json.dumps(result_of(exchange, **page))).encode())

    return answer


@pytest.mark.parametrize(
    ("endpoint", "remote"),
    [
        (f"https://{ELSEWHERE}/mcp", {}),
        (f"http://{HOST}/mcp", {}),
        (f"https://{HOST}:8443/mcp", {}),
        (f"https://{HOST}/{{tenant}}/mcp", {}),
        (ENDPOINT, {"type": "sse"}),
        (ENDPOINT, {"headers": [{"name": "Authorization", "isRequired": True, "isSecret": True}]}),
    ],
)
async def test_some_endpoints_are_never_asked(run: Run, endpoint: str, remote: dict[str, Any]) -> None:
    sites, done = await run(rpc(), more={CARD_PATH: card(endpoint, **remote)})
    assert done.outcome is Outcome.FOUND and tools_of(done) is None
    assert all(exchange.method == "GET" and exchange.host == HOST for exchange in sites.seen)


async def test_robots_txt_is_obeyed(run: Run) -> None:
    robots = Reply("User-agent: *\nDisallow: /mcp\n", type="text/plain")
    sites, done = await run(rpc(), more={"/robots.txt": robots})
    assert sent_to(sites) == [] and verdict(done) == (Outcome.DISALLOWED, "robots")


async def test_robots_txt_of_another_host_of_the_site_is_obeyed(visiting: Visiting) -> None:
    server = f"mcp.{HOST}"
    robots = Reply("User-agent: *\nDisallow: /closed\n", type="text/plain")
    for path, outcome in (("/open", Outcome.FOUND), ("/closed", Outcome.DISALLOWED)):
        sites: dict[str, Site] = {
            HOST: {CARD_PATH: card(f"https://{server}{path}")},
            server: {"/robots.txt": robots, path: rpc()},
        }
        async with visiting(sites) as (served, visitor):
            done = await visitor.visit_host(NAMED, visitor.new_pacer(), far())
        assert verdict(done)[0] is outcome
        assert bool(sent_to(served, path)) is (outcome is Outcome.FOUND)


@pytest.mark.parametrize("status", [401, 402, 403, 404, 405, 429, 500])
async def test_a_refusal_is_kept_with_its_reason(run: Run, status: int) -> None:
    sites, done = await run(Reply('{"error": "no"}', status))
    assert sent_to(sites) == ["server/discover"]
    assert verdict(done)[1] == f"status_{status}" and done.outcome is Outcome.FOUND


async def test_a_server_without_tools_is_asked_for_none(run: Run) -> None:
    async def answer(exchange: Exchange) -> None:
        reply = result_of(exchange)
        reply["result"]["capabilities"] = {"prompts": {}}
        await exchange.send(Reply(json.dumps(reply)).encode())

    sites, done = await run(answer)
    assert sent_to(sites) == ["server/discover"] and verdict(done) == (Outcome.NOT_A_MANIFEST, "no_tools")


async def test_a_page_that_is_no_reply_ends_the_conversation(run: Run) -> None:
    sites, done = await run(Reply("<!doctype html><title>Shop</title>", type="text/html"))
    assert sent_to(sites) == ["server/discover"] and verdict(done) == (Outcome.NOT_A_MANIFEST, "no_rpc_reply")


async def test_a_session_id_that_is_no_field_value_is_not_sent(run: Run) -> None:
    async def answer(exchange: Exchange) -> None:
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
        reply = {"jsonrpc": "2.0", "id": json.loads(exchange.body)["id"], "result": result}
        await exchange.send(Reply(json.dumps(reply), headers=(("Mcp-Session-Id", "a b"),)).encode())

    sites, done = await run(before_stateless(answer))
    assert sent_to(sites) == ["server/discover", "initialize"]
    assert verdict(done) == (Outcome.NOT_A_MANIFEST, "no_rpc_reply")


# --- streams and pages


async def test_a_stream_is_left_after_its_reply(run: Run) -> None:
    """Its server keeps the connection open and sends nothing more."""

    async def answer(exchange: Exchange) -> None:
        noise = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "id result"}}
        events = [": hello", f"data: {json.dumps(noise)}", f"event: message\ndata: {json.dumps(result_of(exchange))}"]
        await exchange.send(f"HTTP/1.1 200 OK\r\nContent-Type: {SSE}\r\n\r\n".encode())
        for event in events:
            await exchange.send(f"{event}\n\n".encode())
        await asyncio.Event().wait()

    sites, done = await asyncio.wait_for(run(answer), 30)
    assert sent_to(sites) == ["server/discover", "tools/list"] and set(capabilities(done)) == {"order"}


async def test_an_endless_stream_without_a_reply_is_abandoned(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.send(f"HTTP/1.1 200 OK\r\nContent-Type: {SSE}\r\n\r\n".encode())
        await exchange.pour(b": ping\n\n", 0.01)

    hasty(monkeypatch, 0.5, lambda url: url == ENDPOINT)
    sites, done = await run(answer)
    assert sent_to(sites) == ["server/discover"]
    assert verdict(done) == (Outcome.UNREACHABLE, "read_timeout") and done.outcome is Outcome.FOUND


async def test_an_endless_event_is_abandoned_at_its_cap(run: Run) -> None:
    async def answer(exchange: Exchange) -> None:
        await exchange.send(f"HTTP/1.1 200 OK\r\nContent-Type: {SSE}\r\n\r\ndata: ".encode())
        await exchange.pour(b"x" * 16_384)

    sites, done = await run(answer)
    assert sent_to(sites) == ["server/discover"] and verdict(done) == (Outcome.TOO_LARGE, "body")


async def test_a_huge_page_is_refused(run: Run) -> None:
    description = "x" * (tool_lists.TOOLS_CAP + 1)
    sites, done = await run(rpc(tools=[{"name": "order", "description": description}]))
    assert sent_to(sites) == ["server/discover", "tools/list"] and verdict(done) == (Outcome.TOO_LARGE, "body")


async def test_pages_are_read_until_the_last(run: Run) -> None:
    async def answer(exchange: Exchange) -> None:
        cursor = json.loads(exchange.body)["params"].get("cursor", "0")
        page = {"tools": [{"name": f"tool_{cursor}"}], **({"nextCursor": str(int(cursor) + 1)} if cursor < "2" else {})}
        await exchange.send(Reply(json.dumps(result_of(exchange, **page))).encode())

    sites, done = await run(answer)
    assert sent_to(sites).count("tools/list") == 3
    assert set(capabilities(done)) == {"tool_0", "tool_1", "tool_2"}


@pytest.mark.parametrize(("is_new", "pages"), [(True, tool_lists.MAX_PAGES), (False, 2)])
async def test_endless_pages_are_cut(run: Run, is_new: bool, pages: int) -> None:
    async def answer(exchange: Exchange) -> None:
        cursor = f"{json.loads(exchange.body)['params'].get('cursor', '')}x"
        page = {"tools": [{"name": f"tool_{len(cursor)}"}], "nextCursor": cursor if is_new else "same"}
        await exchange.send(Reply(json.dumps(result_of(exchange, **page))).encode())

    sites, done = await run(answer)
    assert sent_to(sites).count("tools/list") == pages
    result = tools_of(done)
    assert result is not None and json.loads(result.fetched.body)["complete"] is False


async def test_what_was_read_is_kept_when_a_later_page_fails(run: Run) -> None:
    async def answer(exchange: Exchange) -> None:
        is_first = "cursor" not in json.loads(exchange.body)["params"]
        reply = Reply(json.dumps(result_of(exchange, nextCursor="2"))) if is_first else Reply(b"", 500)
        await exchange.send(reply.encode())

    _, done = await run(answer)
    assert set(capabilities(done)) == {"order"}


# --- redirects


@pytest.mark.parametrize(
    ("location", "status", "outcome", "reason"),
    [
        (f"https://{ELSEWHERE}/mcp", 307, Outcome.REDIRECTED_AWAY, f"to {ELSEWHERE}"),
        (f"https://www.{HOST}/mcp", 308, Outcome.REFUSED, "redirect_other_host_post"),
        ("http://127.0.0.1/mcp", 307, Outcome.REFUSED_ADDRESS, "redirect_http"),
        ("/mcp/", 302, Outcome.SERVER_ERROR, "redirect_post"),
        ("/mcp", 307, Outcome.SERVER_ERROR, "redirect_loop"),
    ],
)
async def test_a_post_is_not_redirected_away(
    run: Run, location: str, status: int, outcome: Outcome, reason: str
) -> None:
    sites, done = await run(moved(location, status), more={"/mcp/": rpc()})
    assert verdict(done) == (outcome, reason) and done.outcome is Outcome.FOUND
    assert [exchange.path for exchange in sites.seen if exchange.method == "POST"] == ["/mcp"]


async def test_a_post_is_repeated_at_another_path_of_the_same_host(run: Run) -> None:
    sites, done = await run(moved("/mcp/", 307), more={"/mcp/": rpc()})
    assert sent_to(sites) == ["server/discover"], "later messages go there at once"
    assert sent_to(sites, "/mcp/") == ["server/discover", "tools/list"] and set(capabilities(done)) == {"order"}
