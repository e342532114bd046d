"""Through a real server and real sockets: what a test client would tidy up, and the document tried from all sides."""

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
import structlog.testing
import uvicorn

from registry.api.app import create_app
from tests.api.conftest import _opened

STATUS = {b"GET //api/discover?q=parcel HTTP/1.1": 200, b"GET /api/discover?q=%ff%fe HTTP/1.1": 200,
          b"GET /api/services/%2e%2e%2f HTTP/1.1": 404, b"GET /api/services/%zz HTTP/1.1": 404,
          b"GET * HTTP/1.1": 404, b"OPTIONS * HTTP/1.1": 404, b"GET /../../etc/passwd HTTP/1.1": 404,
          b"HEAD /api/rubric HTTP/1.1": 200, b"TRACE /api/rubric HTTP/1.1": 405, b"BREW /api/rubric HTTP/1.1": 400,
          b"GET http://evil.dev/api/rubric HTTP/1.1": 200, b"GET /api/rubric HTTP/9.9": 400,
          b"GET /api/\x01rubric HTTP/1.1": 400}  # fmt: skip


@pytest.fixture(scope="module")
def served(
    database_server: str, crawled: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, int]]:
    """Address of a server of this module, in a thread with an event loop of its own."""
    listening = socket.create_server(("127.0.0.1", 0))
    ready, server = threading.Event(), None

    async def serve() -> None:
        nonlocal server
        async with _opened(database_server, crawled, tmp_path_factory.mktemp("served")) as api:
            app = create_app(api.waypost, api.waypost.settings)
            server = uvicorn.Server(uvicorn.Config(app, log_level="critical", proxy_headers=False))
            ready.set()
            await server.serve(sockets=[listening])

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(120)
    yield listening.getsockname()
    assert server is not None
    server.should_exit = True
    thread.join(120)
    listening.close()


@pytest.mark.parametrize("line", STATUS)
def test_requests_as_they_come_over_the_wire(served: tuple[str, int], line: bytes) -> None:
    with socket.create_connection(served, timeout=120) as client:
        client.sendall(line + b"\r\nHost: registry.example\r\nConnection: close\r\n\r\n")
        answer = b""
        while chunk := client.recv(65_536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    assert int(head.split()[1]) == STATUS[line], answer[:300]
    assert b"Traceback" not in body
    if line.startswith(b"HEAD"):
        assert body == b""


def test_a_body_over_the_limit_is_refused_while_it_comes(served: tuple[str, int]) -> None:
    with socket.create_connection(served, timeout=120) as client:
        client.sendall(b"POST /api/validate HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        answer, chunk = b"", b"10000\r\n" + b" " * 65_536 + b"\r\n"
        try:
            for _ in range(80):  # 5 MB
                client.sendall(chunk)
            client.sendall(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        else:
            answer = client.recv(65_536)
            assert b" 413 " in answer.split(b"\r\n")[0]


def test_a_client_that_goes_away_in_the_middle_is_no_fault_of_ours(served: tuple[str, int]) -> None:
    with structlog.testing.capture_logs() as logged:
        with socket.create_connection(served, timeout=120) as client:
            client.sendall(b"POST /api/validate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        with socket.create_connection(served, timeout=120) as client:  # answered after the other one has gone
            client.sendall(b"GET /api/services HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            while client.recv(65_536):
                pass
    assert logged == []


@pytest.mark.slow
def test_the_document_holds_from_all_sides(served: tuple[str, int], tmp_path: Path) -> None:
    """Schemathesis: generated, odd and wrong requests for every operation, answers held against the document.

    A submission alone waits for eight seconds; by itself the tool would give up after ten, on a busy machine too soon.
    """
    command = Path(sys.executable).with_name("schemathesis")
    host, port = served
    done = subprocess.run(
        [
            command, "run", f"http://{host}:{port}/openapi.json", "--url", f"http://{host}:{port}",
            "--phases", "examples,coverage,fuzzing", "--max-examples", "15", "--seed", "20261121",
            "--checks", "all", "--exclude-checks", "positive_data_acceptance,negative_data_rejection,ignored_auth",
            "--suppress-health-check", "all", "--no-color", "--request-timeout", "120",
        ],
        capture_output=True, text=True, timeout=1_200, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
