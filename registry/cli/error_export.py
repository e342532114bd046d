"""Errors of this process for an OpenTelemetry collector, as log records over OTLP/HTTP.

A record has the event, the class of the error and the source lines, but no text of the error, which may hold what sites
or clients sent. The SDK reads the standard variables, such as OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_SERVICE_NAME.
"""

import atexit
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import structlog

SHUTDOWN_SECONDS: Final = 2.0
"""Time to send the last records when the process ends. It must not delay a stop."""

_PLAIN: Final = (str, bool, int, float)

Send = Callable[[str, Mapping[str, Any]], None]


class ExportUnavailable(Exception):
    """The export of errors is configured but unavailable; the text says why."""


def collector() -> Send:
    """Return a function that sends an event in the background. Raise ExportUnavailable."""
    try:
        from opentelemetry._logs import SeverityNumber
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    except ImportError as error:
        raise ExportUnavailable("WAYPOST_ERRORS=otlp needs the extra `otel`: pip install 'waypost[otel]'") from error
    try:
        ours = Resource({"service.name": "waypost", "service.version": version("waypost")})
        provider = LoggerProvider(ours.merge(OTELResourceDetector().detect()), shutdown_on_exit=False)
        provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
    except ValueError as error:
        raise ExportUnavailable(
            f"a variable OTEL_* has a value that cannot be used ({type(error).__name__})"
        ) from error
    logger = provider.get_logger("waypost")

    def send(event: str, facts: Mapping[str, Any]) -> None:
        attributes = {name: value for name, value in facts.items() if isinstance(value, _PLAIN)}
        logger.emit(severity_number=SeverityNumber.ERROR, severity_text="ERROR", body=event, attributes=attributes)

    def finish() -> None:
        last = threading.Thread(target=provider.shutdown, name="last errors", daemon=True)
        last.start()
        last.join(SHUTDOWN_SECONDS)

    atexit.register(finish)
    return send


def sending(send: Send) -> structlog.typing.Processor:
    """Return a structlog processor that sends events of level error."""

    def process(_: object, method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        if method in ("error", "exception", "critical"):
            facts = dict(event)
            if given := facts.pop("exc_info", None):
                error = given if isinstance(given, BaseException) else sys.exc_info()[1]
                facts |= {} if error is None else facts_of(type(error), error.__traceback__)
            send(str(facts.pop("event", "")), facts)
        return event

    return process


class SendingHandler(logging.Handler):
    """Sends records of the standard library's logging. Libraries may log texts of sites, so their message is not
    sent."""

    def __init__(self, send: Send, members: Callable[[logging.LogRecord], dict[str, Any]]) -> None:
        super().__init__(logging.ERROR)
        self._send, self._members = send, members

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith("opentelemetry"):  # a collector that is away must not feed itself
            members = self._members(record)
            self._send(str(members.pop("event", record.name)), members)


_sends: list[Send] = []


def send_unhandled(send: Send) -> None:
    """Send exceptions that end this process or one of its threads, too."""
    _sends[:] = [send]
    report, report_thread = sys.excepthook, threading.excepthook

    def process(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        send_failure("process.failed", kind, trace)
        report(kind, error, trace)

    def thread(failed: threading.ExceptHookArgs) -> None:
        send_failure("thread.failed", failed.exc_type, failed.exc_traceback)
        report_thread(failed)

    sys.excepthook, threading.excepthook = process, thread


def send_failure(event: str, kind: type[BaseException], trace: TracebackType | None) -> None:
    """Send an exception that nothing handled, if a collector is configured."""
    if issubclass(kind, Exception):
        for send in _sends:
            send(event, facts_of(kind, trace))


def facts_of(kind: type[BaseException], trace: TracebackType | None) -> dict[str, str]:
    """Return the class of an error and where it was raised, the last call first."""
    return {"exception.type": kind.__name__, "place": place_of(trace, 8)}


def place_of(trace: TracebackType | None, calls: int) -> str:
    """Return the files and lines of the last calls, the last one first."""
    frames = traceback.extract_tb(trace)[-calls:]
    return " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
