"""The log of a command, on standard error: text for people on a terminal, else one JSON object per line for programs.

A separate module, because structlog takes a tenth of a second to import.
"""

import io
import json
import logging
import sys
from typing import Any, Final, TextIO, cast

import structlog

from registry.cli.clean import visible, visible_lines
from registry.cli.error_export import Send, SendingHandler, place_of, sending

_OURS: Final = ("registry", "crawler")


def log_to_stderr(level: str | None, send: Send | None = None) -> None:
    """Log events from `level` up; libraries log from WARNING up. `send` gets the errors as well.

    The default level is INFO, on a terminal WARNING, because events between the lines of a result disturb people.
    """
    is_terminal = sys.stderr.isatty()
    threshold = level or ("WARNING" if is_terminal else "INFO")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S" if is_terminal else "iso", utc=not is_terminal),
            *([] if send is None else [sending(send)]),
            structlog.processors.format_exc_info,
            _text_line if is_terminal else structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[threshold]),
        logger_factory=structlog.WriteLoggerFactory(file=cast(TextIO, _StandardError())),
    )
    handler = logging.StreamHandler(_StandardError())
    handler.setFormatter(_RedactingFormatter(as_text=is_terminal))
    handlers: list[logging.Handler] = [handler] if send is None else [handler, SendingHandler(send, _members)]
    logging.basicConfig(level=logging.WARNING, handlers=handlers)


class _StandardError(io.TextIOBase):
    """Writes to the current `sys.stderr`: a live view replaces that stream to print log lines above itself."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def _text_line(_: object, __: str, event: structlog.typing.EventDict) -> str:
    """Return `time level: event name=value ...`, and below it the traceback, if any (a structlog renderer)."""
    members = dict(event)
    trace = members.pop("exception", None)
    line = _as_text(str(members.pop("level", "")), str(members.pop("event", "")), members)
    return line if trace is None else f"{line}\n{visible_lines(str(trace))}"


def _as_text(level: str, event: str, members: dict[str, Any]) -> str:
    time = members.pop("timestamp", None)
    figures = "".join(f" {name}={value}" for name, value in members.items())
    return visible((f"{time} " if time else "") + f"{level}: {event}{figures}")


class _RedactingFormatter(logging.Formatter):
    """Format a record of the standard library's logging as JSON or as text, see `_members`."""

    def __init__(self, *, as_text: bool) -> None:
        super().__init__()
        self._as_text = as_text

    def format(self, record: logging.LogRecord) -> str:
        members = _members(record)
        if not self._as_text:
            return json.dumps(members)
        level, logger = members.pop("level"), members.pop("logger")
        time = self.formatTime(record, "%H:%M:%S")
        return _as_text(level, members.pop("event", logger), {"timestamp": time, **members})


def _members(record: logging.LogRecord) -> dict[str, Any]:
    """Return the members of a record.

    Messages of libraries may contain text from sites, so only the type and the source lines of an error are logged.
    """
    entry = {"level": record.levelname.lower(), "logger": record.name}
    if record.name.partition(".")[0] in _OURS:
        entry["event"] = record.getMessage()
    if record.exc_info and record.exc_info[0]:
        entry["error"] = record.exc_info[0].__name__
        entry["place"] = place_of(record.exc_info[2], 4)
    return entry
