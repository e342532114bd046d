"""The pages of docs/ that are made from the code: `python -m registry.cli.pages` writes them, `--check` compares.

They hold nothing that the running system does not say too: formats, rubric, settings, commands, the OpenAPI document.
The same on every machine: no clock, no environment, no order of a set.
"""

import ast
import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Literal, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

import registry.cli
from registry.api.app import make_routes
from registry.core import formats
from registry.core.findings import Reason
from registry.core.format import Format, Role
from registry.core.recognise import FORMATS, ROWS, Foreign
from registry.core.scoring.rubric import RUBRIC, SECTION_POINTS, VERSION, Rule, Section
from registry.settings import Settings

DOCS = Path(__file__).resolve().parents[2] / "docs"

_GENERAL = frozenset({"document", "manifest", "endpoint", "conflict", "service", "capability"})
"""Families of reasons that belong to no single format."""

_ROLES: Mapping[Role, str] = MappingProxyType(
    {
        Role.SERVICE: "describes a service: its host is listed",
        Role.POINTERS: "names other documents, which are then visited",
        Role.TEXT: "a text for readers, searched for pointers",
        Role.ENRICHER: "adds to a service that another document describes",
    }
)
_SECTIONS: Mapping[Section, str] = MappingProxyType(
    {
        Section.CONFORMANCE: "Does the document follow its own specification?",
        Section.COMPLETENESS: "Does an agent learn what it needs?",
        Section.SAFETY: "Are side effects told, and may the endpoints be called?",
        Section.OPERABILITY: "Is it served so that clients can use it?",
        Section.IDENTITY: "Does the host speak for itself?",
    }
)


# --- formats.md -----------------------------------------------------------------------------------------------------


def formats_page() -> str:
    """Every format that is read, in the order of recognition, with its paths and its own rules."""
    foreign = sorted({row.what.name for row in ROWS if isinstance(row.what, Foreign)})
    overview = _table(
        ("format", "slug", "role", "paths", "rules"),
        (
            (form.title, f"[`{form.slug}`](#{form.slug})", form.role, _codes(form.paths), str(len(rules_of(form))))
            for form in FORMATS
        ),
    )
    return _page(
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
        f"`foreign:<name>`: {_codes(foreign)}.",
    )


def _format_section(form: Format) -> str:
    facts = _table(
        ("", ""),
        (
            ("specification", form.spec),
            ("role", f"`{form.role}`: {_ROLES[form.role]}"),
            ("paths", _codes(form.paths) or "none: found by pointers only"),
            ("media types", _codes(form.media_types)),
        ),
    )
    rules = _table(
        ("rule", "severity", "what is seen"), ((f"`{r}`", RUBRIC[r].severity, RUBRIC[r].says) for r in rules_of(form))
    )
    return "\n\n".join([f'<a id="{form.slug}"></a>', f"## {form.title}", facts, *([rules] if rules_of(form) else [])])


def rules_of(form: Format) -> tuple[Reason, ...]:
    """The reasons that only this format, or a family of relatives, gives; in the order of the rubric.

    Read from the sources of its module and of what that imports from the core: rules are not registered anywhere else.
    """
    sources = list(_sources(_module_of(form)))
    sources += [inspect.getsource(helper) for source in tuple(sources) for helper in _helpers(source)]
    named = {name for source in sources for name in _reasons_in(source)}
    return tuple(reason for reason in RUBRIC if reason.name in named and reason.partition(".")[0] not in _GENERAL)


def format_modules() -> tuple[ModuleType, ...]:
    """The modules and packages below registry/core/formats, by name."""
    names = sorted(found.name for found in pkgutil.iter_modules(formats.__path__))
    return tuple(importlib.import_module(f"{formats.__name__}.{name}") for name in names)


def _module_of(form: Format) -> ModuleType:
    return next(module for module in format_modules() if any(value is form for value in vars(module).values()))


def _sources(module: ModuleType) -> Iterator[str]:
    yield inspect.getsource(module)
    for found in pkgutil.iter_modules(getattr(module, "__path__", ())):
        yield inspect.getsource(importlib.import_module(f"{module.__name__}.{found.name}"))


def _helpers(source: str) -> Iterator[ModuleType]:
    """Modules of the core, but no formats, that a source imports from."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("registry.core"):
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                module = sys.modules.get(name)
                if module is not None and not name.startswith(formats.__name__) and name != "registry.core.findings":
                    yield module


def _reasons_in(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Reason":
            yield node.attr


# --- rubric.md ------------------------------------------------------------------------------------------------------


def rubric_page() -> str:
    """The whole table, by section, and how a score is made of it."""
    sections = _table(
        ("section", "points", "question"), ((s.value, f"{p:g}", _SECTIONS[s]) for s, p in SECTION_POINTS.items())
    )
    return _page(
        "Rubric",
        f"Version `{VERSION}`. Every sentence, price and remedy below is a row of `registry/core/scoring/rubric.py`; "
        "the API serves the same rows at `/api/rubric`.",
        "## How a score is made",
        "A service starts with all points of all sections and only ever loses points, each to a reason:",
        sections,
        "1. The current documents of the host are merged into one service. Their findings, those that need two "
        "documents, and what no document says (`service.*`, `capability.*`) are collected.\n"
        "2. Findings of one reason in one document are one line. It costs the points of its row, however often it was "
        "found; where it touches only some of the capabilities, their share of the points, at least a quarter.\n"
        "3. Each section keeps its points less those of its lines, never below zero. The score is the rounded sum.\n"
        "4. Severity does not change the price. An *error* means that a consumer cannot use the part, which is left "
        "out; a *warning* is a deviation whose meaning is clear; *info* is a note. A service whose documents have an "
        "error is not `verified`.",
        "The version, the lines and the facts they were computed from are stored with the score, so that what is shown "
        "is what was computed; `waypost rescore` applies a new table to stored documents without asking any site. Time "
        "alone changes no score, and only documents that were found are scored.",
        *(_rubric_section(section) for section in SECTION_POINTS),
    )


def _rubric_section(section: Section) -> str:
    rows = sorted(
        ((reason, rule) for reason, rule in RUBRIC.items() if rule.section is section),
        key=lambda row: -row[1].points,
    )
    costly = [row for row in rows if row[1].points]
    notes = [row for row in rows if not row[1].points]
    parts = [f"## {section.value.capitalize()}: {SECTION_POINTS[section]:g} points", _rules_table(costly)]
    if notes:
        parts += ["Without price: notes, and what keeps a document from being scored at all.", _rules_table(notes)]
    return "\n\n".join(parts)


def _rules_table(rows: Iterable[tuple[Reason, Rule]]) -> str:
    return _table(
        ("reason", "severity", "points", "what was seen", "remedy", "reference"),
        ((f"`{reason}`", rule.severity, f"{rule.points:g}", rule.says, rule.fix, rule.spec) for reason, rule in rows),
    )


# --- settings.md ----------------------------------------------------------------------------------------------------


def settings_page() -> str:
    """Every setting: variable, type, default, meaning."""
    rows = ((f"`{variable(name)}`", _type(field), _default(field), field.description or "")
            for name, field in Settings.model_fields.items())  # fmt: skip
    return _page(
        "Settings",
        "Read from the environment when a command starts; a wrong value is refused with exit code 2. Their one owner "
        "is `registry/settings.py`. Nothing needs to be set to begin with.",
        _table(("variable", "type", "default", "meaning"), rows),
        "Certificates of visited sites are verified with the system's store; `SSL_CERT_FILE` and `SSL_CERT_DIR` have "
        "their usual OpenSSL meaning.",
    )


def variable(name: str) -> str:
    """The environment variable of a field of Settings."""
    alias = Settings.model_fields[name].validation_alias
    if alias is None:
        return f"{Settings.model_config['env_prefix']}{name.upper()}"
    return alias if isinstance(alias, str) else str(getattr(alias, "choices", getattr(alias, "path", ()))[0])


def _type(field: FieldInfo) -> str:
    limits = [limit for part in field.metadata if (limit := _limit(part))]
    return " ".join([_type_name(field.annotation), *limits])


def _type_name(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(annotation))
    if get_origin(annotation) is tuple:
        return "list"
    options = [one for one in get_args(annotation) if one is not type(None)]
    if options:
        return " or ".join(_type_name(one) for one in options)
    names = {"str": "text", "SecretStr": "text", "int": "integer", "float": "number", "Path": "folder", "bool": "flag"}
    return names[annotation.__name__]


def _limit(part: object) -> str:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return ", ".join(f"{sign} {getattr(part, name):g}" for name, sign in signs.items() if hasattr(part, name))


def _default(field: FieldInfo) -> str:
    if field.default_factory is not None:
        return (inspect.getdoc(field.default_factory) or "").partition("\n")[0].rstrip(".")
    if field.default is None or field.default == ():
        return "unset"
    return f"`{field.default}`"


# --- cli.md ---------------------------------------------------------------------------------------------------------


def commands_page() -> str:
    """Every command with its arguments and options, and the exit codes."""
    group: Any = typer.main.get_command(registry.cli.app)
    commands = [command for command in group.commands.values() if not command.hidden]
    return _page(
        "Commands",
        "`waypost COMMAND --help` says the same in the terminal. Settings come from the environment: "
        "[settings.md](settings.md).",
        _table(("command", ""), ((f"[`{c.name}`](#waypost-{c.name})", _sentence(c.help)) for c in commands)),
        *(_command_section(command) for command in commands),
        "## Exit codes",
        _exit_codes(registry.cli.__doc__ or ""),
    )


def _command_section(command: Any) -> str:
    shown = [one for one in command.params if not one.hidden]
    arguments = [_argument_name(one) for one in shown if one.param_type_name == "argument"]
    parts = [f"## waypost {command.name}", f"`{' '.join(['waypost', command.name, '[OPTIONS]', *arguments])}`"]
    parts.append(" ".join(inspect.cleandoc(command.help or "").split()))
    if shown:
        parts.append(_table(("parameter", "default", "meaning"), (_parameter(one) for one in shown)))
    return "\n\n".join(parts)


def _argument_name(one: Any) -> str:
    return str(one.metavar or one.name.upper())


def _parameter(one: Any) -> tuple[str, str, str]:
    if one.param_type_name == "argument":
        return f"`{_argument_name(one)}`", "required" if one.required else "", one.help or ""
    names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
    if not one.is_flag:
        names += f" `{one.metavar or one.name.upper()}`"
    return names, _option_default(one), one.help or ""


def _option_default(one: Any) -> str:
    if one.is_flag:
        return f"`{one.opts[0]}`" if one.default else ""
    return "" if one.default is None else f"`{one.default}`"


def _exit_codes(doc: str) -> str:
    """The paragraph of the porch's docstring as a table, one row per code."""
    told = " ".join(doc.partition("Exit codes:")[2].partition(".\n")[0].split())
    return _table(("code", "meaning"), (part.strip().partition(" ")[::2] for part in told.split(";")))


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split()).partition(". ")[0].rstrip(".")


# --- openapi.json ---------------------------------------------------------------------------------------------------


def openapi_page() -> str:
    """The contract of the API, as the API serves it at its default address."""
    address = Settings.model_fields["public_url"].default
    return json.dumps(make_routes(Settings(public_url=address)).openapi(), indent=2, ensure_ascii=False) + "\n"


# --- pages ----------------------------------------------------------------------------------------------------------

PAGES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "formats.md": formats_page,
        "rubric.md": rubric_page,
        "settings.md": settings_page,
        "cli.md": commands_page,
        "openapi.json": openapi_page,
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


def _page(title: str, *parts: str) -> str:
    note = "<!-- Made from the code by `make docs`; changes belong there. -->"
    return "\n\n".join([note, f"# {title}", *parts]) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("<", "&lt;").replace("\n", " ")


def _codes(values: Iterable[str]) -> str:
    return " ".join(f"`{value}`" for value in values)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
