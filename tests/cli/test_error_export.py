"""Errors reach an OpenTelemetry collector, without the texts of errors."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.cli.test_logs import environment
from tests.support.hang import HANG_SECONDS

PROGRAM = """
import logging, threading, structlog
from registry.cli.common import read_settings
read_settings()
log = structlog.get_logger("registry.test")
log.warning("lease.failed")
log.error("visit.crashed", domain="a.example")
try:
    raise ValueError("text of a site")
except ValueError as error:
    log.exception("job.failed", job="prune")
    logging.getLogger("somelibrary").error("text of a site", exc_info=True)
thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
raise LookupError("text of a site")
"""


@pytest.fixture
def collected() -> Iterator[tuple[str, list[bytes]]]:
    """Yield the address of a collector on loopback, and the bodies that it receives."""
    bodies: list[bytes] = []

    class Collecting(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/logs"
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Write nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Collecting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", bodies
        server.shutdown()
        thread.join()


def test_errors_and_unhandled_exceptions_reach_a_collector(collected: tuple[str, list[bytes]]) -> None:
    url, bodies = collected
    settings = environment(WAYPOST_ERRORS="otlp", OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_SERVICE_NAME="ours")
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=settings, capture_output=True, check=False, timeout=HANG_SECONDS
    )
    assert ended.returncode == 1 and b"LookupError: text of a site" in ended.stderr
    received = {}
    for body in bodies:
        for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
            assert "ours" in {attribute.value.string_value for attribute in resource.resource.attributes}
            for record in (one for scope in resource.scope_logs for one in scope.log_records):
                facts = {attribute.key: attribute.value.string_value for attribute in record.attributes}
                received[record.body.string_value] = facts
    assert received.keys() == {"visit.crashed", "job.failed", "somelibrary", "thread.failed", "process.failed"}
    assert received["visit.crashed"]["domain"] == "a.example"
    assert received["job.failed"]["exception.type"] == "ValueError" and received["job.failed"]["job"] == "prune"
    assert received["thread.failed"]["exception.type"] == "ZeroDivisionError"
    assert received["process.failed"]["exception.type"] == "LookupError"
    assert "<string>:16" in received["process.failed"]["place"]
    assert not [body for body in bodies if b"text of a site" in body]
