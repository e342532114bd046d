"""What all commands share: what they print to, their settings and logs, and how failures become exit codes."""

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


def read_settings(connect_to: Sequence[str] | None = None) -> Settings:
    """From the environment, with the connect-to table of the command line in place of its own."""
    try:
        settings = Settings(connect_to=tuple(connect_to)) if connect_to else Settings()
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False))
        give_up(wrong, USAGE)
    _log_to_stderr(settings.log_level)
    return settings


def _log_to_stderr(level: str) -> None:
    """One JSON object per line on standard error; libraries only from WARNING up."""
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
    handler.setFormatter(_OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _StandardError(io.TextIOBase):
    """Standard error as it is now: a live view puts itself there and prints what comes above its own lines."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


class _OneLine(logging.Formatter):
    """JSON as above. A library's message may carry what a site wrote: of it only that it spoke, and where it broke."""

    def format(self, record: logging.LogRecord) -> str:
        told = {"level": record.levelname.lower(), "logger": record.name}
        if record.name.partition(".")[0] in ("registry", "crawler"):
            told["event"] = record.getMessage()
        if record.exc_info and record.exc_info[0]:
            frames = traceback.extract_tb(record.exc_info[2])[-4:]
            told["error"] = record.exc_info[0].__name__
            told["place"] = " < ".join(f"{Path(one.filename).name}:{one.lineno}" for one in reversed(frames))
        return json.dumps(told)


async def opened(work: "Callable[[Waypost], Awaitable[_T]]") -> _T:
    """What `work` makes of the registry."""
    from registry.wiring import open_waypost

    async with open_waypost(read_settings()) as waypost:
        return await work(waypost)


def carry_out(work: Coroutine[Any, Any, _T]) -> _T:
    """Runs a command's work on the loop that the crawler was measured on."""
    import uvloop

    with mended():
        return uvloop.run(work)


@contextlib.contextmanager
def mended() -> Iterator[None]:
    """What a person can mend becomes a line and an exit code; a bug stays a traceback."""
    try:
        yield
    except typer.Exit:
        raise
    except Exception as error:
        code = _exit_code(error)
        if code is None:
            raise
        give_up(_in_words(error), code)


def _in_words(error: Exception) -> str:
    """The system's own phrase without its number: which file, and what is wrong with it."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _exit_code(error: Exception) -> int | None:
    """Imported here: only a command that failed pays for knowing all the ways to fail."""
    from crawler.guards import BadSetup
    from crawler.seeds.source import BadSource
    from registry.cli.check import BadTarget
    from registry.cli.serving import PortTaken
    from registry.core.domains import InvalidName
    from registry.demo.sites import BadSite
    from registry.demo.tour import DemoFailed
    from registry.wiring import NOT_READY, BadDatabaseUrl

    if isinstance(error, BrokenPipeError):
        return None  # who reads us has had enough (`| head`); typer ends quietly
    if isinstance(error, (PortTaken, DemoFailed, OSError, *NOT_READY)):
        return UNAVAILABLE
    usage = BadSite | BadSetup | BadSource | BadTarget | BadDatabaseUrl | InvalidName
    return USAGE if isinstance(error, usage) else None


def give_up(message: str, code: int) -> NoReturn:
    """One line, and the end of the command."""
    complain(message)
    raise SystemExit(code)


def complain(message: str) -> None:
    """As plain text: what was typed or read stands in it, and is no markup."""
    errors.print(Text.assemble(("waypost:", "red"), f" {message}"), highlight=False, soft_wrap=True)
