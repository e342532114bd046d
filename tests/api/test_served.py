"""The API through a real server and real sockets: requests that a test client would normalise, and Schemathesis."""

import asyncio
import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
import structlog.testing
import uvicorn

from registry.cli.interfaces import interfaces_of
from registry.edge.interfaces import compose
from tests.support.api import _opened
from tests.support.hang import HANG_SECONDS
from tests.support.serving import assert_as_described

STATUS = {b"GET //api/discover?q=parcel HTTP/1.1": 200, b"GET /api/discover?q=%ff%fe HTTP/1.1": 200,
          b"GET /api/services/%2e%2e%2f HTTP/1.1": 404, b"GET /api/services/%zz HTTP/1.1": 404,
          b"GET * HTTP/1.1": 404, b"OPTIONS * HTTP/1.1": 404, b"GET /../../etc/passwd HTTP/1.1": 404,
          b"HEAD /api/rubric HTTP/1.1": 200, b"TRACE /api/rubric HTTP/1.1": 405, b"BREW /api/rubric HTTP/1.1": 400,
          b"GET http://evil.dev/api/rubric HTTP/1.1": 200, b"GET /api/rubric HTTP/9.9": 400,
          b"GET /api/\x01rubric HTTP/1.1": 400}  # fmt: skip


@pytest.fixture(scope="module")
def served(
    database_server: str, crawled_registry: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, int]]:
    """Yield the address of a server for this module, in a thread with its own event loop."""
    listening = socket.create_server(("127.0.0.1", 0))
    ready, server = threading.Event(), None

    async def serve() -> None:
        nonlocal server
        async with _opened(database_server, crawled_registry, tmp_path_factory.mktemp("served")) as api:
            app = compose(interfaces_of(api.waypost, api.waypost.settings), api.waypost.settings)
            server = uvicorn.Server(uvicorn.Config(app, log_level="critical", proxy_headers=False))
            ready.set()
            await server.serve(sockets=[listening])

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(HANG_SECONDS)
    yield listening.getsockname()
    assert server is not None
    server.should_exit = True
    thread.join(HANG_SECONDS)
    listening.close()


@pytest.mark.parametrize("line", STATUS)
def test_raw_request_lines_have_the_expected_status(served: tuple[str, int], line: bytes) -> None:
    with socket.create_connection(served, timeout=HANG_SECONDS) as client:
        client.sendall(line + b"\r\nHost: registry.example\r\nConnection: close\r\n\r\n")
        response = b""
        while chunk := client.recv(65_536):
            response += chunk
    head, _, body = response.partition(b"\r\n\r\n")
    assert int(head.split()[1]) == STATUS[line], response[:300]
    assert b"Traceback" not in body
    if line.startswith(b"HEAD"):
        assert body == b""


def test_a_body_over_the_limit_is_refused_while_it_arrives(served: tuple[str, int]) -> None:
    with socket.create_connection(served, timeout=HANG_SECONDS) as client:
        client.sendall(b"POST /api/validate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        response, chunk = b"", b"10000\r\n" + b" " * 65_536 + b"\r\n"
        try:
            for _ in range(80):  # 5 MB
                client.sendall(chunk)
            client.sendall(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        else:
            response = client.recv(65_536)
            assert b" 413 " in response.split(b"\r\n")[0]


def test_a_refusal_before_the_body_reaches_a_client_that_still_sends_it(served: tuple[str, int]) -> None:
    with socket.create_connection(served, timeout=HANG_SECONDS) as client:
        head = b"POST /api/validate HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n"
        client.sendall(head)
        assert select.select([client], [], [], HANG_SECONDS)[0]  # the answer is there
        client.sendall(b"hello")
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = b""
        while part := client.recv(65_536):
            received += part
    assert received.startswith(b"HTTP/1.1 415 ") and b"HTTP/1.1 200 " in received


def test_a_client_that_disconnects_causes_no_error(served: tuple[str, int]) -> None:
    with structlog.testing.capture_logs() as logged:
        with socket.create_connection(served, timeout=HANG_SECONDS) as client:
            client.sendall(b"POST /api/validate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        with socket.create_connection(served, timeout=HANG_SECONDS) as client:  # answered after the other one has gone
            client.sendall(b"GET /api/services HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            while client.recv(65_536):
                pass
    assert logged == []


@pytest.mark.parametrize(
    ("examples", "quick"),
    [pytest.param(3, True, marks=pytest.mark.slow), pytest.param(15, False, marks=pytest.mark.long)],
)
def test_generated_requests_match_the_document(
    served: tuple[str, int], tmp_path: Path, examples: int, quick: bool
) -> None:
    host, port = served
    assert_as_described(f"http://{host}:{port}", "/openapi.json", tmp_path, examples=examples, quick=quick)
