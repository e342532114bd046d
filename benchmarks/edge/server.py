"""One server of the benchmark: `/api/discover` answers from the response cache, behind the middleware.

    VARIANT    plain, metrics, traces, or library (compression by `starlette-compress` in place of our own)

Prints its port on the first line. `/cpu` answers with the CPU seconds of the process so far.
"""

import asyncio
import contextlib
import socket
import sys
import time

import uvicorn
import uvloop
from fastapi import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette_compress import CompressMiddleware

from benchmarks.search.texts import Texts
from registry.api import response_cache
from registry.api.response_cache import ResponseCache
from registry.edge import middleware
from registry.edge.connections import ConnectionLimits, ConnectionTable, limited_protocol
from registry.edge.interfaces import Interface, compose
from registry.edge.limiter import ClientIdentifier
from registry.edge.metrics import RequestMetrics
from registry.edge.middleware import Rules
from registry.edge.responses import json_response
from registry.edge.tracing import RequestSpans
from registry.settings import Settings


def answer() -> dict[str, object]:
    """Return ten rows with texts of the size that services have."""
    return {"data": [{"name": service.name, "description": service.description, "host": service.host,
                      "capabilities": [{"name": one.name, "description": one.description}
                                       for one in service.capabilities[:5]],
                      "why": {"relevance": 1 / number, "parts": [number / 7, number / 11]}}
                     for number, service in enumerate(Texts().services(20), 1)]}  # fmt: skip


def application(variant: str) -> ASGIApp:
    content = answer()

    async def routes(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/cpu":
            await PlainTextResponse(str(time.process_time()))(scope, receive, send)
            return
        await json_response(Request(scope, receive), content)(scope, receive, send)

    response_cache.LIFETIME_SECONDS = 3_600.0  # type: ignore[misc]
    app: ASGIApp = ResponseCache(routes)
    if variant == "library":
        vars(middleware)["Compressing"] = lambda send, headers: send
        app = CompressMiddleware(_copying(app), brotli=False)
    settings = Settings(read_rate=1_000_000_000)
    return compose(
        [Interface(app, Rules(open=("/api/",)), name="api")],
        settings,
        metrics=RequestMetrics() if variant in ("metrics", "traces") else None,
        spans=_spans() if variant == "traces" else None,
    )


def _copying(app: ASGIApp) -> ASGIApp:
    """Return the application with headers of each response's own: the library changes the ones that it is given."""

    async def copying(scope: Scope, receive: Receive, send: Send) -> None:
        async def copy(message: Message) -> None:
            await send({**message, "headers": list(message["headers"])} if "headers" in message else message)

        await app(scope, receive, copy)

    return copying


def _spans() -> RequestSpans:
    """Return spans that are all recorded, batched and thrown away: what they cost without what a network costs."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Nowhere(SpanExporter):
        def export(self, spans: object) -> SpanExportResult:
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    return RequestSpans(provider.get_tracer("waypost"))


async def main(variant: str) -> None:
    limits = ConnectionLimits(
        total=1_000, per_client=1_000, long_polls=10, long_polls_per_client=10, streams=10, streams_per_client=10
    )
    table = ConnectionTable(limits, ClientIdentifier([]), time.monotonic)
    config = uvicorn.Config(application(variant), http=limited_protocol(table), ws="none", lifespan="off",
                            log_config=None, log_level="error", access_log=False, proxy_headers=False)  # fmt: skip
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    print(listening.getsockname()[1], flush=True)
    await server.serve(sockets=[listening])


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, asyncio.CancelledError):
        uvloop.run(main(sys.argv[1]))
