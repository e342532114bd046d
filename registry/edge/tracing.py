"""A span for each request, by OpenTelemetry's conventions for HTTP servers.

It has the template of the route, but neither path nor query, host, address or user agent. The `traceparent` of a client
(W3C Trace Context) makes its span the parent. `tracestate` and `baggage` are not read: they may hold anything, and a
broken one would write a line of the log for each request.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import Scope

from registry.edge.metrics import INTERFACE, METHODS, OTHER, UNMATCHED, route_of

_MAX_TRACEPARENT_BYTES: Final = 128


class RequestSpans:
    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def span(self, scope: Scope, method: str, status: Callable[[], int]) -> Iterator[None]:
        """Open the span of a request; it is the current span while the block runs. `status`: called at the end, returns
        0 if the client left before the answer."""
        known = method if method in METHODS else "_OTHER"
        given = [value for name, value in scope["headers"] if name == b"traceparent"]
        carrier = {"traceparent": given[0].decode("latin-1")} if len(given) == 1 else {}
        is_read = carrier and len(given[0]) <= _MAX_TRACEPARENT_BYTES  # guard: traceparent
        with self._tracer.start_as_current_span(
            known,
            context=self._propagator.extract(carrier) if is_read else None,
            kind=SpanKind.SERVER,
            attributes={"http.request.method": known},
            record_exception=False,  # its text may hold what a client sent
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            finally:
                if (route := route_of(scope)) != UNMATCHED:
                    span.update_name(f"{known} {route}")
                    span.set_attribute("http.route", route)
                span.set_attribute("waypost.interface", scope.get(INTERFACE, OTHER))
                span.set_attribute("waypost.request_id", scope["waypost.request_id"])
                if answered := status():
                    span.set_attribute("http.response.status_code", answered)
                if answered >= 500:
                    span.set_attribute("error.type", str(answered))
                    span.set_status(Status(StatusCode.ERROR))
