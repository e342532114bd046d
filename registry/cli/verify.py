"""`waypost verify-index`: whether the index holds what the database says."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from registry.cli.porch import DONE, NO, AsJson, carry_out, console, opened
from registry.wiring import Waypost

SHOWN = 20


def verify_index(
    repair: Annotated[
        bool, typer.Option("--repair", help="Note what is wrong for the index's feeder, which then mends it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare the search index with the database, service by service; exit code 1 when they differ."""
    raise typer.Exit(carry_out(opened(lambda waypost: _show(waypost, console, repair=repair, as_json=as_json))))


async def _show(waypost: Waypost, console: Console, *, repair: bool, as_json: bool) -> int:
    from registry.cli.show import print_json

    found = await waypost.verify_index(repair=repair)
    if as_json:
        print_json({"equal": not found.wrong, **asdict(found)})
        return NO if found.wrong else DONE
    console.print(f"{found.services} services in the database, {found.pending} of them not yet told to the index")
    for name in ("missing", "extra", "different"):
        hosts: tuple[str, ...] = getattr(found, name)
        if hosts:
            more = f" and {len(hosts) - SHOWN} more" if len(hosts) > SHOWN else ""
            console.print(f"{name}: {escape(', '.join(hosts[:SHOWN]))}{more}", highlight=False)
    if found.repaired:
        console.print("noted: the index is mended by the next drain (a running worker, or serve)")
    elif not found.wrong:
        console.print("the index holds what the database says")
    return NO if found.wrong else DONE
