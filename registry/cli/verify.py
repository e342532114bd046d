"""`waypost verify-index`: compare the search index with the database."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from registry.cli.common import DONE, NO, AsJson, DataFolder, run_async, with_registry

if TYPE_CHECKING:
    from rich.console import Console

    from registry.wiring import Waypost

SHOWN = 20


def verify_index(
    repair: Annotated[
        bool, typer.Option("--repair", help="Queue the differing services, so that the next drain repairs them.")
    ] = False,
    data: DataFolder = None,
    as_json: AsJson = False,
) -> None:
    """Compare the search index with the database.

    Every service is compared; exit code 1 when they differ.
    """
    from registry.cli.terminal import console

    raise typer.Exit(
        run_async(with_registry(lambda waypost: _show(waypost, console, repair=repair, as_json=as_json), data))
    )


async def _show(waypost: "Waypost", console: "Console", *, repair: bool, as_json: bool) -> int:
    from registry.cli.clean import print_json
    from registry.cli.terminal import escaped

    comparison = await waypost.search.verify_index(repair=repair)
    if as_json:
        print_json({"equal": not comparison.wrong, **asdict(comparison)})
        return NO if comparison.wrong else DONE
    console.print(f"{comparison.services} services in the database, {comparison.pending} of them not yet indexed")
    for name in ("missing", "extra", "different"):
        hosts: tuple[str, ...] = getattr(comparison, name)
        if hosts:
            suffix = f" and {len(hosts) - SHOWN} more" if len(hosts) > SHOWN else ""
            console.print(f"{name}: {escaped(', '.join(hosts[:SHOWN]))}{suffix}")
    if comparison.repaired:
        console.print("queued: the next drain repairs the index (a running worker, or serve)")
    elif not comparison.wrong:
        console.print("the index matches the database")
    return NO if comparison.wrong else DONE
