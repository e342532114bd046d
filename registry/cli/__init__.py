"""`waypost`: each command reads its arguments, opens the house and prints what a verb answered.

Imports of rooms are inside the commands: `--help` must not load a web framework. Long: all commands but `seed`,
`search-keys` and `verify-index` stand here with their arguments.
"""

import asyncio
import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from registry.cli.ending import Parent, leave
from registry.cli.porch import (
    DONE,
    INTERRUPTED,
    NO,
    USAGE,
    AsJson,
    ConnectTo,
    carry_out,
    complain,
    console,
    errors,
    give_up,
    mended,
    opened,
    read_settings,
)
from registry.cli.search_keys import search_keys
from registry.cli.seeding import seeds
from registry.cli.verify import verify_index

if TYPE_CHECKING:
    from registry.cli.checked import Checked, Unread

HELP = """Waypost, the open discovery registry of the agent web.

[bold]Exit codes[/]: 0 done; 1 done, and the answer is no (nothing found, a check with errors, a refused name);
2 wrong usage; 3 the registry cannot be reached or is not ready (database, schema, index, port); 130 interrupted.
"""

app = typer.Typer(
    pretty_exceptions_enable=False, no_args_is_help=True, add_completion=False, rich_markup_mode="rich", help=HELP
)
Metrics = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Show the worker's figures for Prometheus there, at /metrics."),
]

app.add_typer(seeds, name="seed")
app.command("search-keys")(search_keys)
app.command("verify-index")(verify_index)


def main() -> None:
    """The entry point; what commands cannot answer for is told in one line, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that knows few letters is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


@app.command()
def demo(
    sites: Annotated[Path | None, typer.Option(help="Folder of recorded sites: SITES/<host>/<path>.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where the API is served at the end.")] = 8000,
    data: Annotated[Path | None, typer.Option(help="Folder of the demo's own database and index.")] = None,
    serve: Annotated[bool, typer.Option(help="Serve the API at the end; otherwise stop.")] = True,
    as_json: AsJson = False,
) -> None:
    """Crawl a sample web over TLS on loopback, index it, search it, serve it. Needs no internet."""
    from registry.cli.run import run_demo

    settings = read_settings()
    folder = data or settings.data / "demo"
    carry_out(
        run_demo(folder.absolute(), port, sites, serve=serve, console=errors if as_json else console, as_json=as_json)
    )
    leave()


@app.command()
def crawl(
    names: Annotated[list[str] | None, typer.Argument(metavar="DOMAIN...", help="Hosts to visit now.")] = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="FILE", help="A list of hosts instead; - is standard input.")
    ] = None,
    urls: Annotated[bool, typer.Option("--urls", help="With --from: of a URL take the host.")] = False,
    summary: Annotated[
        bool, typer.Option("--summary", help="With --from and --json: the summary only, no line for each host.")
    ] = False,
    connect_to: ConnectTo = None,
    as_json: AsJson = False,
) -> None:
    """Visit domains once, store what they serve, and report. Exit code 1 when none is listed, or one is refused.

    With --from: queue a list of any length (see `waypost seed file`), then visit until nothing is due any more, others
    that wait included; hosts that were visited lately wait for their time. Then exit code 1 means that nothing of the
    list was taken, or that it was not read to its end.
    """
    from registry.cli.run import run_crawl

    if bool(names) == (source is not None):
        give_up("give either hosts or --from", USAGE)
    settings = read_settings(connect_to)
    if source is None:
        leave(carry_out(run_crawl(settings, names or (), console=console, as_json=as_json)))
    from crawler.seeds.opened import opened as opened_list
    from registry.cli.onepass import run_from

    with mended(), opened_list(source) as taken:
        work = run_from(settings, taken, urls=urls, console=console, as_json=as_json, summary=summary)
        code = carry_out(work)
    leave(code)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8000,
    metrics: Metrics = None,
) -> None:
    """Serve the API. With nothing configured a worker is kept running beside it; `--metrics` is that worker's."""
    from registry.cli.run import run_serve

    _address(metrics)
    carry_out(run_serve(read_settings(), host, port, metrics))
    leave()


@app.command()
def worker(
    drain_only: Annotated[bool, typer.Option(help="Only feed the index; do not crawl.")] = False,
    metrics: Metrics = None,
    stop_with_stdin: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Crawl what is due and feed the index, until stopped. As many as wanted."""
    parent = Parent() if stop_with_stdin else None  # before anything that takes time
    from registry.cli.working import run_worker

    listen = _address(metrics)
    carry_out(run_worker(read_settings(), drain_only=drain_only, parent=parent, metrics=listen))
    leave()


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What an agent needs, in its own words.")],
    limit: Annotated[int, typer.Option(min=1, max=50)] = 5,
    as_json: AsJson = False,
) -> None:
    """Ask the registry. Exit code 1 when nothing was found."""
    from registry.cli.show import show_search

    raise typer.Exit(carry_out(opened(lambda waypost: show_search(waypost, query, limit, console, as_json=as_json))))


@app.command()
def check(
    targets: Annotated[
        list[str], typer.Argument(metavar="TARGET...", help="Files, - (standard input), https URLs or domains.")
    ],
    at: Annotated[str | None, typer.Option(metavar="PATH", help="Path at which the files would be served.")] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="SLUG", help="What the documents are meant to be; else told apart."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as errors.")] = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print one SARIF 2.1.0 log of all targets.")] = False,
    connect_to: ConnectTo = None,
    as_json: AsJson = False,
) -> None:
    """Tell what waypost thinks of manifests, without storing anything.

    A TARGET that exists as a file is read as one. Exit code 0: nothing wrong; 1: a target has errors, is no manifest,
    or was not found; 2: wrong usage, or a target that could not be read (the others are still checked; with --json
    its outcome is "error").
    """
    from registry.cli.check import Asked, check_targets
    from registry.cli.checked import Unread

    if sarif and as_json:
        give_up("--sarif and --json exclude each other", USAGE)
    settings = read_settings(connect_to)
    results: list[Checked | Unread] = []
    with mended():
        for one in check_targets(targets, Asked(settings, at, _known_format(form)), _waiting):
            results.append(one)
            if not sarif:
                _show_checked(one, as_json=as_json)
        if sarif:
            from registry.cli.sarif import sarif_log

            told = settings.public_url if "public_url" in settings.model_fields_set else None
            typer.echo(sarif_log(results, public_url=told))
    if any(isinstance(one, Unread) for one in results):
        raise typer.Exit(USAGE)
    raise typer.Exit(DONE if all(one.passed(strict=strict) for one in results if not isinstance(one, Unread)) else NO)


def _known_format(slug: str | None) -> str | None:
    from registry.core.recognise import FORMAT_BY_SLUG

    if slug is not None and slug not in FORMAT_BY_SLUG:
        give_up(f"no such format; known: {', '.join(FORMAT_BY_SLUG)}", USAGE)
    return slug


def _show_checked(one: "Checked | Unread", *, as_json: bool) -> None:
    from registry.cli.checked import Unread, json_line, print_checked, visible

    if as_json:
        typer.echo(json_line(one))
    if isinstance(one, Unread):
        complain(visible(f"{one.target}: {one.message}"))
    elif not as_json:
        print_checked(console, one)


@contextlib.contextmanager
def _waiting(target: str, number: int, total: int) -> Iterator[None]:
    """A visit takes half a minute: a person at a terminal sees which one; a log gets nothing."""
    from registry.cli.checked import visible

    if not errors.is_terminal:
        yield
        return
    with errors.status(f"{number}/{total}: visiting {escape(visible(target))}"):
        yield


@app.command()
def translate(
    target: Annotated[str, typer.Argument(metavar="HOST|FILE", help="A listed host, a file, or - (standard input).")],
    to: Annotated[str, typer.Option(metavar="SLUG", help="awp, atp, awas, adp, woa or a2a.")],
    at: Annotated[str | None, typer.Option(metavar="PATH", help="Path at which the file would be served.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a service as a manifest of another format, and tell what that format does not say.

    The document goes to standard output, what is lost to standard error. Exit code 1 when the format cannot say
    anything truthful of the service: nothing is invented.
    """
    from registry.cli.check import Asked, is_file
    from registry.cli.translate import show, translate_file, translate_host
    from registry.core.translate import TARGETS

    if to not in TARGETS:
        give_up(f"services are translated to {', '.join(TARGETS)}", USAGE)
    settings = read_settings()
    if is_file(target):
        with mended():
            made = translate_file(target, Asked(settings, at), to)
    else:
        made = carry_out(opened(lambda waypost: translate_host(waypost, settings, target, to)))
    raise typer.Exit(show(made, errors, as_json=as_json))


@app.command()
def submit(
    names: Annotated[list[str], typer.Argument(metavar="DOMAIN...")],
    as_json: AsJson = False,
) -> None:
    """Queue domains for a visit soon. Exit code 1 when any name is refused."""
    from registry.cli.show import show_submissions

    raise typer.Exit(carry_out(opened(lambda waypost: show_submissions(waypost, names, console, as_json=as_json))))


@app.command()
def inspect(
    domain: Annotated[str, typer.Argument(metavar="DOMAIN", help="A host, or a registrable domain.")],
    visits: Annotated[int, typer.Option(min=0, max=1_000, help="Visits to tell, the latest first.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Tell the ledger of a host: when it was visited, what was asked, what came, and why the next visit is when it is.

    Exit code 1 when nobody ever named it.
    """
    from registry.cli.inspecting import show_account

    raise typer.Exit(carry_out(opened(lambda waypost: show_account(waypost, domain, visits, console, as_json=as_json))))


@app.command()
def forget(
    name: Annotated[str, typer.Argument(metavar="DOMAIN", help="A registrable domain, or a host and all below it.")],
    opt_out: Annotated[bool, typer.Option("--opt-out", help="Keep it out for good.")] = False,
    reason: Annotated[str, typer.Option(help="Why; kept in the feed of changes and with the opt-out.")] = "",
    as_json: AsJson = False,
) -> None:
    """Delete everything stored of a domain; it is out of every answer at once.

    Without --opt-out it may be named, submitted and visited again. An opt-out that was there before is kept.
    """
    from registry.cli.leaving import show_forgotten

    work = opened(
        lambda waypost: show_forgotten(waypost, name, console, opt_out=opt_out, reason=reason, as_json=as_json)
    )
    raise typer.Exit(carry_out(work))


@app.command()
def optout(
    name: Annotated[str, typer.Argument(metavar="DOMAIN", help="The host that is said to opt out.")],
    undo: Annotated[bool, typer.Option("--undo", help="It wants to come back.")] = False,
    force: Annotated[bool, typer.Option("--force", help="With --undo: whatever the site says.")] = False,
    connect_to: ConnectTo = None,
    as_json: AsJson = False,
) -> None:
    """Look at a site itself whether it opts out, by its file or TXT record (see /bot), and act on it.

    Exit code 1 when nothing changed because the site does not say so, or could not be read.
    """
    from registry.cli.leaving import show_opt_out

    settings = read_settings(connect_to)
    work = opened(
        lambda waypost: show_opt_out(waypost, settings, name, console, undo=undo, force=force, as_json=as_json)
    )
    raise typer.Exit(carry_out(work))


@app.command()
def reindex(as_json: AsJson = False) -> None:
    """Build the search index anew beside the old one, then swap."""
    from registry.cli.show import show_reindex

    carry_out(opened(lambda waypost: show_reindex(waypost, console, as_json=as_json)))


@app.command()
def rescore(as_json: AsJson = False) -> None:
    """Score all stored documents by today's rubric; no site is asked. Exit code 1 when a host could not be scored."""
    from registry.cli.show import show_rescore

    raise typer.Exit(carry_out(opened(lambda waypost: show_rescore(waypost, console, as_json=as_json))))


@app.command()
def schedule(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[JOB...]", help="With --once: run these, due or not.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Run the jobs that are due, or those named, and exit.")] = False,
    show: Annotated[bool, typer.Option("--list", help="Show the jobs, their last runs and their next.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the recurring jobs (recrawl, rescore, reindex, prune, refresh) until stopped; of several, one leads.

    With --once, for cron and timers: exit code 1 when a job failed or runs elsewhere.
    """
    from registry.cli import scheduling
    from registry.wiring.schedule import JOB_BY_NAME

    if unknown := sorted(set(names or ()) - set(JOB_BY_NAME)):
        give_up(f"no such job: {unknown[0]}; there are {', '.join(JOB_BY_NAME)}", USAGE)
    if (names and not once) or (once and show):
        give_up("jobs are named with --once, which excludes --list", USAGE)
    if show:
        carry_out(scheduling.show_schedule(read_settings(), console, as_json=as_json))
    elif once:
        told = errors if as_json else console
        raise typer.Exit(carry_out(scheduling.run_once(read_settings(), names or (), told, as_json=as_json)))
    else:
        carry_out(scheduling.run_schedule(read_settings()))


@app.command()
def migrate() -> None:
    """Bring the database to the schema of this program."""
    from registry.store.migrate import current_head, upgrade
    from registry.wiring import database_url

    async def upgraded() -> None:
        url, let_go = await asyncio.to_thread(database_url, read_settings())
        try:
            await asyncio.to_thread(upgrade, url)
        finally:
            let_go()

    carry_out(upgraded())
    console.print(f"schema is at {current_head()}")


def _address(text: str | None) -> tuple[str, int] | None:
    from registry.cli.metrics import address

    try:
        return None if text is None else address(text)
    except ValueError as error:
        give_up(f"--metrics: {error}", USAGE)
