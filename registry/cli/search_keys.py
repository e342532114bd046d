"""`waypost search-keys`: the only command that needs the master key of the search server."""

from pathlib import Path
from typing import Annotated

import typer

from registry.cli.common import exit_on_error, read_settings


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
