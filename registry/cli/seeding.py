"""`waypost seed`: read names from a source into the frontier and report what was added and refused.

Long because each source is a command with its options and help text.
"""

import contextlib
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from registry.cli.clean import print_json, visible
from registry.cli.common import DONE, NO, AsJson, ConnectTo, DataFolder, exit_on_error, read_settings, run_and_exit

if TYPE_CHECKING:
    from rich.console import Console

    from crawler.seeds.opened import OpenList
    from crawler.seeds.pages import Progress
    from registry.actions.frontier.frontier import SeedReport
    from registry.core.names.seeds import Refusal, Seed, Seeds
    from registry.settings import Settings
    from registry.wiring import Waypost

EXAMPLES = 3

seeds = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="""Queue the domains that a source names.

    The source of each name is stored. Known names stay unchanged, so any source may be read again. Exit code 1 when
    nothing was taken from the source, or when it was not read to its end. Refused names are only reported. """,
)

ListFile = Annotated[
    str, typer.Argument(metavar="FILE", help="A file, also packed (.gz, .zip), or - (standard input).")
]
Urls = Annotated[bool, typer.Option("--urls", help="Take the host of each URL; otherwise URLs are refused.")]
Called = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Name of the list to store, instead of the file's name.")
]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="Take only the first N rows.")]
RefusedTo = Annotated[
    Path | None, typer.Option("--refused", metavar="FILE", help="Write all refusals to this file, as JSON lines.")
]
Restart = Annotated[bool, typer.Option("--restart", help="Start from the beginning, even after an interrupted run.")]


@dataclass(frozen=True, slots=True)
class SeedOptions:
    """Options of all sources: the file for refusals, the data folder if one is given, and whether to print JSON."""

    refused: Path | None
    data: Path | None
    as_json: bool


@seeds.command()
def file(
    target: ListFile,
    urls: Urls = False,
    called: Called = None,
    refused: RefusedTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """A list with a name on each line; `#` begins a comment."""
    from crawler.seeds.lines import FILE, names
    from crawler.seeds.opened import opened

    with exit_on_error(), opened(target) as source:
        _load(FILE.slug, source, names(source, urls=urls, list_name=called), SeedOptions(refused, data, as_json))


@seeds.command()
def csv(
    target: ListFile,
    column: Annotated[
        str | None, typer.Option(help="Heading or number (from 1) of the column; else it is found.")
    ] = None,
    limit: Limit = None,
    urls: Urls = False,
    called: Called = None,
    refused: RefusedTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """A column of a table of names.

    Commas, tabs or semicolons separate its columns; it may have a header.
    """
    from crawler.seeds.opened import opened
    from crawler.seeds.tables import CSV, names

    with exit_on_error(), opened(target) as source:
        entries = names(source, column=column, urls=urls, list_name=called)
        _load(CSV.slug, source, islice(entries, limit), SeedOptions(refused, data, as_json))


@seeds.command()
def tranco(
    target: ListFile,
    limit: Limit = None,
    called: Called = None,
    refused: RefusedTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """A list of rank,domain; the first rank is visited first."""
    from crawler.seeds.opened import opened
    from crawler.seeds.tables import TRANCO, TRANCO_COLUMN, names

    with exit_on_error(), opened(target) as source:
        entries = names(source, column=TRANCO_COLUMN, list_name=called)
        _load(TRANCO.slug, source, islice(entries, limit), SeedOptions(refused, data, as_json))


@seeds.command()
def sitemap(
    url: Annotated[str, typer.Argument(metavar="URL", help="A sitemap, or an index of sitemaps of the same site.")],
    refused: RefusedTo = None,
    connect_to: ConnectTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """The hosts of the URLs in a sitemap.

    It is fetched as politely as any page.
    """
    from crawler.seeds.sitemap import SITEMAP, names

    _read_online(SITEMAP.slug, url, names, read_settings(connect_to, data), SeedOptions(refused, data, as_json))


@seeds.command()
def mcp_registry(
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Base URL of a registry; the official one by default.")
    ] = None,
    saved_as: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="Read a saved list instead; - is standard input.")
    ] = None,
    restart: Restart = False,
    refused: RefusedTo = None,
    connect_to: ConnectTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """The hosts of the servers that an MCP registry lists.

    These are the hosts of their endpoints and web sites. The next run continues an interrupted one; after a complete
    run it reads only what was updated since.
    """
    from crawler.seeds.mcp_registry import MCP_REGISTRY, OFFICIAL, first_page, names, saved
    from crawler.seeds.opened import opened
    from crawler.seeds.source import BadSource

    output = SeedOptions(refused, data, as_json)
    with exit_on_error():
        if url is not None and saved_as is not None:
            raise BadSource("--url and --file exclude each other")
        if saved_as is not None:
            with opened(saved_as) as source:
                _load(MCP_REGISTRY.slug, source, saved(source), output)
    _read_online(
        MCP_REGISTRY.slug, first_page(url or OFFICIAL), names, read_settings(connect_to, data), output, restart
    )


@seeds.command()
def ard_registry(
    url: Annotated[str, typer.Argument(metavar="URL", help="Base URL of a registry that speaks ARD.")],
    restart: Restart = False,
    refused: RefusedTo = None,
    connect_to: ConnectTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """The hosts of the entries of an ARD registry.

    Its list is read. A registry without a list is asked for its publishers, or else general questions. The next run
    continues an interrupted one.
    """
    from crawler.seeds.ard import ARD_REGISTRY, base_of, registry_names

    settings, output = read_settings(connect_to, data), SeedOptions(refused, data, as_json)
    _read_online(ARD_REGISTRY.slug, base_of(url), registry_names, settings, output, restart)


@seeds.command()
def ard_catalog(
    url: Annotated[str, typer.Argument(metavar="URL", help="A catalogue (ard.json), or the site that serves one.")],
    refused: RefusedTo = None,
    connect_to: ConnectTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """The hosts of the entries of a catalogue.

    Catalogues of the same site inside it are read too.
    """
    from crawler.seeds.ard import ARD_CATALOG, catalogue_names

    output = SeedOptions(refused, data, as_json)
    _read_online(ARD_CATALOG.slug, url, catalogue_names, read_settings(connect_to, data), output)


@seeds.command()
def waypost(
    url: Annotated[str, typer.Argument(metavar="URL", help="Base URL of another waypost registry.")],
    restart: Restart = False,
    refused: RefusedTo = None,
    connect_to: ConnectTo = None,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """The hosts of the services that another waypost lists.

    The next run continues an interrupted one; after a complete run it reads only what is new.
    """
    from crawler.seeds.waypost import WAYPOST, base_of, names

    settings, output = read_settings(connect_to, data), SeedOptions(refused, data, as_json)
    _read_online(WAYPOST.slug, base_of(url), names, settings, output, restart)


@seeds.command()
def links(refused: RefusedTo = None, data: DataFolder = None, as_json: AsJson = False) -> None:
    """The unvisited hosts that stored manifests name.

    Exit code 0, even if there is no such host.
    """
    from crawler.seeds.source import LINKS, fold

    async def seed_links() -> int:
        from registry.cli.terminal import errors
        from registry.wiring import open_waypost

        async with open_waypost(read_settings(data=data)) as waypost:
            with _refusal_file(refused) as on_refusal, progress_of(errors) as progress:
                report = await fold(waypost, on_refusal, progress)
        show(LINKS.slug, report, as_json=as_json)
        return DONE

    run_and_exit(seed_links())


def _load(slug: str, source: "OpenList", entries: "Iterator[Seed | Refusal]", output: SeedOptions) -> NoReturn:
    """Seed from a source, then exit. It is opened first, so a bad file is reported before a database starts."""

    @contextlib.asynccontextmanager
    async def read(_: "Waypost") -> "AsyncIterator[Seeds]":
        try:
            yield entries
        finally:
            source.close()  # the event loop waits for its threads at exit, and one may still be reading

    run_and_exit(_seed(read_settings(data=output.data), slug, read, output))


def _read_online(
    slug: str,
    url: str,
    names: "Callable[..., Seeds]",
    settings: "Settings",
    output: SeedOptions,
    restart: bool | None = None,
) -> NoReturn:
    """Seed from an online source, then exit. `names` takes the canonical URL and its reader.

    With a `restart` that is not None, a source of pages: `names` also takes the start position, which is where an
    interrupted run ended unless `restart` is true.
    """
    from crawler.seeds.pages import Progress

    progress = None if restart is None else Progress(settings.data, slug, url)
    if progress and restart:
        progress.forget()
    start = progress.start() if progress else ""

    @contextlib.asynccontextmanager
    async def read(waypost: "Waypost") -> "AsyncIterator[Seeds]":
        from crawler.seeds.online import reading
        from registry.cli.terminal import errors

        if progress and start:
            what = "reading what is new" if progress.is_complete else "continuing the interrupted run"
            errors.print(f"{slug}: {what}; --restart starts from the beginning", highlight=False)
        async with reading(url, waypost, settings) as (reader, canonical):
            yield names(canonical, reader, start) if progress else names(canonical, reader)

    run_and_exit(_seed(settings, slug, read, output, progress))


async def _seed(
    settings: "Settings",
    slug: str,
    read: "Callable[[Waypost], AbstractAsyncContextManager[Seeds]]",
    output: SeedOptions,
    kept: "Progress | None" = None,
) -> int:
    """Seed, show the report, return the exit code. `kept`: stores the position in a paged source."""
    from registry.cli.terminal import errors
    from registry.wiring import open_waypost

    is_update = kept is not None and kept.is_complete  # a complete run without new names is a success
    async with open_waypost(settings) as waypost:
        with _refusal_file(output.refused) as on_refusal, progress_of(errors) as progress:
            async with read(waypost) as entries:
                keep = kept.keep if kept else lambda _: None
                report = await waypost.frontier.seed(
                    entries, source=slug, on_refusal=on_refusal, progress=progress, on_checkpoint=keep
                )
    was_complete = kept is not None and kept.is_complete
    if kept and is_complete(report) and not was_complete:
        kept.forget()
    show(slug, report, as_json=output.as_json)
    return DONE if is_complete(report) and (report.hosts + report.known or is_update) else NO


def is_complete(report: "SeedReport") -> bool:
    """Return True when the source was read to its end."""
    from crawler.seeds.source import BROKEN_OFF

    return not any(code.startswith(BROKEN_OFF) for code in report.refusals)


def summary(slug: str, report: "SeedReport") -> dict[str, Any]:
    """Return the report as a JSON object."""
    examples: dict[str, list[str]] = defaultdict(list)
    for refusal in report.refused:
        if len(examples[refusal.code]) < EXAMPLES:
            examples[refusal.code].append(refusal.name)
    return {
        "source": slug,
        "names": report.names,
        "domains": report.domains,
        "hosts": report.hosts,
        "known": report.known,
        "refused": dict(report.refusals.most_common()),
        "examples": examples,
        "complete": is_complete(report),
    }


def show(slug: str, report: "SeedReport", *, as_json: bool) -> None:
    """Print the report on standard output, with control characters in names escaped."""
    from registry.cli.terminal import console

    if as_json:
        print_json(summary(slug, report))
        return
    console.print(
        f"{slug}: {report.names} names: {report.hosts} new hosts, {report.domains} new domains,"
        f" {report.known} known before, {report.refusals.total()} refused",
        highlight=False,
    )
    for code, count in report.refusals.most_common():
        examples = [refusal for refusal in report.refused if refusal.code == code][:EXAMPLES]
        console.print(f"  {count} {code}: {visible(examples[0].message)}", markup=False, soft_wrap=True)
        for refusal in examples:
            origin = f"line {refusal.line}" if refusal.line else refusal.referrer
            place = f"  ({origin})" if origin else ""
            console.print(f"    {visible(refusal.name[:100] + place)}", markup=False, soft_wrap=True)
    if "has_scheme" in report.refusals and slug in ("file", "csv"):
        console.print("  with --urls the hosts of URLs are taken")


@contextlib.contextmanager
def _refusal_file(path: Path | None) -> "Iterator[Callable[[Refusal], None]]":
    """Yield a callback that writes each refusal as a line of JSON. Raise BadSource when the file cannot be created."""
    from crawler.seeds.source import BadSource

    if path is None:
        yield lambda _: None
        return
    try:
        output: IO[str] = path.open("w", encoding="ascii")
    except OSError as error:
        raise BadSource(f"{path}: {error.strerror}") from None
    with output as json_lines:
        yield lambda refusal: print(json.dumps(asdict(refusal)), file=json_lines)


@contextlib.contextmanager
def progress_of(errors: "Console") -> "Iterator[Callable[[SeedReport], None]]":
    """Yield a progress callback that updates a status line on a terminal and does nothing elsewhere."""
    if not errors.is_terminal:
        yield lambda _: None
        return
    with errors.status("reading") as status:
        yield lambda report: status.update(f"{report.names} names, {report.hosts} new hosts")
