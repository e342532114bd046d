"""`waypost search-keys`: the one command that needs the master key of the search server."""

from pathlib import Path
from typing import Annotated

import typer

from registry.cli.porch import console, mended, read_settings


def search_keys(
    out: Annotated[Path, typer.Option(help="Folder for them; each is readable by its owner alone.")],
) -> None:
    """Make the keys with least rights of the Meilisearch server from its master key; again makes the same ones."""
    from registry.wiring.searching import hand_out_search_keys

    with mended():
        for path in hand_out_search_keys(read_settings(), out):
            console.print(str(path), highlight=False, soft_wrap=True)
