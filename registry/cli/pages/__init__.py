"""The pages of docs/ that are made from the code: `python -m registry.cli.pages` writes them, `--check` compares.

They hold nothing that the code does not say too: formats, requirements, rubric, how often hosts are visited, settings,
commands, the OpenAPI document.
The same on every machine: no clock, no environment, no order of a set.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import typer

from registry.api import openapi
from registry.cli.pages.commands import commands_page
from registry.cli.pages.formats import formats_page
from registry.cli.pages.requirements import requirements_page
from registry.cli.pages.revisit import revisit_page
from registry.cli.pages.rubric import rubric_page
from registry.cli.pages.settings import settings_page

DOCS = Path(__file__).resolve().parents[3] / "docs"

PAGES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "formats.md": formats_page,
        "requirements.md": requirements_page,
        "rubric.md": rubric_page,
        "revisit.md": revisit_page,
        "settings.md": settings_page,
        "cli.md": commands_page,
        "openapi.json": lambda: openapi.document().decode(),
    }
)


def stale(folder: Path = DOCS) -> tuple[str, ...]:
    """Names of pages that are missing in `folder` or do not say what the code says."""
    return tuple(name for name, made in PAGES.items() if _read(folder / name) != made())


def write(folder: Path = DOCS) -> tuple[str, ...]:
    """Writes the stale pages; their names."""
    changed = stale(folder)
    for name in changed:
        (folder / name).write_text(PAGES[name](), encoding="utf-8")
    return changed


def main(arguments: Sequence[str]) -> int:
    """`--check`: exit code 1 when a page is stale. Otherwise writes."""
    if "--check" in arguments:
        old = stale()
        if old:
            typer.echo(f"stale: {', '.join(old)}; run `make docs`", err=True)
        return 1 if old else 0
    for name in write():
        typer.echo(f"wrote docs/{name}")
    return 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
