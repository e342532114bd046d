"""Shared by all commands: options, settings, consoles, and the exit codes for errors.

Imports only what every command needs, so that `--help` and wrong usage answer at once. Output contains no control
characters except line feeds and Rich's styles.
"""

import contextlib
import errno
import functools
import inspect
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeVar

import typer

from registry.cli.clean import visible

if TYPE_CHECKING:
    from registry.cli.error_export import Send
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


class NoRegistry(Exception):
    """The data folder holds no registry that a command could read. The message says how to begin one."""


def version() -> str:
    """Return the version of this program."""
    from importlib.metadata import version as version_of

    return version_of("waypost")


def program() -> str:
    """Return the command that starts this program again from the same folder, quoted for a shell."""
    return shlex.quote(sys.argv[0]) if Path(sys.argv[0]).name == "waypost" else "waypost"


COMPLETION_VARIABLE: Final = "_WAYPOST_COMPLETE"
"""Set by the scripts of `waypost completion` when a shell asks what may come next."""


def is_completing() -> bool:
    """Return whether a shell asks for completions; Typer then answers instead of running a command."""
    return COMPLETION_VARIABLE in os.environ


def register_shells() -> None:
    """Make Typer's shells known. With `add_completion` Typer does so itself, and adds options that edit start files."""
    from typer.completion import get_completion_inspect_parameters

    get_completion_inspect_parameters()


def read_settings(
    connect_to: Sequence[str] | None = None, data: Path | None = None, *, warns: bool = True
) -> "Settings":
    """Return the settings of the environment, and configure logging.

    `connect_to` and `data` of the command line override the environment. With `warns`, print a warning for each unknown
    variable. Exit with USAGE when a setting is invalid, after a line for each.
    """
    from pydantic import ValidationError

    from registry.cli.logs import log_to_stderr
    from registry.settings import Settings, describe_faults, unknown_variables

    if warns:
        _warn_of_unknown(unknown_variables())
    given: dict[str, Any] = {"connect_to": tuple(connect_to)} if connect_to else {}
    if data is not None:
        given["data"] = data.absolute()
    try:
        settings = Settings(**given)
    except ValidationError as error:
        for line in describe_faults(error):
            print_error(line)
        raise SystemExit(USAGE) from None
    log_to_stderr(settings.log_level, _error_collector() if settings.errors == "otlp" else None)
    return settings


def _error_collector() -> "Send":
    """Return what sends the errors of this process to a collector. Exit with USAGE if that cannot be done."""
    from registry.cli.error_export import ExportUnavailable, collector, send_unhandled

    try:
        send = collector()
    except ExportUnavailable as error:
        fail(str(error), USAGE)
    send_unhandled(send)
    return send


_warned: set[str] = set()


def _warn_of_unknown(variables: "Mapping[str, str | None]") -> None:
    """Print a line for each unknown variable, once in a process. `variables`: the nearest setting by variable."""
    for name, nearest in variables.items():
        if name not in _warned:
            _warned.add(name)
            remedy = f"did you mean {nearest}?" if nearest else "`waypost config` lists all settings"
            print_warning(f"{name} is not a setting; {remedy}")


def folder_option(settings: "Settings") -> str:
    """Return the option with which a command from another terminal finds the same data folder, with a leading space; ""
    if it needs none."""
    from registry.settings import default_data_folder

    if settings.database_url is not None or settings.data == default_data_folder():
        return ""
    return f" --data {shlex.quote(str(settings.data))}"


def has_registry(settings: "Settings") -> bool:
    """Return whether a database is configured, or the data folder holds one."""
    from registry.settings import POSTGRES_FOLDER

    return settings.database_url is not None or (settings.data / POSTGRES_FOLDER).exists()


def require_registry(settings: "Settings") -> None:
    """Raise NoRegistry without a registry: reading it would start a server, for seconds, to answer nothing."""
    if has_registry(settings) or settings.data.is_file():  # opening a file says what is wrong with it
        return
    message = f"{settings.data} holds no registry yet; `waypost crawl HOST` or `waypost serve` begins one there"
    if (demo := demo_folder(settings)).exists():
        message += f". `waypost demo` filled another one: add --data {demo}, or set WAYPOST_DATA={demo}"
    raise NoRegistry(message)


def demo_folder(settings: "Settings") -> Path:
    """Return the default data folder of `waypost demo`."""
    return settings.data / "demo"


async def with_registry(
    work: "Callable[[Waypost], Awaitable[_T]]",
    data: Path | None = None,
    connect_to: Sequence[str] | None = None,
    *,
    creates: bool = False,
) -> _T:
    """Open the registry (of the data folder `data`, if given), await `work` with it and return its result.

    `creates`: the command may begin a registry. Otherwise raise NoRegistry at once if the folder holds none.
    """
    settings = read_settings(connect_to, data)
    if not creates:
        require_registry(settings)
    from registry.wiring import open_waypost

    async with open_waypost(settings) as waypost:
        return await work(waypost)


def run_with_registry(
    work: "Callable[[Waypost], Awaitable[int]]",
    data: Path | None = None,
    connect_to: Sequence[str] | None = None,
    *,
    creates: bool = False,
) -> NoReturn:
    """Run `work` with the open registry, and exit with the code that it returns. `creates`: see `with_registry`."""
    run_and_exit(with_registry(work, data, connect_to, creates=creates))


def on_registry(work: Callable[..., Awaitable[int]], *, creates: bool = False) -> Callable[..., NoReturn]:
    """Make a command of a coroutine function that takes the open registry and returns the exit code.

    Its other parameters are those of the command, which also has `--data`. Typer reads them from the signature.
    `creates`: see `with_registry`.
    """

    @functools.wraps(work)
    def command(data: Path | None, **given: Any) -> NoReturn:
        run_with_registry(lambda waypost: work(waypost, **given), data, creates=creates)

    keyword = inspect.Parameter.KEYWORD_ONLY
    _, *own = inspect.signature(work).parameters.values()
    added = inspect.Parameter("data", keyword, default=None, annotation=DataFolder)
    every = [*(parameter.replace(kind=keyword) for parameter in own), added]
    every.sort(key=lambda parameter: parameter.name == "as_json")  # the last one in every help text
    command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    return command


begins_registry: Final = functools.partial(on_registry, creates=True)
"""`on_registry` for commands that write, and so begin a registry in an empty data folder."""


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
        fail(_with_remedy(error, message), code)


def _with_remedy(error: Exception, message: str) -> str:
    """Return the message of an error of the machine with what to do about it. PostgreSQL reports a full disk in ten
    lines."""
    if isinstance(error, PermissionError):
        return f"{message}; run waypost as its owner, or name another place"
    if os.strerror(errno.ENOSPC) in message:
        return "no space is left on the disk: make room, or name another place (--data, WAYPOST_DATA)"
    return message


def _exit_code(error: Exception) -> int | None:
    """Return the exit code for an error, None for bugs.

    The imports are local, so only failed commands load them; large packages only for errors that they may have raised.
    """
    if isinstance(error, NoRegistry):
        return NO

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
    from registry.wiring.backup import BackupRefused, BadBackup, ProgramsUnavailable
    from registry.wiring.signing_keys import KeysUnusable

    if isinstance(error, BadBackup):
        return NO
    if isinstance(error, (*NOT_READY, KeysUnusable, ProgramsUnavailable)):
        return UNAVAILABLE
    return (
        USAGE
        if isinstance(error, BadSource | BadReceiver | BadDatabaseUrl | TracesUnavailable | BackupRefused)
        else None
    )


def fail(message: str, code: int) -> NoReturn:
    """Print one line and exit with `code`."""
    print_error(message)
    raise SystemExit(code)


def print_error(message: str) -> None:
    """Print a message on standard error as plain text. It may contain text of the user or of a site."""
    _print_message("waypost:", message, "red")


def print_warning(message: str) -> None:
    """Print a warning on standard error. It may contain text of the user."""
    _print_message("waypost: warning:", message, "yellow")


def _print_message(mark: str, message: str, colour: str) -> None:
    wants_colour = None if not os.environ.get("NO_COLOR") else False  # None: on a terminal (https://no-color.org)
    typer.echo(f"{typer.style(mark, fg=colour)} {visible(message)}", err=True, color=wants_colour)


def print_line(text: str) -> None:
    """Print a line of untrusted text on standard output; a terminal wraps it, not this program."""
    from registry.cli.terminal import console, escaped

    console.print(escaped(text), soft_wrap=True)
