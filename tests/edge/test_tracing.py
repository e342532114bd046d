"""Traces as a collector gets them: what a span says and what it must not say, and what is imported for it."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from registry.cli.interfaces import interfaces_of
from registry.edge.interfaces import Interface, compose
from registry.edge.middleware import Rules
from registry.edge.tracing import RequestSpans
from registry.settings import Settings
from registry.wiring import TracesUnavailable, tracing
from tests.support.api import Api
from tests.support.collector import collecting
from tests.support.hang import HANG_SECONDS

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
MARK = "zqsecretqz"


class Traced:
    def __init__(self, api: Api) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        tracer = provider.get_tracer("waypost")
        api.waypost.trace(tracer)
        settings = api.waypost.settings
        app = compose(interfaces_of(api.waypost, settings), settings, spans=RequestSpans(tracer))
        self.client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app, client=("203.0.113.77", 50_000)),
            base_url="http://host-of-the-client.example",
            timeout=HANG_SECONDS,
        )

    async def spans(self, method: str, path: str, **headers: str) -> dict[str, ReadableSpan]:
        """Return the spans of one request by name."""
        self.exporter.clear()
        await self.client.request(method, path, headers=headers)
        return {span.name: span for span in self.exporter.get_finished_spans()}


async def test_a_request_has_a_span_with_its_search_and_statements_below(own_api: Api) -> None:
    traced = Traced(own_api)
    spans = await traced.spans("GET", "/api/discover?q=a+parcel")
    server, search = spans["GET /api/discover"], spans["discover"]
    assert server.kind is SpanKind.SERVER
    assert server.parent is None
    assert server.attributes == {
        "http.request.method": "GET",
        "http.route": "/api/discover",
        "http.response.status_code": 200,
        "waypost.interface": "api",
        "waypost.request_id": server.attributes["waypost.request_id"],
    }
    assert search.parent is not None and search.parent.span_id == server.context.span_id
    spans = await traced.spans("GET", "/api/services")
    server, statement = spans["GET /api/services"], spans["SELECT"]
    assert statement.parent is not None and statement.parent.span_id == server.context.span_id
    assert statement.attributes == {"db.system.name": "postgresql", "db.operation.name": "SELECT"}


async def test_the_context_of_a_client_is_continued(own_api: Api, caplog: pytest.LogCaptureFixture) -> None:
    traced = Traced(own_api)
    spans = await traced.spans("GET", "/api/rubric", traceparent=f"00-{TRACE}-{PARENT}-01", tracestate="a=b")
    span = spans["GET /api/rubric"]
    assert f"{span.context.trace_id:032x}" == TRACE
    assert span.parent is not None and f"{span.parent.span_id:016x}" == PARENT
    for broken in ("", "00", f"00-{'0' * 32}-{PARENT}-01", f"ff-{TRACE}-{PARENT}-01", "x" * 5_000, "%-;"):
        spans = await traced.spans("GET", "/api/rubric", traceparent=broken, tracestate=",=," * 500)
        span = spans["GET /api/rubric"]
        assert span.parent is None
        assert f"{span.context.trace_id:032x}" != TRACE
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]


async def test_a_span_says_nothing_that_a_client_sent(own_api: Api) -> None:
    traced = Traced(own_api)
    said = ""
    for method, path in (
        ("GET", f"/api/discover?q={MARK}"), ("GET", f"/{MARK}"), ("GET", f"/api/services/{MARK}.example"),
        ("GET", f"/api/rubric?{MARK}=1"), ("POST", "/api/services"), (MARK.upper(), "/api/rubric"),
    ):  # fmt: skip
        headers = {"User-Agent": MARK, "Referer": MARK, "Origin": MARK, "baggage": f"a={MARK}", "X-Request-Id": MARK}
        for span in (await traced.spans(method, path, **headers)).values():
            said += span.to_json()
    assert '"http.route": "/api/services/{domain}"' in said
    assert "_OTHER" in said
    for secret in (MARK, MARK.upper(), "203.0.113.77", "host-of-the-client"):
        assert secret not in said


async def test_health_is_not_traced(own_api: Api) -> None:
    traced = Traced(own_api)
    assert await traced.spans("GET", "/healthz") == {}
    assert await traced.spans("GET", "/readyz") == {}


async def test_a_failure_is_marked_without_its_text() -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))

    async def fails(scope: object, receive: object, send: object) -> None:
        raise RuntimeError(MARK)

    spans = RequestSpans(provider.get_tracer("waypost"))
    app = compose([Interface(fails, Rules())], Settings(), spans=spans)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://x") as client:
        assert (await client.get("/")).status_code == 500
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes is not None and span.attributes["error.type"] == "500"
    assert MARK not in span.to_json()


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, bytes]]]:
    """What a collector on loopback receives by OTLP over HTTP; the standard variable names it."""
    with collecting() as (url, received):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        yield received


async def test_a_collector_receives_the_spans(
    collector: list[tuple[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")

    def export() -> None:
        with tracing(Settings(traces="otlp")) as tracer:
            assert tracer is not None
            tracer.start_span("one").end()

    await asyncio.to_thread(export)
    ((path, body),) = collector
    assert path == "/v1/traces"
    (resource,) = ExportTraceServiceRequest.FromString(body).resource_spans
    names = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
    assert names["service.name"] == "waypost"
    assert names["deployment.environment.name"] == "test"
    assert [span.name for scope in resource.scope_spans for span in scope.spans] == ["one"]


def test_a_service_name_of_the_operator_counts(
    collector: list[tuple[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "registry-of-ours")
    with tracing(Settings(traces="otlp")) as tracer:
        assert tracer is not None
        tracer.start_span("one").end()
    resource = ExportTraceServiceRequest.FromString(collector[0][1]).resource_spans[0].resource
    assert "registry-of-ours" in {attribute.value.string_value for attribute in resource.attributes}


def test_a_collector_that_does_not_answer_holds_up_no_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()
    waited: list[bool] = []

    class Silent(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            waited.append(stopped.wait(HANG_SECONDS))

        def log_message(self, *arguments: object) -> None:
            """Write nothing."""

    monkeypatch.setattr("registry.wiring.traces.SHUTDOWN_SECONDS", 0.1)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1000000")
    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        with tracing(Settings(traces="otlp")) as tracer:
            assert tracer is not None
            tracer.start_span("one").end()
        stopped.set()
        server.shutdown()
        thread.join()
    assert waited in ([], [True])


def test_without_the_extra_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(TracesUnavailable, match=r"waypost\[otel\]"), tracing(Settings(traces="otlp")):
        pass


@pytest.mark.slow
def test_nothing_is_imported_without_the_setting() -> None:
    """Only the interfaces of OpenTelemetry, which FastAPI loads by itself where they are installed."""
    program = """
import sys
import registry.cli.serving
from registry.settings import Settings
from registry.wiring import tracing
with tracing(Settings()) as tracer:
    assert tracer is None
parts = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto", "registry.edge.tracing")
print(*(name for name in sys.modules if name.startswith(parts)))
"""
    completed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert completed.stdout.strip() == ""


@pytest.mark.slow
def test_libraries_trace_nothing_by_themselves() -> None:
    """FastAPI has telemetry of its own, with queries and texts of errors, wherever a global provider is set."""
    program = """
import asyncio
import httpx2
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
from fastapi import FastAPI
from registry.api.app import make_routes

async def ask(app):
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://x") as client:
        await client.get("/healthz?q=secret")
    return len(exporter.get_finished_spans())

routes = make_routes()

async def with_id(scope, receive, send):
    await routes({**scope, "waypost.request_id": "1"}, receive, send)

print(asyncio.run(ask(with_id)), asyncio.run(ask(FastAPI())) > 0)
"""
    completed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert completed.stdout.split() == ["0", "True"]
