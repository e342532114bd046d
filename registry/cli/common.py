"""Shared by all commands: consoles, settings, logging, and the mapping of errors to exit codes."""

import contextlib
import io
import json
import logging
import sys
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO, TypeVar, cast

import structlog
import typer
from pydantic import ValidationError
from rich.console import Console
from rich.text import Text

from registry.settings import Settings

if TYPE_CHECKING:
    from registry.wiring import Waypost

DONE, NO, USAGE, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 130

console = Console()
errors = Console(stderr=True)

_T = TypeVar("_T")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line, for scripts.")]
ConnectTo = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST:PORT:ADDRESS:PORT", help="Reach HOST at a given address, as curl does. May be repeated."
    ),
]


class BadTarget(ValueError):
    """The target is neither a readable file, nor an https URL, nor a host name that may be visited."""


def read_settings(connect_to: Sequence[str] | None = None) -> Settings:
    """Return the settings of the environment; a connect-to table from the command line replaces the configured one.

    Exit with USAGE when a setting is invalid.
    """
    try:
        settings = Settings(connect_to=tuple(connect_to)) if connect_to else Settings()
    except ValidationError as error:
        message = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_input=False)
        )
        fail(message, USAGE)
    _log_to_stderr(settings.log_level)
    return settings


def _log_to_stderr(level: str) -> None:
    """Log one JSON object per line to standard error; libraries from WARNING up."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.WriteLoggerFactory(file=cast(TextIO, _StandardError())),
    )
    handler = logging.StreamHandler(_StandardError())
    handler.setFormatter(_RedactingJsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _StandardError(io.TextIOBase):
    """Write to the current `sys.stderr`: a live view replaces that stream to print log lines above itself."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


class _RedactingJsonFormatter(logging.Formatter):
    """Format a record as JSON. Messages of libraries may contain text from sites, so only the error's type and source
    lines are logged."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {"level": record.levelname.lower(), "logger": record.name}
        if record.name.partition(".")[0] in ("registry", "crawler"):
            entry["event"] = record.getMessage()
        if record.exc_info and record.exc_info[0]:
            frames = traceback.extract_tb(record.exc_info[2])[-4:]
            entry["error"] = record.exc_info[0].__name__
            entry["place"] = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
        return json.dumps(entry)


async def with_registry(work: "Callable[[Waypost], Awaitable[_T]]") -> _T:
    """Open the registry, await `work` with it and return its result."""
    from registry.wiring import open_waypost

    async with open_waypost(read_settings()) as waypost:
        return await work(waypost)


def run_async(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine on uvloop, the event loop that the crawler was measured on."""
    import uvloop

    with exit_on_error():
        return uvloop.run(work)


@contextlib.contextmanager
def exit_on_error() -> Iterator[None]:
    """Turn errors that the user can fix into one line and an exit code; all others keep their traceback."""
    try:
        yield
    except typer.Exit:
        raise
    except Exception as error:
        code = _exit_code(error)
        if code is None:
            raise
        fail(_message(error), code)


def _message(error: Exception) -> str:
    """Return the message; for an OSError the file and the error text, without the error number."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _exit_code(error: Exception) -> int | None:
    """Return the exit code for an error, None for bugs.

    The imports are local, so only failed commands load them; large packages only for errors that they may have raised.
    """
    from crawler.guards import BadSetup
    from registry.core.names.domains import InvalidName
    from registry.demo import DemoFailed
    from registry.demo.sites import BadSite

    if isinstance(error, BrokenPipeError):
        return None  # the reader closed the pipe (`| head`); typer exits quietly
    if isinstance(error, DemoFailed | OSError):
        return UNAVAILABLE
    if isinstance(error, BadSite | BadSetup | BadTarget | InvalidName):
        return USAGE

    from crawler.seeds.source import BadSource
    from registry.wiring import NOT_READY, BadDatabaseUrl

    if isinstance(error, NOT_READY):
        return UNAVAILABLE
    return USAGE if isinstance(error, BadSource | BadDatabaseUrl) else None


def fail(message: str, code: int) -> NoReturn:
    """Print one line and exit with `code`."""
    print_error(message)
    raise SystemExit(code)


def print_error(message: str) -> None:
    """Print a message as plain text: it may contain user input, which must not be read as markup."""
    errors.print(Text.assemble(("waypost:", "red"), f" {message}"), highlight=False, soft_wrap=True)
