"""The command `demo`."""

import contextlib
import shlex
import sys
from pathlib import Path

from rich.console import Console

from registry.cli.clean import print_json
from registry.cli.serving import bound, serve_api
from registry.cli.show import print_report
from registry.demo.sites import SAMPLE_WEB
from registry.demo.tour import crawled, demo_settings


def _program() -> str:
    """Return the command that starts this program again from the same folder."""
    return shlex.quote(sys.argv[0]) if Path(sys.argv[0]).name == "waypost" else "waypost"


async def run_demo(data: Path, port: int, sites: Path | None, *, serve: bool, console: Console, as_json: bool) -> None:
    """Crawl the sample web and print the report; with `serve`, serve the API on its database until interrupted."""
    with bound("127.0.0.1", port) if serve else contextlib.nullcontext() as listening:
        settings = demo_settings(data, listening.getsockname()[1] if listening else port)
        async with crawled(settings, sites or SAMPLE_WEB, console) as (waypost, report, worker):
            if as_json:
                print_json(report.to_json())
            else:
                print_report(console, report)
            if not as_json:
                console.print("\nthe same registry, from another terminal:")
                console.print(f"  {_program()} search 'send an email' --data {shlex.quote(str(data))}", soft_wrap=True)
            if listening:
                await serve_api(waypost, listening, console, at_stop=worker.request_stop)
