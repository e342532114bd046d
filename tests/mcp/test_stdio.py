"""`waypost mcp`: the official client of Python over standard input and output, and what the process does at its end."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.api.sites import PIGEON
from tests.mcp.serving import ERAS, called, connected, refused, served
from tests.support import forked
from tests.support.api import Api
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

pytestmark = pytest.mark.slow

COMMAND: Final = ("-m", "registry.cli", "mcp")
HELLO: Final = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip


@pytest.fixture
async def local(own_api: Api, tmp_path: Path) -> dict[str, str]:
    """Return the environment of a registry that holds the crawled sites, with an index of its own."""
    url = own_api.store.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "WAYPOST_DATA": str(tmp_path / "local"),
        "WAYPOST_PUBLIC_URL": "https://r.example",
    }
    done = await asyncio.to_thread(forked.waypost, ["reindex"], environment)
    assert done.returncode == 0, done.stderr
    return environment


def _client(environment: dict[str, str], version: str, *arguments: str) -> Client:
    parameters = StdioServerParameters(
        command=sys.executable, args=[*COMMAND, *arguments], env=environment, cwd=str(ROOT)
    )
    return Client(stdio_client(parameters), mode=ERAS[version], read_timeout_seconds=HANG_SECONDS)


@pytest.mark.parametrize("version", ERAS)
async def test_the_local_registry_answers(local: dict[str, str], version: str) -> None:
    async with _client(local, version) as client:
        assert client.protocol_version == version
        found = await called(client, "discover_services", q="create a parcel")
        assert found["services"][0]["domain"] == PIGEON
        shown = await called(client, "get_capability", domain=PIGEON, name="create_parcel")
        assert shown["record_url"].startswith("https://r.example/api/")
        assert "No service is listed" in await refused(client, "get_service", domain="nothing.example")


@pytest.mark.parametrize("version", ERAS)
async def test_a_remote_registry_answers_the_same(own_api: Api, version: str) -> None:
    settings = own_api.waypost.settings
    async with served(own_api.waypost, settings) as address, connected(address, version) as near:
        remote_client = _client(dict(os.environ), version, "--url", address)
        async with remote_client as remote:
            for name, arguments in (
                ("discover_services", {"q": "create a parcel", "detail": "full"}),
                ("discover_services", {"q": "nothing of this kind"}),
                ("get_service", {"domain": PIGEON, "detail": "full"}),
                ("get_capability", {"domain": PIGEON, "name": "create_parcel"}),
                ("get_capability", {"domain": PIGEON, "name": "price_parcel"}),
                ("check_manifest", {"text": '{"a": 1,}'}),
                ("compare_services", {"domains": [PIGEON, "nothing.example"]}),
            ):
                ours: Any = await called(near, name, **arguments)
                theirs: Any = await called(remote, name, **arguments)
                for result in (ours, theirs):
                    result.pop("record_url", None)
                    for column in result.get("services", ()):
                        column.pop("record_url", None)
                assert ours == theirs
            for name in ("..", "../../" + PIGEON, "a/./../b"):  # no way to other operations of the registry
                unknown = await refused(remote, "get_capability", domain=PIGEON, name=name)
                assert unknown == await refused(near, "get_capability", domain=PIGEON, name=name)
                assert "has a capability of this name" in unknown


async def test_a_registry_that_is_away_is_an_error_of_the_tool(tmp_path: Path) -> None:
    async with _client(dict(os.environ), "2025-11-25", "--url", "http://127.0.0.1:9") as client:
        assert len((await client.list_tools()).tools) == 7
        assert "does not answer" in await refused(client, "registry_status")
    broken = {**os.environ, "DATABASE_URL": "postgresql://nobody@127.0.0.1:9/x", "WAYPOST_DATA": str(tmp_path)}
    async with _client(broken, "2025-11-25") as client:
        assert "not ready" in await refused(client, "registry_status")
        assert "not ready" in await refused(client, "registry_status")


async def test_a_registry_that_does_not_exist_says_how_to_fill_it(tmp_path: Path) -> None:
    """On standard error at the start, and to the model, which sees nothing of that. Nothing is created."""
    missing = {**os.environ, "WAYPOST_DATA": str(tmp_path / "none")}
    with (tmp_path / "said").open("w+") as said:
        parameters = StdioServerParameters(command=sys.executable, args=[*COMMAND], env=missing, cwd=str(ROOT))
        async with Client(stdio_client(parameters, errlog=said), mode="legacy") as client:
            assert "`waypost crawl`" in (tmp_path / "said").read_text()
            assert "`waypost crawl`" in await refused(client, "discover_services", q="send a parcel")
    assert not (tmp_path / "none").exists()


async def test_an_empty_registry_says_how_to_fill_it(database_url: str, tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": database_url, "WAYPOST_DATA": str(tmp_path / "data")}
    with (tmp_path / "said").open("w+") as said:
        parameters = StdioServerParameters(command=sys.executable, args=[*COMMAND], env=environment, cwd=str(ROOT))
        async with Client(stdio_client(parameters, errlog=said), mode="legacy") as client:
            result: Any = await client.call_tool("discover_services", {"q": "send a parcel"})
            status: Any = await client.call_tool("registry_status", {})
            assert "`waypost crawl`" in (tmp_path / "said").read_text()
    for said_to_model in (result.content[0].text, status.content[0].text):
        assert "lists no service yet" in said_to_model
        assert "submit_service" in said_to_model


async def test_answers_of_something_else_are_an_error_of_the_tool(own_api: Api) -> None:
    """A server that is no registry, or one of another version."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = bodies.pop(0)
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    bodies = [b"zebra", b"[]", b'{"data": 7}', b'{"confident": true, "data": [{"service": "zebra"}]}', b"{}"]
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, _client(dict(os.environ), "2026-07-28", "--url", f"http://127.0.0.1:{port}") as client:
        while bodies:
            said = await refused(client, "discover_services", q="x")
            assert "zebra" not in said


@pytest.fixture
def process(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    environment = {**os.environ, "WAYPOST_DATA": str(tmp_path)}
    started = subprocess.Popen(
        [sys.executable, *COMMAND], cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    yield started
    started.kill()
    started.wait()


def _said(process: "subprocess.Popen[str]", message: Any) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def test_the_end_of_standard_input_ends_the_process(process: "subprocess.Popen[str]") -> None:
    assert _said(process, HELLO)["result"]["serverInfo"]["name"] == "waypost"
    rest, errors = process.communicate(timeout=HANG_SECONDS)
    assert (process.returncode, rest, len(errors.splitlines())) == (0, "", 1)  # the registry does not exist


def test_a_signal_ends_the_process(process: "subprocess.Popen[str]") -> None:
    _said(process, HELLO)
    process.send_signal(signal.SIGTERM)
    assert process.wait(HANG_SECONDS) == 0


def test_bad_lines_get_an_error_without_what_was_sent(process: "subprocess.Popen[str]") -> None:
    _said(process, HELLO)
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    for line in ("zebra", "[]", '{"jsonrpc": "2.0", "id": {"zebra": 1}, "method": "ping"}', "[" * 3_000):
        assert process.stdin is not None
        process.stdin.write(line + "\n")
    unknown = _until(process, {"jsonrpc": "2.0", "id": 3, "method": "zebra"}, 3)
    assert unknown["error"] == {"code": -32601, "message": "Method not found"}
    assert _until(process, ping, 2)["result"] == {}
    _, errors = process.communicate(timeout=HANG_SECONDS)
    assert "zebra" not in errors


def _until(process: "subprocess.Popen[str]", message: Any, number: int) -> Any:
    """Send a message and return the answer with this id. Other answers name nothing that was sent."""
    answer = _said(process, message)
    while answer.get("id") != number:
        assert "zebra" not in json.dumps(answer)
        assert process.stdout is not None
        answer = json.loads(process.stdout.readline())
    return answer
