"""Shared by all commands: options, settings, consoles, and the exit codes for errors.

Imports only what every command needs, so that `--help` and wrong usage answer at once. Output contains no control
characters except line feeds and Rich's styles.
"""

import contextlib
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeVar

import typer

from registry.cli.clean import visible

if TYPE_CHECKING:
    from registry.settings import Settings
    from registry.wiring import Waypost


DONE, NO, USAGE, UNAVAILABLE, INTERRUPTED = 0, 1, 2, 3, 130

_T = TypeVar("_T")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line, for scripts.")]
ConnectTo = Annotated[
    list[str] | None,
    typer.Option(
        metavar="HOST:PORT:ADDRESS:PORT", help="Reach HOST at a given address, as curl does. May be repeated."
    ),
]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="DIR", help="Data folder of the registry, instead of WAYPOST_DATA.", show_default=False
    ),
]


class BadTarget(ValueError):
    """The target is neither a readable file, nor an https URL, nor a host name that may be visited."""


def read_settings(connect_to: Sequence[str] | None = None, data: Path | None = None) -> "Settings":
    """Return the settings of the environment, and configure logging.

    `connect_to` and `data` of the command line override the environment. Exit with USAGE when a setting is invalid.
    """
    from pydantic import ValidationError

    from registry.cli.logs import log_to_stderr
    from registry.settings import Settings

    given: dict[str, Any] = {"connect_to": tuple(connect_to)} if connect_to else {}
    if data is not None:
        given["data"] = data.absolute()
    try:
        settings = Settings(**given)
    except ValidationError as error:
        faults = error.errors(include_input=False)
        fail("; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in faults), USAGE)
    log_to_stderr(settings.log_level)
    return settings


def demo_folder(settings: "Settings") -> Path:
    """Return the default data folder of `waypost demo`."""
    return settings.data / "demo"


async def with_registry(
    work: "Callable[[Waypost], Awaitable[_T]]", data: Path | None = None, connect_to: Sequence[str] | None = None
) -> _T:
    """Open the registry (of the data folder `data`, if given), await `work` with it and return its result."""
    from registry.wiring import open_waypost

    async with open_waypost(read_settings(connect_to, data)) as waypost:
        return await work(waypost)


def run_with_registry(
    work: "Callable[[Waypost], Awaitable[int]]", data: Path | None = None, connect_to: Sequence[str] | None = None
) -> NoReturn:
    """Run `work` with the open registry, and exit with the code that it returns."""
    run_and_exit(with_registry(work, data, connect_to))


def on_registry(work: Callable[..., Awaitable[int]]) -> Callable[..., NoReturn]:
    """Make a command of a coroutine function that takes the open registry and returns the exit code.

    Its other parameters are those of the command, which also has `--data`. Typer reads them from the signature.
    """

    @functools.wraps(work)
    def command(data: Path | None, **given: Any) -> NoReturn:
        run_with_registry(lambda waypost: work(waypost, **given), data)

    keyword = inspect.Parameter.KEYWORD_ONLY
    _, *own = inspect.signature(work).parameters.values()
    added = inspect.Parameter("data", keyword, default=None, annotation=DataFolder)
    every = [*(parameter.replace(kind=keyword) for parameter in own), added]
    every.sort(key=lambda parameter: parameter.name == "as_json")  # the last one in every help text
    command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    return command


def run_and_exit(work: Coroutine[Any, Any, int]) -> NoReturn:
    """Run a coroutine, and exit with the code that it returns."""
    raise typer.Exit(run_async(work))


def run_async(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine on uvloop, the event loop that the crawler was measured on."""
    import uvloop

    with exit_on_error():
        return uvloop.run(_interruptible(work))


async def _interruptible(work: Coroutine[Any, Any, _T]) -> _T:
    """Await `work`. When an interrupt cancelled it, raise the interrupt instead of the resulting error.

    A database driver that is cancelled during a query may fail with another error.
    """
    import asyncio

    try:
        return await work
    except Exception as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError from error
        raise


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
        message = str(error)
        if isinstance(error, OSError) and error.strerror:  # without its number
            message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        fail(message, code)


def _exit_code(error: Exception) -> int | None:
    """Return the exit code for an error, None for bugs.

    The imports are local, so only failed commands load them; large packages only for errors that they may have raised.
    """
    from crawler.guards import BadSetup
    from registry.core.names.domains import InvalidName
    from registry.demo import DemoError
    from registry.demo.sites import BadSite

    if isinstance(error, BrokenPipeError):
        return None  # the reader closed the pipe (`| head`); typer exits quietly
    if isinstance(error, DemoError | OSError):
        return UNAVAILABLE
    if isinstance(error, BadSite | BadSetup | BadTarget | InvalidName):
        return USAGE

    from crawler.seeds.source import BadSource
    from registry.actions.webhooks import BadReceiver
    from registry.wiring import NOT_READY, BadDatabaseUrl, TracesUnavailable
    from registry.wiring.signing_keys import KeysUnusable

    if isinstance(error, (*NOT_READY, KeysUnusable)):
        return UNAVAILABLE
    return USAGE if isinstance(error, BadSource | BadReceiver | BadDatabaseUrl | TracesUnavailable) else None


def fail(message: str, code: int) -> NoReturn:
    """Print one line and exit with `code`."""
    print_error(message)
    raise SystemExit(code)


def print_error(message: str) -> None:
    """Print a message on standard error as plain text. It may contain text of the user or of a site."""
    typer.echo(f"{typer.style('waypost:', fg='red')} {visible(message)}", err=True)


def print_line(text: str) -> None:
    """Print a line of untrusted text on standard output; a terminal wraps it, not this program."""
    from registry.cli.terminal import console, escaped

    console.print(escaped(text), soft_wrap=True)
