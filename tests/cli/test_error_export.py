"""Errors reach an OpenTelemetry collector, without the texts of errors."""

import subprocess
import sys

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from tests.cli.test_logs import environment
from tests.support.collector import collecting
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


def test_errors_and_unhandled_exceptions_reach_a_collector() -> None:
    with collecting() as (url, requests):
        settings = environment(WAYPOST_ERRORS="otlp", OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_SERVICE_NAME="ours")
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=settings, capture_output=True, check=False, timeout=HANG_SECONDS
        )
    assert {path for path, _ in requests} == {"/v1/logs"}
    bodies = [body for _, body in requests]
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
