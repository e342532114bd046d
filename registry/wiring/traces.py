"""Traces by OpenTelemetry, which is imported only if they are configured.

Spans go only to this module's tracer, never to the global one, so that libraries with built-in tracing add no
unreviewed spans. No attribute holds a query, a host name, an address or other data of a client.
"""

import contextlib
import threading
from collections.abc import Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import event
from sqlalchemy.engine import Engine

from registry.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

SHUTDOWN_SECONDS: Final = 2.0
"""Time to send the last spans at a stop. Unsent spans are then lost: they must not delay the stop of the registry,
which has a separate deadline."""

_VERBS: Final = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"})
_SPAN: Final = "waypost_span"


class TracesUnavailable(Exception):
    """Traces are configured but unavailable; the text says why."""


@contextlib.contextmanager
def tracing(settings: Settings) -> Iterator["Tracer | None"]:
    """Yield a tracer whose spans are exported in the background; None without the setting. Raise TracesUnavailable.

    The SDK reads the standard variables: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER,
    OTEL_SERVICE_NAME (`waypost`), OTEL_RESOURCE_ATTRIBUTES, OTEL_SDK_DISABLED and their relatives.
    """
    if settings.traces == "off":
        yield None
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise TracesUnavailable("WAYPOST_TRACES=otlp needs the extra `otel`: pip install 'waypost[otel]'") from error
    try:
        ours = Resource({"service.name": "waypost", "service.version": version("waypost")})
        provider = TracerProvider(resource=ours.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
        exporter = OTLPSpanExporter()
        provider.add_span_processor(BatchSpanProcessor(exporter))
    except ValueError as error:
        raise TracesUnavailable(
            f"a variable OTEL_* has a value that cannot be used ({type(error).__name__})"
        ) from error
    try:
        yield provider.get_tracer("waypost")
    finally:
        last = threading.Thread(target=provider.shutdown, name="last spans", daemon=True)
        last.start()
        last.join(SHUTDOWN_SECONDS)
        if last.is_alive():
            exporter.shutdown()  # type: ignore[no-untyped-call]  # it stops trying again


def trace_statements(tracer: "Tracer", engine: Engine) -> None:
    """Record each statement of this engine as a span of its request. Leave out statements of other work, and all texts
    and parameters."""
    from opentelemetry.trace import SpanKind, Status, StatusCode, get_current_span

    def begin(_: Any, __: Any, statement: str, ___: Any, context: Any, ____: Any) -> None:
        if context is None or not get_current_span().is_recording():
            return
        verb = statement.lstrip()[:6].upper().split(None, 1)[0]
        operation = verb if verb in _VERBS else "OTHER"
        attributes = {"db.system.name": "postgresql", "db.operation.name": operation}
        setattr(context, _SPAN, tracer.start_span(operation, kind=SpanKind.CLIENT, attributes=attributes))

    def end(_: Any, __: Any, ___: str, ____: Any, context: Any, _____: Any) -> None:
        if (span := getattr(context, _SPAN, None)) is not None:
            span.end()

    def fail(failure: Any) -> None:
        if (span := getattr(failure.execution_context, _SPAN, None)) is not None:
            span.set_status(Status(StatusCode.ERROR))
            span.set_attribute("error.type", type(failure.original_exception).__name__)
            span.end()

    event.listen(engine, "before_cursor_execute", begin)
    event.listen(engine, "after_cursor_execute", end)
    event.listen(engine, "handle_error", fail)
