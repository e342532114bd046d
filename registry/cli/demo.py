"""The command `demo`."""

import asyncio
import contextlib
import shlex
import socket
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import quote, quote_plus

from rich.console import Console
from rich.table import Table

from registry.actions.queries.inspect import HostReport
from registry.cli.clean import print_json, visible
from registry.cli.serving import PortInUse, bound, serve_api
from registry.cli.show import identity_line, print_found
from registry.cli.terminal import escaped
from registry.core.model.listing import IdentityState
from registry.demo.sites import SAMPLE_WEB
from registry.demo.tour import (
    MAX_SITES_SHOWN,
    QUESTIONS,
    SAMPLE_CALL,
    DemoRegistry,
    TourReport,
    crawled,
    demo_settings,
    follow_changes,
    outcome_line,
)
from registry.tasks import running_beside

_OTHER_PORTS: Final = 20


async def run_demo(data: Path, port: int, sites: Path | None, *, serve: bool, console: Console, as_json: bool) -> None:
    """Crawl the sample web and print the report; with `serve`, serve the registry on its database until interrupted.

    Files and folders of `sites` may change meanwhile. Raise PortInUse, which names a free port.
    """
    folder, known = sites or SAMPLE_WEB, frozenset[str]()
    while True:
        has_new_site = asyncio.Event()
        with _bound(port) if serve else contextlib.nullcontext() as listening:
            port = listening.getsockname()[1] if listening else port
            async with crawled(demo_settings(data, port), folder, console) as demo:
                hosts = demo.report.hosts
                if known:
                    _print_outcomes(console, {host: one for host, one in hosts.items() if host not in known})
                elif as_json:
                    print_json(demo.report.to_json())
                else:
                    _print_report(console, demo.report, is_sample=folder == SAMPLE_WEB)
                known = frozenset(demo.sites)
                question = next(iter(demo.report.answers), QUESTIONS[0])
                if listening is None:
                    if not as_json:
                        console.print(f"\n{_search_command(data, question)}", soft_wrap=True, markup=False)
                    return
                async with running_beside(_follow(demo, folder, console, has_new_site)):
                    await serve_api(
                        demo.waypost, listening, console, at_stop=demo.worker.request_stop,
                        announce=partial(_announce, console, demo, data, question), until=has_new_site,
                    )  # fmt: skip
        if not has_new_site.is_set():
            return
        console.print("\nA site was added or works differently: starting again")


async def _follow(demo: DemoRegistry, folder: Path, console: Console, has_new_site: asyncio.Event) -> None:
    await follow_changes(demo, folder, lambda message: console.print(escaped(message), soft_wrap=True))
    has_new_site.set()


@contextlib.contextmanager
def _bound(port: int) -> Iterator[socket.socket]:
    with contextlib.ExitStack() as stack:
        try:
            listening = stack.enter_context(bound("127.0.0.1", port))
        except PortInUse as error:
            free = next(filter(_is_free, range(port + 1, min(port + _OTHER_PORTS, 65_536))), None)
            offer = f": --port {free} is free (make demo PORT={free})" if free else ""
            raise PortInUse(f"{error}{offer}") from error
        yield listening


def _is_free(port: int) -> bool:
    with contextlib.suppress(PortInUse), bound("127.0.0.1", port):
        return True
    return False


def _announce(console: Console, demo: DemoRegistry, data: Path, question: str, url: str) -> None:
    served = demo.served
    to = f"--cacert {shlex.quote(str(served.ca_file))} --connect-to ::127.0.0.1:{served.port}"
    first = next(iter(demo.sites.values()))
    own_url = f"https://{first.host}{quote(next(iter(first.files), '/'))}"
    site_url = SAMPLE_CALL if first.folder.parent == SAMPLE_WEB else own_url
    lines = (
        ("web page", f"{url}/"),
        ("API", f"curl '{url}/api/discover?q={quote_plus(question)}'"),
        ("MCP", f"claude mcp add --transport http waypost {url}/mcp"),
        ("terminal", _search_command(data, question)),
        ("a site", f"curl {to} '{site_url}'"),
    )
    console.print("\nThe registry answers until Ctrl-C:")
    for name, line in lines:
        console.print(f"  {name:8}  {escaped(line)}", soft_wrap=True)


def _search_command(data: Path, question: str) -> str:
    """Return the command that starts this program again from the same folder."""
    program = shlex.quote(sys.argv[0]) if Path(sys.argv[0]).name == "waypost" else "waypost"
    return f"{program} search {shlex.quote(visible(question))} --data {shlex.quote(str(data))}"


def _print_report(console: Console, report: TourReport, *, is_sample: bool) -> None:
    """Print the demo's summary: outcomes, formats, and the example questions with their answers."""
    if is_sample:
        _print_tables(console, report)
    else:
        _print_outcomes(console, report.hosts)
    for question, page in report.answers.items():
        console.print(f"\n[bold]“{escaped(question)}”[/]", soft_wrap=True)
        for result in page.hits:
            print_found(console, result)
            for line in report.lost.get(result.card.host, ()):
                console.print(f"    [dim]{escaped(line)}[/]")
        if not page.hits:
            console.print("  nothing found")
    console.print(f"\n[dim]{escaped(identity_line(IdentityState.HOST_CHECKED))}[/]")


def _print_outcomes(console: Console, hosts: Mapping[str, HostReport]) -> None:
    for host, status in islice(hosts.items(), MAX_SITES_SHOWN):
        console.print(f"  [cyan]{host}[/]  {escaped(outcome_line(status))}", soft_wrap=True)
    if len(hosts) > MAX_SITES_SHOWN:
        console.print(f"  and {len(hosts) - MAX_SITES_SHOWN} others")


def _print_tables(console: Console, report: TourReport) -> None:
    outcomes = Table("outcome", "hosts", "for example", title="What became of the hosts", title_justify="left")
    by_outcome: dict[str, list[str]] = defaultdict(list)
    for host, status in report.hosts.items():
        by_outcome[status.outcome.value if status.outcome else "not visited"].append(host)
    for outcome, hosts in sorted(by_outcome.items(), key=lambda item: -len(item[1])):
        outcomes.add_row(outcome, str(len(hosts)), ", ".join(hosts[:3]))
    formats = Table("format", "services", title="What they speak", title_justify="left")
    for form, count in sorted(report.overview.formats.items(), key=lambda item: (-item[1], item[0])):
        formats.add_row(form, str(count))
    console.print(outcomes)
    console.print(formats)
