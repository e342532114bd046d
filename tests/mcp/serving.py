"""A registry that is served on loopback, and clients of its MCP server."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import httpx2
import jsonschema_rs
import uvicorn
from mcp.client.client import Client

from registry.cli.interfaces import interfaces_of
from registry.edge.interfaces import compose, running
from registry.mcp.tools import TOOLS
from registry.settings import Settings
from registry.wiring import Waypost
from tests.support.hang import HANG_SECONDS

MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
ERAS: Final = {MODERN: "auto", LEGACY: "legacy"}
"""Version of the protocol -> mode of the official client."""

OUTPUTS: Final = {tool.name: jsonschema_rs.Draft202012Validator(dict(tool.output_schema)) for tool in TOOLS}
_PREFIX: Final = "io.modelcontextprotocol/"


@contextlib.asynccontextmanager
async def served(waypost: Waypost, settings: Settings) -> AsyncIterator[str]:
    """Yield the address of a server with all interfaces, in the event loop of the test."""
    listening = socket.create_server(("127.0.0.1", 0))
    interfaces = interfaces_of(waypost, settings)
    config = uvicorn.Config(
        compose(interfaces, settings), log_config=None, log_level="critical", proxy_headers=False, lifespan="off"
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign]  # signals are the test runner's
    runs = asyncio.Event()

    async def serve() -> None:
        """Enter and leave what the interfaces run in one task: a fixture is not left in the task that entered it."""
        async with running(interfaces):
            runs.set()
            await server.serve(sockets=[listening])

    serving = asyncio.create_task(serve())
    await runs.wait()
    host, port = listening.getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        await serving
        listening.close()


@contextlib.asynccontextmanager
async def connected(url: str, version: str = MODERN, query: str = "") -> AsyncIterator[Client]:
    """Yield the official client of Python, connected to the MCP server at `url`."""
    async with Client(f"{url}/mcp{query}", mode=ERAS[version], read_timeout_seconds=HANG_SECONDS) as client:
        assert client.protocol_version == version
        yield client


async def called(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """Return the structured content of a tool's result, which fits its schema and has a text beside it."""
    result: Any = await client.call_tool(name, arguments)
    assert not result.is_error, result.content[0].text
    assert result.content[0].text.strip()
    assert [error.message for error in OUTPUTS[name].iter_errors(result.structured_content)] == []
    content: dict[str, Any] = result.structured_content
    return content


async def refused(client: Client, name: str, /, **arguments: Any) -> str:
    """Return the text of a tool's error, which comes without structured content."""
    result: Any = await client.call_tool(name, arguments)
    assert result.is_error
    assert result.structured_content is None
    said: str = result.content[0].text
    return said


def envelope() -> dict[str, Any]:
    """Return the `_meta` that each request of the modern era has."""
    return {f"{_PREFIX}protocolVersion": MODERN, f"{_PREFIX}clientCapabilities": {}}


def headers_of(message: Mapping[str, Any], version: str) -> dict[str, str]:
    """Return the header fields of a well-formed request."""
    headers = {
        "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": version,
    }  # fmt: skip
    if version == MODERN:
        params = message.get("params", {})
        headers["Mcp-Method"] = str(message.get("method"))
        if name := params.get("name") or params.get("uri"):
            headers["Mcp-Name"] = str(name)
    return headers


def message_of(method: str, version: str, **params: Any) -> dict[str, Any]:
    meta = {"_meta": envelope()} if version == MODERN else {}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, **meta}}


async def posted(
    client: httpx2.AsyncClient,
    method: str,
    version: str = MODERN,
    headers: Mapping[str, str] | None = None,
    query: str = "",
    **params: Any,
) -> httpx2.Response:
    """Send one request as it should be sent, with some header fields replaced, and return the answer."""
    message = message_of(method, version, **params)
    return await client.post(f"/mcp{query}", json=message, headers={**headers_of(message, version), **(headers or {})})
