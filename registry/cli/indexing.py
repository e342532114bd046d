"""`waypost verify-index`, and `waypost search-keys`, which alone needs the master key of the search server."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from registry.cli.common import DONE, NO, AsJson, DataFolder, exit_on_error, read_settings, run_with_registry

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

    run_with_registry(lambda waypost: _show(waypost, console, repair=repair, as_json=as_json), data)


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
