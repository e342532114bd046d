"""docs/cli.md: every command with its arguments and options, and the exit codes."""

import inspect
from collections.abc import Iterator
from typing import Any

import typer
from rich.text import Text

from docs.generate.markdown import page, table
from registry import cli


def commands_page() -> str:
    """Return the page."""
    group: Any = typer.main.get_command(cli.app)
    commands = dict(_commands(group, "waypost"))
    return page(
        "Commands",
        "`waypost COMMAND --help` says the same in the terminal. Settings come from the environment: "
        "[settings.md](settings.md).",
        table(("command", ""), (_row(path, command) for path, command in commands.items())),
        *(_command_section(path, command) for path, command in commands.items()),
        "## Exit codes",
        _exit_codes(Text.from_markup(group.help).plain),
    )


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield (full name, command) for all visible commands; a group precedes its subcommands."""
    for command in group.commands.values():
        if not command.hidden:
            yield f"{path} {command.name}", command
            if hasattr(command, "commands"):
                yield from _commands(command, f"{path} {command.name}")


def _row(path: str, command: Any) -> tuple[str, str]:
    return f"[`{path.removeprefix('waypost ')}`](#{path.replace(' ', '-')})", _sentence(command.help)


def _command_section(path: str, command: Any) -> str:
    parameters = [parameter for parameter in command.params if not parameter.hidden]
    arguments = [_argument_name(parameter) for parameter in parameters if parameter.param_type_name == "argument"]
    if hasattr(command, "commands"):
        arguments = ["COMMAND ..."]
    parts = [f"## {path}", f"`{' '.join([path, '[OPTIONS]', *arguments])}`"]
    parts.append(" ".join(inspect.cleandoc(command.help or "").split()))
    if parameters:
        parts.append(table(("parameter", "default", "meaning"), (_parameter(parameter) for parameter in parameters)))
    return "\n\n".join(parts)


def _argument_name(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def _parameter(parameter: Any) -> tuple[str, str, str]:
    if parameter.param_type_name == "argument":
        return f"`{_argument_name(parameter)}`", "required" if parameter.required else "", parameter.help or ""
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if not parameter.is_flag:
        names += f" `{parameter.metavar or parameter.name.upper()}`"
    return names, _option_default(parameter), parameter.help or ""


def _option_default(parameter: Any) -> str:
    if parameter.is_flag:
        return f"`{parameter.opts[0]}`" if parameter.default else ""
    return "" if parameter.default is None else f"`{parameter.default}`"


def _exit_codes(text: str) -> str:
    """Return the help's paragraph on exit codes as a table, one row per code."""
    paragraph = " ".join(text.partition("Exit codes:")[2].partition("\n\n")[0].split()).rstrip(".")
    return table(("code", "meaning"), (part.strip().partition(" ")[::2] for part in paragraph.split(";")))


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split()).partition(". ")[0].rstrip(".")
