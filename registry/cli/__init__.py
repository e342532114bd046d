"""The `waypost` command line: each command parses its arguments, calls an action and prints the result.

Packages are imported inside the commands, Rich and pydantic too, so that `--help` and wrong usage answer at once.
Commands are listed in the order of this module, the most used first. The module is long because it declares the
arguments of all commands except `seed`, `admin` and `webhooks`.
"""

import contextlib
import gc
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from typer.core import TyperGroup

from registry.cli import common
from registry.cli.admin import admin
from registry.cli.clean import print_json, print_traceback
from registry.cli.common import (
    DONE,
    USAGE,
    AsJson,
    ConnectTo,
    DataFolder,
    begins_registry,
    exit_on_error,
    fail,
    on_registry,
    read_settings,
    run_async,
)
from registry.cli.seeding import seeds
from registry.cli.signing_keys import keys
from registry.cli.webhooks import webhooks

if TYPE_CHECKING:
    from registry.cli.check_result import CheckResult, Unread
    from registry.wiring import Waypost

HELP = """Waypost, the open discovery registry of the agent web.

`waypost demo` shows everything on a sample web; `waypost serve` starts a registry of your own.

Exit codes: 0 success; 1 success with a negative result (nothing found, a check with errors, a refused name);
2 wrong usage; 3 the registry cannot be reached or is not ready (database, schema, index, port); 130 interrupted.
"""


GROUPS: Final = {
    "Use a registry": ("demo", "search", "check", "inspect", "translate", "changes", "submit", "mcp"),
    "Run a registry": (
        "serve", "crawl", "seed", "worker", "schedule", "mirror", "status", "doctor", "config", "completion",
    ),
    "Maintain a registry": (
        "admin", "maintenance", "webhooks", "keys", "forget", "optout", "backup", "restore", "export", "rescore",
        "reindex", "verify-index", "migrate", "search-keys",
    ),
}  # fmt: skip
"""The commands as `waypost --help` lists them: by what a person wants to do, the most used first."""


class Commands(TyperGroup):
    """The commands. Unknown names are refused before the options are parsed, for which Typer loads pydantic."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-"):
            self.resolve_command(ctx, args)
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in their groups, with their first sentences in one column."""
        width = max(map(len, self.commands))
        for title, names in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(width), self.commands[name].get_short_help_str(formatter.width - width - 4))
                        for name in names
                    ]
                )


app = typer.Typer(
    cls=Commands,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # Rich takes longer to import than everything else that `--help` needs
    context_settings={"help_option_names": ["-h", "--help"]},
    help=HELP,
)
Metrics = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Serve the worker's Prometheus metrics at this address, at /metrics."),
]


def main() -> None:
    """Run the command line. Errors that the user can fix are printed on one line, without a traceback."""
    gc.set_threshold(100_000, 50, 100)  # imports leave no garbage, and looking for it takes a tenth of a start
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal with a narrow character set must not end the command
            stream.reconfigure(errors="backslashreplace")
    try:
        if common.is_completing():
            common.register_shells()
        app()
    except KeyboardInterrupt:
        sys.exit(common.INTERRUPTED)
    except Exception as error:
        print_traceback(error)
        from registry.cli.error_export import send_failure

        send_failure("process.failed", type(error), error.__traceback__)
        sys.exit(common.NO)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"waypost {common.version()}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The options of `waypost` itself."""


@app.command()
def demo(
    sites: Annotated[Path | None, typer.Option(help="Serve recorded sites instead: SITES/<host>/<path>.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the API.")] = 8000,
    data: Annotated[Path | None, typer.Option(help="The demo's own data folder.")] = None,
    serve: Annotated[bool, typer.Option(help="Serve the API at the end; with --no-serve, exit instead.")] = True,
    as_json: AsJson = False,
) -> None:
    """Crawl a sample web, search it and serve the API.

    The sites are served over TLS on loopback. The demo needs no internet, and uses a separate data folder.
    """
    from registry.cli.demo import run_demo
    from registry.cli.shutdown import exit_process
    from registry.cli.terminal import console, errors

    settings = read_settings()
    folder, output = (data or common.demo_folder(settings)).absolute(), errors if as_json else console
    run_async(run_demo(folder, port, sites, serve=serve, console=output, as_json=as_json))
    exit_process()


@app.command()
@on_registry
async def search(
    waypost: "Waypost",
    words: Annotated[list[str], typer.Argument(metavar="QUERY...", help="What an agent needs, in plain words.")],
    limit: Annotated[int, typer.Option(min=1, max=50)] = 5,
    copies: Annotated[bool, typer.Option("--copies", help="Show services that offer the same one by one.")] = False,
    as_json: AsJson = False,
) -> int:
    """Search the registry. Exit code 1 when nothing was found."""
    from registry.cli.show import show_search
    from registry.core.model.listing import Filters, Query

    query = Query(" ".join(words), limit=limit, filters=Filters(unique=not copies))
    return await show_search(waypost, query, as_json=as_json)


@app.command()
def check(
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help="Files, - (standard input), https URLs or domains.")
    ],
    at: Annotated[
        str | None, typer.Option(metavar="PATH|URL", help="Path or https URL at which the files will be served.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="SLUG", help="Expected format of the documents; by default it is recognised."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
    show_all: Annotated[bool, typer.Option("--all", help="Show notes too; otherwise they are counted.")] = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print one SARIF 2.1.0 log for all targets.")] = False,
    connect_to: ConnectTo = None,
    as_json: AsJson = False,
) -> None:
    """Check manifests and print the findings. Nothing is stored.

    A TARGET that exists as a file is read as a file. Exit code 0: no errors; 1: a target has errors, is not a manifest,
    or was not found; 2: wrong usage, or a target could not be read (the others are still checked; with --json its
    outcome is "error").
    """
    from registry.cli.check import CheckOptions, check_targets
    from registry.cli.check_result import Unread, sarif_log
    from registry.core.formats import FORMAT_BY_SLUG

    if sarif and as_json:
        fail("--sarif and --json are mutually exclusive", USAGE)
    settings = read_settings(connect_to)
    results: list[CheckResult | Unread] = []
    with exit_on_error():
        if form is not None and form not in FORMAT_BY_SLUG:
            fail(f"unknown format; known formats: {', '.join(FORMAT_BY_SLUG)}", USAGE)
        for result in check_targets(targets, CheckOptions(settings, at, form), _visiting_status):
            results.append(result)
            if not sarif:
                _show_checked(result, show_all=show_all, as_json=as_json)
        if sarif:
            public_url = settings.public_url if "public_url" in settings.model_fields_set else None
            typer.echo(sarif_log(results, public_url=public_url))
    if any(isinstance(result, Unread) for result in results):
        raise typer.Exit(USAGE)
    passed = all(result.passed(strict=strict) for result in results if not isinstance(result, Unread))
    raise typer.Exit(common.DONE if passed else common.NO)


def _show_checked(result: "CheckResult | Unread", *, show_all: bool, as_json: bool) -> None:
    from registry.cli.check_result import Unread, print_checked

    if as_json:
        print_json(result.to_json())
    if isinstance(result, Unread):
        common.print_error(f"{result.target}: {result.message}")
    elif not as_json:
        print_checked(result, show_all=show_all)


@contextlib.contextmanager
def _visiting_status(target: str, number: int, total: int) -> Iterator[None]:
    """Show on a terminal which target is being visited: a visit may take half a minute. Print nothing elsewhere."""
    from registry.cli.terminal import errors, escaped

    if not errors.is_terminal:
        yield
        return
    with errors.status(f"{number}/{total}: visiting {escaped(target)}"):
        yield


@app.command()
def crawl(
    names: Annotated[list[str] | None, typer.Argument(metavar="DOMAIN...", help="Hosts to visit now.")] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="FILE", help="Read hosts from a file instead; - is standard input.")
    ] = None,
    urls: Annotated[bool, typer.Option("--urls", help="With --from: take the host of each URL.")] = False,
    summary: Annotated[
        bool, typer.Option("--summary", help="With --from and --json: print only the summary, not a line per host.")
    ] = False,
    connect_to: ConnectTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Visit hosts once, store what they serve, and report. Exit code 1 when no host is listed, or one is refused.

    With --from: queue a list of any length (see `waypost seed file`), then crawl until nothing is due, including hosts
    that were queued before; hosts that were visited recently keep their schedule. Exit code 1 then means that no name
    of the list was accepted, or that the list was not read to its end.
    """
    if bool(names) == (source is not None):
        fail("name hosts to visit, or a list of them with --from, not both; see `waypost crawl --help`", USAGE)
    settings = read_settings(connect_to, data)
    from registry.cli.shutdown import exit_process

    if source is None:
        from registry.cli.crawling import run_crawl

        exit_process(run_async(run_crawl(settings, names or (), as_json=as_json)))
    from crawler.seeds.opened import opened
    from registry.cli.crawling import run_from

    with exit_on_error(), opened(source) as name_list:
        code = run_async(run_from(settings, name_list, urls=urls, as_json=as_json, summary=summary))
    exit_process(code)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8000,
    data: DataFolder = None,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve Prometheus metrics of the API at this address, at /metrics."),
    ] = None,
    worker_metrics: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="The same for the metrics of the worker that this command starts."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Write only the log, no welcome for people.")] = False,
) -> None:
    """Serve the API and the pages.

    With nothing configured, also visit sites, feed the index and run the recurring jobs, in a child process. With
    DATABASE_URL, start `waypost worker` and `waypost schedule` for that.
    """
    from registry.cli.serving import run_serve
    from registry.cli.shutdown import exit_process

    _address(worker_metrics, "--worker-metrics")
    listen = _address(metrics)
    settings = read_settings(data=data)
    if listen is None:
        listen = _address(settings.serve_metrics, "WAYPOST_SERVE_METRICS")
    run_async(run_serve(settings, host, port, listen, worker_metrics, quiet=quiet))
    exit_process()


@app.command()
def mcp(
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask the registry at this address instead of the local one.")
    ] = None,
    profile: Annotated[
        Literal["lean", "full"], typer.Option(help="List of tools: short, or with the schemas of all results.")
    ] = "lean",
    data: DataFolder = None,
) -> None:
    """Serve MCP over standard input and output.

    For model hosts that start this program. Only the protocol's messages go to standard output. Ends with standard
    input.
    """
    from registry.cli.mcp import run_mcp
    from registry.cli.shutdown import exit_process

    run_async(run_mcp(read_settings(data=data), url, profile))
    exit_process()


@app.command()
@on_registry
async def inspect(
    waypost: "Waypost",
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="A host, or a registrable domain.")],
    visits: Annotated[int, typer.Option(min=0, max=1_000, help="Number of visits to show, the latest first.")] = 5,
    as_json: AsJson = False,
) -> int:
    """Show when and how a host was visited, and what comes next.

    Prints the reasons why it is not listed, the requests and answers of each visit, and the reason for the next visit.
    Exit code 1 when the host is unknown.
    """
    from registry.cli.inspection import show_account

    return await show_account(waypost, domain, visits, as_json=as_json)


@app.command()
def changes(
    types: Annotated[
        str | None, typer.Option(help="Only these types of events, comma separated, such as service.*.")
    ] = None,
    cursor: Annotated[str | None, typer.Option(help="Go on after the last event of an earlier call.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print events as they come; without --cursor only those.")
    ] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Print what changed, from the oldest event that is kept."""
    from registry.cli.changes import show_changes, types_of

    wanted = types_of(types)
    common.run_with_registry(
        lambda waypost: show_changes(waypost, wanted, cursor, follow=follow, as_json=as_json), data
    )


@app.command()
def translate(
    target: Annotated[str, typer.Argument(metavar="HOST|FILE", help="A listed host, a file, or - (standard input).")],
    to: Annotated[str, typer.Option(metavar="SLUG", help="awp, atp, awas, adp, woa or a2a.")],
    at: Annotated[
        str | None, typer.Option(metavar="PATH|URL", help="Path or https URL at which the file would be served.")
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="Version of the manifest, if its format needs one and none is known."),
    ] = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Write a service as a manifest of another format.

    What that format cannot express is reported. The document goes to standard output, the losses to standard error.
    Exit code 1 when the format cannot describe the service without inventing facts.
    """
    from registry.cli.check import CheckOptions, is_file
    from registry.cli.translate import show, translate_file, translate_host
    from registry.core.translating import TARGETS

    if to not in TARGETS:
        fail(f"unknown target format; services can be translated to {', '.join(TARGETS)}", USAGE)
    settings = read_settings(data=data)
    if is_file(target):
        with exit_on_error():
            translation, served_as = translate_file(target, CheckOptions(settings, at), to, version)
    else:
        served_as = None
        translation = run_async(
            common.with_registry(lambda waypost: translate_host(waypost, settings, target, to, version), data)
        )
    raise typer.Exit(show(translation, served_as, as_json=as_json))


@app.command()
@begins_registry
async def submit(
    waypost: "Waypost", names: Annotated[list[str], typer.Argument(metavar="DOMAIN...")], as_json: AsJson = False
) -> int:
    """Queue hosts for a visit. Exit code 1 when a name is refused."""
    from registry.cli.show import show_submissions

    return await show_submissions(waypost, names, as_json=as_json)


@app.command()
def worker(
    drain_only: Annotated[bool, typer.Option(help="Only update the search index; do not crawl.")] = False,
    data: DataFolder = None,
    metrics: Metrics = None,
    stop_with_stdin: Annotated[bool, typer.Option(hidden=True)] = False,
    with_schedule: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Crawl what is due and keep the search index current.

    Runs until stopped. Any number of workers may run.
    """
    from registry.cli.shutdown import Parent, exit_process

    parent = Parent() if stop_with_stdin else None  # before the slow imports
    from registry.cli.working import run_worker

    listen = _address(metrics)
    settings = read_settings(data=data, warns=not stop_with_stdin)
    run_async(run_worker(settings, drain_only=drain_only, parent=parent, metrics=listen, with_schedule=with_schedule))
    exit_process()


@app.command()
def schedule(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[JOB...]", help="With --once: run these, due or not.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Run due (or the named) jobs and exit.")] = False,
    show: Annotated[bool, typer.Option("--list", help="Show the jobs with their last and next runs.")] = False,
    data: DataFolder = None,
    metrics: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve Prometheus metrics of the jobs at this address.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the recurring jobs.

    They are recrawl, rescore, reindex, prune, refresh and export; they run until stopped, and one process is elected
    leader.

    With --once, for cron and timers: exit code 1 when a job failed or is running in another process.
    """
    from registry.cli import scheduling
    from registry.wiring.schedule import JOB_BY_NAME

    if unknown := sorted(set(names or ()) - set(JOB_BY_NAME)):
        fail(f"unknown job: {unknown[0]}; known jobs: {', '.join(JOB_BY_NAME)}", USAGE)
    if (names and not once) or (once and show):
        fail("job names need --once; --once and --list are mutually exclusive", USAGE)
    if show:
        settings = read_settings(data=data)
        with exit_on_error():
            common.require_registry(settings)
        run_async(scheduling.show_schedule(settings, as_json=as_json))
    elif once:
        common.run_and_exit(scheduling.run_once(read_settings(data=data), names or (), as_json=as_json))
    else:
        run_async(scheduling.run_schedule(read_settings(data=data), _address(metrics)))


@app.command()
def backup(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new folder.")],
    with_keys: Annotated[
        bool, typer.Option("--with-keys", help="Also save the private keys that sign the crawler's requests.")
    ] = False,
    checks: Annotated[bool, typer.Option("--check", help="Then restore it into a temporary server.")] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Back up the database and the opt-outs.

    Everything may go on running. DIR appears when it is whole. Only its owner can read it: it holds the secrets of
    webhooks. Exit code 1 when it does not restore; 3 when it cannot be written, for instance because the disk is full:
    then nothing is left.
    """
    from registry.cli.backup import run_backup

    settings = read_settings(data=data)
    with exit_on_error():
        common.require_registry(settings)
        run_backup(settings, folder, with_keys=with_keys, checks=checks, as_json=as_json)


@app.command()
def restore(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What `waypost backup` wrote.")],
    replaces: Annotated[
        str | None,
        typer.Option("--replace", metavar="NAME", help="Delete everything that the database of this name holds."),
    ] = None,
    with_keys: Annotated[
        bool, typer.Option("--with-keys", help="Leave API keys valid, and put saved signing keys back.")
    ] = False,
    checks: Annotated[bool, typer.Option("--check", help="Only try it, in a temporary server.")] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Restore a backup, whole or not at all.

    Stop serve, workers and the schedule first. Sites that opted out since the backup stay out. API keys are revoked,
    because some may have been revoked since. Search indexes are filled again. Restore only backups of your own: a
    backup is a program for the database. Exit code 1 when the backup is damaged, 2 when something forbids to restore
    it here.
    """
    from registry.cli.backup import run_check, run_restore

    settings = read_settings(data=data)
    with exit_on_error():
        if checks:
            run_check(folder, as_json=as_json)
        else:
            run_restore(settings, folder, replaces=replaces, with_keys=with_keys, as_json=as_json)


@app.command()
@on_registry
async def export(
    waypost: "Waypost",
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Where to write; by default where `serve` finds it.")
    ] = None,
    with_documents: Annotated[
        bool, typer.Option("--with-documents", help="Add the bytes of the documents, as base64.")
    ] = False,
    without_restricted: Annotated[
        bool, typer.Option("--without-restricted", help="Leave out services whose sites restrict training.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Write a dump of everything public.

    Parts of compressed NDJSON and a manifest, as of one moment; earlier dumps stay until newer ones exist. Exit code 3
    when it cannot be written, for instance because the disk is full: then nothing has changed.
    """
    from registry.cli.copying import show_export

    restricted = True if without_restricted else None
    return await show_export(
        waypost, folder, with_documents=with_documents, without_restricted=restricted, as_json=as_json
    )


@app.command()
def mirror(
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="The registry to copy, by https.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Stop when everything that it has now is applied.")] = False,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="A folder with a dump of it, to begin with.")
    ] = None,
    reload_hours: Annotated[
        float,
        typer.Option("--reload", min=0.01, metavar="HOURS", help="Age at which a dump is replaced by a newer one."),
    ] = 24.0,
    status: Annotated[bool, typer.Option("--status", help="Show how far the copy is, and exit.")] = False,
    connect_to: ConnectTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Copy another waypost, and keep the copy current.

    Loads its newest dump, then follows its change feed until stopped. Needs an empty database; a mirror visits no
    sites. It can be killed at any moment and goes on where it was. `waypost serve` answers from the copy meanwhile.
    """
    from registry.cli.copying import run_mirror, show_mirror

    if (url is None) != status:
        fail("name the registry to copy, or ask for --status", USAGE)
    settings = read_settings(connect_to, data)
    if url is None:
        with exit_on_error():
            common.require_registry(settings)
        common.run_and_exit(show_mirror(settings, as_json=as_json))
    common.run_and_exit(run_mirror(settings, url, once=once, source=source, reload_hours=reload_hours))


@app.command()
def maintenance(
    state: Annotated[Literal["on", "off"], typer.Argument(help="Whether the registry is in maintenance.")],
    message: Annotated[str, typer.Argument(help="The message for clients.")] = "It ends soon.",
    data: DataFolder = None,
) -> None:
    """Begin or end a maintenance, in which only reads work.

    Opt-outs are still accepted; other writes are refused, and workers and the schedule pause. All processes follow
    within five seconds. Jobs and visits in progress end first: see `waypost status`.
    """

    async def change(waypost: "Waypost") -> int:
        await waypost.jobs.set_maintenance(message if state == "on" else None)
        return DONE

    common.run_with_registry(change, data)


@app.command()
def forget(
    name: Annotated[str, typer.Argument(metavar="DOMAIN", help="A registrable domain, or a host and all below it.")],
    opt_out: Annotated[bool, typer.Option("--opt-out", help="Record an opt-out: it is never visited again.")] = False,
    reason: Annotated[str, typer.Option(help="Reason, stored in the change feed and with the opt-out.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Delete everything stored about a domain.

    It disappears from all answers at once. Asks first; exit code 1 when nothing was stored. Without --opt-out it can be
    named, submitted and visited again. An existing opt-out is kept.
    """
    from registry.cli.removal import confirm_forgetting, show_forgotten
    from registry.core.names.domains import host_syntax

    settings = read_settings(data=data)
    registry = "the configured database" if settings.database_url else f"the registry in {settings.data}"
    with exit_on_error():
        host_syntax(name)
        if not opt_out:
            common.require_registry(settings)
        confirm_forgetting(name, registry, opt_out=opt_out, is_confirmed=yes)
    common.run_with_registry(
        lambda waypost: show_forgotten(waypost, name, opt_out=opt_out, reason=reason, as_json=as_json),
        data,
        creates=opt_out,
    )


@app.command()
def optout(
    name: Annotated[str, typer.Argument(metavar="DOMAIN", help="The host whose opt-out is checked.")],
    undo: Annotated[bool, typer.Option("--undo", help="Readmit a host that withdrew its opt-out.")] = False,
    force: Annotated[bool, typer.Option("--force", help="With --undo: do not check the site.")] = False,
    connect_to: ConnectTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Check whether a site opted out, and apply what it says.

    Reads its opt-out file and TXT record (see /bot). Exit code 1 when nothing changed because the site does not declare
    it, or could not be read.
    """
    from registry.cli.removal import show_opt_out

    settings = read_settings(connect_to, data)
    common.run_with_registry(
        lambda waypost: show_opt_out(waypost, settings, name, undo=undo, force=force, as_json=as_json),
        data,
        creates=True,
    )


@app.command()
@on_registry
async def reindex(waypost: "Waypost", as_json: AsJson = False) -> int:
    """Rebuild the search index.

    The new one is built beside the current one, which then is replaced.
    """
    from registry.cli.show import show_reindex

    return await show_reindex(waypost, as_json=as_json)


@app.command()
@on_registry
async def rescore(waypost: "Waypost", as_json: AsJson = False) -> int:
    """Score all stored documents with the current rubric.

    Makes no requests. Exit code 1 when a host fails.
    """
    from registry.cli.show import show_rescore

    return await show_rescore(waypost, as_json=as_json)


@app.command()
def migrate(data: DataFolder = None) -> None:
    """Upgrade the database schema to the version of this program."""
    from registry.cli.terminal import console
    from registry.wiring import migrate_database

    revision = run_async(migrate_database(read_settings(data=data)))
    console.print(f"schema is at {revision}")


@app.command()
@on_registry
async def verify_index(
    waypost: "Waypost",
    repair: Annotated[
        bool, typer.Option("--repair", help="Queue the differing services, so that the next drain repairs them.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Compare the search index with the database.

    Every service is compared; exit code 1 when they differ.
    """
    from registry.cli.show import show_comparison

    return await show_comparison(waypost, repair=repair, as_json=as_json)


@app.command()
def search_keys(
    out: Annotated[Path, typer.Option(help="Folder for the keys; only the owner can read the files.")],
) -> None:
    """Create least-privilege API keys of a Meilisearch server.

    Needs its master key; repeatable.
    """
    from registry.cli.terminal import console
    from registry.wiring.searching import hand_out_search_keys

    with exit_on_error():
        for path in hand_out_search_keys(read_settings(), out):
            console.print(str(path), soft_wrap=True)


@app.command()
def status(data: DataFolder = None, as_json: AsJson = False) -> None:
    """Show how the registry is doing, on one screen.

    Services, queue, visits, index, jobs and disk. Exit code 1 when something is not well.
    """
    settings = read_settings(data=data)
    with exit_on_error():
        common.require_registry(settings)
    from registry.cli.registry_state import show_status

    common.run_and_exit(show_status(settings, as_json=as_json))


@app.command()
def doctor(
    online: Annotated[bool, typer.Option("--online", help="Also try to reach the internet.")] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Check database, index, disk, clock, names, settings.

    Each line says what to do. Changes nothing. Exit code 1 when there is an error.
    """
    from registry.cli.doctor import show_diagnosis
    from registry.cli.shutdown import exit_process

    exit_process(run_async(show_diagnosis(read_settings(data=data, warns=False), online=online, as_json=as_json)))


@app.command()
def config(
    changed: Annotated[bool, typer.Option("--changed", help="Leave out settings that have their default.")] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Show all settings: value, origin and meaning.

    Secrets are not shown.
    """
    from registry.cli.configuration import show_config

    show_config(read_settings(data=data), has_data_option=data is not None, changed=changed, as_json=as_json)


@app.command()
def completion(
    context: typer.Context,
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print a script that completes commands and options with Tab.

    For bash, add this line to ~/.bashrc: source <(waypost completion bash)

    For zsh, add it to ~/.zshrc after `compinit`: source <(waypost completion zsh)

    For fish, run once: waypost completion fish > ~/.config/fish/completions/waypost.fish
    """
    from typer.completion import shell_complete

    common.register_shells()
    shell_complete(context.find_root().command, {}, "waypost", common.COMPLETION_VARIABLE, f"source_{shell}")


def _address(text: str | None, name: str = "--metrics") -> tuple[str, int] | None:
    if text is None:
        return None
    from registry.cli.metrics import address

    try:
        return address(text)
    except ValueError as error:
        fail(f"{name}: {error}", USAGE)


app.add_typer(admin, name="admin")
app.add_typer(webhooks, name="webhooks")
app.add_typer(seeds, name="seed")
app.add_typer(keys, name="keys")
