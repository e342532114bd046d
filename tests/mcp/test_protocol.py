"""What is no proper request of MCP: each is answered with a reason, never with a fault, never with what was sent."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.mcp.http import MAX_BYTES
from tests.api.sites import PIGEON
from tests.mcp.serving import ERAS, LEGACY, MODERN, envelope, headers_of, message_of, posted, served
from tests.support.api import PUBLIC_URL, Api
from tests.support.depth import DEPTH
from tests.support.hang import HANG_SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

MARK = "zebra"
"""Stands in everything that is sent wrongly, and in no answer."""

DEEP = "[" * 5_000 + "]" * 5_000
EXPECTED = {400, 404, 405, 406, 413, 415, 421, 403, 431}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(api: Api) -> AsyncIterator[httpx2.AsyncClient]:
    async with (
        served(api.waypost, api.waypost.settings) as address,
        httpx2.AsyncClient(base_url=address, timeout=HANG_SECONDS) as opened,
    ):
        yield opened


def _bodies() -> Iterator[tuple[str, bytes]]:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    yield "nothing", b""
    yield "no JSON", b"zebra"
    yield "cut JSON", b'{"jsonrpc": "2.0", "zebra'
    yield "no UTF-8", b'{"jsonrpc": "2.0", "id": 1, "method": "\xff\xfezebra"}'
    yield "a batch", json.dumps([ping, ping]).encode()
    yield "an empty batch", b"[]"
    yield "a large batch", json.dumps([ping] * 3_000).encode()
    yield "deep arrays", DEEP.encode()
    yield (
        "deep parameters",
        f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {{"a": {DEEP}}}}}'.encode(),
    )
    yield "NaN", b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}'
    yield "infinity", b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}'
    yield "a lone surrogate", rb'{"jsonrpc": "2.0", "id": 1, "method": "\ud800zebra"}'
    yield "NUL", rb'{"jsonrpc": "2.0", "id": 1, "method": "zebra\u0000"}'
    yield "members twice", b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}'
    yield "a huge number", b'{"jsonrpc": "2.0", "id": ' + b"9" * 5_000 + b', "method": "ping"}'
    for value in ('"zebra"', "null", "true", "7", "{}"):
        yield f"a plain {value}", value.encode()
    for change in (
        {"jsonrpc": "1.0"}, {"jsonrpc": None}, {"id": [MARK]}, {"id": {"a": MARK}}, {"id": 1.5}, {"method": 7},
        {"method": [MARK]}, {"method": None}, {"params": MARK}, {"params": [MARK]}, {"params": 7},
    ):  # fmt: skip
        yield f"wrong {next(iter(change))} {next(iter(change.values()))!r:.9}", json.dumps({**ping, **change}).encode()


@pytest.mark.parametrize("version", ERAS)
@pytest.mark.parametrize(("what", "body"), list(_bodies()), ids=[what for what, _ in _bodies()])
async def test_a_body_that_is_no_message_is_refused(
    client: httpx2.AsyncClient, what: str, body: bytes, version: str
) -> None:
    headers = {**headers_of({"method": "ping"}, version)}
    answer = await client.post("/mcp", content=body, headers=headers)
    assert answer.status_code in EXPECTED, answer.text
    assert answer.json()["error"]["code"] in (-32700, -32600, -32602, -32020)
    _check_says_nothing(answer)


@pytest.mark.parametrize("version", ERAS)
async def test_unknown_methods_are_not_found_and_not_named(client: httpx2.AsyncClient, version: str) -> None:
    for method in ("zebra", "tools/zebra", "sampling/createMessage", "resources/subscribe", "x" * 10_000, "zebra\nx"):
        message = message_of(method, version)
        headers = {**headers_of(message, version)}
        if version == MODERN:
            headers["Mcp-Method"] = method if method.isprintable() else "zebra"
        answer = await client.post("/mcp", json=message, headers=headers)
        assert answer.status_code < 500
        assert answer.json()["error"]["code"] in (-32601, -32602, -32020)
        _check_says_nothing(answer)


@pytest.mark.parametrize("version", ERAS)
async def test_wrong_parameters_of_known_methods_are_refused(client: httpx2.AsyncClient, version: str) -> None:
    cases: list[tuple[str, dict[str, Any]]] = [
        ("tools/call", {}), ("tools/call", {"name": MARK}), ("tools/call", {"name": [MARK]}),
        ("tools/call", {"name": "get_service", "arguments": [MARK]}),
        ("tools/call", {"name": "get_service", "arguments": MARK}),
        ("tools/list", {"cursor": MARK}), ("tools/list", {"cursor": [MARK]}), ("resources/list", {"cursor": MARK}),
        ("resources/templates/list", {"cursor": MARK}), ("prompts/list", {"cursor": MARK}),
        ("resources/read", {}), ("resources/read", {"uri": MARK}), ("resources/read", {"uri": "waypost://zebra"}),
        ("resources/read", {"uri": "waypost://service/zebra/../x"}), ("resources/read", {"uri": {"a": MARK}}),
        ("prompts/get", {"name": MARK}), ("prompts/get", {"name": "find_and_call_service", "arguments": {"a": MARK}}),
        ("prompts/get", {"name": "find_and_call_service", "arguments": {"need": [MARK]}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": MARK}, "argument": {"name": "a", "value": "b"}}),
    ]  # fmt: skip
    for method, params in cases:
        message = message_of(method, version, **params)
        answer = await client.post("/mcp", json=message, headers=headers_of(message, version))
        assert answer.status_code < 500, (method, params, answer.text)
        assert answer.json()["error"]["code"] in (-32601, -32602, -32020), (method, params, answer.text)
        if (error := answer.json()["error"]) and error["code"] != -32020:
            _check_says_nothing(answer)


async def test_headers_that_contradict_the_body_are_refused(client: httpx2.AsyncClient) -> None:
    for name, value in (
        ("Mcp-Method", "tools/zebra"), ("Mcp-Method", ""), ("Mcp-Name", MARK), ("MCP-Protocol-Version", "2025-11-25"),
        ("MCP-Protocol-Version", "1999-01-01"), ("MCP-Protocol-Version", MARK),
    ):  # fmt: skip
        answer = await posted(client, "tools/call", headers={name: value}, name="registry_status", arguments={})
        if (name, value) == ("MCP-Protocol-Version", "2025-11-25"):
            assert answer.status_code == 200  # a request of the older era
            continue
        assert answer.status_code == 400, (name, value, answer.text)
        assert answer.json()["error"]["code"] in (-32020, -32022)


async def test_requests_that_are_no_messages_by_their_head(client: httpx2.AsyncClient) -> None:
    message = message_of("tools/list", MODERN)
    headers = headers_of(message, MODERN)
    for change, status in (
        ({"Content-Type": "text/plain"}, 415), ({"Content-Type": ""}, 415), ({"Accept": "text/html"}, 406),
        ({"Host": "zebra.example"}, 421), ({"Host": "localhost.zebra.example:80"}, 421),
        ({"Host": "zebra@localhost"}, 421), ({"Origin": "https://zebra.example"}, 403), ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost.zebra"}, 403),
    ):  # fmt: skip
        answer = await client.post("/mcp", json=message, headers={**headers, **change})
        assert answer.status_code == status, (change, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert MARK not in answer.text
    for change in (
        {"Host": "registry.example"}, {"Host": "REGISTRY.example:443"}, {"Host": "localhost:1"}, {"Host": "[::1]:8000"},
        {"Origin": PUBLIC_URL}, {"Origin": "http://localhost:6274"}, {"Accept": "*/*"},
        {"Content-Type": "application/json; charset=utf-8"},
    ):  # fmt: skip
        answer = await client.post("/mcp/", json=message, headers={**headers, **change})
        assert answer.status_code == 200, (change, answer.text)


async def test_more_hosts_and_origins_can_be_allowed(api: Api) -> None:
    changed = api.waypost.settings.model_copy(update={"mcp_hosts": ("inner:8000",), "mcp_origins": ("*",)})
    async with served(api.waypost, changed) as address, httpx2.AsyncClient(base_url=address) as client:
        answer = await posted(client, "tools/list", headers={"Host": "inner:8000", "Origin": "https://app.example"})
        assert answer.status_code == 200
        assert (await posted(client, "tools/list", headers={"Host": "inner"})).status_code == 421


async def test_other_methods_than_post_are_not_allowed(client: httpx2.AsyncClient) -> None:
    """A GET of the older era would be a stream without an end."""
    for path in ("/mcp", "/mcp/"):
        for method in ("GET", "DELETE", "PUT", "PATCH", "HEAD"):
            for version in ERAS:
                headers = {"Accept": "text/event-stream", "MCP-Protocol-Version": version}
                answer = await client.request(method, path, headers=headers)
                assert answer.status_code == 405
                assert answer.headers["allow"] == "OPTIONS, POST"
    preflight = await client.options("/mcp", headers={"Origin": "https://a.example"})
    assert preflight.status_code == 204
    assert (await client.get("/mcp/zebra")).status_code == 404


async def test_a_body_has_at_most_its_bytes(client: httpx2.AsyncClient) -> None:
    message = message_of("tools/call", LEGACY, name="check_manifest", arguments={"text": "x" * MAX_BYTES})
    answer = await client.post("/mcp", json=message, headers=headers_of(message, LEGACY))
    assert answer.status_code == 413

    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(MAX_BYTES // 1_000 + 2):
            yield b" " * 1_000

    chunked = await client.post("/mcp", content=chunks(), headers=headers_of(message, LEGACY))
    assert chunked.status_code == 413
    large = message_of("tools/call", LEGACY, name="check_manifest", arguments={"text": "[" + " " * 99_000 + "]"})
    assert (await client.post("/mcp", json=large, headers=headers_of(large, LEGACY))).status_code == 200


async def test_equal_ids_at_once_get_an_answer_each(client: httpx2.AsyncClient) -> None:
    hosts = [PIGEON, "nothing.example"] * 5
    answers = await asyncio.gather(
        *(posted(client, "tools/call", LEGACY, name="get_service", arguments={"domain": host}) for host in hosts)
    )
    assert [answer.json()["result"].get("isError", False) for answer in answers] == [False, True] * 5


@pytest.mark.parametrize("version", ERAS)
async def test_notifications_and_answers_of_clients_are_accepted(client: httpx2.AsyncClient, version: str) -> None:
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "notifications/zebra"},
    ):
        answer = await client.post("/mcp", json=message, headers=headers_of(message, version))
        assert answer.status_code == 202
        assert MARK not in answer.text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
METHODS = st.sampled_from([
    "initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read",
    "resources/templates/list", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
    "subscriptions/listen", "notifications/cancelled", "tasks/get",
]) | st.text(max_size=12)  # fmt: skip
ARGUMENTS = st.dictionaries(
    st.sampled_from(["q", "filters", "limit", "cursor", "detail", "max_bytes", "domain", "name", "text", "url"])
    | st.sampled_from(["domains", "path", "format"])
    | st.text(max_size=5),
    JSON,
    max_size=4,
)  # fmt: skip
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(
            ["discover_services", "get_service", "get_capability", "check_manifest", "compare_services", "find"]
        ) | JSON,
        "arguments": ARGUMENTS | JSON, "uri": st.text(max_size=20) | JSON, "cursor": JSON, "protocolVersion": JSON,
        "capabilities": JSON, "clientInfo": JSON, "_meta": JSON,
    },
) | JSON  # fmt: skip


def as_header(text: str) -> str:
    """Return what a client can send of it: printable ASCII without white space around it."""
    return "".join(filter(str.isascii, filter(str.isprintable, text))).strip()


async def test_any_message_gets_an_answer_that_is_no_fault(client: httpx2.AsyncClient) -> None:
    """Messages of any shape in both eras, sent to the running server; each connection lives on."""
    loop = asyncio.get_running_loop()

    @settings(max_examples=200 * DEPTH, deadline=None)
    @given(METHODS, PARAMS, st.integers() | st.text(max_size=5) | JSON, st.sampled_from([*ERAS]), st.booleans())
    def check(method: str, params: Any, number: Any, version: str, enveloped: bool) -> None:
        if enveloped and isinstance(params, dict):
            params = {**params, "_meta": envelope()}
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        headers = {**headers_of({}, version)}
        if version == MODERN:
            headers["Mcp-Method"] = as_header(method)
            name = params.get("name") if isinstance(params, dict) else None
            if isinstance(name, str):
                headers["Mcp-Name"] = as_header(name)
        body = json.dumps(message).encode()
        answer = asyncio.run_coroutine_threadsafe(client.post("/mcp", content=body, headers=headers), loop).result()
        assert answer.status_code in (200, 202, *EXPECTED), (message, answer.status_code, answer.text)
        if answer.status_code == 200 and answer.headers["content-type"] == "application/json":
            content = answer.json()
            assert content["jsonrpc"] == "2.0"
            assert ("result" in content) != ("error" in content)
            assert content.get("error", {}).get("code") not in (-32603, 0), (message, content)

    await asyncio.to_thread(check)


def _check_says_nothing(answer: httpx2.Response) -> None:
    assert MARK not in answer.text
    assert "Traceback" not in answer.text
    assert "pydantic" not in answer.text.lower()
