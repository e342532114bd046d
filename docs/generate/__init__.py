"""The generated pages of docs/: `python -m docs.generate` writes them, `--check` compares.

Their only source is the code and its fixtures: formats, requirements, rubric, visit intervals, settings, commands and
the OpenAPI document. The guides that a registry serves are made from pages of docs/. All are the same on every machine:
no clock, no environment, no set order.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os.path import normpath
from pathlib import Path
from types import MappingProxyType

import typer

from docs.generate.commands import commands_page
from docs.generate.formats import formats_page
from docs.generate.guides import guide_html
from docs.generate.reaches import reaches_page
from docs.generate.requirements import requirements_page
from docs.generate.revisit import revisit_page
from docs.generate.rubric import rubric_page
from docs.generate.settings import settings_page
from registry.api.app import openapi_document
from registry.web.guides import BY_SLUG

DOCS = Path(__file__).resolve().parents[1]

_TEXTS: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "formats.md": formats_page,
        "reaches.md": reaches_page,
        "requirements.md": requirements_page,
        "rubric.md": rubric_page,
        "revisit.md": revisit_page,
        "settings.md": settings_page,
        "cli.md": commands_page,
        "openapi.json": lambda: openapi_document().decode(),
    }
)


def _guide(slug: str) -> str:
    """Return a guide as HTML, from its file, or from the code where its file is made from that."""
    source = BY_SLUG[slug].source
    return guide_html(slug, _TEXTS[source]() if source in _TEXTS else (DOCS / source).read_text(encoding="utf-8"))


PAGES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {**_TEXTS} | {f"../registry/web/guides/{slug}.html": partial(_guide, slug) for slug in BY_SLUG}
)
"""Path of a page, from docs/ -> what generates it."""


def stale(folder: Path = DOCS) -> tuple[str, ...]:
    """Return the names of pages that are missing in `folder` or differ from the generated text."""
    return tuple(name for name, generate in PAGES.items() if _read(folder / name) != generate())


def write(folder: Path = DOCS) -> tuple[str, ...]:
    """Write the stale pages and return their names."""
    changed = [(name, text) for name, generate in PAGES.items() if _read(folder / name) != (text := generate())]
    for name, text in changed:
        (folder / name).write_text(text, encoding="utf-8")
    return tuple(name for name, _ in changed)


def main(arguments: Sequence[str]) -> int:
    """Write the stale pages and return 0; with `--check` only compare, and return 1 when a page is stale."""
    if "--check" in arguments:
        stale_pages = stale()
        if stale_pages:
            typer.echo(f"stale: {', '.join(stale_pages)}; run `make docs`", err=True)
        return 1 if stale_pages else 0
    for name in write():
        typer.echo(f"wrote {normpath(f'docs/{name}')}")
    return 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None
