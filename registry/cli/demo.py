"""The command `demo`."""

import contextlib
import shlex
import sys
from collections import defaultdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from registry.cli.clean import print_json
from registry.cli.serving import bound, serve_api
from registry.cli.show import identity_line, print_found
from registry.cli.terminal import escaped
from registry.core.model.listing import IdentityState
from registry.demo.sites import SAMPLE_WEB
from registry.demo.tour import TourReport, crawled, demo_settings


async def run_demo(data: Path, port: int, sites: Path | None, *, serve: bool, console: Console, as_json: bool) -> None:
    """Crawl the sample web and print the report; with `serve`, serve the API on its database until interrupted."""
    with bound("127.0.0.1", port) if serve else contextlib.nullcontext() as listening:
        settings = demo_settings(data, listening.getsockname()[1] if listening else port)
        async with crawled(settings, sites or SAMPLE_WEB, console) as (waypost, report, worker):
            if as_json:
                print_json(report.to_json())
            else:
                _print_report(console, report)
                # the command that starts this program again from the same folder
                program = shlex.quote(sys.argv[0]) if Path(sys.argv[0]).name == "waypost" else "waypost"
                console.print("\nthe same registry, from another terminal:")
                console.print(f"  {program} search 'send an email' --data {shlex.quote(str(data))}", soft_wrap=True)
            if listening:
                await serve_api(waypost, listening, console, at_stop=worker.request_stop)


def _print_report(console: Console, report: TourReport) -> None:
    """Print the demo's summary: outcomes, formats, and the example questions with their answers."""
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
    for question, page in report.answers.items():
        console.print(f"\n[bold]“{question}”[/]")
        for result in page.hits:
            print_found(console, result)
            for line in report.lost.get(result.card.host, ()):
                console.print(f"    [dim]{escaped(line)}[/]")
        if not page.hits:
            console.print("  nothing found")
    console.print(f"\n[dim]{escaped(identity_line(IdentityState.HOST_CHECKED))}[/]")
