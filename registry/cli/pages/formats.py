"""docs/formats.md: every format that is read, in the order of recognition, with its paths and its own rules."""

import ast
import importlib
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType

from registry.cli.pages.markdown import codes, page, table
from registry.core import formats
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.recognise import FORMATS, ROWS, Foreign
from registry.core.scoring.rubric import RUBRIC

GENERAL = frozenset({"document", "manifest", "endpoint", "pointer", "signature", "conflict", "service", "capability"})
"""Families of reasons that belong to no single format."""

_ROLES: Mapping[Role, str] = MappingProxyType(
    {
        Role.SERVICE: "describes a service: its host is listed",
        Role.POINTERS: "names other documents, which are then visited",
        Role.TEXT: "a text for readers, searched for pointers",
        Role.ENRICHER: "adds to a service that another document describes",
    }
)


def formats_page() -> str:
    """Every format that is read, in the order of recognition, with its paths and its own rules."""
    foreign = sorted({row.what.name for row in ROWS if isinstance(row.what, Foreign)})
    overview = table(
        ("format", "slug", "role", "paths", "rules"),
        (
            (form.title, f"[`{form.slug}`](#{form.slug})", form.role, codes(form.paths), str(len(rules_of(form))))
            for form in FORMATS
        ),
    )
    return page(
        "Formats",
        f"What waypost recognises, read and graded by one module each below `registry/core/formats/`: {len(FORMATS)} "
        "formats. Content decides what a document is, in the order of `registry/core/recognise.py`; the path never "
        "does, except for formats without any mark of their own.",
        "*Paths*: where the format is usually served, most preferred first. *Rules*: findings that only this format "
        "has; those that every document can have are in [rubric.md](rubric.md).",
        overview,
        *(_format_section(form) for form in FORMATS),
        "## Recognised and left alone",
        "Documents of other schemes at the same paths are no manifests here; a visit names them as "
        f"`foreign:<name>`: {codes(foreign)}.",
    )


def _format_section(form: Format) -> str:
    facts = table(
        ("", ""),
        (
            ("specification", form.spec),
            ("role", f"`{form.role}`: {_ROLES[form.role]}"),
            ("paths", codes(form.paths) or "none: found by pointers only"),
            ("media types", codes(form.media_types)),
        ),
    )
    rules = table(
        ("rule", "severity", "what is seen"), ((f"`{r}`", RUBRIC[r].severity, RUBRIC[r].says) for r in rules_of(form))
    )
    return "\n\n".join([f'<a id="{form.slug}"></a>', f"## {form.title}", facts, *([rules] if rules_of(form) else [])])


def rules_of(form: Format) -> tuple[Reason, ...]:
    """The reasons that only this format, or a family of relatives, gives; in the order of the rubric.

    Read from the sources of its module and of what that imports from the core: rules are not registered anywhere else.
    """
    own = tuple(_with_submodules(_module_of(form)))
    helpers = {helper for module in own for helper in _helpers(module)}
    named = frozenset[str]().union(*(_reasons_in(module) for module in {*own, *helpers}))
    return tuple(reason for reason in RUBRIC if reason.name in named and reason.partition(".")[0] not in GENERAL)


def format_modules() -> tuple[ModuleType, ...]:
    """The modules and packages below registry/core/formats, by name."""
    names = sorted(found.name for found in pkgutil.iter_modules(formats.__path__))
    return tuple(importlib.import_module(f"{formats.__name__}.{name}") for name in names)


def _module_of(form: Format) -> ModuleType:
    return next(module for module in format_modules() if any(value is form for value in vars(module).values()))


def _with_submodules(module: ModuleType) -> Iterator[ModuleType]:
    yield module
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        yield importlib.import_module(f"{module.__name__}.{found.name}")


@cache
def _parsed(module: ModuleType) -> ast.Module:
    return ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))


@cache
def _helpers(module: ModuleType) -> frozenset[ModuleType]:
    """Modules of the core, but no formats, that a module imports from."""
    named = {
        name
        for node in ast.walk(_parsed(module))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("registry.core")
        for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        if not name.startswith(formats.__name__) and name != Reason.__module__
    }
    return frozenset(sys.modules[name] for name in named if name in sys.modules)


@cache
def _reasons_in(module: ModuleType) -> frozenset[str]:
    return frozenset(
        node.attr
        for node in ast.walk(_parsed(module))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Reason"
    )
